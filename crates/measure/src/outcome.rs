//! What became of a kernel on a problem.

use std::fmt;

use ck_select::problem::Problem;
use serde::{Deserialize, Serialize};

/// What became of a kernel on a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was timed.
    Measured(Measurement),
    /// It was given up for being many times slower than the problem's best kernel.
    CutOff {
        /// The fastest of its runs up to there, in milliseconds.
        fastest_ms: f64,
    },
    /// It has no time.
    Failed(Failure),
}

impl Outcome {
    /// A failure with its class and a message.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(class, message))
    }

    /// The same, unless it is a time that no device can have taken for the problem: then it is a failure.
    #[must_use]
    pub fn plausible(self, problem: &Problem) -> Self {
        match &self {
            Self::Measured(measured) => match problem.check_figures(measured.tflops, measured.latency_ms) {
                Ok(()) => self,
                Err(error) => Self::failed(FailureClass::NotATime, error.to_string()),
            },
            _ => self,
        }
    }

    /// The time in milliseconds, if it has one.
    pub const fn latency_ms(&self) -> Option<f64> {
        match self {
            Self::Measured(measurement) => Some(measurement.latency_ms),
            _ => None,
        }
    }
}

/// A timed kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Median of the samples in milliseconds.
    pub latency_ms: f64,
    /// Trillions of operations a second.
    pub tflops: f64,
    /// Gigabytes a second, where the runner tells.
    pub bandwidth_gb_s: Option<f64>,
    /// Elements of the result that are not zero, where the runner counts them.
    pub non_zero: Option<u64>,
    /// Coefficient of variation of the samples; `None` of a single one.
    pub cv: Option<f64>,
    /// How many samples there are.
    pub samples: u32,
}

impl Measurement {
    /// A time without anything else known.
    pub fn of(latency_ms: f64, flops: f64) -> Self {
        Self {
            latency_ms,
            tflops: flops / latency_ms / 1e9,
            bandwidth_gb_s: None,
            non_zero: None,
            cv: None,
            samples: 1,
        }
    }

    /// Whether the samples spread more than `max_cv`.
    pub fn is_unstable(&self, max_cv: f64) -> bool {
        self.cv.is_some_and(|cv| cv > max_cv)
    }
}

/// Why a kernel has no time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub class: FailureClass,
    /// What happened, in one line.
    pub message: String,
}

impl Failure {
    /// Longest message that is kept, in characters.
    pub const MAX_MESSAGE: usize = 200;

    /// A failure; the message becomes one line of bounded length.
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

/// Blanks, line ends and control characters become single blanks; the end, where programs say what went
/// wrong, is what is kept of a long text.
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

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// The kind of a failure; the word stands in the log.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FailureClass {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl FailureClass {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The class of a word of the log.
            pub fn of(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|class| class.as_str() == word)
            }

            /// The word of the log.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

classes! {
    /// There is no executable or library for the kernel.
    Missing = "missing",
    /// Answers are taken from records, which do not have the kernel on this problem.
    NotRecorded = "not_recorded",
    /// It is recorded as invalid, and the record does not say why.
    Invalid = "invalid",
    /// It does not compile.
    Build = "build",
    /// Its library cannot be loaded, or does not have it.
    Load = "load",
    /// It says that it cannot run the problem.
    Unsupported = "unsupported",
    /// Its launch failed.
    Launch = "launch",
    /// Its process was ended by a signal.
    Crash = "crash",
    /// It did not finish in time.
    Timeout = "timeout",
    /// Its process ended with an error.
    Exit = "exit",
    /// What it printed is no result.
    Garbage = "garbage",
    /// It printed more than anyone wants to read.
    Flood = "flood",
    /// What it says is no time: zero, negative, infinite, not a number, or shorter than any device needs.
    NotATime = "not_a_time",
    /// The device was lost with it.
    Device = "device",
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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

    #[test]
    fn what_no_device_can_do_is_no_time() {
        let problem: Problem = ck_select::problem::GemmProblem::new(4096, 4096, 4096).into();
        let of = |ms| Outcome::Measured(Measurement::of(ms, problem.flops()));
        assert_eq!(of(1.0).plausible(&problem), of(1.0));
        let Outcome::Failed(failure) = of(1e-6).plausible(&problem) else { panic!() };
        assert_eq!(failure.class, FailureClass::NotATime);
        assert!(
            failure.message.starts_with("tflops: found 137438") && failure.message.contains("fp8"),
            "{failure}"
        );
    }

    #[test]
    fn words_are_serdes_words() {
        for class in FailureClass::ALL {
            assert_eq!(serde_json::to_string(class).unwrap(), format!("\"{class}\""));
        }
    }
}
