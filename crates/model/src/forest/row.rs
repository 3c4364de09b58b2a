//! The exact scalar scorer: one row down each tree, in order.
//!
//! ```text
//! values with |v| <= 1e-35 become 0                     once a row
//! sum = 0
//! for tree in text order:
//!     child = root
//!     while child is a node:
//!         child = left if the node's question is answered yes, else right
//!     sum = sum + value of the leaf                     one f64 addition, in this order
//! raw score  = sum
//! prediction = transform(sum, or sum / trees if averaged)
//! ```
//!
//! This is LightGBM's own order of operations, so the bits are the same. The only difference is that a row of
//! the wrong length is refused, where LightGBM reads out of bounds or fills in zeros. Faster scorers are
//! checked against this one.

use std::borrow::Cow;
use std::ops::Range;

use super::node::{Child, Missing, Node, Split, Target};
use super::tree::Tree;
use super::{Contributions, Forest, ZERO_THRESHOLD};

/// A row of features that fits a forest, ready to be scored by it. See [`Forest::row`].
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub(super) forest: &'a Forest,
    pub(super) values: Cow<'a, [f64]>,
}

/// A row with a number of values other than the forest's number of features.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the row has {found} values, the forest has {expected} features")]
pub struct RowError {
    /// Values in the row.
    pub found: usize,
    /// Features of the forest.
    pub expected: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(forest: &'a Forest, values: &'a [f64]) -> Result<Row<'a>, RowError> {
        let expected = forest.num_features();
        if values.len() != expected {
            return Err(RowError { found: values.len(), expected });
        }
        let mut values = Cow::Borrowed(values);
        // -0.0 may stay: no comparison and no cast distinguishes it from 0.0. So rows are rarely copied.
        if values.iter().any(|&value| is_zero(value) && value != 0.0) {
            for value in values.to_mut() {
                if is_zero(*value) {
                    *value = 0.0;
                }
            }
        }
        Ok(Row { forest, values })
    }

    /// The sum of the leaf values that the row reaches: LightGBM's `predict(raw_score=True)`, bit for bit.
    pub fn raw_score(&self) -> f64 {
        // Not `Iterator::sum`, which starts from -0.0.
        self.forest.trees().iter().fold(0.0, |sum, tree| sum + tree.value(&self.values))
    }

    /// [`Row::raw_score`] of some trees only: LightGBM's `start_iteration` and `num_iteration`. Trees that
    /// the forest does not have add nothing.
    pub fn raw_score_of(&self, trees: Range<usize>) -> f64 {
        let trees = self.forest.trees().get(trees.start..trees.end.min(self.forest.trees().len()));
        trees.unwrap_or_default().iter().fold(0.0, |sum, tree| sum + tree.value(&self.values))
    }

    /// The leaf of a tree that the row reaches, as an index into [`Tree::leaf_values`]; `None` for a tree
    /// that the forest does not have.
    pub fn leaf(&self, tree: usize) -> Option<usize> {
        self.forest.trees().get(tree).map(|tree| tree.leaf(&self.values))
    }

    /// The prediction: LightGBM's `predict()`, bit for bit.
    pub fn predict(&self) -> f64 {
        self.forest.finish(self.raw_score())
    }

    /// The contribution of each feature to the raw score.
    pub fn contributions(&self) -> Contributions {
        Contributions::new(self)
    }
}

impl Tree {
    fn value(&self, values: &[f64]) -> f64 {
        self.leaf_values[self.leaf(values)]
    }

    /// The leaf that a row reaches.
    fn leaf(&self, values: &[f64]) -> usize {
        let mut child = self.root();
        loop {
            match child.target() {
                Target::Node(node) => child = self.step(self.node(node), values),
                Target::Leaf(leaf) => return leaf,
            }
        }
    }

    /// The child that a row goes to from a node.
    pub(super) fn step(&self, node: Node, values: &[f64]) -> Child {
        let left = self.goes_left(node, values[node.feature as usize]);
        if left { node.left } else { node.right }
    }

    /// Whether a row with this value of the node's feature goes left; no value but 0 may count as zero.
    pub(crate) fn goes_left(&self, node: Node, value: f64) -> bool {
        match node.split {
            Split::Numeric { threshold, missing, default_left } => {
                goes_left(value, threshold.get(), missing, default_left)
            }
            Split::Categorical { set } => self.category_sets.contains(set, value),
        }
    }
}

pub(super) fn goes_left(value: f64, threshold: f64, missing: Missing, default_left: bool) -> bool {
    let is_missing = match missing {
        Missing::Never => false,
        Missing::Zero => value.is_nan() || is_zero(value),
        Missing::Nan => value.is_nan(),
    };
    if is_missing {
        return default_left;
    }
    // Only a split without missing values gets here with NaN.
    let value = if value.is_nan() { 0.0 } else { value };
    value <= threshold
}

pub(super) fn is_zero(value: f64) -> bool {
    value.abs() <= ZERO_THRESHOLD
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: f64 = 1e-40;

    /// Missing type x default side x value: NaN, both zeros, nearly zero, and below, at and above the
    /// threshold.
    #[test]
    fn every_kind_of_value_goes_where_lightgbm_sends_it() {
        let above = 1.5f64.next_up();
        let values =
            [f64::NAN, 0.0, -0.0, TINY, 1.5f64.next_down(), 1.5, above, f64::INFINITY, f64::NEG_INFINITY];
        // L goes left, R right, d to the default side.
        let cases =
            [(Missing::Never, "LLLLLLRRL"), (Missing::Zero, "dddd LLRRL"), (Missing::Nan, "dLLLLLRRL")];
        for (missing, sides) in cases {
            for (value, side) in values.into_iter().zip(sides.chars().filter(|side| *side != ' ')) {
                for default_left in [false, true] {
                    let expected = side == 'L' || (side == 'd' && default_left);
                    let left = goes_left(value, 1.5, missing, default_left);
                    assert_eq!(left, expected, "{value} with {missing:?}, default left: {default_left}");
                }
            }
        }
    }

    #[test]
    fn nan_is_zero_where_nothing_is_missing() {
        assert!(goes_left(f64::NAN, 0.0, Missing::Never, false));
        assert!(!goes_left(f64::NAN, -1.0, Missing::Never, true));
    }

    #[test]
    fn thresholds_may_be_infinite() {
        assert!(goes_left(f64::INFINITY, f64::INFINITY, Missing::Never, false));
        assert!(!goes_left(-1e300, f64::NEG_INFINITY, Missing::Never, false));
    }
}
