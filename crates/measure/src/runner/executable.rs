//! Benchmark executables, one per kernel, as upstream builds them: flags in, one JSON object out.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ck_select::kernel::Kernel;
use ck_select::operation::Operation;
use ck_select::problem::{Problem, place};
use ck_select::vocab::Op;
use serde_json::{Value, json};

use super::{Batch, BatchEnd, Best, Context, Job, Report, Runner, Settings, report};
use crate::config::ExecutableConfig;
use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::outcome::{Failure, FailureClass, Measurement, Outcome};
use crate::process::{self, Ended, signal_name};
use crate::stop::StopReason;
use crate::template::Template;

/// An executable that prints more than this is killed.
const FLOOD: u64 = 16 << 20;

/// Runs executables, one per kernel.
#[derive(Debug, Clone)]
pub struct ExecutableRunner {
    config: ExecutableConfig,
    arguments: Vec<Template>,
}

/// What argument templates may use besides the fields of a problem.
const SETTINGS: [&str; 3] = ["kernel", "warmup", "repeat"];
const UPSTREAM: [&str; 6] =
    ["-m={m}", "-n={n}", "-k={k}", "-warmup={warmup}", "-repeat={repeat}", "-verify=0"];

impl ExecutableRunner {
    /// A runner for kernels of one operation.
    pub fn new(config: ExecutableConfig, op: Op) -> Result<Self, MeasureError> {
        let arguments = match (&config.arguments, op) {
            (Some(arguments), _) => arguments.clone(),
            (None, Op::Gemm) => {
                let flags = UPSTREAM.map(|flag| Template::try_from(flag.to_owned()));
                flags.into_iter().collect::<Result<_, _>>().map_err(settings)?
            }
            (None, op) => {
                return Err(MeasureError::Settings(format!(
                    "executables of {} have no standard flags: \
                     give 'arguments' in a runner configuration",
                    Operation::get(op).noun
                )));
            }
        };
        let accepted: Vec<&str> = known_numbers(op).chain(SETTINGS).collect();
        arguments.iter().try_for_each(|argument| argument.check(&accepted)).map_err(settings)?;
        Ok(Self { config, arguments })
    }

    fn path(&self, kernel: &Kernel) -> PathBuf {
        self.config.directory.join(format!("{}{}", self.config.prefix, kernel.name))
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

    fn command(&self, job: &Job<'_>, gpu: &Gpu, settings: &Settings) -> Option<Command> {
        let mut command = Command::new(self.path(job.kernel));
        for argument in &self.arguments {
            command.arg(argument.fill(|name| value(name, job, settings))?);
        }
        gpu.show(&mut command);
        command.envs(&self.config.environment);
        Some(command)
    }

    /// A field of the problem that differs from what a program assumes and that no argument passes on: its
    /// time would be another problem's.
    fn dropped(&self, job: &Job<'_>) -> Option<Failure> {
        let passes = |name: &str| {
            let marked = format!("{{{name}}}");
            self.arguments.iter().any(|argument| argument.as_str().contains(&marked))
        };
        let dropped = fields(&job.problem).find(|(name, value, assumed)| value != assumed && !passes(name));
        let said =
            dropped.map(|(name, value, _)| format!("{name} = {value}")).or_else(|| match &job.problem {
                Problem::Gemm(p) if !p.request.groups.is_empty() => Some("a list of GEMMs".to_owned()),
                _ => None,
            })?;
        let message = format!("the problem has {said}, which no argument of the executable passes on");
        Some(Failure::new(FailureClass::Unsupported, message))
    }

    /// One sample.
    fn sample(&self, job: &Job<'_>, gpu: &Gpu, context: Context<'_>) -> Result<Sample, MeasureError> {
        let Some(command) = self.command(job, gpu, context.settings) else {
            return Err(MeasureError::Settings("an argument has a place that nothing fills".to_owned()));
        };
        let timeout = Duration::from_secs_f64(context.settings.timeout_s);
        let finished = match process::run(command, timeout, FLOOD, context.guard, context.stop) {
            Ok(finished) => finished,
            Err(error) => {
                context.guard.check().map_err(|error| MeasureError::Machine(error.to_string()))?;
                let message = format!("{}: {error}", self.path(job.kernel).display());
                return Ok(Sample::Failed(Failure::new(FailureClass::Missing, message)));
            }
        };
        let said = || {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            let text =
                if stderr.trim().is_empty() { String::from_utf8_lossy(&finished.stdout) } else { stderr };
            text.into_owned()
        };
        let failure = match finished.ended {
            Ended::Stopped(reason) => return Ok(Sample::Stopped(reason)),
            Ended::Stuck(process) => {
                return Err(MeasureError::Machine(format!(
                    "process {process} of kernel '{}' cannot be killed: the device hangs",
                    job.kernel.name
                )));
            }
            Ended::TimedOut => Failure::new(
                FailureClass::Timeout,
                format!("not done after {} s", context.settings.timeout_s),
            ),
            Ended::Flooded => {
                Failure::new(FailureClass::Flood, format!("it printed more than {FLOOD} bytes"))
            }
            Ended::Exited(status) if status.success() => {
                match report::parse(&finished.stdout, &job.kernel.name, &job.problem) {
                    Ok(measurement) => return Ok(Sample::Measured(measurement)),
                    Err(failure) if failure.class == FailureClass::Garbage && is_refusal(&said()) => {
                        Failure::new(FailureClass::Unsupported, said())
                    }
                    Err(failure) => failure,
                }
            }
            Ended::Exited(status) => match std::os::unix::process::ExitStatusExt::signal(&status) {
                Some(signal) => {
                    if let Some(reason) = context.stop.reason_behind(signal) {
                        return Ok(Sample::Stopped(reason));
                    }
                    Failure::new(FailureClass::Crash, format!("{} {}", signal_name(signal), said()))
                }
                None if is_refusal(&said()) => Failure::new(FailureClass::Unsupported, said()),
                None => {
                    let code = status.code().unwrap_or_default();
                    Failure::new(FailureClass::Exit, format!("code {code} {}", said()))
                }
            },
        };
        Ok(Sample::Failed(failure))
    }

    /// The median of the samples; the inner `Err` is a reason to stop before all of them were taken.
    fn samples(
        &self,
        job: &Job<'_>,
        batch: Batch<'_>,
        best_ms: Option<f64>,
        context: Context<'_>,
    ) -> Result<Result<Outcome, StopReason>, MeasureError> {
        if let Some(failure) = self.dropped(job) {
            return Ok(Ok(Outcome::Failed(failure)));
        }
        let mut samples: Vec<Measurement> = Vec::new();
        for _ in 0..context.settings.samples.max(1) {
            match self.sample(job, batch.gpu, context)? {
                Sample::Stopped(reason) => return Ok(Err(reason)),
                Sample::Failed(failure) => return Ok(Ok(Outcome::Failed(failure))),
                Sample::Measured(measurement) => samples.push(measurement),
            }
            let fastest_ms = samples.iter().map(|sample| sample.latency_ms).fold(f64::INFINITY, f64::min);
            if let (Some(best), Some(factor)) = (best_ms, context.settings.cutoff)
                && fastest_ms > best * factor
            {
                return Ok(Ok(Outcome::CutOff { fastest_ms }));
            }
        }
        Ok(Ok(median(samples)
            .map_or_else(|| Outcome::failed(FailureClass::NotATime, "no sample"), Outcome::Measured)))
    }
}

enum Sample {
    Measured(Measurement),
    Failed(Failure),
    Stopped(StopReason),
}

fn settings(error: impl std::fmt::Display) -> MeasureError {
    MeasureError::Settings(format!("arguments of executables: {error}"))
}

/// Whether a program reports, in the words of CK's programs, that it does not support the problem.
fn is_refusal(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["not supported", "unsupported", "does not support"].iter().any(|words| said.contains(words))
}

/// The middle sample (the faster of the two middle ones if their number is even), with the variation of all.
fn median(mut samples: Vec<Measurement>) -> Option<Measurement> {
    samples.sort_by(|a, b| a.latency_ms.total_cmp(&b.latency_ms));
    let times: Vec<f64> = samples.iter().map(|sample| sample.latency_ms).collect();
    let count = times.len();
    if count == 0 {
        return None;
    }
    let mean = times.iter().sum::<f64>() / count as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let cv = (count > 1).then(|| (squares / (count - 1) as f64).sqrt() / mean);
    let middle = samples.swap_remove((count - 1) / 2);
    Some(Measurement { cv, samples: count as u32, ..middle })
}

fn value(name: &str, job: &Job<'_>, settings: &Settings) -> Option<String> {
    match name {
        "kernel" => return Some(job.kernel.name.clone()),
        "warmup" => return Some(settings.warmup.to_string()),
        "repeat" => return Some(settings.repeat.to_string()),
        _ => {}
    }
    let (_, value, _) = fields(&job.problem).find(|(known, ..)| *known == name)?;
    Some(value.to_string())
}

/// The numbers of a problem that arguments may ask for.
fn known_numbers(op: Op) -> impl Iterator<Item = &'static str> {
    let Operation { columns, more_columns, problem, .. } = *Operation::get(op);
    let names = columns.iter().chain(more_columns.iter().copied().flatten()).chain(&["ndim"]).copied();
    names.filter(|name| place(problem, name).is_some_and(|place| problem[place].is_number()))
}

/// The same with their values, and those that a program assumes without them.
fn fields(problem: &Problem) -> impl Iterator<Item = (&'static str, i64, i64)> {
    let (problem, assumed) = (*problem, problem.assumed());
    known_numbers(problem.op())
        .filter_map(move |name| Some((name, problem.value(name)?.1, assumed.value(name)?.1)))
}

impl Runner for ExecutableRunner {
    fn describe(&self) -> Value {
        let arguments: Vec<&str> = self.arguments.iter().map(Template::as_str).collect();
        let ExecutableConfig { directory, prefix, environment, .. } = &self.config;
        json!({
            "runner": "executable",
            "directory": directory.display().to_string(),
            "prefix": prefix,
            "arguments": arguments,
            "environment": environment,
        })
    }

    fn uses_gpu(&self) -> bool {
        true
    }

    fn check(&self, kernels: &[&Kernel]) -> Result<(), MeasureError> {
        if !kernels.is_empty() && kernels.iter().all(|kernel| self.unusable(kernel).is_some()) {
            let first = kernels.first().and_then(|kernel| self.unusable(kernel));
            let first = first.map(|failure| failure.message).unwrap_or_default();
            return Err(MeasureError::Machine(format!("none of the kernels has an executable: {first}")));
        }
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
            if let Some(failure) = self.unusable(job.kernel) {
                report(Report::Outcome(place, Outcome::Failed(failure)))?;
                continue;
            }
            let best_ms = best.of(job.place, job.best_ms);
            let mut kept: Option<Outcome> = None;
            for _ in 0..=context.settings.remeasure {
                let outcome = match self.samples(job, batch, best_ms, context)? {
                    Ok(outcome) => outcome,
                    Err(reason) => return Ok(BatchEnd::Stopped(reason)),
                };
                let steady = match &outcome {
                    Outcome::Measured(new) => !new.is_unstable(context.settings.max_cv),
                    _ => true,
                };
                kept = Some(steadier(kept, outcome));
                if steady {
                    break;
                }
            }
            if let Some(outcome) = kept {
                best.lower(&outcome);
                report(Report::Outcome(place, outcome))?;
                report(Report::Settle)?;
            }
        }
        Ok(BatchEnd::Done)
    }
}

/// The better of two outcomes of the same job: a measurement wins over none, then the smaller variation. It
/// says how often it was timed.
pub(crate) fn steadier(first: Option<Outcome>, second: Outcome) -> Outcome {
    let Some(Outcome::Measured(first)) = first else { return second };
    let timed = first.timed + 1;
    let spread = |m: &Measurement| m.cv.unwrap_or(f64::INFINITY);
    let kept = match second {
        Outcome::Measured(second) if spread(&second) < spread(&first) => second,
        _ => first,
    };
    Outcome::Measured(Measurement { timed, ..kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_sample_with_the_spread_of_all() {
        let sample = |ms| Measurement { tflops: 1.0 / ms, ..Measurement::of(ms, 1.0) };
        let middle = median(vec![sample(3.0), sample(1.0), sample(2.0)]).unwrap();
        assert_eq!((middle.latency_ms, middle.tflops, middle.cv, middle.samples), (2.0, 0.5, Some(0.5), 3));
        assert_eq!(median(vec![sample(4.0), sample(1.0)]).unwrap().latency_ms, 1.0);
        assert_eq!(median(vec![sample(4.0)]).unwrap().cv, None);
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn the_steadier_of_two_is_kept() {
        let timed =
            |timed, cv| Outcome::Measured(Measurement { timed, cv: Some(cv), ..Measurement::of(1.0, 1.0) });
        let of = |cv| timed(1, cv);
        let failed = || Outcome::failed(FailureClass::Crash, "");
        assert_eq!(steadier(Some(of(0.3)), of(0.2)), timed(2, 0.2));
        assert_eq!(steadier(Some(timed(2, 0.2)), of(0.3)), timed(3, 0.2));
        assert_eq!(steadier(Some(of(0.2)), failed()), timed(2, 0.2));
        assert_eq!(steadier(None, of(0.2)), of(0.2));
        assert_eq!(steadier(None, failed()), failed());
    }

    #[test]
    fn convolutions_need_a_template() {
        let config = ExecutableConfig::of("bin".into());
        assert!(ExecutableRunner::new(config.clone(), Op::Gemm).is_ok());
        let error = ExecutableRunner::new(config.clone(), Op::Conv).unwrap_err().to_string();
        assert!(error.contains("'arguments'"), "{error}");
        let arguments = Some(vec![Template::try_from("-x={m}".to_owned()).unwrap()]);
        let error = ExecutableRunner::new(ExecutableConfig { arguments, ..config }, Op::Conv);
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("arguments of executables: '-x={m}': found the placeholder '{m}'"),
            "{error}"
        );
    }

    /// A field that no argument passes on would be measured as something else than it is recorded as.
    #[test]
    fn what_no_argument_says_is_not_measured() {
        let config = ExecutableConfig::of("bin".into());
        let dropped = |op: Op, arguments: Option<&str>, name: &str, text: &str| {
            let template = |word: &str| Template::try_from(word.to_owned()).unwrap();
            let arguments = arguments.map(|text| text.split(' ').map(template).collect());
            let runner = ExecutableRunner::new(ExecutableConfig { arguments, ..config.clone() }, op).unwrap();
            let kernel = Kernel::from_name(name).unwrap();
            let defaults = ck_select::problem::ProblemDefaults::of(op);
            let problem = Problem::parse(op, text, &defaults).unwrap();
            let failure = runner.dropped(&Job { kernel: &kernel, problem, place: 0, best_ms: None });
            failure.map(|failure| failure.message)
        };
        let gemm = |more: &str| {
            let name = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_\
                        128x128x128_1x4x1_16x16x128";
            dropped(Op::Gemm, None, name, &format!("M=128,N=1536,K=7168{more}"))
        };
        assert_eq!(gemm(""), None);
        for (more, said) in [(",split_k=4", "split_k = 4"), (",batch=2", "batch = 2")] {
            let expected = format!("the problem has {said}, which no argument of the executable passes on");
            assert_eq!(gemm(more), Some(expected));
        }
        let conv = |more: &str| {
            let arguments = "{N} {C} {K} {Hi} {Wi} {Y} {X} {pad_h} {pad_w}";
            let name = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
            let text = format!("N=2,C=8,K=8,Hi=9,Wi=9,Y=3,X=3,pad_h=1,pad_w=1{more}");
            dropped(Op::Conv, Some(arguments), name, &text)
        };
        assert_eq!(conv(""), None);
        for (more, said) in
            [(",stride_w=2", "stride_w = 2"), (",G=4", "G = 4"), (",pad_h_right=2", "pad_h_right = 2")]
        {
            assert!(conv(more).is_some_and(|message| message.contains(said)), "{more}");
        }
    }

    #[test]
    fn every_place_has_its_number() {
        let kernel = Kernel::from_name("grouped_conv_forward_bf16_3d_64x64x64_compv3").unwrap();
        let text = "N=1,C=2,K=4,G=2,Di=5,Hi=6,Wi=7,Z=1,Y=2,X=3,stride_d=1,stride_h=2,stride_w=3,dilation_d=1,\
                    dilation_h=2,dilation_w=1,pad_d=0,pad_h=1,pad_w=2,pad_w_right=3,ndim=3,split_k=9";
        let defaults = ck_select::problem::ProblemDefaults::of(Op::Conv);
        let problem = Problem::parse(Op::Conv, text, &defaults).unwrap();
        let job = Job { kernel: &kernel, problem, place: 0, best_ms: None };
        for pair in text.split(',') {
            let (name, expected) = pair.split_once('=').unwrap();
            assert_eq!(value(name, &job, &Settings::default()).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(value("pad_h_right", &job, &Settings::default()).as_deref(), Some("1"));
        assert_eq!(value("m", &job, &Settings::default()), None);
    }
}
