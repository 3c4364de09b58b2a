//! Ranks measured kernels by a model.

use std::collections::HashMap;
use std::sync::Arc;

use ck_select_model::directory::{Model, Target};
use ck_select_model::ranking::{RankError, RankScratch, Ranked, Ranker};
use ck_select_model::sureness::{Signs, Sure};
use ck_select_types::pool::Pool;
use ck_select_types::problem::{FieldSet, Splits};
use rayon::prelude::*;

use crate::EvaluateError;
use crate::candidates::Trial;
use ck_select_measurements::{Measurements, anywhere};

/// The order in which a ranking tries a trial's candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Indices of candidates, best first, without candidates that were not ranked.
    pub places: Vec<usize>,
    /// The chosen kernel, if it was not measured on the problem: then it is before all of `places`.
    pub unmeasured: Option<String>,
    /// Predicted TFLOPS by candidate, if the ranking provides them.
    pub predicted: Vec<f64>,
    /// The fields in which the problem is outside the model's training range.
    pub outside: FieldSet,
    /// Signs of how sure the choice is; `None` if the ranking has no scores.
    pub signs: Option<Signs>,
    /// How sure the choice is, if the model learned that.
    pub sure: Option<Sure>,
}

/// A model, prepared for the kernels of some measurements, or for a whole pool, from which it may choose
/// kernels that were not measured.
#[derive(Debug)]
pub struct Judge {
    ranker: Ranker,
    /// The index in the ranker's pool of each measured kernel, if it is there.
    in_pool: Vec<Option<usize>>,
    /// Whether the pool is more than the measured kernels.
    has_pool: bool,
    /// Predicts TFLOPS, if another forest ranks.
    absolute: Option<Ranker>,
    /// Whether predictions are clamped at 0: upstream clamps those that were not trained on logarithms.
    clamped: bool,
}

impl Judge {
    /// Prepares a model for the measured kernels.
    pub fn new(model: &Arc<Model>, measurements: &Measurements) -> Result<Self, EvaluateError> {
        let pool = Arc::new(Pool::new(measurements.kernels().to_vec()).map_err(EvaluateError::new)?);
        let in_pool = (0..pool.len()).map(Some).collect();
        Self::over(model, pool, in_pool, false)
    }

    /// Prepares a model for all kernels of a pool. Kernels are compared by descriptor, because names of
    /// different age can describe one kernel.
    pub fn with_pool(
        model: &Arc<Model>,
        measurements: &Measurements,
        pool: &Arc<Pool>,
    ) -> Result<Self, EvaluateError> {
        let mut known = HashMap::new();
        for (index, kernel) in pool.iter().enumerate() {
            known.entry(anywhere(&kernel.kind)).or_insert(index);
        }
        let in_pool = measurements.kernels().iter();
        let in_pool = in_pool.map(|kernel| known.get(&anywhere(&kernel.kind)).copied()).collect();
        Self::over(model, Arc::clone(pool), in_pool, true)
    }

    fn over(
        model: &Arc<Model>,
        pool: Arc<Pool>,
        in_pool: Vec<Option<usize>>,
        has_pool: bool,
    ) -> Result<Self, EvaluateError> {
        let ranker = Ranker::new(Arc::clone(model), Arc::clone(&pool)).map_err(EvaluateError::new)?;
        let absolute = match model.spec().rank_by {
            Target::Tflops => None,
            _ => Model::clone(model).ranking_by(Target::Tflops).ok(),
        };
        let absolute = absolute
            .map(|model| Ranker::new(Arc::new(model), pool))
            .transpose()
            .map_err(EvaluateError::new)?;
        let clamped = !model.spec().log_targets.contains(&Target::Tflops);
        Ok(Self { ranker, in_pool, has_pool, absolute, clamped })
    }

    /// The model with its pool: the measured kernels, with the same indices, unless it was given one.
    pub const fn ranker(&self) -> &Ranker {
        &self.ranker
    }

    /// Ranks the candidates of every trial; `None` for one of which a given pool has no kernel.
    pub fn orders(
        &self,
        measurements: &Measurements,
        trials: &[Trial],
    ) -> Result<Vec<Option<Order>>, EvaluateError> {
        let splits = measurements.splits().map_err(EvaluateError::new)?;
        trials
            .par_iter()
            .map_init(RankScratch::default, |scratch, trial| {
                self.order(measurements, trial, &splits, scratch)
            })
            .collect()
    }

    fn order(
        &self,
        measurements: &Measurements,
        trial: &Trial,
        splits: &Splits,
        scratch: &mut RankScratch,
    ) -> Result<Option<Order>, EvaluateError> {
        let problem = &measurements.problems()[trial.problem as usize];
        let fault = |source: RankError| EvaluateError::about(problem, source);
        // Of names for one kernel, the first counts.
        let candidates = trial.candidates.iter().enumerate().rev();
        let measured: HashMap<(usize, i32), usize> = candidates
            .filter_map(|(index, one)| Some(((self.in_pool[one.kernel as usize]?, one.split_k), index)))
            .collect();
        let checked = problem.checked().map_err(RankError::from).map_err(fault)?.among(splits);
        let ranking = match self.ranker.ranking(checked, None, usize::MAX, scratch) {
            Err(RankError::NoKernel { .. }) if self.has_pool => return Ok(None),
            ranked => ranked.map_err(fault)?,
        };
        let (outside, ranked) = (ranking.outside(), ranking.places());
        let row_of = |ranked: &Ranked| measured.get(&(ranked.index, ranked.split_k)).copied();
        let places = ranked.iter().filter_map(row_of).collect();
        let chosen = ranked.first().filter(|first| self.has_pool && row_of(first).is_none());
        let unmeasured = chosen.map(|first| problem.named(self.ranker.name(first.index), first.split_k));
        let signs = if self.has_pool {
            ranking.signs()
        } else {
            let kernels = ranked.iter().filter(|ranked| row_of(ranked).is_some());
            ranking.signs_among(kernels.clone().count(), kernels)
        };
        let sure = signs.as_ref().and_then(|signs| ranking.sure_by(signs));
        let absolute = match &self.absolute {
            Some(absolute) => Some(absolute.ranking(checked, None, usize::MAX, scratch).map_err(fault)?),
            None => Some(ranking).filter(|_| self.ranker.model().spec().rank_by == Target::Tflops),
        };
        let mut predicted = Vec::new();
        if let Some(absolute) = absolute {
            predicted.resize(trial.candidates.len(), f64::NAN);
            for ranked in absolute.places() {
                if let Some(row) = row_of(ranked) {
                    predicted[row] = if self.clamped { ranked.score.max(0.0) } else { ranked.score };
                }
            }
        }
        Ok(Some(Order { places, unmeasured, predicted, outside, signs, sure }))
    }
}
