//! Scores of some of a forest's trees, and the leaves that a row reaches.
//!
//! The walk is that of `ck_select::forest`, which scores only whole forests; the parity tests hold both to LightGBM.

use std::ops::Range;

use ck_select::forest::{Forest, Missing, RowError, Split, Target, Tree};

/// Consecutive trees of a forest.
#[derive(Debug)]
pub(crate) struct Trees<'a> {
    forest: &'a Forest,
    range: Range<usize>,
}

impl<'a> Trees<'a> {
    /// The trees that LightGBM takes for these arguments: `start` is moved into the forest, and a `count` that is not
    /// positive or too large means all from there on.
    pub(crate) fn new(forest: &'a Forest, start: i32, count: i32) -> Trees<'a> {
        let all = forest.trees().len();
        let start = usize::try_from(start).unwrap_or(0).min(all);
        let rest = all - start;
        let count = match usize::try_from(count) {
            Ok(0) | Err(_) => rest,
            Ok(count) => count.min(rest),
        };
        Trees { forest, range: start..start + count }
    }

    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// The sum of the leaf values that the row reaches. Values that count as zero must be zero.
    pub(crate) fn raw_score(&self, values: &[f64]) -> Result<f64, RowError> {
        if self.range == (0..self.forest.trees().len()) {
            return self.forest.raw_score(values);
        }
        let trees = self.trees();
        Ok(trees.iter().fold(0.0, |sum, tree| sum + tree.leaf_values()[leaf(tree, values)]))
    }

    /// The prediction: an average is one of these trees only, as in LightGBM, and of no trees it is NaN.
    pub(crate) fn prediction(&self, values: &[f64]) -> Result<f64, RowError> {
        let sum = self.raw_score(values)?;
        let sum = if self.forest.averaged() { sum / self.len() as f64 } else { sum };
        Ok(self.forest.objective().transform().apply(sum))
    }

    /// The leaf that the row reaches in each of the trees. Values that count as zero must be zero.
    pub(crate) fn leaves(&self, values: &[f64]) -> impl Iterator<Item = usize> {
        self.trees().iter().map(move |tree| leaf(tree, values))
    }

    fn trees(&self) -> &'a [Tree] {
        &self.forest.trees()[self.range.clone()]
    }
}

fn leaf(tree: &Tree, values: &[f64]) -> usize {
    let mut child = tree.root();
    loop {
        let node = match child.target() {
            Target::Node(node) => &tree.nodes()[node],
            Target::Leaf(leaf) => return leaf,
        };
        let value = values[node.feature as usize];
        let left = match node.split {
            Split::Numeric { threshold, missing, default_left } => {
                let is_missing = match missing {
                    Missing::Never => false,
                    Missing::Zero => value.is_nan() || value == 0.0,
                    Missing::Nan => value.is_nan(),
                };
                if is_missing {
                    default_left
                } else {
                    // Only a split on which nothing is missing gets here with NaN, and takes it for zero.
                    (if value.is_nan() { 0.0 } else { value }) <= threshold
                }
            }
            Split::Categorical { set } => tree.category_sets().contains(set, value),
        };
        child = if left { node.left } else { node.right };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nobjective=regression\naverage_output\n\
        feature_names=x\nfeature_infos=none\n\n\
        Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\nTree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=2\n\n\
        Tree=2\nnum_leaves=1\nnum_cat=0\nleaf_value=6\n\nend of trees\n";

    #[test]
    fn iterations_are_counted_as_lightgbm_counts_them() {
        let forest = Forest::parse(THREE.as_bytes()).unwrap();
        let cases = [
            ((0, 0), 0..3),
            ((0, -1), 0..3),
            ((-5, i32::MIN), 0..3),
            ((0, 1), 0..1),
            ((1, 1), 1..2),
            ((1, 0), 1..3),
            ((2, 5), 2..3),
            ((3, 1), 3..3),
            ((i32::MAX, i32::MAX), 3..3),
        ];
        for ((start, count), range) in cases {
            assert_eq!(Trees::new(&forest, start, count).range, range, "{start}, {count}");
        }
        let predict = |start, count| Trees::new(&forest, start, count).prediction(&[0.0]).unwrap();
        assert_eq!(predict(0, 0), 3.0);
        assert_eq!(predict(1, 2), 4.0);
        assert_eq!(predict(2, 1), 6.0);
        assert!(predict(3, 1).is_nan());
    }
}
