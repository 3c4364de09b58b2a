//! Why a sweep cannot go on. A kernel that fails is not an error but an [outcome](crate::outcome).

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why nothing (more) can be measured: a sentence that names the file, program or option, what it has, and what was
/// expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MeasureError(String);

impl MeasureError {
    pub(crate) fn new(reason: impl Display) -> Self {
        Self(reason.to_string())
    }

    /// An error about a program.
    pub(crate) fn about(program: impl Display, reason: impl Display) -> Self {
        Self(format!("{program}: {reason}"))
    }

    /// An error about a file.
    pub(crate) fn file(file: &Path, reason: impl Display) -> Self {
        Self::about(file.display(), reason)
    }
}

/// Adds the file's name to a system error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> MeasureError + '_ {
    move |error| MeasureError::file(path, error)
}
