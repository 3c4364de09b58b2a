//! Errors of models on disk or in memory.

use std::io;

use crate::forest::ForestError;
use crate::nearest::Hint;

/// Why a model cannot be loaded. Every variant names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file that cannot be read, or that is too large.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file that does not exist.
    #[error("{model}: no {file} and no {file}.gz")]
    NoForest {
        /// The model.
        model: String,
        /// The missing file.
        file: String,
    },
    /// An unknown embedded model.
    #[error(
        "no model '{model}' is embedded in this library: it has {}{}",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        Hint::new(model, known.iter().copied())
    )]
    NotEmbedded {
        /// The requested name.
        model: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A forest that cannot be used.
    #[error("{file}: {source}")]
    Forest {
        /// The file.
        file: String,
        /// Line, tree and reason.
        source: Box<ForestError>,
    },
    /// A spec with an invalid value, or a forest that does not match it.
    #[error("{file}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// The fault in the file.
        reason: String,
    },
}

impl ModelError {
    pub(crate) fn invalid(file: &str, reason: impl std::fmt::Display) -> Self {
        Self::Invalid { file: file.to_owned(), reason: reason.to_string() }
    }
}
