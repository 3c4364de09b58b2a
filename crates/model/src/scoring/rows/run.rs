//! Rows that come one per call: what consecutive ones share is answered once.
//!
//! A caller that scores a problem's kernels one by one gives rows that differ only in the kernel's columns.
//! The tops of all trees are freed from the questions about other columns, and serve rows until one of those
//! columns has another position among the thresholds.

use super::compile::Compiled;
use crate::scoring::compile::stair::Stair;
use crate::scoring::scratch::{Answer, Ends};
use crate::scoring::single::{self, NONE, Top, Walks};

/// Rows that tops have to serve, or finding them costs more than it saves.
const WORTH: u32 = 8;
/// Rows without a surprise that are waited for at most before tops are found.
const LONGEST: u32 = 64;

/// The last row of a thread, and what it shared with those before.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The forest whose trees the rows walk.
    forest: u64,
    last_values: Vec<LastValue>,
    answers: Vec<Answer>,
    /// The tops of this problem's trees, if they serve.
    tops: Vec<Top>,
    known: Vec<Answer>,
    serves: bool,
    /// Rows since tops were found, or since a surprise.
    rows: u32,
    /// Rows to wait for before tops are found.
    patience: u32,
}

/// The last row's value in a stair.
#[derive(Debug, Clone, Copy, Default)]
struct LastValue {
    bits: u64,
    position: u8,
    /// Whether the row before had another value.
    has_changed: bool,
    /// Whether the value changes while the problem stays.
    varies: bool,
}

impl Run {
    /// The sum of all trees for a row, given the value of each stair.
    #[inline(always)]
    pub(super) fn sum(
        &mut self,
        compiled: &Compiled,
        walks: &Walks,
        mut value: impl FnMut(&Stair) -> f64,
        ends: &mut Ends,
    ) -> f64 {
        if self.forest != compiled.number {
            self.begin(compiled, walks, ends);
        }
        let (mut changed, mut is_surprise) = (0, false);
        for (stair, last) in compiled.stairs.iter().zip(&mut self.last_values) {
            let value = value(stair);
            last.has_changed = last.bits != value.to_bits();
            if last.has_changed {
                let position = stair.position(value);
                single::change(stair, last.position, position, &mut self.answers);
                changed += compiled.nodes_of(stair);
                is_surprise |= (position != last.position) & !last.varies;
                (last.bits, last.position) = (value.to_bits(), position);
            }
        }
        let is_other = 2 * changed > compiled.parts.nodes.len();
        if self.is_ready(is_surprise, is_other) && !self.serves {
            self.find_tops(compiled, walks, ends);
        }
        walks.sum(if self.serves { &self.tops } else { &walks.tops }, &self.answers, ends)
    }

    /// Takes a row of zeros for the one before. Makes room for all that later rows need.
    #[cold]
    fn begin(&mut self, compiled: &Compiled, walks: &Walks, ends: &mut Ends) {
        (self.forest, self.serves, self.rows, self.patience) = (compiled.number, false, 0, 1);
        single::fit(compiled.questions, &mut self.answers);
        self.known.clear();
        self.known.reserve(compiled.questions + 1);
        walks.fit(ends, &mut self.tops);
        self.last_values.clear();
        for stair in &compiled.stairs {
            let position = stair.position(0.0);
            single::place(stair, position, &mut self.answers);
            self.last_values.push(LastValue { position, ..LastValue::default() });
        }
    }

    /// Whether tops may be found for a row. It is a surprise if a position is another one whose column did
    /// not vary, and another problem's if most nodes ask about columns that changed.
    #[inline(always)]
    fn is_ready(&mut self, is_surprise: bool, is_other: bool) -> bool {
        if !is_surprise {
            self.rows = self.rows.saturating_add(1);
            return self.rows >= self.patience;
        }
        let (served, rows) = (self.serves, self.rows);
        (self.serves, self.rows) = (false, 0);
        if served && rows >= WORTH {
            // The next problem's kernels vary in the same columns.
            self.patience = 1;
            return true;
        }
        if served {
            self.patience = LONGEST.min(2 * self.patience);
        }
        for last in &mut self.last_values {
            last.varies = !is_other & (last.varies | last.has_changed);
        }
        false
    }

    /// Finds the tops for the columns that do not vary, unless most nodes ask about those that do.
    fn find_tops(&mut self, compiled: &Compiled, walks: &Walks, ends: &mut Ends) {
        self.rows = 0;
        self.known.clear();
        self.known.extend_from_slice(&self.answers[..=compiled.questions]);
        let mut open = 0;
        for (stair, _) in compiled.stairs.iter().zip(&self.last_values).filter(|(_, last)| last.varies) {
            self.known[stair.questions.clone()].fill(NONE);
            open += compiled.nodes_of(stair);
        }
        self.serves = 2 * open <= compiled.parts.nodes.len();
        if self.serves {
            walks.find_tops(&self.known, ends, &mut self.tops);
        } else {
            self.last_values.iter_mut().for_each(|last| last.varies = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use crate::scoring::tests::forest;
    use crate::scoring::{RowMajor, RowScorer};
    use ck_select_testing::forests::VALUES;
    use ck_select_testing::{Numbers as _, Random};

    /// Problems of twenty kernels each, whose columns are the last four of twelve, and rows of their own.
    #[test]
    fn kernels_one_by_one_have_the_forests_bits() {
        for (seed, (trees, leaves)) in [(3, 2), (40, 16), (30, 70), (11, 1)].into_iter().enumerate() {
            let random = &mut Random(seed as u64);
            let forest = forest(random, 12, trees, leaves);
            let compiled = Compiled::new(&forest, Isa::Portable).unwrap();
            let (walks, mut run, mut ends) =
                (compiled.walks.as_ref().unwrap(), Run::default(), Ends::default());
            let (mut row, mut rows, mut served) = ([0.0; 12], Vec::new(), 0);
            for number in 0..if cfg!(miri) { 40 } else { 2000 } {
                let first = if number % 20 == 0 || number % 333 == 7 { 0 } else { 8 };
                row[first..].fill_with(|| random.pick(&VALUES));
                let (sum, expected) =
                    (run.sum(&compiled, walks, |stair| row[stair.column], &mut ends), forest.raw_score(&row));
                assert_eq!(sum.to_bits(), expected.unwrap().to_bits(), "{row:?}");
                served += usize::from(run.serves);
                rows.push((row, sum));
            }
            assert!(cfg!(miri) || trees < 20 || served > 1500, "{served} rows of {trees} trees");
            for isa in Isa::available() {
                let scorer = RowScorer::with(forest.clone(), isa);
                for (row, expected) in &rows {
                    let mut sum = [f64::NAN];
                    scorer.score(&RowMajor { values: row, width: 12 }, 0..trees, &mut sum);
                    assert_eq!(sum[0].to_bits(), expected.to_bits(), "{row:?}, {}", isa.name());
                }
            }
        }
    }
}
