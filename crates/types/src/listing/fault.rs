//! What can be wrong with a file of problems.

use std::io;

use super::{Fault, Skipped};

use crate::field::InvalidField;
use crate::problem::ProblemError;
use crate::sheet::csv::{ENDLESS, UNCLOSED};
use crate::sheet::json::JsonFault;
use crate::sheet::{CsvFault, HeaderError, SheetFault};
use crate::vocab::{Op, UnknownWord};

/// A fault in a file of problems, or in a line of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemLineFault {
    /// An unknown operation.
    #[error(transparent)]
    Op(UnknownWord),
    /// Pairs that are not a problem of the operation.
    #[error(transparent)]
    Problem(ProblemError),
    /// Cells that are not a problem of the operation.
    #[error(transparent)]
    Cells(InvalidField),
    /// Invalid columns.
    #[error(transparent)]
    Header(HeaderError),
    /// An invalid row.
    #[error("{0}")]
    Row(String),
    /// One number for two problems.
    #[error("problem_idx {0} denotes two different problems")]
    Number(u64),
    /// A file that cannot be read.
    #[error("{0}")]
    Read(String),
    /// A file without a problem.
    #[error("found no {0} problem, expected at least one{also}", also = also(.1))]
    None(Op, Skipped),
}

impl ProblemLineFault {
    /// The fault of a row or a line.
    pub(super) fn at(fault: CsvFault) -> Fault {
        match fault {
            CsvFault::Unreadable(error) => (None, error.into()),
            CsvFault::Row { line, reason } => (Some(line), Self::Row(reason)),
            CsvFault::Endless(line) => (Some(line), Self::Read(ENDLESS.to_owned())),
            CsvFault::Unclosed(line) => (Some(line), Self::Row(UNCLOSED.to_owned())),
        }
    }

    /// The fault of JSON.
    pub(super) fn in_json(fault: JsonFault) -> Fault {
        (Some(fault.line), Self::Row(fault.reason))
    }
}

impl From<io::Error> for ProblemLineFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Read("not UTF-8".to_owned()),
            _ => Self::Read(error.to_string()),
        }
    }
}

impl From<SheetFault> for ProblemLineFault {
    fn from(fault: SheetFault) -> Self {
        match fault {
            SheetFault::Unreadable(error) => error.into(),
            SheetFault::Format(message) => Self::Read(message),
        }
    }
}

fn also(passed: &Skipped) -> String {
    match *passed {
        Skipped { others: 0, torn: 0, of_other_tables, empty, .. } => {
            let about = |lines: u64, what: &str| match lines {
                0 => String::new(),
                1 => format!("; 1 line is about {what}"),
                _ => format!("; {lines} lines are about {what}"),
            };
            about(of_other_tables, "other tables of AITER's") + &about(empty, "an empty GEMM")
        }
        Skipped { others, torn: 0, .. } => format!("; {others} of another operation were skipped"),
        Skipped { others, torn, .. } => {
            format!("; {others} of another operation and {torn} torn lines were skipped")
        }
    }
}
