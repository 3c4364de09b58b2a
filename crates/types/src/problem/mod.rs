//! A problem of any operation.

mod checked;
mod fields;
mod limits;
mod splits;
mod text;

pub use crate::defaults::ProblemDefaults;
pub use crate::field::{AUTO, Field, InvalidField, MAX_EXTENT, MOST_FIELDS, position};
pub use crate::operations::problems::*;
pub use checked::{Checked, Definite};
pub use fields::FieldSet;
pub use limits::SHORTEST_LAUNCH_MS;
pub use splits::Splits;
pub use text::ProblemError;
pub(crate) use text::{cells_of_line, keys, separates, text_keys};

use crate::each_operation;
use crate::field::{self, Key, Record};
use crate::operation::{Operation, OperationProblem as _};
use crate::vocab::{Arch, Direction, Dtype, Op};

/// Words of [`Problem::words`].
pub const WORDS: usize = Key::WORDS;

type Own<P> = P;

crate::operation_enum! {
    /// A problem of any operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Problem(Own);
}

impl Problem {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        each_operation!(self, Self(problem) => problem.validate())
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        each_operation!(self, Self(problem) => problem.flops())
    }

    /// The architecture, when the problem names one.
    pub const fn arch(&self) -> Option<Arch> {
        each_operation!(self, Self(problem) => problem.arch)
    }

    /// The problem on an architecture, or on none in particular.
    ///
    /// ```
    /// use ck_select_types::problem::{GemmProblem, Problem};
    ///
    /// let problem = Problem::from(GemmProblem::new(1, 2, 3));
    /// assert!(problem.on("gfx950".parse().ok()).to_string().ends_with(",arch=gfx950"));
    /// ```
    #[must_use]
    pub const fn on(mut self, arch: Option<Arch>) -> Self {
        each_operation!(&mut self, Self(problem) => problem.arch = arch);
        self
    }
}

impl Problem {
    /// The fields of an operation's problems, in the order of text; the architecture is none of them.
    pub const fn fields(op: Op) -> &'static [Field] {
        Operation::get(op).problem
    }

    /// The element type of its first input.
    pub fn dtype(&self) -> Dtype {
        each_operation!(self, Self(problem) => problem.dtype())
    }

    /// The direction of a convolution.
    pub fn direction(&self) -> Option<Direction> {
        each_operation!(self, Self(problem) => problem.direction())
    }

    /// `N_K` of a GEMM, which a layer keeps while `M` changes.
    pub fn weight(&self) -> Option<String> {
        each_operation!(self, Self(problem) => problem.weight())
    }

    /// The fields that count and that the problem leaves open: whoever chooses assumes a value there.
    #[inline]
    pub fn unknown(&self) -> FieldSet {
        let name = each_operation!(self, Self(problem) => problem.unknown());
        let position = name.and_then(|name| field::position(Self::fields(self.op()), name));
        position.map_or(FieldSet::NONE, |index| FieldSet::NONE.with(index, true))
    }

    /// A cell of a table, by any name of a field; empty where the problem has no such thing.
    pub fn cell(&self, name: &str) -> String {
        let of_field = || self.value(name).map_or_else(String::new, |(field, value)| field.text(value));
        each_operation!(self, Self(problem) => problem.extra_cell(name)).unwrap_or_else(of_field)
    }

    /// The number of a field by any of its names.
    pub fn value(&self, name: &str) -> Option<(&'static Field, i64)> {
        let fields = Self::fields(self.op());
        field::position(fields, name).map(|index| (&fields[index], self.values()[index]))
    }

    /// The problem in a few words, for messages.
    pub fn summary(&self) -> String {
        each_operation!(self, Self(problem) => problem.summary())
    }

    /// Bytes of operands and results, each moved once, if the operation's logs have their rate.
    pub fn bytes(&self) -> Option<f64> {
        each_operation!(self, Self(problem) => problem.bytes())
    }

    /// Rows and depth of its (implicit) GEMM.
    pub fn gemm_extents(&self) -> [i128; 2] {
        each_operation!(self, Self(problem) => problem.gemm_extents())
    }

    /// The problem that a reader assumes if it knows only what every table has.
    #[must_use]
    pub fn assumed(&self) -> Self {
        each_operation!(self, Self(problem) => problem.assumed().into())
    }

    /// The problem, with these fields as problems usually have them.
    #[must_use]
    pub fn usual_in(&self, names: &[&str]) -> Self {
        each_operation!(self, Self(problem) => field::usual_in(problem, names).into())
    }

    /// The numbers of the problem's fields, those of words being their indices; behind the last field they are 0.
    pub fn values(&self) -> [i64; MOST_FIELDS] {
        each_operation!(self, Self(problem) => field::values(problem))
    }

    /// The problem's numbers and flags, with their fields.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static Field, i64)> + use<> {
        Self::fields(self.op()).iter().zip(self.values()).filter(|(field, _)| field.is_number())
    }

    /// The problem, written in one way where there are several.
    #[must_use]
    pub fn canonical(self) -> Self {
        each_operation!(self, Self(problem) => problem.normal().into())
    }

    /// The problem as machine words, to be compared and hashed fast: equal problems have equal words,
    /// different ones different words. `None` when a number needs more than 32 bits, which no valid problem
    /// does, and for a list of GEMMs, which needs more words.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "its caller compares the words at once, on the way of a repeated selection"
    )]
    pub fn words(&self) -> Option<[u64; WORDS]> {
        let mut key = Key::new();
        key.push(self.op() as i64, 3);
        let is_whole = each_operation!(self, Self(problem) => {
            problem.pack(&mut key);
            problem.has_fields_only()
        });
        // The longest architecture has 7 characters.
        key.short_text(self.arch().as_ref().map(Arch::as_str));
        if is_whole { key.finish() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Kind;
    use crate::operation::OperationProblem;

    #[test]
    fn every_field_shows() {
        fn others<P: OperationProblem + Into<Problem>>(all: &mut Vec<Problem>) {
            let usual = field::values(&P::USUAL);
            all.push(P::USUAL.into());
            for (index, field) in P::FIELDS.iter().enumerate() {
                let values = match field.kind {
                    Kind::Word(vocabulary) => (0..vocabulary.words.len() as i64).collect(),
                    Kind::Flag => vec![0, 1],
                    Kind::Number => vec![2, field.range[1].min(MAX_EXTENT)],
                    // Only where there are scales.
                    Kind::Shape => vec![],
                };
                for value in values.into_iter().filter(|value| *value != usual[index]) {
                    let mut changed = usual;
                    changed[index] = value;
                    all.push(P::read(&changed, &P::USUAL).into());
                }
            }
        }
        let (mut all, mut seen) = (Vec::new(), std::collections::HashSet::new());
        for op in Op::ALL {
            each_operation!(op, Own => others::<Own>(&mut all));
        }
        all.extend(["gfx950", "gfx1250", "sm_90"].map(|arch| all[0].on(arch.parse().ok())));
        for groups in ["group_a=1x1x64", "group_b=1x128x128"] {
            let text = format!("M=1,N=1,K=1,quant=abquant,{groups}");
            all.push(Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap());
        }
        for problem in all {
            assert!(seen.insert(problem.words().unwrap()), "{problem}");
        }
        let gemm = GemmProblem::new(1, 1, 1);
        assert_eq!(Problem::from(gemm.grouped("1x1x1".parse().unwrap())).words(), None);
    }

    #[test]
    fn numbers_that_do_not_fit_have_no_words() {
        for n in [-2, 1 << 33] {
            assert_eq!(Problem::from(GemmProblem::new(n, 1, 1)).words(), None);
        }
    }
}
