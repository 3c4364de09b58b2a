//! What can go wrong with a store. No such error needs to stop a selection.

use crate::problem::InvalidField;

/// Why a store cannot be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Neither the option nor the environment names a path.
    #[error("store: no path: set CK_SELECT_STORE to a file or to 'off', or set XDG_CACHE_HOME or HOME")]
    NoPath,
    /// The file cannot be used.
    #[error("store {path}: {fault}")]
    File {
        /// The file.
        path: String,
        /// The fault of the file.
        fault: Fault,
    },
    /// A file of winners with an invalid line.
    #[error("{file}: line {line}: {reason}")]
    Line {
        /// The file's label.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The fault of the line.
        reason: String,
    },
    /// A field of a winner, scope or problem with an invalid value.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
}

/// A fault of a store's file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be opened or created.
    #[error("{0}")]
    Unreachable(String),
    /// The file is something else, and is left as it is.
    #[error("not a store of winners: {0}; the file is left as it is")]
    NotAStore(String),
    /// The file is too large, or has a line that cannot be read. The file is left as it is.
    #[error("damaged: {0}; the file is left as it is")]
    Damaged(String),
    /// The file cannot or may not be written.
    #[error("read-only: {0}")]
    ReadOnly(String),
    /// Other processes held the lock for too many milliseconds.
    #[error("in use by other processes for more than {0} ms")]
    Busy(u128),
    /// There is no space for the winner, or the disk fails.
    #[error("not written: {0}")]
    NotWritten(String),
}
