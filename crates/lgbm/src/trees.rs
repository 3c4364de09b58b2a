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
