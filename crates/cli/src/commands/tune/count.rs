//! How many problems `ckselect tune` measures.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

#[cfg(feature = "train")]
use crate::error::CliError;

/// A number of problems, or all that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemCount {
    All,
    Number(usize),
}

impl FromStr for ProblemCount {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "all" => Ok(Self::All),
            _ => word.parse().map(Self::Number).map_err(|_| "expected a number of problems, or all"),
        }
    }
}

impl Display for ProblemCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Number(count) => count.fmt(f),
        }
    }
}

#[cfg(feature = "train")]
impl ProblemCount {
    /// The number of problems that an option asks for, of those that can be measured.
    pub(super) fn number(self, option: &str, available: usize) -> Result<usize, CliError> {
        match self {
            Self::All => Ok(available),
            Self::Number(count) if count <= available => Ok(count),
            Self::Number(count) => refuse!(
                "{option}: found {count}, expected at most {available}, the number of problems that can be \
                 measured, or `all`"
            ),
        }
    }
}

/// The word of `--measure`: to measure none is no way to tune.
pub(super) fn at_least_one(word: &str) -> Result<ProblemCount, &'static str> {
    match word.parse()? {
        ProblemCount::Number(0) => Err("expected at least 1, or all"),
        count => Ok(count),
    }
}
