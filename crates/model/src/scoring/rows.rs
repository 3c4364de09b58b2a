//! Rows that have nothing in common, [`ROWS`] at a time: for the forest, a pool whose kernels differ in
//! everything.

use std::sync::Arc;

use super::compile::lanes::LANES;
use super::{Column, PoolError, PoolScorer, PoolTable, Scratch, SizeError};
use crate::forest::Forest;

/// Rows per call.
pub(crate) const ROWS: usize = LANES;

/// A forest that scores rows, with the bits of [`Forest::raw_score`]. It is compiled by the second call.
#[derive(Debug)]
pub(crate) struct RowScorer(PoolScorer);

impl RowScorer {
    pub(crate) fn new(forest: &Arc<Forest>) -> Result<RowScorer, PoolError> {
        let classes: [u32; ROWS] = std::array::from_fn(|row| row as u32);
        let columns = vec![Column::Pair; forest.num_features()];
        let pool = PoolTable { columns: &columns, classes: &classes, kernel_values: &[] };
        PoolScorer::deferred(forest, &pool).map(RowScorer)
    }

    /// The raw score of each row. `columns` has the values of each feature.
    pub(crate) fn score(
        &self,
        columns: &[[f64; ROWS]],
        scratch: &mut Scratch,
    ) -> Result<[f64; ROWS], SizeError> {
        let mut scores = [0.0; ROWS];
        self.0.score(&[], columns.as_flattened(), scratch, &mut scores)?;
        Ok(scores)
    }
}
