//! A CSV that is read row by row, with cells by the name of their column and errors that name file and line.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::BufRead;

use ck_select_data::measurements::DataError;
use ck_select_types::cells::{Cell, Fields};
use ck_select_types::files;
use ck_select_types::listing::check_names;
use ck_select_types::vocab::Op;
use csv::StringRecord;

/// A CSV, and the row that was read last.
pub struct Sheet {
    file: String,
    columns: HashMap<String, usize>,
    reader: csv::Reader<Box<dyn BufRead>>,
    record: StringRecord,
}

impl Fields for Sheet {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.record.get(*self.columns.get(name)?).and_then(Cell::of_text)
    }
}

impl Sheet {
    /// Begins to read; `file` is its name in errors.
    pub fn new(file: &str, mut source: Box<dyn BufRead>) -> Result<Self, DataError> {
        let start = source.fill_buf().map_err(|error| DataError::io(file, error))?;
        if let Some(found) = files::not_text(start) {
            return Err(DataError::format(file, format_args!("found {found}, expected UTF-8 text")));
        }
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .comment(Some(b'#'))
            // The position of a row after CR LF would be that of the LF, a line too early; the CR is trimmed.
            .terminator(csv::Terminator::Any(b'\n'))
            .trim(csv::Trim::All)
            .from_reader(source);
        Ok(Self { file: file.to_owned(), columns: HashMap::new(), reader, record: StringRecord::new() })
    }

    /// Takes the next row as the header, of which `read` lists known columns besides those of problems and
    /// kernels. Refuses columns that are probably misspelt, and returns those that are not known.
    pub fn read_header(&mut self, op: Op, read: &[&'static str]) -> Result<Vec<String>, DataError> {
        self.next()?;
        let names: Vec<&str> = self.record.iter().collect();
        let unknown = check_names(op, &names, read)
            .map_err(|error| DataError::format(&self.file, format_args!("header: {error}")))?;
        self.columns = names.iter().map(|&name| name.to_owned()).zip(0..).collect();
        Ok(unknown)
    }

    /// Its name in errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Reads the next row; false at the end.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<bool, DataError> {
        self.reader.read_record(&mut self.record).map_err(|error| DataError::format(&self.file, error))
    }

    /// The row.
    pub const fn record(&self) -> &StringRecord {
        &self.record
    }

    /// A cell of the row; one that it lacks is empty.
    pub fn cell(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// The line of the row.
    pub fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// An error in the row.
    pub fn fault(&self, message: impl Display) -> DataError {
        DataError::format(&self.file, format_args!("line {}: {message}", self.line()))
    }

    /// The first column that has one of these names.
    pub(crate) fn column(&self, names: &[&'static str]) -> Option<usize> {
        names.iter().find_map(|name| self.columns.get(*name).copied())
    }

    /// The same; without such a column, an error names the first.
    pub(crate) fn need(&self, names: &[&'static str]) -> Result<usize, DataError> {
        self.column(names).ok_or_else(|| {
            let mut found: Vec<String> = self.columns.keys().cloned().collect();
            found.sort();
            DataError::no_column(&self.file, names[0], &found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of `N/A` was no whole number, as if it were no empty word.
    #[test]
    fn empty_words_are_absent_cells() {
        let text = "M,N,K,split_k\n,nan,N/A,2\n";
        let mut sheet = Sheet::new("a.csv", Box::new(text.as_bytes())).unwrap();
        sheet.read_header(Op::Gemm, &[]).unwrap();
        assert!(sheet.next().unwrap());
        let cells = ["M", "N", "K", "split_k"].map(|name| sheet.get(name));
        assert_eq!(cells, [None, None, None, Some("2")]);
    }
}
