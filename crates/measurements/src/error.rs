//! Why a file of measurements cannot be used.

use std::io;

use ck_select_types::sheet::SheetError;

/// Why files of measurements cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file that cannot be read or written, or does not have the format that it seems to have.
    #[error(transparent)]
    File(#[from] SheetError),
    /// Rows that must not be mixed.
    #[error("the data mixes {what}: {}; {advice}", found.join(", "))]
    Mixed {
        /// The property with more than one value.
        what: &'static str,
        /// The values in the data.
        found: Vec<String>,
        /// Advice for the user.
        advice: String,
    },
    /// Files without any row to write.
    #[error("no row to convert: {found}")]
    NoRows {
        /// The contents of each file.
        found: String,
    },
    /// The work was cancelled.
    #[error("stopped")]
    Stopped,
}

impl DataError {
    /// A file that cannot be read or written.
    pub fn io(file: impl std::fmt::Display, source: io::Error) -> Self {
        SheetError::io(file, source).into()
    }

    /// A file with something else than expected.
    pub fn format(file: &str, message: impl std::fmt::Display) -> Self {
        SheetError::format(file, message).into()
    }

    /// A file with another value of a hardware constant, named without `hw_`.
    pub(crate) fn hardware(file: &str, name: &str, found: i64, expected: i64) -> Self {
        let advice = "rows measured on different hardware cannot be used together";
        Self::format(file, format_args!("hw_{name} is {found}, {expected} before: {advice}"))
    }
}
