//! Benchmark CSVs: one row per measured (problem, kernel), as written by upstream's harness.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::DataError;
use super::names::Names;
use super::record::{Counts, Sink};
use super::table::{Cell, Table};

/// Longest record, in bytes, and the most cells of one.
const LONGEST: usize = 1 << 20;
const MOST_CELLS: usize = 1 << 12;

/// Reads all rows.
pub(super) fn read(
    file: &str,
    reader: &mut dyn BufRead,
    names: &mut Names,
    sink: &mut dyn Sink,
) -> Result<Counts, DataError> {
    let mut records = Records::new(reader);
    let header = header(file, &mut records)?;
    let mut table = Table::new(file, &header, names, sink)?;
    loop {
        match records.next().map_err(|error| DataError::io(file, error))? {
            Record::End => break,
            // A file that is joined from others has the header once more for each.
            Record::Cells(cells) if cells.is(&header) => {}
            Record::Cells(cells) => {
                let number = cells.line;
                let place = || format!("line {number}");
                let width = cells.ends.len();
                if width == header.len() {
                    table.take(&|column| Cell::of_text(cells.get(column)), place)?;
                } else {
                    table.reject(
                        place(),
                        format!("found {width} cells, expected {} as in the header", header.len()),
                    )?;
                }
            }
            Record::TooLong(number) => {
                table.reject(format!("line {number}"), "longer than 1 MiB".to_owned())?;
            }
        }
    }
    let counts = table.end();
    if counts.rows + counts.other + counts.rejected == 0 {
        return Err(DataError::format(file, "found no row below the header, expected at least one"));
    }
    Ok(counts)
}

/// The names of all columns.
pub(super) fn columns(file: &str, reader: &mut dyn BufRead) -> Result<Vec<String>, DataError> {
    header(file, &mut Records::new(reader))
}

pub(super) fn header(file: &str, records: &mut Records<'_>) -> Result<Vec<String>, DataError> {
    let cells = match records.next().map_err(|error| DataError::io(file, error))? {
        Record::End => return Err(DataError::format(file, "no header: the file is empty")),
        Record::TooLong(_) => return Err(DataError::format(file, "line 1: longer than 1 MiB, not a CSV")),
        Record::Cells(cells) => cells,
    };
    let name = |column: usize| {
        let name = std::str::from_utf8(cells.get(column)).ok()?;
        Some(name.trim_start_matches('\u{feff}').trim().to_owned())
    };
    let names: Option<Vec<String>> = (0..cells.ends.len()).map(name).collect();
    names.ok_or_else(|| DataError::format(file, "line 1: not UTF-8, expected the header of a CSV"))
}

/// The cells of one record.
pub(super) struct Cells<'a> {
    text: &'a [u8],
    pub(super) ends: &'a [usize],
    /// The record's last line, from 1.
    pub(super) line: u64,
}

impl<'a> Cells<'a> {
    /// A cell without the blanks around it.
    pub(super) fn get(&self, column: usize) -> &'a [u8] {
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text[start..self.ends[column]].trim_ascii()
    }

    fn is(&self, header: &[String]) -> bool {
        self.ends.len() == header.len()
            && header.iter().enumerate().all(|(column, name)| self.get(column) == name.as_bytes())
    }

    fn is_blank(&self) -> bool {
        self.ends.len() <= 1 && self.text.trim_ascii().is_empty()
    }
}

pub(super) enum Record<'a> {
    Cells(Cells<'a>),
    /// Of more than 1 MiB, or far too many cells, ending in this line.
    TooLong(u64),
    End,
}

/// The records of a CSV, without comments and blank lines, in bounded memory.
pub(super) struct Records<'a> {
    reader: &'a mut dyn BufRead,
    core: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Line ends so far.
    lines: u64,
}

impl<'a> Records<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead) -> Self {
        let core = ReaderBuilder::new().comment(Some(b'#')).terminator(Terminator::Any(b'\n')).build();
        Self { reader, core, text: vec![0; LONGEST], ends: vec![0; MOST_CELLS], lines: 0 }
    }

    pub(super) fn next(&mut self) -> io::Result<Record<'_>> {
        loop {
            let Some((text, ends, is_too_long, line)) = self.record()? else { return Ok(Record::End) };
            if is_too_long {
                return Ok(Record::TooLong(line));
            }
            // Written twice, because the first borrow would extend over the loop.
            if !(Cells { text: &self.text[..text], ends: &self.ends[..ends], line }).is_blank() {
                return Ok(Record::Cells(Cells { text: &self.text[..text], ends: &self.ends[..ends], line }));
            }
        }
    }

    /// Reads a record: its length, its number of cells, whether it is too long, and its last line.
    fn record(&mut self) -> io::Result<Option<(usize, usize, bool, u64)>> {
        let (mut text, mut ends, mut is_too_long) = (0, 0, false);
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let (found, used, written, ended) =
                self.core.read_record(buffer, &mut self.text[text..], &mut self.ends[ends..]);
            let newlines = memchr::memchr_iter(b'\n', &buffer[..used]).count() as u64;
            let is_ended = used > 0 && buffer[used - 1] == b'\n';
            self.reader.consume(used);
            self.lines += newlines;
            (text, ends) = (text + written, ends + ended);
            match found {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    (text, ends, is_too_long) = (0, 0, true);
                }
                ReadRecordResult::Record => {
                    let line = self.lines + u64::from(!is_ended);
                    return Ok(Some((text, ends, is_too_long, line)));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Every record with its line and cells, read through a buffer of this many bytes.
    fn records(text: &[u8], buffer: usize) -> Vec<(u64, Vec<String>)> {
        let mut reader = BufReader::with_capacity(buffer, text);
        let mut records = Records::new(&mut reader);
        let mut all = Vec::new();
        loop {
            all.push(match records.next().unwrap() {
                Record::End => return all,
                Record::TooLong(line) => (line, vec!["too long".to_owned()]),
                Record::Cells(cells) => {
                    let text = |column| String::from_utf8_lossy(cells.get(column)).into_owned();
                    (cells.line, (0..cells.ends.len()).map(text).collect())
                }
            });
        }
    }

    #[test]
    fn lines_are_numbered_as_they_stand() {
        let text = b"a, b\r\n\n# no\n \t\n\"x\n#y\",1\r\nlast";
        for buffer in [1, 3, 8, 1024] {
            let found = records(text, buffer);
            let found: Vec<(u64, Vec<&str>)> = found
                .iter()
                .map(|(line, cells)| (*line, cells.iter().map(String::as_str).collect()))
                .collect();
            assert_eq!(found, [(1, vec!["a", "b"]), (6, vec!["x\n#y", "1"]), (7, vec!["last"])], "{buffer}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_passed_over_in_bounded_memory() {
        for (length, is_too_long) in [(LONGEST - 2, false), (LONGEST + 1, true), (3 * LONGEST, true)] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\nnext\n");
            for buffer in [1 << 10, 1 << 23] {
                let found = records(&text, buffer);
                assert_eq!(found.len(), 2);
                assert_eq!((found[0].0, found[0].1[0] == "too long"), (1, is_too_long), "{length} {buffer}");
                assert_eq!(found[1], (2, vec!["next".to_owned()]));
            }
        }
    }
}
