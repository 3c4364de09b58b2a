//! What can go wrong with a store. No such error needs to stop a selection.

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::problem::InvalidField;

/// Why a store cannot be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Neither the option nor the environment names a path.
    #[error("store: no path: set CK_SELECT_STORE to a file or to 'off', or set XDG_CACHE_HOME or HOME")]
    NoPath,
    /// A path that cannot be opened or created.
    #[error("store {path}: {reason}")]
    Unreachable {
        /// The file.
        path: String,
        /// The system's error.
        reason: String,
    },
    /// A file that is something else. It is left as it is.
    #[error("store {path}: not a store of winners: {found}; the file is left as it is")]
    NotAStore {
        /// The file.
        path: String,
        /// What it is instead.
        found: String,
    },
    /// A file of a later version of this library. It is left as it is.
    #[error(
        "store {path}: schema version {found} is newer than {supported}, the newest that ck_select {} reads; \
         use a newer ck_select or another CK_SELECT_STORE",
        super::Scope::LIBRARY
    )]
    NewerSchema {
        /// The file.
        path: String,
        /// Its version.
        found: i64,
        /// The newest known version.
        supported: i64,
    },
    /// A damaged file. It is left as it is.
    #[error(
        "store {path}: damaged: {reason}; the file is left as it is: move it away, \
         or try `sqlite3 {path} .recover`"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A store that cannot or may not be written.
    #[error("store {path}: read-only: {reason}")]
    ReadOnly {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Other processes held the lock for too long.
    #[error("store {path}: in use by other processes for more than {waited_ms} ms")]
    Busy {
        /// The file.
        path: String,
        /// How long this process waited.
        waited_ms: u64,
    },
    /// No space for the winner, or the disk fails.
    #[error("store {path}: not written: {reason}")]
    NotWritten {
        /// The file.
        path: String,
        /// The system's error.
        reason: String,
    },
    /// A file of winners with an invalid line.
    #[error("{file}: line {line}: {reason}")]
    Line {
        /// The file's label.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A field of a winner, scope or problem with an invalid value.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
}

impl StoreError {
    /// The cause, for a message that already names the store.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::ReadOnly { reason, .. } | Self::Unreachable { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    /// Converts an SQLite error for the store at `path`.
    pub(super) fn of(path: &Path, error: &rusqlite::Error, waited_ms: u64) -> Self {
        let path = path.display().to_string();
        let reason = reason(error);
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                Self::NotAStore { path, found: "not an SQLite file, or an encrypted one".to_owned() }
            }
            // Its tables were checked, so an error that depends on the contents is not the fault of a
            // statement.
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::TooBig
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown,
            ) => Self::Damaged { path, reason },
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Busy { path, waited_ms },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path, reason },
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => Self::NotWritten { path, reason },
            None if is_of_contents(error) => Self::Damaged { path, reason },
            _ => Self::Unreachable { path, reason },
        }
    }
}

/// Whether a value in the file does not match its column.
const fn is_of_contents(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::QueryReturnedNoRows
    )
}

/// SQLite's message, with details if its code has more: "disk I/O error" alone does not help.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error().map(|error| error.extended_code) else { return error.to_string() };
    let precise = match code {
        // If only our own checks failed, the message says everything.
        ffi::SQLITE_CORRUPT => return error.to_string(),
        ffi::SQLITE_CANTOPEN => return "the file cannot be opened or created".to_owned(),
        ffi::SQLITE_READONLY_DIRECTORY => return "the folder is not writable".to_owned(),
        ffi::SQLITE_IOERR_WRITE => "a write failed",
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => "a sync failed",
        ffi::SQLITE_IOERR_TRUNCATE => "the file could not be cut",
        ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMOPEN | ffi::SQLITE_IOERR_SHMMAP => {
            "its shared-memory file cannot be used"
        }
        ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ => "a read failed",
        _ => return format!("{error} (SQLite code {code})"),
    };
    format!("{error}: {precise} (SQLite code {code})")
}
