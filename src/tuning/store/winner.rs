//! A measured winner, and the record that ties it to its problem and scope.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::scope::plain_text;
use super::{Scope, StoreError};
use crate::problem::{InvalidField, Problem};
use crate::vocab::WinnerSource;

/// The fastest kernel for a problem, as it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Winner {
    /// The kernel's name.
    pub kernel: Arc<str>,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice.
    pub split_k: i32,
    /// Median of the repeats, in milliseconds.
    pub median_ms: f64,
    /// Coefficient of variation of the repeats.
    pub cv: f64,
    /// How often the kernel was timed.
    pub repeats: u32,
    /// How many kernels were tried.
    pub candidates: u32,
    /// When the winner was measured, in seconds since 1970.
    pub measured_at: u64,
    /// The kind of measurement that the winner comes from.
    pub source: WinnerSource,
}

impl Winner {
    /// Longest name of a kernel, in bytes.
    pub const MAX_NAME: usize = 1024;

    /// No later winner could replace one that claims to be from the far future, such as one whose time is in
    /// milliseconds.
    const YEAR_2100: u64 = 4_102_444_800;

    /// The current time in seconds since 1970, for `measured_at`. A clock that is wrong gives the earliest or
    /// latest time that is accepted.
    pub fn now() -> u64 {
        Self::seconds(SystemTime::now())
    }

    fn seconds(time: SystemTime) -> u64 {
        time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().min(Self::YEAR_2100 - 1))
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        plain_text("kernel", &self.kernel, 1, Self::MAX_NAME)?;
        if !(self.median_ms > 0.0 && self.median_ms.is_finite()) {
            return Err(InvalidField::new("median_ms", self.median_ms, "a finite time above 0"));
        }
        if !(self.cv >= 0.0 && self.cv.is_finite()) {
            return Err(InvalidField::new("cv", self.cv, "a finite number, at least 0"));
        }
        for (field, count) in [("repeats", self.repeats), ("candidates", self.candidates)] {
            if count == 0 {
                return Err(InvalidField::new(field, count, "at least 1"));
            }
        }
        if self.measured_at >= Self::YEAR_2100 {
            let expected = "seconds since 1970, before the year 2100";
            return Err(InvalidField::new("measured_at", self.measured_at, expected));
        }
        Ok(())
    }

    /// Which of two winners of one problem stays when stores are merged: the newer, otherwise the faster,
    /// otherwise the one whose name comes first, so that the order of merging does not matter.
    pub(super) fn supersedes(&self, other: &Self) -> bool {
        let by_time = self.measured_at.cmp(&other.measured_at);
        by_time
            .then_with(|| other.median_ms.total_cmp(&self.median_ms))
            .then_with(|| (&other.kernel, other.split_k).cmp(&(&self.kernel, self.split_k)))
            .is_gt()
    }
}

/// A winner with its problem and scope: one line of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The scope in which the winner is valid.
    pub scope: Scope,
    /// The problem, without an architecture, which the scope has.
    pub problem: Problem,
    /// The winner.
    pub winner: Winner,
}

impl Record {
    /// A record with checked fields, and with the problem in the form of a key.
    pub fn new(scope: Scope, problem: &Problem, winner: Winner) -> Result<Self, StoreError> {
        scope.validate()?;
        winner.validate()?;
        let problem = key_of(&scope, problem)?;
        let expected = if problem.chooses_split() { winner.split_k.max(1) } else { problem.split_k() };
        if winner.split_k != expected {
            let expected = format!("{expected}, as the problem has");
            return Err(InvalidField::new("split_k", winner.split_k, expected).into());
        }
        Ok(Self { scope, problem, winner })
    }
}

/// The problem without its architecture, which must be the scope's.
pub(super) fn key_of(scope: &Scope, problem: &Problem) -> Result<Problem, StoreError> {
    problem.validate()?;
    match problem.arch().filter(|arch| *arch != scope.arch) {
        None => Ok(problem.on(None)),
        Some(arch) => Err(InvalidField::new("arch", arch, format!("{}, the scope's", scope.arch)).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    pub(super) fn winner() -> Winner {
        Winner {
            kernel: "k".into(),
            split_k: 1,
            median_ms: 0.5,
            cv: 0.01,
            repeats: 10,
            candidates: 30,
            measured_at: 1_700_000_000,
            source: WinnerSource::Search,
        }
    }

    #[test]
    fn senseless_winners_are_refused_by_field() {
        winner().validate().unwrap();
        for (bad, field) in [
            (Winner { kernel: "".into(), ..winner() }, "kernel"),
            (Winner { median_ms: 0.0, ..winner() }, "median_ms"),
            (Winner { median_ms: f64::NAN, ..winner() }, "median_ms"),
            (Winner { cv: -0.1, ..winner() }, "cv"),
            (Winner { cv: f64::INFINITY, ..winner() }, "cv"),
            (Winner { repeats: 0, ..winner() }, "repeats"),
            (Winner { candidates: 0, ..winner() }, "candidates"),
            (Winner { measured_at: u64::MAX, ..winner() }, "measured_at"),
        ] {
            assert_eq!(bad.validate().unwrap_err().field, field);
        }
    }

    /// A clock beyond 2100 gave winners that were refused, so each was measured again and again (a05c88fb).
    #[test]
    fn any_clock_gives_an_accepted_time() {
        let day = Duration::from_secs(24 * 60 * 60);
        for (time, seconds) in
            [(UNIX_EPOCH - day, 0), (UNIX_EPOCH + day, 86_400), (UNIX_EPOCH + day * 60_000, 4_102_444_799)]
        {
            let winner = Winner { measured_at: Winner::seconds(time), ..winner() };
            winner.validate().unwrap();
            assert_eq!(winner.measured_at, seconds);
        }
    }
}
