//! A CSV that is read row by row, with cells by the name of their column and errors that name file and line.

use std::fmt::Display;
use std::io::BufRead;

use ck_select_measurements::DataError;
use ck_select_types::csv_rows::CsvRows;
use ck_select_types::files;
use ck_select_types::listing::check_names;
use ck_select_types::vocab::Op;

/// A CSV, and the row that was read last.
pub struct Sheet {
    file: String,
    /// Its rows.
    pub rows: CsvRows<Box<dyn BufRead>>,
}

impl Sheet {
    /// Begins to read; `file` is its name in errors.
    pub fn new(file: &str, mut source: Box<dyn BufRead>) -> Result<Self, DataError> {
        let start = source.fill_buf().map_err(|error| DataError::io(file, error))?;
        if let Some(found) = files::not_text(start) {
            return Err(DataError::format(file, format_args!("found {found}, expected UTF-8 text")));
        }
        Ok(Self { file: file.to_owned(), rows: CsvRows::new(source) })
    }

    /// Takes the next row as the header, of which `read` lists known columns besides those of problems and
    /// kernels. Refuses columns that are probably misspelt, and returns those that are not known.
    pub fn read_header(&mut self, op: Op, read: &[&'static str]) -> Result<Vec<String>, DataError> {
        self.rows.read_header().map_err(|fault| DataError::csv(&self.file, fault))?;
        let names: Vec<&str> = self.rows.header().iter().map(String::as_str).collect();
        check_names(op, &names, read)
            .map_err(|error| DataError::format(&self.file, format_args!("header: {error}")))
    }

    /// Its name in errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Reads the next row; false at the end.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<bool, DataError> {
        self.rows.next().map_err(|fault| DataError::csv(&self.file, fault))
    }

    /// An error in the row.
    pub fn fault(&self, message: impl Display) -> DataError {
        DataError::format(&self.file, format_args!("line {}: {message}", self.rows.line()))
    }

    /// The first column that has one of these names.
    pub(crate) fn column(&self, names: &[&'static str]) -> Option<usize> {
        names.iter().find_map(|name| self.rows.column(name))
    }

    /// As `column`; without such a column, an error names the first.
    pub(crate) fn need(&self, names: &[&'static str]) -> Result<usize, DataError> {
        self.column(names).ok_or_else(|| DataError::no_column(&self.file, names[0], self.rows.header()))
    }
}
