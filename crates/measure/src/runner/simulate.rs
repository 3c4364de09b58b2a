//! Answers instead of measurements, for dry runs and tests: from records, a model or a formula.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::ranking::{RankError, Ranker};
use ck_select_measurements::outcome::{FailureClass, Measurement, Outcome};
use serde_json::{Value, json};

use super::{BatchEnd, BestTime, Context, Job, Report, Runner};
use crate::error::MeasureError;
use crate::gpu::Gpu;

/// Something that can tell what a measurement would have been.
pub trait OutcomeSource: Send + Sync {
    /// The source's description for the sidecar.
    fn describe(&self) -> Value;

    /// The outcome of a kernel on a problem. The same question always has the same answer.
    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome;
}

/// Reports answers at once, as if they were measured.
pub struct SimulatedRunner(pub Box<dyn OutcomeSource>);

impl Runner for SimulatedRunner {
    fn describe(&self) -> Value {
        json!({ "runner": "simulated", "answers": self.0.describe() })
    }

    fn uses_gpu(&self) -> bool {
        false
    }

    fn measure(
        &self,
        jobs: &[Job<'_>],
        _: &Gpu,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut best = BestTime::default();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(reason) = context.stop.reason() {
                return Ok(BatchEnd::Stopped(reason));
            }
            let mut outcome = self.0.answer(job.kernel, &job.problem);
            let best_ms = best.of_problem(job.place, job.best_ms);
            let limit = best_ms.zip(context.settings.cutoff).map(|(best, factor)| best * factor);
            if let (Some(ms), Some(limit)) = (outcome.latency_ms(), limit)
                && ms > limit
            {
                outcome = Outcome::CutOff { fastest_ms: ms };
            }
            best.lower(&outcome);
            report(Report::Outcome(index, outcome))?;
        }
        Ok(BatchEnd::Done)
    }
}

/// Outcomes by kernel name and by the problem as that kernel ran it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedOutcomes {
    source: String,
    outcomes: HashMap<String, HashMap<Problem, Outcome>>,
}

impl RecordedOutcomes {
    /// No records yet; the sidecar names their source.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), outcomes: HashMap::new() }
    }

    /// Adds a record, which replaces an earlier one of the same kernel and problem. The architecture is
    /// ignored, since benchmark CSVs do not record it.
    pub fn insert(&mut self, kernel: &str, problem: &Problem, outcome: Outcome) {
        self.outcomes.entry(kernel.to_owned()).or_default().insert(problem.on(None), outcome);
    }
}

impl OutcomeSource for RecordedOutcomes {
    fn describe(&self) -> Value {
        json!({ "records": self.source })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let outcome = self.outcomes.get(&kernel.name).and_then(|known| known.get(&problem.on(None)));
        outcome.cloned().unwrap_or_else(|| Outcome::failed(FailureClass::NotRecorded, ""))
    }
}

/// Predictions of a model, used as measurements.
pub struct ModelAnswers {
    source: String,
    ranker: Ranker,
}

impl ModelAnswers {
    /// Predictions for the kernels of a pool, by the model in a directory.
    pub fn load(directory: &Path, pool: &Arc<Pool>) -> Result<Self, MeasureError> {
        let model = Model::load(directory).map_err(MeasureError::new)?;
        let ranker = Ranker::new(Arc::new(model), Arc::clone(pool));
        let ranker = ranker.map_err(|error| MeasureError::file(directory, error))?;
        Ok(Self { source: directory.display().to_string(), ranker })
    }
}

impl OutcomeSource for ModelAnswers {
    fn describe(&self) -> Value {
        json!({ "model": self.source })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let Some(index) = self.ranker.pool().position(&kernel.name) else {
            return Outcome::failed(FailureClass::Missing, "the pool has no such kernel");
        };
        let predictions = problem.checked().map_err(RankError::from);
        let predictions = match predictions.and_then(|problem| self.ranker.predict(problem, index)) {
            Ok(predictions) => predictions,
            Err(error) => return Outcome::failed(FailureClass::Unsupported, error.to_string()),
        };
        let by_speed = predictions.tflops.map(|tflops| problem.flops() / tflops / 1e9);
        match by_speed.or(predictions.latency_ms) {
            Some(ms) if ms > 0.0 && ms.is_finite() => {
                Outcome::Measured(Measurement::new(ms, problem.flops()))
            }
            Some(ms) => Outcome::failed(FailureClass::NotATime, format!("predicted as {ms} ms")),
            None => Outcome::failed(FailureClass::Missing, "the model predicts neither tflops nor latency"),
        }
    }
}
