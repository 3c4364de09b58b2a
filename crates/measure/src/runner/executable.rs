//! Benchmark executables, one per kernel, as upstream builds them: flags in, one JSON object out.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ck_select::kernel::Kernel;
use ck_select::operation::Operation;
use ck_select::problem::{Field, Problem};
use ck_select::vocab::Op;
use ck_select_measurements::outcome::{Failure, FailureClass, Measurement, Outcome};
use serde_json::{Value, json};

use super::{BatchEnd, BestTime, Context, Job, Report, Runner, Settings, report, steadiest};
use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::process::{self, ProcessEnd, ProcessOutput};

/// An executable that prints more than this is killed.
const FLOOD: u64 = 16 << 20;
/// Numbers of a problem for which its executable is built.
const OF_KERNEL: [&str; 2] = ["num_d", "preshuffle"];

/// Runs executables, `DIRECTORY/benchmark_<kernel>`.
#[derive(Debug, Clone)]
pub struct ExecutableRunner {
    directory: PathBuf,
}

impl ExecutableRunner {
    /// A runner for kernels of one operation, of which upstream builds executables.
    pub fn new(directory: PathBuf, op: Op) -> Result<Self, MeasureError> {
        let Operation { noun, executable_flags, .. } = Operation::get(op);
        if executable_flags.is_empty() {
            return Err(MeasureError::new(format!(
                "executables of {noun} have no standard flags: give a library, or a program that speaks the \
                 worker's protocol"
            )));
        }
        Ok(Self { directory })
    }

    fn path(&self, kernel: &Kernel) -> PathBuf {
        self.directory.join(format!("benchmark_{}", kernel.name))
    }

    /// Why a kernel cannot be run at all, if so.
    fn unusable(&self, kernel: &Kernel) -> Option<Failure> {
        let path = self.path(kernel);
        let missing =
            |why: String| Some(Failure::new(FailureClass::Missing, format!("{}: {why}", path.display())));
        match std::fs::metadata(&path) {
            Err(error) => missing(error.to_string()),
            Ok(data) if !data.is_file() || data.permissions().mode() & 0o111 == 0 => {
                missing("not executable".to_owned())
            }
            Ok(_) => None,
        }
    }

    fn command(&self, job: &Job<'_>, gpu: &Gpu, settings: &Settings) -> Command {
        let mut command = Command::new(self.path(job.kernel));
        for flag in Operation::get(job.problem.op()).executable_flags {
            command.args(job.problem.value(flag).map(|(_, value)| format!("-{flag}={value}")));
        }
        command.arg(format!("-warmup={}", settings.warmup)).arg(format!("-repeat={}", settings.repeat));
        command.arg("-verify=0");
        gpu.show(&mut command);
        command
    }

    /// A field of the problem that differs from what a program assumes and that no flag passes on: its time
    /// would be another problem's.
    fn dropped(problem: &Problem) -> Option<Failure> {
        let flags = Operation::get(problem.op()).executable_flags;
        let is_passed = |field: &Field| {
            OF_KERNEL.contains(&field.name) || field.names().any(|name| flags.contains(&name))
        };
        let mut pairs = problem.numbers().zip(problem.assumed().numbers());
        let said = pairs.find(|((field, value), (_, assumed))| value != assumed && !is_passed(field));
        let said = said.map(|((field, value), _)| format!("{} = {value}", field.name));
        let has_groups = !problem.cell("groups").is_empty();
        let said = said.or_else(|| has_groups.then(|| "a list of GEMMs".to_owned()))?;
        let message = format!("the problem has {said}, which no flag of the executable passes on");
        Some(Failure::new(FailureClass::Unsupported, message))
    }

    /// One sample, or why it has none.
    fn sample(
        &self,
        job: &Job<'_>,
        gpu: &Gpu,
        context: Context<'_>,
    ) -> Result<Result<Measurement, Failure>, EarlyEnd> {
        let command = self.command(job, gpu, context.settings);
        let timeout = Duration::from_secs_f64(context.settings.timeout_s);
        let finished = match process::run(command, timeout, FLOOD, context.guard, context.stop) {
            Ok(finished) => finished,
            Err(error) => {
                context.guard.check().map_err(|error| Err(MeasureError::new(error.to_string())))?;
                let message = format!("{}: {error}", self.path(job.kernel).display());
                return Ok(Err(Failure::new(FailureClass::Missing, message)));
            }
        };
        Self::judged(&finished, job, context)
    }

    /// The sample of a program that has ended, or why it has none.
    fn judged(
        finished: &ProcessOutput,
        job: &Job<'_>,
        context: Context<'_>,
    ) -> Result<Result<Measurement, Failure>, EarlyEnd> {
        let output = || {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            let text =
                if stderr.trim().is_empty() { String::from_utf8_lossy(&finished.stdout) } else { stderr };
            text.into_owned()
        };
        let or_refusal = |failure: Failure, class: FailureClass| {
            if failure.class == class && is_refusal(&output()) {
                return Failure::new(FailureClass::Unsupported, output());
            }
            failure
        };
        Ok(Err(match finished.ended {
            ProcessEnd::Stopped(reason) => return Err(Ok(BatchEnd::Stopped(reason))),
            ProcessEnd::Stuck(process) => {
                return Err(Err(MeasureError::new(format!(
                    "process {process} of kernel '{}' cannot be killed: the device hangs",
                    job.kernel.name
                ))));
            }
            ProcessEnd::TimedOut => Failure::new(
                FailureClass::Timeout,
                format!("not done after {} s", context.settings.timeout_s),
            ),
            ProcessEnd::Flooded => {
                Failure::new(FailureClass::Flood, format!("it printed more than {FLOOD} bytes"))
            }
            ProcessEnd::Exited(status) if status.success() => {
                match report::parse(&finished.stdout, &job.kernel.name, &job.problem) {
                    Ok(measurement) => return Ok(Ok(measurement)),
                    Err(failure) => or_refusal(failure, FailureClass::Garbage),
                }
            }
            ProcessEnd::Exited(status) => match context.stop.reason_behind(status) {
                Some(reason) => return Err(Ok(BatchEnd::Stopped(reason))),
                None => or_refusal(process::failure(status, &output()), FailureClass::Exit),
            },
        }))
    }

    /// The median of the samples.
    fn samples(
        &self,
        job: &Job<'_>,
        gpu: &Gpu,
        best_ms: Option<f64>,
        context: Context<'_>,
    ) -> Result<Outcome, EarlyEnd> {
        if let Some(failure) = Self::dropped(&job.problem) {
            return Ok(Outcome::Failed(failure));
        }
        let mut samples: Vec<Measurement> = Vec::new();
        for _ in 0..context.settings.samples.max(1) {
            match self.sample(job, gpu, context)? {
                Ok(measurement) => samples.push(measurement),
                Err(failure) => return Ok(Outcome::Failed(failure)),
            }
            let fastest_ms = samples.iter().map(|sample| sample.latency_ms).fold(f64::INFINITY, f64::min);
            if let (Some(best), Some(factor)) = (best_ms, context.settings.cutoff)
                && fastest_ms > best * factor
            {
                return Ok(Outcome::CutOff { fastest_ms });
            }
        }
        Ok(Outcome::Measured(median(samples)))
    }
}

/// How a batch ends before all of its jobs are done.
type EarlyEnd = Result<BatchEnd, MeasureError>;

/// Whether a program reports, in the words of CK's programs, that it does not support the problem.
fn is_refusal(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["not supported", "unsupported", "does not support"].iter().any(|words| said.contains(words))
}

/// The middle sample (the faster of the two middle ones if their number is even), with the variation of all.
/// There is at least one.
fn median(mut samples: Vec<Measurement>) -> Measurement {
    samples.sort_by(|a, b| a.latency_ms.total_cmp(&b.latency_ms));
    let times: Vec<f64> = samples.iter().map(|sample| sample.latency_ms).collect();
    let count = times.len();
    let mean = times.iter().sum::<f64>() / count as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let cv = (count > 1).then(|| (squares / (count - 1) as f64).sqrt() / mean);
    let middle = samples.swap_remove((count - 1) / 2);
    Measurement { cv, samples: count as u32, ..middle }
}

impl Runner for ExecutableRunner {
    fn describe(&self) -> Value {
        json!({ "runner": "executable", "directory": self.directory.display().to_string() })
    }

    fn lacks(&self, kernel: &Kernel) -> Option<String> {
        self.unusable(kernel).map(|failure| format!("has an executable: {}", failure.message))
    }

    fn measure(
        &self,
        jobs: &[Job<'_>],
        gpu: &Gpu,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut best = BestTime::default();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(failure) = self.unusable(job.kernel) {
                report(Report::Outcome(index, Outcome::Failed(failure)))?;
                continue;
            }
            let best_ms = best.of_problem(job.place, job.best_ms);
            let measure = || Ok((self.samples(job, gpu, best_ms, context)?, true));
            let outcome = match steadiest(context.settings, measure) {
                Ok(outcome) => outcome,
                Err(end) => return end,
            };
            best.lower(&outcome);
            report(Report::Outcome(index, outcome))?;
            report(Report::Settle)?;
        }
        Ok(BatchEnd::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_sample_with_the_spread_of_all() {
        let sample = |ms| Measurement { tflops: 1.0 / ms, ..Measurement::new(ms, 1.0) };
        let middle = median(vec![sample(3.0), sample(1.0), sample(2.0)]);
        assert_eq!((middle.latency_ms, middle.tflops, middle.cv, middle.samples), (2.0, 0.5, Some(0.5), 3));
        assert_eq!(median(vec![sample(4.0), sample(1.0)]).latency_ms, 1.0);
        assert_eq!(median(vec![sample(4.0)]).cv, None);
    }

    /// A field that no flag passes on would be measured as something else than it is recorded as.
    #[test]
    fn problems_beyond_the_flags_are_not_measured() {
        assert!(ExecutableRunner::new("bin".into(), Op::Conv).is_err());
        assert!(ExecutableRunner::new("bin".into(), Op::Gemm).is_ok());
        let dropped = |more: &str| {
            let defaults = ck_select::problem::ProblemDefaults::new(Op::Gemm);
            let problem = Problem::parse(Op::Gemm, &format!("M=128,N=1536,K=7168{more}"), &defaults).unwrap();
            ExecutableRunner::dropped(&problem).map(|failure| failure.message)
        };
        assert_eq!(dropped(""), None);
        for (more, said) in [(",split_k=4", "split_k = 4"), (",batch=2", "batch = 2")] {
            let expected = format!("the problem has {said}, which no flag of the executable passes on");
            assert_eq!(dropped(more), Some(expected));
        }
    }
}
