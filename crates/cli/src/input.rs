//! Reads tables: CSV rows as named cells, with errors that name file and line.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ck_select::cells::Fields;
use ck_select::files;
use ck_select::listing::check_names;
use ck_select::vocab::Op;
use csv::StringRecord;

use crate::error::CliError;

/// A CSV file that is being read. `-` is standard input.
pub(crate) struct CsvFile {
    pub(crate) name: String,
    pub(crate) reader: csv::Reader<Box<dyn BufRead>>,
}

/// Opens a file or a pipe, and returns its name for error messages. `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), CliError> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    match files::open_stream(path) {
        Ok(file) => Ok((name, Box::new(BufReader::new(file)))),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(CliError::failed(format!("{name}: {error}, a pipe, or - for standard input")))
        }
        Err(error) => Err(CliError::io(name, &error)),
    }
}

impl CsvFile {
    pub(crate) fn open(path: &Path, with_header: bool) -> Result<Self, CliError> {
        let (name, mut source) = open(path)?;
        if let Some(found) = files::not_text(source.fill_buf().map_err(|error| CliError::io(&name, &error))?)
        {
            return Err(CliError::failed(format!("{name}: found {found}, expected UTF-8 text")));
        }
        let reader = csv::ReaderBuilder::new()
            .has_headers(with_header)
            .comment(Some(b'#'))
            // The position of a row after CR LF would be that of the LF, a line too early; the CR is trimmed.
            .terminator(csv::Terminator::Any(b'\n'))
            .trim(csv::Trim::All)
            .from_reader(source);
        Ok(Self { name, reader })
    }

    /// The header's columns by name, of which `read` lists the known ones. Refuses those that are probably
    /// misspelt, and prints those that are ignored.
    pub(crate) fn columns(
        &mut self,
        op: Op,
        read: &[&'static str],
    ) -> Result<HashMap<String, usize>, CliError> {
        let header =
            self.reader.headers().map_err(|error| CliError::failed(format!("{}: {error}", self.name)))?;
        let names: Vec<&str> = header.iter().map(|column| column.trim_start_matches('\u{feff}')).collect();
        let unknown = check_names(op, &names, read)
            .map_err(|error| CliError::failed(format!("{}: header: {error}", self.name)))?;
        if !unknown.is_empty() {
            say!("ckselect: warning: {}: ignored columns: {}", self.name, unknown.join(", "));
        }
        Ok(names.iter().enumerate().map(|(place, name)| ((*name).to_owned(), place)).collect())
    }

    /// Reads the next row into `record`; false at the end.
    pub(crate) fn next(&mut self, record: &mut StringRecord) -> Result<bool, CliError> {
        // The error names the line.
        self.reader.read_record(record).map_err(|error| CliError::failed(format!("{}: {error}", self.name)))
    }

    /// An error in the last row that was read.
    pub(crate) fn fault(&self, record: &StringRecord, message: impl std::fmt::Display) -> CliError {
        let line = record.position().map_or(0, csv::Position::line);
        CliError::failed(format!("{}: line {line}: {message}", self.name))
    }
}

/// A row whose cells are found by column name.
pub(crate) struct NamedRow<'a> {
    pub(crate) columns: &'a HashMap<String, usize>,
    pub(crate) record: &'a StringRecord,
}

impl Fields for NamedRow<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let cell = self.record.get(*self.columns.get(name)?)?;
        (!cell.is_empty()).then_some(cell)
    }
}
