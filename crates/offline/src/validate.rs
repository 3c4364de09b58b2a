//! A model's choices from a whole pool against an oracle, problem by problem, joined by the values of
//! problems and kernels.

use std::sync::Arc;

use ck_select_model::model::Model;
use ck_select_model::select::{RankError, RankScratch, Ranker};
use ck_select_types::pool::Pool;

use crate::candidates::Trial;
use crate::figures::Spread;
use crate::judge::JudgeError;
use crate::measurements::Measurements;
use crate::predictions::Predictions;

/// One problem's choice and the oracle's.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Index of the problem.
    pub problem: u32,
    /// Its number in the measurements, their `problem_idx`.
    pub number: Option<i64>,
    /// Index of the oracle's kernel into [`Measurements::kernels`].
    pub oracle: u32,
    /// Its TFLOPS.
    pub oracle_tflops: f64,
    /// The chosen kernel's name.
    pub chosen: String,
    /// Its measured TFLOPS; `None` if it was not measured.
    pub tflops: Option<f64>,
    /// Whether it is the oracle's.
    pub is_match: bool,
}

impl Verdict {
    /// Chosen over fastest; 0 if the choice was not measured.
    pub fn efficiency(&self) -> f64 {
        self.tflops.unwrap_or(0.0) / self.oracle_tflops
    }
}

/// Verdicts over all problems, with both ways of counting choices that were not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// One for each problem with a choice.
    pub verdicts: Vec<Verdict>,
    /// Number of the oracle's problems without a choice.
    pub unasked: usize,
}

impl Validation {
    /// Lets a model choose among all kernels of a pool, measured or not.
    pub fn of_model(
        model: &Arc<Model>,
        pool: &Arc<Pool>,
        measurements: &Measurements,
        trials: &[Trial],
    ) -> Result<Self, JudgeError> {
        let ranker = Ranker::new(Arc::clone(model), Arc::clone(pool)).map_err(JudgeError::Kernels)?;
        let mut scratch = RankScratch::default();
        let mut verdicts = Vec::with_capacity(trials.len());
        let mut unasked = 0;
        for trial in trials {
            let problem = &measurements.problems()[trial.problem as usize];
            match ranker.rank_with(problem, &mut scratch) {
                Ok(()) => {}
                // A pool without a kernel for this direction or these dimensions makes no choice.
                Err(RankError::NoKernel { .. }) => {
                    unasked += 1;
                    continue;
                }
                Err(source) => return Err(JudgeError::Problem { problem: problem.to_string(), source }),
            }
            let Some(best) = scratch.ranking().first() else { continue };
            let Some(kernel) = pool.get(best.index) else { continue };
            let place = trial
                .candidates
                .iter()
                .position(|candidate| measurements.kernels()[candidate.kernel as usize].kind == kernel.kind);
            verdicts.push(verdict(trial, kernel.name.clone(), place));
        }
        Ok(Self { verdicts, unasked })
    }

    /// Takes the choices of a file.
    pub fn of_predictions(predictions: &Predictions, measurements: &Measurements, trials: &[Trial]) -> Self {
        let mut verdicts = Vec::with_capacity(trials.len());
        let mut unasked = 0;
        for trial in trials {
            let Some(kernel) = predictions.first(measurements, trial) else {
                unasked += 1;
                continue;
            };
            let place = trial
                .candidates
                .iter()
                .position(|candidate| measurements.kernels()[candidate.kernel as usize].kind == kernel.kind);
            verdicts.push(verdict(trial, kernel.name.clone(), place));
        }
        Self { verdicts, unasked }
    }

    /// Number of choices that were not measured.
    pub fn unmeasured(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.tflops.is_none()).count()
    }

    /// The share of problems whose choice is the oracle's.
    pub fn match_rate(&self) -> f64 {
        let matches = self.verdicts.iter().filter(|verdict| verdict.is_match).count();
        matches as f64 / self.verdicts.len() as f64
    }

    /// Efficiencies; choices that were not measured count as 0.
    pub fn efficiency(&self) -> Spread {
        Spread::of(self.verdicts.iter().map(Verdict::efficiency).collect())
    }

    /// Efficiencies of the choices that were measured, as averaged by upstream's validator.
    pub fn measured_efficiency(&self) -> Spread {
        let measured = self.verdicts.iter().filter(|verdict| verdict.tflops.is_some());
        Spread::of(measured.map(Verdict::efficiency).collect())
    }
}

fn verdict(trial: &Trial, chosen: String, place: Option<usize>) -> Verdict {
    Verdict {
        problem: trial.problem,
        number: trial.number,
        oracle: trial.candidates[trial.oracle].kernel,
        oracle_tflops: trial.oracle_tflops(),
        chosen,
        tflops: place.map(|place| trial.candidates[place].tflops),
        is_match: place == Some(trial.oracle),
    }
}
