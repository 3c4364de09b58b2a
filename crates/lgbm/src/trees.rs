//! Which of a forest's trees a call is about, as LightGBM counts them.

use std::ops::Range;

use ck_select_model::forest::{Forest, Row};

/// Consecutive trees of a forest.
#[derive(Debug)]
pub(crate) struct Trees<'a> {
    forest: &'a Forest,
    range: Range<usize>,
}

impl<'a> Trees<'a> {
    /// The trees that LightGBM takes for these arguments: `start` is moved into the forest, and a `count`
    /// that is not positive or too large means all from there on.
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

    /// Their numbers.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The prediction for a sum: an average is one of these trees only, as in LightGBM, and of no trees it is
    /// NaN.
    pub(crate) fn prediction(&self, sum: f64) -> f64 {
        let sum = if self.forest.averaged() { sum / self.len() as f64 } else { sum };
        self.forest.objective().transform().apply(sum)
    }

    /// The leaf that the row reaches in each of the trees.
    pub(crate) fn leaves(&self, row: &Row<'_>) -> impl Iterator<Item = usize> {
        self.range.clone().filter_map(|tree| row.leaf(tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nobjective=regression\n\
        average_output\n\
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
        let predict = |start, count| Trees::new(&forest, start, count).prediction(12.0);
        assert_eq!(predict(0, 0), 4.0);
        assert_eq!(predict(1, 2), 6.0);
        assert_eq!(predict(2, 1), 12.0);
        assert!(Trees::new(&forest, 3, 1).prediction(0.0).is_nan());
    }
}
