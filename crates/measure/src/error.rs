//! Why a sweep cannot go on. A kernel that fails is not an error but an [outcome](crate::outcome).

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why nothing (more) can be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// One of our own files or processes cannot be used.
    #[error("{name}: {source}")]
    Io {
        /// The file or program.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file whose contents cannot be used; the text names the place, what was found and what was expected.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Settings(String),
    /// The machine cannot measure: no device, no worker, no guard.
    #[error("{0}")]
    Machine(String),
}

impl MeasureError {
    pub(crate) fn io(name: impl Display, source: io::Error) -> Self {
        Self::Io { name: name.to_string(), source }
    }

    pub(crate) fn file(file: &Path, reason: impl Display) -> Self {
        Self::File { file: file.display().to_string(), reason: reason.to_string() }
    }
}

/// Adds the file's name to a system error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> MeasureError + '_ {
    move |error| MeasureError::io(path.display(), error)
}
