//! Benchmark CSVs: one row per measured (problem, kernel), as written by upstream's harness.

use std::io::{BufRead, Chain, Read, Take};

use ck_select_types::cells::Cell;
use csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator, Trim};

use super::DataError;
use super::record::Counts;
use super::rows::FileRows;
use super::table::Table;

/// The longest row, in bytes: a file without line ends must not fill the memory.
const LONGEST: u64 = 1 << 20;

/// Reads all rows.
pub(super) fn read(reader: &mut dyn BufRead, rows: FileRows<'_>) -> Result<Counts, DataError> {
    let mut records = Records::new(rows.file, reader)?;
    let mut table = Table::new(&records.header, rows)?;
    while let Some((line, record)) = records.next()? {
        let place = || format!("line {line}");
        match record {
            Ok(record) => table.take(&|column| record.get(column).and_then(Cell::of_text), place)?,
            Err(reason) => table.rows.reject(place(), reason)?,
        }
    }
    let FileRows { file, counts, .. } = table.rows;
    if counts.rows + counts.other + counts.other_runs + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}

/// The rows of a CSV, without comments and blank lines, in bounded memory.
pub(super) struct Records<'a> {
    file: &'a str,
    /// The names of all columns.
    pub(super) header: Vec<String>,
    reader: csv::Reader<Take<Chain<&'a mut dyn BufRead, &'static [u8]>>>,
    record: StringRecord,
}

impl<'a> Records<'a> {
    /// Reads the header.
    pub(super) fn new(file: &'a str, source: &'a mut dyn BufRead) -> Result<Self, DataError> {
        // The last line gets an end, too, so that all lines are counted alike.
        let source = source.chain(&b"\n"[..]).take(LONGEST);
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .comment(Some(b'#'))
            .terminator(Terminator::Any(b'\n'))
            .from_reader(source);
        let mut records = Self { file, header: Vec::new(), reader, record: StringRecord::new() };
        let header = match records.next()? {
            Some((_, Ok(record))) => record.iter().map(str::to_owned).collect(),
            Some((line, Err(reason))) => {
                let message = format!("line {line}: {reason}, expected the header of a CSV");
                return Err(DataError::format(file, message));
            }
            None => return Err(DataError::format(file, "no header: the file is empty")),
        };
        Ok(Self { header, ..records })
    }

    /// The next row with the number of its last line, or why that line is no row.
    #[allow(clippy::type_complexity)]
    pub(super) fn next(&mut self) -> Result<Option<(u64, Result<&StringRecord, String>)>, DataError> {
        let read = loop {
            self.reader.get_mut().set_limit(LONGEST);
            let read = self.reader.read_record(&mut self.record);
            if self.reader.get_ref().limit() == 0 {
                let line = self.reader.position().line();
                let message = format!("line {line}: found 1 MiB without the end of a row");
                return Err(DataError::format(self.file, message));
            }
            match read {
                Ok(true) if self.is_blank() || self.is_header() => {}
                read => break read,
            }
        };
        let line = self.reader.position().line() - 1;
        let fault = match read.map_err(csv::Error::into_kind) {
            Ok(false) => return Ok(None),
            Ok(true) => self.misfit(),
            Err(ErrorKind::Utf8 { err, .. }) => Some(match self.header.get(err.field()) {
                Some(column) => format!("{column}: not UTF-8"),
                None => "not UTF-8".to_owned(),
            }),
            Err(ErrorKind::Io(error)) => return Err(DataError::io(self.file, error)),
            Err(other) => return Err(DataError::format(self.file, format_args!("line {line}: {other:?}"))),
        };
        Ok(Some((line, fault.map_or(Ok(&self.record), Err))))
    }

    fn is_blank(&self) -> bool {
        self.record.len() <= 1 && self.record.iter().all(str::is_empty)
    }

    /// A file that was joined from others repeats the header at the start of each.
    fn is_header(&self) -> bool {
        self.record.iter().eq(&self.header)
    }

    fn misfit(&self) -> Option<String> {
        let (found, expected) = (self.record.len(), self.header.len());
        let is_other = !self.header.is_empty() && found != expected;
        is_other.then(|| format!("found {found} cells, expected {expected} as in the header"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Every row with its line and cells, read through a buffer of this many bytes.
    fn rows(text: &[u8], buffer: usize) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut reader = BufReader::with_capacity(buffer, text);
        let mut records = Records::new("a.csv", &mut reader).map_err(|error| error.to_string())?;
        let mut all = vec![(0, records.header.clone())];
        while let Some((line, record)) = records.next().map_err(|error| error.to_string())? {
            let cells = record.map(|record| record.iter().map(str::to_owned).collect());
            all.push((line, cells.unwrap_or_else(|reason| vec![reason])));
        }
        Ok(all)
    }

    #[test]
    fn lines_are_numbered_as_they_stand() {
        let text = b"\xef\xbb\xbfa, b\r\n\n# no\n \t\n\"x\n#y\",1\r\n1,\xff\na,b\r\n1\n2,last";
        for buffer in [3, 8, 1024] {
            let found = rows(text, buffer).unwrap();
            let found: Vec<(u64, Vec<&str>)> = found
                .iter()
                .map(|(line, cells)| (*line, cells.iter().map(String::as_str).collect()))
                .collect();
            let expected = [
                (0, vec!["a", "b"]),
                (6, vec!["x\n#y", "1"]),
                (7, vec!["b: not UTF-8"]),
                (9, vec!["found 1 cells, expected 2 as in the header"]),
                (10, vec!["2", "last"]),
            ];
            assert_eq!(found, expected, "{buffer}");
        }
        assert_eq!(rows(b"", 8).unwrap_err(), "a.csv: no header: the file is empty");
        let error = "a.csv: line 1: not UTF-8, expected the header of a CSV";
        assert_eq!(rows(b"a,\xff\n", 8).unwrap_err(), error);
    }

    #[test]
    fn a_line_without_an_end_is_refused_in_bounded_memory() {
        let long = |length: u64| [b"a\n".as_slice(), &vec![b'x'; length as usize], b"\nb"].concat();
        assert_eq!(rows(&long(LONGEST - (1 << 14)), 1 << 10).unwrap().len(), 3);
        for text in [long(3 * LONGEST), [b"a\n\"".as_slice(), &b"x\n".repeat(2 * LONGEST as usize)].concat()]
        {
            let error = rows(&text, 1 << 10).unwrap_err();
            assert!(error.ends_with("found 1 MiB without the end of a row"), "{error}");
        }
    }
}
