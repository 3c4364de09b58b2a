//! Answers instead of measurements, for dry runs and tests: from records, from a model, from a formula.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ck_select::features::Fields;
use ck_select::kernel::Kernel;
use ck_select::model::Model;
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::select::Ranker;
use ck_select::vocab::Op;
use csv::StringRecord;
use serde_json::{Value, json};

use super::{Batch, BatchEnd, Best, Context, Progress, Report, Runner};
use crate::error::{MeasureError, at};
use crate::outcome::{FailureClass, Measurement, Outcome};
use crate::problems::{AskedProblem, Row, said_by};

/// Whoever can say what a measurement would have been.
pub trait Answers: Send + Sync {
    /// What it is, for the sidecar.
    fn describe(&self) -> Value;

    /// What becomes of a kernel on a problem. The same question always has the same answer.
    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome;
}

/// Answers as if they were measured, at once.
pub struct SimulatedRunner {
    answers: Box<dyn Answers>,
}

impl SimulatedRunner {
    /// A runner with these answers.
    pub fn new(answers: Box<dyn Answers>) -> Self {
        Self { answers }
    }
}

impl Runner for SimulatedRunner {
    fn describe(&self) -> Value {
        json!({ "runner": "simulated", "answers": self.answers.describe() })
    }

    fn uses_gpu(&self) -> bool {
        false
    }

    fn prepare(
        &mut self,
        _kernels: &[&Kernel],
        _context: Context<'_>,
        _progress: Progress<'_>,
    ) -> Result<(), MeasureError> {
        Ok(())
    }

    fn measure(
        &self,
        batch: Batch<'_>,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut best = Best::default();
        for (place, job) in batch.jobs.iter().enumerate() {
            if let Some(reason) = context.stop.reason() {
                return Ok(BatchEnd::Stopped(reason));
            }
            let mut outcome = self.answers.answer(job.kernel, &job.problem);
            let best_ms = best.of(job.place, job.best_ms);
            let limit = best_ms.zip(context.settings.cutoff).map(|(best, factor)| best * factor);
            if let (Some(ms), Some(limit)) = (outcome.latency_ms(), limit)
                && ms > limit
            {
                outcome = Outcome::CutOff { fastest_ms: ms };
            }
            best.lower(&outcome);
            report(Report::Outcome(place, outcome))?;
        }
        Ok(BatchEnd::Done)
    }
}

/// Measurements of a benchmark CSV.
#[derive(Debug)]
pub struct Recorded {
    source: String,
    outcomes: HashMap<String, HashMap<Problem, Outcome>>,
}

impl Recorded {
    /// Reads a benchmark CSV of an operation: columns `kernel`, the problem's, `latency_ms` and, if they are there,
    /// `tflops`, `non_zero` and `error_msg`. Of repeated measurements the last counts.
    pub fn read(path: &Path, op: Op) -> Result<Self, MeasureError> {
        let malformed = |error: csv::Error| MeasureError::file(path, error);
        let file = std::fs::File::open(path).map_err(at(path))?;
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(file);
        let header = reader.headers().map_err(malformed)?.clone();
        let name_column =
            ["kernel", "kernel_name"].into_iter().find(|name| header.iter().any(|c| c == *name));
        let Some(name_column) = name_column else {
            let found: Vec<&str> = header.iter().collect();
            let reason = format!("found columns {}, expected 'kernel' among them", found.join(","));
            return Err(MeasureError::file(path, reason));
        };
        let mut recorded = Self { source: path.display().to_string(), outcomes: HashMap::new() };
        let mut kernels: HashMap<String, Kernel> = HashMap::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(malformed)? {
            let line = record.position().map_or(0, csv::Position::line);
            let fault = |reason: String| MeasureError::file(path, format!("line {line}: {reason}"));
            let row = Row { header: &header, record: &record };
            let name = row.get(name_column).unwrap_or_default();
            if !kernels.contains_key(name) {
                let kernel = Kernel::from_name(name).map_err(|error| fault(error.to_string()))?;
                kernels.insert(name.to_owned(), kernel);
            }
            let problem = Problem::from_fields(op, &row, &ProblemDefaults::of(op))
                .map_err(|error| fault(error.to_string()))?;
            let said = said_by(|name| row.get(name).is_some());
            let asked = AskedProblem { idx: 0, problem, said };
            if let Some(problem) = kernels.get(name).and_then(|kernel| asked.for_kernel(kernel)) {
                let outcome = outcome(&row, &problem).map_err(fault)?;
                recorded.outcomes.entry(name.to_owned()).or_default().insert(problem, outcome);
            }
        }
        Ok(recorded)
    }
}

/// What a row says.
fn outcome(row: &Row<'_>, problem: &Problem) -> Result<Outcome, String> {
    let number = |name: &str| -> Result<Option<f64>, String> {
        let Some(text) = row.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("{name}: found '{text}', expected a number"))
    };
    if matches!(row.get("latency_ms"), None | Some("N/A")) {
        let said = row.get("error_msg").unwrap_or_default();
        let (word, message) = said.split_once(": ").unwrap_or((said, ""));
        let class = FailureClass::ALL.iter().find(|class| class.as_str() == word);
        return Ok(match class {
            Some(class) => Outcome::failed(*class, message),
            None => Outcome::failed(FailureClass::Missing, format!("recorded without a time {said}")),
        });
    }
    let latency_ms = number("latency_ms")?.unwrap_or_default();
    if !(latency_ms > 0.0 && latency_ms.is_finite()) {
        return Ok(Outcome::failed(FailureClass::NotATime, format!("recorded as {latency_ms} ms")));
    }
    let computed = Measurement::of(latency_ms, problem.flops());
    Ok(Outcome::Measured(Measurement {
        tflops: number("tflops")?.unwrap_or(computed.tflops),
        bandwidth_gb_s: number("bandwidth_gb_s")?,
        non_zero: row.get("non_zero").and_then(|text| text.parse().ok()),
        ..computed
    }))
}

impl Answers for Recorded {
    fn describe(&self) -> Value {
        json!({ "records": self.source })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        // The architecture is no part of what a benchmark CSV records.
        let asked = match *problem {
            Problem::Conv(problem) => {
                Problem::Conv(ck_select::problem::ConvProblem { arch: None, ..problem })
            }
            Problem::Gemm(problem) => {
                Problem::Gemm(ck_select::problem::GemmProblem { arch: None, ..problem })
            }
        };
        let found = self.outcomes.get(&kernel.name).and_then(|known| known.get(&asked));
        found.cloned().unwrap_or_else(|| Outcome::failed(FailureClass::Missing, "no recorded answer"))
    }
}

/// Predictions of a model, taken for measurements.
pub struct ModelAnswers {
    source: String,
    ranker: Ranker,
}

impl ModelAnswers {
    /// Predictions for the kernels of a pool by the model of a directory.
    pub fn load(directory: &Path, pool: &Arc<Pool>) -> Result<Self, MeasureError> {
        let model = Model::load(directory).map_err(|error| MeasureError::Settings(error.to_string()))?;
        let ranker = Ranker::new(Arc::new(model), Arc::clone(pool));
        let ranker = ranker.map_err(|error| MeasureError::file(directory, error))?;
        Ok(Self { source: directory.display().to_string(), ranker })
    }
}

impl Answers for ModelAnswers {
    fn describe(&self) -> Value {
        json!({ "model": self.source })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let Some(index) = self.ranker.pool().position(&kernel.name) else {
            return Outcome::failed(FailureClass::Missing, "the pool has no such kernel");
        };
        let predictions = match self.ranker.predict(problem, index) {
            Ok(predictions) => predictions,
            Err(error) => return Outcome::failed(FailureClass::Unsupported, error.to_string()),
        };
        let by_speed = predictions.tflops.map(|tflops| problem.flops() / tflops / 1e9);
        match by_speed.or(predictions.latency_ms) {
            Some(ms) if ms > 0.0 && ms.is_finite() => Outcome::Measured(Measurement::of(ms, problem.flops())),
            Some(ms) => Outcome::failed(FailureClass::NotATime, format!("predicted as {ms} ms")),
            None => Outcome::failed(FailureClass::Missing, "the model predicts neither tflops nor latency"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "grouped_conv_bwd_data_fp16_2d_64x64x64_compv3";

    fn recorded(rows: &str) -> Result<Recorded, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.csv");
        std::fs::write(&path, rows).unwrap();
        Recorded::read(&path, Op::GroupedConv)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "r.csv"))
    }

    #[test]
    fn records_answer_for_the_kernels_own_problem() {
        let rows = format!(
            "kernel,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n{NAME},1,64,64,8,8,1,1,0.5,2.5,7,\n\
             {NAME},2,64,64,8,8,1,1,N/A,0,0,crash: signal 11\n{NAME},3,64,64,8,8,1,1,nan,0,0,\n"
        );
        let records = recorded(&rows).unwrap();
        let kernel = Kernel::from_name(NAME).unwrap();
        let ask = |n: u32| {
            let text = format!("N={n},C=64,K=64,Hi=8,Wi=8,Y=1,X=1,direction=bwd_data,dtype=fp16,arch=gfx950");
            let defaults = ProblemDefaults::of(Op::GroupedConv);
            records.answer(&kernel, &Problem::parse(Op::GroupedConv, &text, &defaults).unwrap())
        };
        let Outcome::Measured(first) = ask(1) else { panic!() };
        assert_eq!((first.latency_ms, first.tflops, first.non_zero), (0.5, 2.5, Some(7)));
        assert_eq!(ask(2), Outcome::failed(FailureClass::Crash, "signal 11"));
        assert!(matches!(ask(3), Outcome::Failed(failure) if failure.class == FailureClass::NotATime));
        assert!(matches!(ask(4), Outcome::Failed(failure) if failure.class == FailureClass::Missing));
    }

    #[test]
    fn mistakes_name_the_line() {
        let error = recorded("name\na\n").unwrap_err();
        assert_eq!(error, "r.csv: found columns name, expected 'kernel' among them");
        let error =
            recorded(&format!("kernel,C,K,Hi,Wi,Y,X,latency_ms\n{NAME},64,64,8,8,1,1,fast\n")).unwrap_err();
        assert_eq!(error, "r.csv: line 2: latency_ms: found 'fast', expected a number");
    }
}
