//! What can be wrong with a file of problems.

use super::header::HeaderError;
use crate::field::InvalidField;
use crate::problem::ProblemError;
use crate::vocab::{Op, UnknownWord};

/// What is wrong with a file of problems, or with a line of it.
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
    #[error("found no {0} problem, expected at least one{also}", also = also(*.1, *.2, *.3))]
    None(Op, u64, u64, u64),
}

fn also(others: u64, torn: u64, of_other_tables: u64) -> String {
    match (others, torn) {
        (0, 0) if of_other_tables > 0 => {
            format!("; {of_other_tables} lines are about other tables of AITER's")
        }
        (0, 0) => String::new(),
        (others, 0) => format!("; {others} of another operation were skipped"),
        (_, torn) => format!("; {others} of another operation and {torn} torn lines were skipped"),
    }
}
