//! The result of a search: a verdict for every candidate, the winner, and why it ended.

use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::tuning::device::{DeviceError, ErrorCode};

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchReport {
    /// Every candidate in the order given, with its verdict.
    pub entries: Vec<Entry>,
    /// The candidate with the lowest median, among those that were measured again in turn, if any were; of
    /// equal ones the first in the given order.
    pub winner: Option<Winner>,
    /// Candidates that were run at least once.
    pub tried: usize,
    /// Time that the search took.
    pub elapsed: Duration,
    /// Why the search ended.
    pub end: End,
}

/// A candidate and its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The index that the caller gave the candidate.
    pub index: usize,
    /// The verdict.
    pub verdict: Verdict,
}

/// The fastest candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Winner {
    /// The index that the caller gave the candidate.
    pub index: usize,
    /// The candidate's median in milliseconds.
    pub median_ms: f64,
}

/// The verdict on a candidate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The kernel was timed.
    Measured {
        /// Median of the timings in milliseconds.
        median_ms: f64,
        /// Coefficient of variation of the timings; `None` for a single one.
        cv: Option<f64>,
        /// Number of timings; fewer than requested if the budget ended.
        repeats: u32,
        /// Whether the spread of the timings exceeds the limit of the options.
        unstable: bool,
    },
    /// The kernel could not be run or timed; the device still works.
    Failed(Failure),
    /// The kernel was abandoned because it was many times slower than the best before it.
    CutOff {
        /// The fastest of the kernel's runs so far, in milliseconds.
        fastest_ms: f64,
    },
    /// The kernel did not finish in time, and the search ended.
    TimedOut {
        /// How long the search waited for it.
        after: Duration,
    },
    /// The budget was spent before it had a timing.
    OverBudget,
    /// The device failed during its run and no longer responds, and the search ended.
    DeviceLost(Failure),
    /// The search ended before it for a reason other than the budget.
    NotTried,
}

/// Why a candidate has no timing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The candidate's callback failed with this code.
    #[error("its callback failed with {0}")]
    Callback(ErrorCode),
    /// The candidate's callback reported a launch but left an error behind.
    #[error("its launch left {0} behind")]
    Launch(ErrorCode),
    /// The device refused a call while it was timed.
    #[error("{0}")]
    Device(DeviceError),
    /// An invalid time: zero (nothing was launched, or nothing was timed), shorter than any launch, negative or
    /// not finite.
    #[error("{0} ms is not a valid time")]
    NotATime(f64),
    /// A run took longer than its time limit in milliseconds, but ended.
    #[error("a run took {0} ms, longer than the time limit of a run")]
    TooLong(f64),
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// All candidates have their verdict.
    Completed,
    /// The budget is spent.
    Budget,
    /// A candidate did not finish. It was abandoned and may still run, so the stream must not be relied on.
    Hung,
    /// The device no longer responds.
    DeviceLost(DeviceError),
    /// Nothing was tried, because the device refused to prepare.
    Refused(DeviceError),
    /// Nothing was tried, because earlier work on the stream did not finish in the time that a run may take.
    StreamBusy,
    /// Nothing was tried, because the stream is being captured into a graph.
    Capturing,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("every candidate has its verdict"),
            Self::Budget => f.write_str("the budget is spent"),
            Self::Hung => f.write_str("a candidate hangs, so its stream must not be relied on"),
            Self::DeviceLost(error) => write!(f, "the device is lost: {error}"),
            Self::Refused(error) => write!(f, "nothing could be tried: {error}"),
            Self::StreamBusy => f.write_str("earlier work on the stream does not finish"),
            Self::Capturing => f.write_str("the stream is being captured into a graph"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { median_ms, cv, repeats, unstable } => {
                write!(f, "{median_ms:.6} ms, median of {repeats}")?;
                if let Some(cv) = cv {
                    write!(f, ", cv {:.1} %", cv * 100.0)?;
                }
                if *unstable { f.write_str(", unstable") } else { Ok(()) }
            }
            Self::Failed(failure) => write!(f, "failed: {failure}"),
            Self::CutOff { fastest_ms } => write!(f, "cut off, no run faster than {fastest_ms:.6} ms"),
            Self::TimedOut { after } => write!(f, "hangs: not finished after {after:?}"),
            Self::OverBudget => f.write_str("not measured: the budget is spent"),
            Self::DeviceLost(failure) => write!(f, "the device was lost: {failure}"),
            Self::NotTried => f.write_str("not tried"),
        }
    }
}

impl SearchReport {
    /// The report for people: a summary line, then a line per candidate, with the winner marked by `*`.
    ///
    /// `name` gives a candidate's name by its index.
    pub fn text(&self, name: impl Fn(usize) -> String) -> String {
        let mut text = format!(
            "{} of {} candidates tried in {:.3} s: {}\n",
            self.tried,
            self.entries.len(),
            self.elapsed.as_secs_f64(),
            self.end
        );
        for entry in &self.entries {
            let won = self.winner.is_some_and(|winner| winner.index == entry.index);
            let mark = if won { '*' } else { ' ' };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mark} {}: {}", name(entry.index), entry.verdict);
        }
        text
    }
}

impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|index| format!("#{index}")))
    }
}
