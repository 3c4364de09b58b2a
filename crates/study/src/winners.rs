//! How well a model's order of a pool agrees with the winners of tuned tables.

use std::path::Path;
use std::sync::Arc;

use ck_select_data::measurements::{DataError, Tuned, TunedShape, Winners};
use ck_select_data::places::Placed;
use ck_select_model::model::Model;
use ck_select_model::select::{RankError, RankScratch, Ranker};
use ck_select_types::pool::Pool;
use rayon::prelude::*;

/// Why an order cannot be compared with winners.
#[derive(Debug, thiserror::Error)]
pub enum WinnersError {
    /// A row that does not fit the pool.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model cannot rank the pool.
    #[error(transparent)]
    Kernels(RankError),
    /// The model cannot rank the pool for one of the shapes.
    #[error("{problem}: {source}")]
    Problem {
        /// The problem.
        problem: String,
        /// Why.
        source: RankError,
    },
}

/// Ranks a pool for all shapes of a file on a GPU that have a winner.
pub fn placed(
    model: Model,
    winners: &Winners,
    (file, gpu): (&Path, Tuned),
    pool: &Arc<Pool>,
) -> Result<Vec<Placed>, WinnersError> {
    let places = [winners.places_in(pool)];
    let ranker = Ranker::new(Arc::new(model), Arc::clone(pool)).map_err(WinnersError::Kernels)?;
    let is_there =
        |shape: &&TunedShape| shape.winner.is_some() && shape.gpu() == gpu && winners.file(shape) == file;
    let shapes: Vec<&TunedShape> = winners.shapes.iter().filter(is_there).collect();
    let one = |scratch: &mut RankScratch, shape: &&TunedShape| -> Result<Placed, WinnersError> {
        let (_, winner) = winners.pool_of(shape, &places, &[pool])?;
        let fault = |source| WinnersError::Problem { problem: shape.problem.to_string(), source };
        ranker.rank_with(&shape.problem, scratch).map_err(fault)?;
        let order = scratch.ranking();
        let is_first =
            |place: &Option<usize>| place.is_some() && *place == order.first().map(|first| first.index);
        let chosen = places[0].iter().position(is_first).and_then(|kernel| shape.us_of(kernel as u32));
        Ok(Placed::new(shape, order.iter().position(|ranked| ranked.index == winner), chosen))
    };
    shapes.par_iter().map_init(RankScratch::default, one).collect()
}
