//! Why a study cannot be made.

use std::fmt::Display;

/// Why nothing can be judged, in a sentence that names the file, model or problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StudyError(String);

impl StudyError {
    pub(crate) fn new(reason: impl Display) -> Self {
        Self(reason.to_string())
    }

    /// The same, about one problem.
    pub(crate) fn about(problem: impl Display, reason: impl Display) -> Self {
        Self(format!("{problem}: {reason}"))
    }
}
