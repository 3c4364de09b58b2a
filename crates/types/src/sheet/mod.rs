//! Tables of text: rows of named cells, and errors that name the file, the line and the file's own column.
//!
//! ```text
//! a file, a pipe, bytes ── Opened (unpacked, no byte-order mark, its format) ── Sheet (rows) ── Columns (cells)
//! ```
//!
//! All readers of tables (problems, pools, measurements, tuned tables, choices) stand on these, so that a text
//! is the same table to each of them.

pub mod aiter;
mod columns;
pub mod csv;
mod header;
pub mod json;
mod lines;
mod open;

use std::fmt::Display;
use std::io;

pub use columns::{Column, Columns, KERNELS, KernelColumns, ProblemColumns, Row, SPEEDS, TIMES};
pub use csv::{CsvFault, CsvRows};
pub use header::{HeaderError, UnknownColumn, check_columns, check_names};
pub use lines::Lines;
pub use open::{Format, Opened, Text};

/// Why a file of rows cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {fault}")]
pub struct SheetError {
    /// The file's name.
    pub file: String,
    /// The fault in the file.
    #[source]
    pub fault: SheetFault,
}

/// A fault in a file of rows.
#[derive(Debug, thiserror::Error)]
pub enum SheetFault {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// The file has something else than expected: what, and where.
    #[error("{0}")]
    Format(String),
}

impl SheetError {
    /// A file that cannot be read or written.
    pub fn io(file: impl Display, source: io::Error) -> Self {
        Self { file: file.to_string(), fault: source.into() }
    }

    /// A file with something else than expected.
    pub fn format(file: &str, message: impl Display) -> Self {
        Self { file: file.to_owned(), fault: SheetFault::Format(message.to_string()) }
    }

    /// A table without a next row.
    pub fn csv(file: &str, fault: CsvFault) -> Self {
        match fault {
            CsvFault::Unreadable(error) => Self::io(file, error),
            other => Self::format(file, other),
        }
    }

    /// A table without a required column.
    pub fn no_column(file: &str, column: &str, columns: &[String]) -> Self {
        Self::format(file, format_args!("no column '{column}'; the columns are {}", columns.join(", ")))
    }
}

/// A table, and the row that was read last.
pub struct Sheet<'a> {
    file: String,
    /// The table's rows.
    pub rows: CsvRows<Text<'a>>,
}

impl<'a> Sheet<'a> {
    /// A table whose first row is its header.
    pub fn with_header(opened: Opened<'a>) -> Result<Self, SheetError> {
        if opened.format == Format::Objects {
            return Err(SheetError::format(&opened.name, "found JSON, expected a table with commas"));
        }
        let mut sheet = Self { file: opened.name.clone(), rows: CsvRows::new(opened.text()) };
        match sheet.rows.read_header() {
            Ok(true) => Ok(sheet),
            Ok(false) => Err(SheetError::format(&sheet.file, "no header: the file is empty")),
            Err(fault) => Err(SheetError::csv(&sheet.file, fault)),
        }
    }

    /// The table's name in errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Reads the next row; false at the end.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<bool, SheetError> {
        self.rows.next().map_err(|fault| SheetError::csv(&self.file, fault))
    }

    /// An error in the row.
    pub fn fault(&self, message: impl Display) -> SheetError {
        SheetError::format(&self.file, format_args!("line {}: {message}", self.rows.line()))
    }
}
