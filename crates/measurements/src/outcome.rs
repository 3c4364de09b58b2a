//! The result of measuring a kernel on a problem.

use std::fmt;

use ck_select_types::problem::{InvalidField, Problem};
use ck_select_types::vocabulary;
use serde::{Deserialize, Serialize};

/// The result of measuring a kernel on a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The kernel was timed.
    Measured(Measurement),
    /// The kernel was given up because it was many times slower than the problem's best kernel.
    CutOff {
        /// The kernel's fastest run until then, in milliseconds.
        fastest_ms: f64,
    },
    /// The kernel has no time.
    Failed(Failure),
}

impl Outcome {
    /// A failure with its class and a message.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(class, message))
    }

    /// This outcome, or a failure if its figures are none of a measurement, or impossible for the problem on any
    /// device.
    #[must_use]
    pub fn plausible(self, problem: &Problem) -> Self {
        match &self {
            Self::Measured(measured) => match measured.check(problem) {
                Ok(()) => self,
                Err(error) => Self::failed(FailureClass::NotATime, error.to_string()),
            },
            Self::CutOff { fastest_ms } => match positive("fastest_ms", *fastest_ms) {
                Ok(()) => self,
                Err(error) => Self::failed(FailureClass::NotATime, error.to_string()),
            },
            Self::Failed(_) => self,
        }
    }

    /// Whether the kernel has a time, but samples that vary by more than `max_cv`.
    pub fn is_unstable(&self, max_cv: f64) -> bool {
        self.measured().and_then(|measurement| measurement.cv).is_some_and(|cv| cv > max_cv)
    }

    /// The time and more, if it has one.
    pub const fn measured(&self) -> Option<&Measurement> {
        if let Self::Measured(measurement) = self { Some(measurement) } else { None }
    }

    /// The time in milliseconds, if it has one.
    pub fn latency_ms(&self) -> Option<f64> {
        self.measured().map(|measurement| measurement.latency_ms)
    }

    /// Why the kernel has no time, unless it was given up.
    pub fn failure(&self) -> Option<FailureClass> {
        if let Self::Failed(failure) = self { Some(failure.class) } else { None }
    }
}

/// A timed kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Median of the samples in milliseconds.
    pub latency_ms: f64,
    /// Trillions of operations per second.
    pub tflops: f64,
    /// Gigabytes per second, if the runner reports it.
    pub bandwidth_gb_s: Option<f64>,
    /// How many elements of the result are not zero, if the runner counts them.
    pub non_zero: Option<u64>,
    /// Coefficient of variation of the samples; `None` for a single one.
    pub cv: Option<f64>,
    /// How many samples there are.
    pub samples: u32,
    /// How often it was timed: more than once where the samples varied too much. The figures are those of the
    /// steadiest time.
    #[serde(default = "once")]
    pub timed: u32,
}

const fn once() -> u32 {
    1
}

impl Measurement {
    /// A time without further details.
    pub fn new(latency_ms: f64, flops: f64) -> Self {
        Self {
            latency_ms,
            tflops: flops / latency_ms / 1e9,
            bandwidth_gb_s: None,
            non_zero: None,
            cv: None,
            samples: 1,
            timed: 1,
        }
    }

    /// Refuses figures that no measurement of the problem has.
    fn check(&self, problem: &Problem) -> Result<(), InvalidField> {
        positive("latency_ms", self.latency_ms)?;
        positive("tflops", self.tflops)?;
        for (name, figure) in [("bandwidth_gb_s", self.bandwidth_gb_s), ("cv", self.cv)] {
            if let Some(figure) = figure.filter(|figure| !(figure.is_finite() && *figure >= 0.0)) {
                return Err(InvalidField::new(name, figure, "a number, 0 or more"));
            }
        }
        for (name, count) in [("samples", self.samples), ("timed", self.timed)] {
            if count == 0 {
                return Err(InvalidField::new(name, count, "at least 1"));
            }
        }
        problem.check_figures(self.tflops, self.latency_ms)
    }
}

fn positive(name: &str, figure: f64) -> Result<(), InvalidField> {
    if figure.is_finite() && figure > 0.0 {
        return Ok(());
    }
    Err(InvalidField::new(name, figure, "a number above 0"))
}

/// Why a kernel has no time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub class: FailureClass,
    /// The cause, in one line.
    pub message: String,
}

impl Failure {
    /// The longest message that is kept, in characters.
    pub const MAX_MESSAGE: usize = 200;

    /// A failure; the message is reduced to one line of limited length.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: one_line(&message.into()) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return f.write_str(self.class.as_str());
        }
        write!(f, "{}: {}", self.class, self.message)
    }
}

/// Replaces runs of white space and control characters by single blanks. Of a long text the end is kept,
/// where programs say what went wrong.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let length = line.chars().count();
    if length <= Failure::MAX_MESSAGE {
        return line;
    }
    let kept: String = line.chars().skip(length - Failure::MAX_MESSAGE + 1).collect();
    format!("…{kept}")
}

vocabulary! {
    /// The kind of a failure; the log contains its word.
    FailureClass, "failure class" {
        /// There is no executable or library for the kernel.
        Missing = "missing",
        /// Answers come from records, which lack the kernel on this problem.
        NotRecorded = "not_recorded",
        /// The record is invalid without a reason.
        Invalid = "invalid",
        /// The kernel does not compile.
        Build = "build",
        /// The kernel's library cannot be loaded or does not contain it.
        Load = "load",
        /// The kernel reports that it cannot run the problem.
        Unsupported = "unsupported",
        /// The kernel's launch failed.
        Launch = "launch",
        /// The kernel's process was killed by a signal.
        Crash = "crash",
        /// The kernel did not finish in time.
        Timeout = "timeout",
        /// The kernel's process ended with an error.
        Exit = "exit",
        /// The output of the kernel's process is not a result.
        Garbage = "garbage",
        /// The kernel's process printed too much.
        Flood = "flood",
        /// The reported time is not plausible: zero, negative, infinite, not a number, or shorter than any device
        /// needs.
        NotATime = "not_a_time",
        /// The device was lost while the kernel ran.
        Device = "device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_short_lines() {
        let failure = Failure::new(FailureClass::Exit, "code 3\r\n\tout of\u{0}memory");
        assert_eq!(failure.to_string(), "exit: code 3 out of memory");
        let long = Failure::new(FailureClass::Exit, format!("{}end", "ä".repeat(500)));
        assert_eq!(long.message.chars().count(), Failure::MAX_MESSAGE);
        assert!(long.message.starts_with("…ä") && long.message.ends_with("end"));
        assert_eq!(Failure::new(FailureClass::Crash, " ").to_string(), "crash");
    }

    /// Only the time was looked at: a row with -1 TFLOPS was that of a slow kernel.
    #[test]
    fn impossible_figures_beside_a_good_time_are_failures() {
        let problem: Problem = ck_select_types::problem::GemmProblem::new(4096, 4096, 4096).into();
        let good = Measurement {
            cv: Some(0.0),
            bandwidth_gb_s: Some(1.0),
            ..Measurement::new(1.0, problem.flops())
        };
        assert_eq!(Outcome::Measured(good.clone()).plausible(&problem), Outcome::Measured(good.clone()));
        let of = |change: &dyn Fn(&mut Measurement)| {
            let mut measurement = good.clone();
            change(&mut measurement);
            Outcome::Measured(measurement)
        };
        let cases = [
            ("tflops: found -1", of(&|m| m.tflops = -1.0)),
            ("tflops: found 0", of(&|m| m.tflops = 0.0)),
            ("samples: found 0", of(&|m| m.samples = 0)),
            ("timed: found 0", of(&|m| m.timed = 0)),
            ("cv: found -0.5", of(&|m| m.cv = Some(-0.5))),
            ("bandwidth_gb_s: found -1", of(&|m| m.bandwidth_gb_s = Some(-1.0))),
            ("latency_ms: found 0", of(&|m| m.latency_ms = 0.0)),
            ("fastest_ms: found -1", Outcome::CutOff { fastest_ms: -1.0 }),
        ];
        for (message, outcome) in cases {
            let Outcome::Failed(failure) = outcome.plausible(&problem) else { panic!("{message}") };
            assert_eq!(failure.class, FailureClass::NotATime);
            assert!(failure.message.starts_with(message), "{failure}");
        }
    }

    #[test]
    fn impossible_times_are_failures() {
        let problem: Problem = ck_select_types::problem::GemmProblem::new(4096, 4096, 4096).into();
        let of = |ms| Outcome::Measured(Measurement::new(ms, problem.flops()));
        assert_eq!(of(1.0).plausible(&problem), of(1.0));
        let Outcome::Failed(failure) = of(1e-4).plausible(&problem) else { panic!() };
        assert_eq!(failure.class, FailureClass::NotATime);
        assert!(
            failure.message.starts_with("tflops: found 137438") && failure.message.contains("fp8"),
            "{failure}"
        );
    }
}
