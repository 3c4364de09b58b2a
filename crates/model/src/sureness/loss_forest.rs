//! The forest that expects losses, in the form that a selection reads.
//!
//! A walk down forty trees takes a hundred instructions a tree, together an eighth of a selection by the estimate. A
//! tree of eight leaves fits into a byte, a bit a leaf, and what a column's value rules out depends on nothing but
//! the thresholds between which the value is. So each of those intervals has the leaves of all trees that it leaves:
//!
//! ```text
//! reached = all leaves of all trees
//! for (column, value) in row:
//!     interval = how many of the column's intervals the value has passed: eight compared at once
//!     reached &= leaves of the column's interval                five words
//! sum = 0; for tree in text order: sum += value of the only leaf that is left of the tree     the next bit
//! ```
//!
//! The sum has the bits of [`Row::raw_score`](crate::forest::Row::raw_score): the same leaves in the same order.

// The sum is compiled once for each instruction set that calls it, so it must be inlined into the callers.
#![allow(clippy::inline_always)]

use crate::forest::{Child, Forest, Split, Target, Transform, Tree, ZERO_THRESHOLD};
use crate::isa::Isa;

/// Most trees of a forest.
pub const MOST_TREES: usize = EIGHT * WORDS;
/// Most leaves of a tree.
pub const MOST_LEAVES: usize = 8;
const WORDS: usize = 5;

/// Leaves of all trees, a byte for each tree.
type Leaves = [u64; WORDS];
const ALL: Leaves = [u64::MAX; WORDS];
/// The trees of a word.
const EIGHT: usize = 8;
/// The number of the lowest bit of a word that has none.
const NO_BIT: usize = u64::BITS as usize;

/// A Poisson forest of small trees.
#[derive(Debug, Clone)]
pub(super) struct LossForest {
    columns: Vec<Column>,
    /// The values of the leaves of each word, by bit, and nothing for the trees that the forest lacks, of which no bit
    /// is left.
    values: Box<[[f64; NO_BIT + 1]; WORDS]>,
    isa: Isa,
}

/// The intervals of a column, which rule out leaves; the first interval is that of no value, NaN.
#[derive(Debug, Clone)]
struct Column {
    first: Intervals,
    /// Intervals after the first eight.
    more: Vec<Intervals>,
}

/// Eight intervals of a column.
#[derive(Debug, Clone)]
struct Intervals {
    /// The ends of the intervals, ascending: each is the next interval's least value; NaN after the last one.
    next: [f64; EIGHT],
    /// The leaves that remain in each interval.
    leaves: [Leaves; EIGHT],
}

impl LossForest {
    /// Prepares a forest, or says what keeps it from this form.
    pub(super) fn new(forest: &Forest) -> Result<Self, String> {
        let trees = forest.trees();
        if trees.len() > MOST_TREES || trees.iter().any(|tree| tree.leaf_values().len() > MOST_LEAVES) {
            return Err(format!("expected {MOST_TREES} trees at most, of {MOST_LEAVES} leaves at most"));
        }
        if forest.objective().transform() != Transform::Exponential || forest.averaged() {
            return Err("expected the objective poisson".to_owned());
        }
        let mut nodes = trees.iter().flat_map(Tree::nodes);
        if nodes.any(|node| matches!(node.split, Split::Categorical { .. })) {
            return Err("expected no categorical split".to_owned());
        }
        let columns = (0..forest.num_features()).map(|index| Column::new(index, trees));
        let mut values = Box::new([[0.0; NO_BIT + 1]; WORDS]);
        for (values, trees) in values.iter_mut().zip(trees.chunks(EIGHT)) {
            for (values, tree) in values.chunks_mut(MOST_LEAVES).zip(trees) {
                values.iter_mut().zip(tree.leaf_values()).for_each(|(value, leaf)| *value = *leaf);
            }
        }
        Ok(Self { columns: columns.collect(), values, isa: Isa::best() })
    }

    /// The sum of the leaves that a row reaches, which has all columns.
    pub(super) fn raw_score(&self, row: &[f64]) -> f64 {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: either token proves that the CPU has the features.
            Isa::Avx512(_) | Isa::Avx2(_) => unsafe { self.raw_score_avx2(row) },
            Isa::Portable => self.raw_score_portable(row),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn raw_score_avx2(&self, row: &[f64]) -> f64 {
        self.raw_score_portable(row)
    }

    #[inline(always)]
    fn raw_score_portable(&self, row: &[f64]) -> f64 {
        let mut reached = ALL;
        for (column, value) in self.columns.iter().zip(row) {
            let left = column.leaves_for(*value);
            reached.iter_mut().zip(left).for_each(|(reached, left)| *reached &= left);
        }
        // In memory, from where the bits are read one by one: the compiler would keep five words instead of vectors.
        let reached = std::hint::black_box(reached);
        // Not `Iterator::sum`, which starts from -0.0.
        let mut sum = 0.0;
        for (mut word, values) in reached.into_iter().zip(self.values.iter()) {
            for _ in 0..EIGHT {
                sum += values[word.trailing_zeros() as usize];
                word &= word.wrapping_sub(1);
            }
        }
        sum
    }
}

impl Column {
    fn new(index: usize, trees: &[Tree]) -> Self {
        let thresholds = trees.iter().flat_map(Tree::nodes).filter_map(|node| match node.split {
            Split::Numeric { threshold, .. } if node.feature as usize == index => Some(threshold.get()),
            _ => None,
        });
        // A threshold belongs to the interval below it. Values that count as zero have intervals of their own.
        let above = thresholds.chain([ZERO_THRESHOLD]).map(f64::next_up);
        let mut starts: Vec<f64> = above.chain([f64::NEG_INFINITY, -ZERO_THRESHOLD]).collect();
        starts.sort_by(f64::total_cmp);
        let (mut next, mut leaves) = (Vec::new(), vec![leaves_at(f64::NAN, index, trees)]);
        for start in starts {
            let at_start = leaves_at(start, index, trees);
            if leaves.last() != Some(&at_start) {
                next.push(start);
                leaves.push(at_start);
            }
        }
        let all = leaves.len().next_multiple_of(EIGHT);
        next.resize(all, f64::NAN);
        leaves.resize(all, ALL);
        let eights = next.as_chunks().0.iter().zip(leaves.as_chunks().0);
        let mut eights = eights.map(|(&next, &leaves)| Intervals { next, leaves });
        let first = eights.next().unwrap_or(Intervals { next: [f64::NAN; EIGHT], leaves: [ALL; EIGHT] });
        Self { first, more: eights.collect() }
    }

    #[inline(always)]
    fn leaves_for(&self, value: f64) -> &Leaves {
        if let Some(leaves) = self.first.leaves_for(value) {
            return leaves;
        }
        for eight in &self.more {
            if let Some(leaves) = eight.leaves_for(value) {
                return leaves;
            }
        }
        &ALL
    }
}

impl Intervals {
    /// The leaves that remain for a value; `None` if all eight end before it.
    #[inline(always)]
    fn leaves_for(&self, value: f64) -> Option<&Leaves> {
        self.leaves.get(self.next.iter().map(|next| usize::from(*next <= value)).sum::<usize>())
    }
}

/// The leaves of all trees that a row with this value of a column can reach.
fn leaves_at(value: f64, column: usize, trees: &[Tree]) -> Leaves {
    let value = if value.abs() <= ZERO_THRESHOLD { 0.0 } else { value };
    let mut bytes = [0; MOST_TREES];
    for (byte, tree) in bytes.iter_mut().zip(trees) {
        *byte = remaining(tree, tree.root(), column, value);
    }
    let words = bytes.as_chunks().0;
    std::array::from_fn(|word| words.get(word).map_or(0, |bytes| u64::from_le_bytes(*bytes)))
}

/// The leaves below a child that a row with this value of a column can reach, a bit each.
fn remaining(tree: &Tree, child: Child, column: usize, value: f64) -> u8 {
    match child.target() {
        Target::Leaf(leaf) => 1 << leaf,
        Target::Node(node) => {
            let node = tree.node(node);
            let below = |child| remaining(tree, child, column, value);
            if node.feature as usize != column {
                return below(node.left) | below(node.right);
            }
            below(if tree.goes_left(node, value) { node.left } else { node.right })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::sureness_of;
    use crate::sureness::SurenessFile;
    use crate::vocab::Op;

    /// The forests of this library and of its models.
    fn shipped() -> Vec<Forest> {
        let models = format!("{}/../../models", env!("CARGO_MANIFEST_DIR"));
        let own = std::fs::read_dir(models)
            .unwrap()
            .filter_map(|entry| std::fs::read(entry.unwrap().path().join("sureness.json")).ok());
        let texts = own.chain(Op::ALL.iter().filter_map(|&op| sureness_of(op)).map(<[u8]>::to_vec));
        texts
            .map(|text| Forest::parse(SurenessFile::parse(&text).unwrap().loss.as_bytes()).unwrap())
            .collect()
    }

    /// Each column at every threshold, beside it, at and around zero, and without a value.
    #[test]
    fn the_sums_are_those_of_a_walk() {
        let forests = shipped();
        assert!(forests.len() > 8, "{}", forests.len());
        for forest in forests {
            let prepared = LossForest::new(&forest).unwrap();
            let portable = LossForest { isa: Isa::Portable, ..prepared.clone() };
            let ends = [f64::NAN, 0.0, -0.0, 1e-40, -1e-40, 1e-30, -1e-30, f64::INFINITY, f64::NEG_INFINITY];
            let values = prepared.columns.iter().map(|column| {
                let eights = std::iter::once(&column.first).chain(&column.more);
                let near =
                    eights.flat_map(|eight| eight.next).flat_map(|at| [at.next_down(), at, at.next_up()]);
                near.chain(ends).collect::<Vec<_>>()
            });
            let values: Vec<Vec<f64>> = values.collect();
            let mut row = vec![f64::NAN; forest.num_features()];
            for round in 0..2000_usize {
                for (index, (cell, values)) in row.iter_mut().zip(&values).enumerate() {
                    // Columns go through their values at different paces.
                    *cell = values[round * (2 * index + 1) % values.len()];
                }
                let walked = forest.raw_score(&row).unwrap();
                for forest in [&prepared, &portable] {
                    assert_eq!(forest.raw_score(&row).to_bits(), walked.to_bits(), "{row:?}");
                }
            }
        }
    }
}
