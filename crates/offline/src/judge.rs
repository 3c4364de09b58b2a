//! Ranks measured kernels by a model.

use std::sync::Arc;

use ck_select_model::model::{Model, Target};
use ck_select_model::select::{RankError, RankScratch, Ranker};
use ck_select_types::pool::{Pool, PoolError};
use ck_select_types::problem::FieldSet;
use rayon::prelude::*;

use crate::candidates::Trial;
use crate::measurements::Measurements;

/// The order in which a ranking tries a trial's candidates.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Indices of candidates, best first, without candidates that were not ranked.
    pub places: Vec<usize>,
    /// Predicted TFLOPS by candidate, if the ranking provides them.
    pub predicted: Vec<f64>,
    /// The fields in which the problem is outside the model's training range.
    pub outside: FieldSet,
}

/// Why a model cannot rank the measurements.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The kernels are not a pool.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The model cannot rank the kernels.
    #[error(transparent)]
    Kernels(RankError),
    /// The model cannot rank the kernels for one of the problems.
    #[error("{problem}: {source}")]
    Problem {
        /// The problem.
        problem: String,
        /// Why.
        source: RankError,
    },
}

/// A model, prepared for the kernels of some measurements.
#[derive(Debug)]
pub struct Judge {
    ranker: Ranker,
    /// Predicts TFLOPS, if another forest ranks.
    absolute: Option<Ranker>,
    /// Whether predictions are clamped at 0: upstream clamps those that were not trained on logarithms.
    clamped: bool,
}

/// Working memory for one thread.
#[derive(Debug, Default)]
struct Desk {
    scratch: RankScratch,
    places: Vec<Option<usize>>,
}

impl Judge {
    /// Prepares a model for the kernels.
    pub fn new(model: &Arc<Model>, measurements: &Measurements) -> Result<Self, JudgeError> {
        let pool = Arc::new(Pool::new(measurements.kernels().to_vec())?);
        let ranker = Ranker::new(Arc::clone(model), Arc::clone(&pool)).map_err(JudgeError::Kernels)?;
        let absolute = match model.spec().rank_by {
            Target::Tflops => None,
            _ => Model::clone(model).ranking_by(Target::Tflops).ok(),
        };
        let absolute = absolute
            .map(|model| Ranker::new(Arc::new(model), pool))
            .transpose()
            .map_err(JudgeError::Kernels)?;
        Ok(Self { ranker, absolute, clamped: !model.spec().log_targets.contains(&Target::Tflops) })
    }

    /// The model with its pool: the measured kernels, with the same indices.
    pub const fn ranker(&self) -> &Ranker {
        &self.ranker
    }

    /// Ranks the candidates of every trial.
    pub fn orders(&self, measurements: &Measurements, trials: &[Trial]) -> Result<Vec<Order>, JudgeError> {
        trials
            .par_iter()
            .map_init(Desk::default, |desk, trial| self.order(measurements, trial, desk))
            .collect()
    }

    fn order(
        &self,
        measurements: &Measurements,
        trial: &Trial,
        desk: &mut Desk,
    ) -> Result<Order, JudgeError> {
        let problem = &measurements.problems()[trial.problem as usize];
        let fault = |source| JudgeError::Problem { problem: problem.to_string(), source };
        desk.places.clear();
        desk.places.resize(measurements.kernels().len(), None);
        for (place, candidate) in trial.candidates.iter().enumerate() {
            desk.places[candidate.kernel as usize] = Some(place);
        }
        self.ranker.rank_with(problem, &mut desk.scratch).map_err(fault)?;
        let outside = desk.scratch.outside();
        let ranked = desk.scratch.ranking();
        let places = ranked.iter().filter_map(|ranked| desk.places[ranked.index]).collect();
        let absolute = match &self.absolute {
            Some(absolute) => {
                absolute.rank_with(problem, &mut desk.scratch).map_err(fault)?;
                true
            }
            None => self.ranker.model().spec().rank_by == Target::Tflops,
        };
        let mut predicted = Vec::new();
        if absolute {
            predicted.resize(trial.candidates.len(), f64::NAN);
            for ranked in desk.scratch.ranking() {
                if let Some(place) = desk.places[ranked.index] {
                    predicted[place] = if self.clamped { ranked.score.max(0.0) } else { ranked.score };
                }
            }
        }
        Ok(Order { places, predicted, outside })
    }
}
