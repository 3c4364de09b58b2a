//! Why a file of measurements cannot be used.

use std::io;

/// Why files of measurements cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file could not be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A required column that is missing.
    #[error("{file}: no column '{column}'; the columns are {}", found.join(", "))]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
        /// The columns found.
        found: Vec<String>,
    },
    /// A file that does not have the format that it seems to have, or a row of it.
    #[error("{file}: {message}")]
    Format {
        /// The file.
        file: String,
        /// What was found and what was expected, and where: `line 7`, `row 12`, `results[3].benchmarks[0]`.
        message: String,
    },
    /// Rows that must not be mixed.
    #[error("the data mixes {what}: {}; {advice}", found.join(", "))]
    Mixed {
        /// The property with more than one value.
        what: &'static str,
        /// The values found.
        found: Vec<String>,
        /// What to do about it.
        advice: String,
    },
    /// Hardware constants that differ between rows.
    #[error(
        "{file}: hw_{name} is {found}, {expected} before: \
         rows measured on different hardware cannot be used together"
    )]
    Hardware {
        /// The file.
        file: String,
        /// The constant, without `hw_`.
        name: &'static str,
        /// Its value here.
        found: i64,
        /// Its value before.
        expected: i64,
    },
    /// Files without any row to write.
    #[error("no row to convert: {found}")]
    NoRows {
        /// What each of them has instead.
        found: String,
    },
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
    /// A folder without a file to read.
    #[error("{folder}: no file *.parquet directly in this folder")]
    NoFiles {
        /// The folder.
        folder: String,
    },
}

impl DataError {
    /// A file that cannot be read or written.
    pub fn io(file: &str, source: io::Error) -> Self {
        Self::Io { file: file.to_owned(), source }
    }

    /// A file with something else than expected.
    pub fn format(file: &str, message: impl std::fmt::Display) -> Self {
        Self::Format { file: file.to_owned(), message: message.to_string() }
    }
}
