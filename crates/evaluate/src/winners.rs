//! How well a model's order of a pool agrees with the winners of tuned tables.

use std::path::Path;
use std::sync::Arc;

use ck_select_measurements::places::{SplitPlace, WinnerPlace};
use ck_select_measurements::{TunedGpu, TunedShape, Winners};
use ck_select_model::directory::Model;
use ck_select_model::ranking::{RankError, RankScratch, Ranker};
use ck_select_types::pool::Pool;
use ck_select_types::problem::Splits;
use rayon::prelude::*;

use crate::EvaluateError;

/// Ranks a pool for all shapes of a file on a GPU that have a winner: its kernels unsplit, and, if splits are
/// given, all pairs of a kernel and one of these.
pub fn winner_places(
    model: Model,
    winners: &Winners,
    (file, gpu): (&Path, TunedGpu),
    pool: &Arc<Pool>,
    splits: Option<&Splits>,
) -> Result<Vec<WinnerPlace>, EvaluateError> {
    let places = [winners.places_in(pool)];
    let ranker = Ranker::new(Arc::new(model), Arc::clone(pool)).map_err(EvaluateError::new)?;
    let is_there =
        |shape: &&TunedShape| shape.winner.is_some() && shape.gpu() == gpu && winners.file(shape) == file;
    let shapes: Vec<&TunedShape> = winners.shapes.iter().filter(is_there).collect();
    let one = |scratch: &mut RankScratch, shape: &&TunedShape| -> Result<WinnerPlace, EvaluateError> {
        let (_, winner) = winners.pool_of(shape, &places, &[pool]).map_err(EvaluateError::new)?;
        let fault = |source: RankError| EvaluateError::about(shape.problem, source);
        let problem = shape.problem.checked().map_err(RankError::from).map_err(fault)?;
        let ranking = ranker.ranking(problem, None, usize::MAX, scratch).map_err(fault)?;
        let order = ranking.places();
        let is_first =
            |place: &Option<usize>| place.is_some() && *place == order.first().map(|first| first.index);
        let chosen = places[0].iter().position(is_first).and_then(|kernel| shape.us_of(kernel as u32));
        let rank = WinnerPlace::new(shape, order.iter().position(|ranked| ranked.index == winner), chosen);
        let Some(splits) = splits else { return Ok(rank) };
        let open = shape.problem.leaving_split();
        let open = open.checked().map_err(RankError::from).map_err(fault)?.among(splits);
        let best = ranker.ranking(open, None, 1, scratch).map_err(fault)?.places().first().copied();
        let parts = shape.fastest().parts;
        let split = best.is_some_and(|best| best.split_k == parts);
        let pair = split && best.is_some_and(|best| best.index == winner);
        Ok(rank.with_split(SplitPlace { split, pair, never: parts == 1 }))
    };
    shapes.par_iter().map_init(RankScratch::default, one).collect()
}
