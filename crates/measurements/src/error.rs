//! Why a file of measurements cannot be used.

use std::io;

use ck_select_types::csv_rows::CsvFault;

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
    /// Files without any row to write.
    #[error("no row to convert: {found}")]
    NoRows {
        /// What each of them has instead.
        found: String,
    },
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
}

impl DataError {
    /// A file that cannot be read or written.
    pub fn io(file: impl std::fmt::Display, source: io::Error) -> Self {
        Self::Io { file: file.to_string(), source }
    }

    /// A file with something else than expected.
    pub fn format(file: &str, message: impl std::fmt::Display) -> Self {
        Self::Format { file: file.to_owned(), message: message.to_string() }
    }

    /// A CSV without a next row.
    pub fn csv(file: &str, fault: CsvFault) -> Self {
        match fault {
            CsvFault::Unreadable(error) => Self::io(file, error),
            other => Self::format(file, other),
        }
    }

    /// A file without a required column.
    pub fn no_column(file: &str, column: &str, found: &[String]) -> Self {
        Self::format(file, format_args!("no column '{column}'; the columns are {}", found.join(", ")))
    }

    /// A file with another value of a hardware constant, named without `hw_`.
    pub(crate) fn hardware(file: &str, name: &str, found: i64, expected: i64) -> Self {
        let advice = "rows measured on different hardware cannot be used together";
        Self::format(file, format_args!("hw_{name} is {found}, {expected} before: {advice}"))
    }
}
