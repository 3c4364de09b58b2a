//! Why a file of measurements could not be used.

use std::io;

/// A file that cannot be read, or a row that cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file could not be read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A line that is no CSV.
    #[error("{file}: {source}")]
    Csv {
        /// The file.
        file: String,
        /// Why, with the line.
        source: csv::Error,
    },
    /// A column that must be there and is not.
    #[error("{file}: no column '{column}'; the columns are {}", found.join(", "))]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
        /// The columns there are.
        found: Vec<String>,
    },
    /// A row that cannot be understood.
    #[error("{file}: line {line}: {message}")]
    Row {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What was found and what was expected.
        message: String,
    },
}
