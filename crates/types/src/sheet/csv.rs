//! The rows of a CSV, in bounded memory: the one reader of all tables in text.
//!
//! A byte-order mark, blank lines, lines whose first visible character is `#` and repetitions of the header
//! are skipped; cells are trimmed. Lines may end with CR LF, and a quoted cell may span several.

use std::io::{self, Chain, Read, Take};

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Terminator};

use crate::cells::{Cell, NamedCells};

/// The longest row, in bytes: a file without line ends must not fill the memory.
pub(crate) const LONGEST: u64 = 1 << 20;

pub(crate) const ENDLESS: &str = "found 1 MiB without the end of a row";
/// The error where lines end with a carriage return alone, so that a whole file would be one line.
pub(crate) const CARRIAGE_RETURN: &str = "found a carriage return, expected lines that end with a line feed";
/// The error of a row with [`CsvFault::Unclosed`].
pub const UNCLOSED: &str = "found a quoted cell without an end, expected '\"' behind it";

/// The rows of a CSV, of which the last that was read is here.
pub struct CsvRows<R> {
    reader: csv::Reader<Take<EndedText<R>>>,
    header: Vec<String>,
    /// How many cells each row has, once the first was read.
    width: Option<usize>,
    record: StringRecord,
    line: u64,
}

/// A text whose last line gets an end, too, so that all lines are counted alike. It remembers whether its end
/// was read.
struct EndedText<R> {
    text: Chain<R, &'static [u8]>,
    is_at_end: bool,
}

impl<R: Read> Read for EndedText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(buffer)?;
        self.is_at_end = count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Why there is no next row.
#[derive(Debug, thiserror::Error)]
pub enum CsvFault {
    /// The source cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// A line that is no row; the next one may be read.
    #[error("line {line}: {reason}")]
    Row {
        /// The line's number, from 1.
        line: u64,
        /// What the row has and what was expected.
        reason: String,
    },
    /// A row without an end, by the line where reading stopped.
    #[error("line {0}: {ENDLESS}")]
    Endless(u64),
    /// A row with a quoted cell to which all that follows belongs, by its first line; there is no next one.
    #[error("line {0}: {UNCLOSED}")]
    Unclosed(u64),
}

impl<R: Read> CsvRows<R> {
    /// Begins to read.
    pub fn new(source: R) -> Self {
        let source = EndedText { text: source.chain(&b"\n"[..]), is_at_end: false }.take(LONGEST);
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .terminator(Terminator::Any(b'\n'))
            .from_reader(source);
        Self { reader, header: Vec::new(), width: None, record: StringRecord::new(), line: 0 }
    }

    /// Takes the next row as the header; false if there is none.
    pub fn read_header(&mut self) -> Result<bool, CsvFault> {
        let any = self.next()?;
        if self.record.iter().any(|name| name.replace("\r\n", "").contains('\r')) {
            return Err(self.fault(CARRIAGE_RETURN.to_owned()));
        }
        self.header = self.record.iter().map(str::to_owned).collect();
        Ok(any)
    }

    /// Reads the next row; false at the end.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<bool, CsvFault> {
        let read = loop {
            self.reader.get_mut().set_limit(LONGEST);
            let read = self.reader.read_record(&mut self.record);
            if self.reader.get_ref().limit() == 0 {
                self.line = self.reader.position().line();
                return Err(CsvFault::Endless(self.line));
            }
            // After the last line's end, only a quoted cell reads on.
            if !matches!(read, Ok(false)) && self.reader.get_ref().get_ref().is_at_end {
                let breaks = self.record.as_slice().matches('\n').count();
                self.line = self.reader.position().line() - breaks as u64;
                return Err(CsvFault::Unclosed(self.line));
            }
            let is_blank = self.is_blank();
            self.record.trim();
            match read {
                Ok(true) if is_blank || self.is_header() => {}
                read => break read,
            }
        };
        self.line = self.reader.position().line() - 1;
        match read.map_err(csv::Error::into_kind) {
            Ok(any) => self.check_width().map(|()| any),
            Err(ErrorKind::Utf8 { err, .. }) => Err(self.fault(match self.header.get(err.field()) {
                Some(column) => format!("{column}: not UTF-8"),
                None => "not UTF-8".to_owned(),
            })),
            Err(ErrorKind::Io(error)) => Err(error.into()),
            Err(other) => Err(self.fault(format!("{other:?}"))),
        }
    }

    /// Whether a row that was not trimmed is white space, an indented comment, or an empty cell in quotes,
    /// which is a row where rows have one cell.
    fn is_blank(&self) -> bool {
        let (first, cells) = (self.record.get(0).unwrap_or_default(), self.record.len());
        match first.trim() {
            "" if first.is_empty() => cells <= 1 && self.width.is_some_and(|width| width > 1),
            "" => cells <= 1,
            text => text.starts_with('#') && first.starts_with(char::is_whitespace),
        }
    }

    /// A file that was joined from others repeats the header at the start of each.
    fn is_header(&self) -> bool {
        self.record.iter().eq(&self.header)
    }

    fn check_width(&mut self) -> Result<(), CsvFault> {
        let width = self.record.len();
        let expected = *self.width.get_or_insert(width);
        if width == expected || width == 0 {
            return Ok(());
        }
        let first = if self.header.is_empty() { "first row" } else { "header" };
        let cells = if width == 1 { "cell" } else { "cells" };
        Err(self.fault(format!("found {width} {cells}, expected {expected} as in the {first}")))
    }

    const fn fault(&self, reason: String) -> CsvFault {
        CsvFault::Row { line: self.line, reason }
    }
}

impl<R> CsvRows<R> {
    /// The names of the columns, if the header was read.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The text of a cell; one that the row lacks is empty.
    pub fn text(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// The row's cells, by the names of their columns.
    pub fn cells(&self) -> NamedCells<'_> {
        let cells = self.header.iter().zip(&self.record);
        cells.filter_map(|(name, text)| Some((name.as_str(), Cell::from_text(text)?))).collect()
    }

    /// The number of the row's last line, from 1; of the first, if a quoted cell has no end.
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// The byte at which the row begins, or the lines that were skipped before it.
    pub fn start(&self) -> u64 {
        self.record.position().map_or(0, Position::byte)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::sheet::Row as _;

    /// Every row with its line and cells, read through a buffer of this many bytes.
    fn rows(text: &[u8], buffer: usize) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut rows = CsvRows::new(BufReader::with_capacity(buffer, text));
        rows.read_header().map_err(|fault| fault.to_string())?;
        let mut all = vec![(rows.line(), rows.header().to_vec())];
        loop {
            match rows.next() {
                Ok(true) => all.push((rows.line(), rows.record.iter().map(str::to_owned).collect())),
                Ok(false) => return Ok(all),
                Err(CsvFault::Row { line, reason }) => all.push((line, vec![reason])),
                Err(CsvFault::Unclosed(line)) => all.push((line, vec![UNCLOSED.to_owned()])),
                Err(fault) => return Err(fault.to_string()),
            }
        }
    }

    #[test]
    fn lines_are_numbered_as_they_stand() {
        let text = b"\xef\xbb\xbfa, b\r\n\n# no\n \t\n\"x\n#y\",1\r\n1,\xff\na,b\r\n1\n2,last";
        for buffer in [3, 8, 1024] {
            let rows = rows(text, buffer).unwrap();
            let rows: Vec<(u64, Vec<&str>)> = rows
                .iter()
                .map(|(line, cells)| (*line, cells.iter().map(String::as_str).collect()))
                .collect();
            let expected = [
                (1, vec!["a", "b"]),
                (6, vec!["x\n#y", "1"]),
                (7, vec!["b: not UTF-8"]),
                (9, vec!["found 1 cell, expected 2 as in the header"]),
                (10, vec!["2", "last"]),
            ];
            assert_eq!(rows, expected, "{buffer}");
        }
        assert_eq!(rows(b"a,\xff\n", 8).unwrap_err(), "line 1: not UTF-8");
    }

    /// Indented comments were refused, or rows where the first column is no field (742b5b6e).
    #[test]
    fn indented_comments_are_skipped_and_quoted_cells_are_none() {
        let text = b"  # of mine\na,b\n  # 1,2\n\t#\n\"#1\",2\n #3,\"4\"\n5,6\n";
        let cells = |line, cells: [&str; 2]| (line, cells.map(str::to_owned).to_vec());
        let expected = vec![cells(2, ["a", "b"]), cells(5, ["#1", "2"]), cells(7, ["5", "6"])];
        assert_eq!(rows(text, 8).unwrap(), expected);
    }

    /// The rest of the file was the cell, so that its rows were missing without a word (61a85d2a).
    #[test]
    fn a_quoted_cell_without_an_end_is_a_fault_at_its_line() {
        for (end, line) in
            [("1,\"x", 4), ("1,\"x\n", 4), ("1,\"x\n2,y\n3,z\n", 4), ("\"\n\n", 4), ("1,2\n\"", 5)]
        {
            let text = format!("a,b\n\n\n{end}");
            for buffer in [3, 1024] {
                let rows = rows(text.as_bytes(), buffer).unwrap();
                assert_eq!(rows.last(), Some(&(line, vec![UNCLOSED.to_owned()])), "{text:?}");
            }
        }
        // What is no quoted cell, and one that ends with the file.
        for text in ["a,b\n1,5\"\n", "a,b\n1,\"x\"", "a,b\n1,\"x\n\"\n", "a,b\n1, \"x\n"] {
            let rows = rows(text.as_bytes(), 1024).unwrap();
            assert!(rows.len() == 2 && rows[1].1.len() == 2, "{rows:?}");
        }
        assert!(rows(b"\"a,b\n1,2\n", 1024).unwrap_err().starts_with("line 1: found a quoted cell"));
    }

    #[test]
    fn a_file_may_have_no_row_and_rows_no_header() {
        assert!(!CsvRows::new(&b"# only\n\n"[..]).read_header().unwrap());
        let mut rows = CsvRows::new(&b"1,2\n1,2\n3\n"[..]);
        assert!(rows.next().unwrap() && rows.next().unwrap());
        let fault = rows.next().unwrap_err().to_string();
        assert_eq!(fault, "line 3: found 1 cell, expected 2 as in the first row");
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

    /// Writers quote the only cell of a row if it is empty; such a row of a matrix was lost, and its line in
    /// the results (742b5b6e).
    #[test]
    fn a_row_of_one_empty_cell_is_a_row() {
        let cells =
            |text: &[u8]| rows(text, 8).unwrap().into_iter().map(|(_, cells)| cells).collect::<Vec<_>>();
        assert_eq!(cells(b"a\n1\n\"\"\n \t\n\n2\n"), [["a"], ["1"], [""], ["2"]]);
        assert_eq!(cells(b"a,b\n\"\"\n1,2\n"), [["a", "b"], ["1", "2"]]);
        let mut matrix = CsvRows::new(&b"\"\"\n7\n"[..]);
        assert!(matrix.next().unwrap() && matrix.text(0).is_empty());
    }

    /// A number of `N/A` was no whole number, as if it were no empty word.
    #[test]
    fn empty_words_are_absent_cells() {
        let mut rows = CsvRows::new(&b"M,N,K,split_k\n,nan,N/A,2\n"[..]);
        assert!(rows.read_header().unwrap() && rows.next().unwrap());
        let cells = [0, 1, 2, 3].map(|column| rows.at(column));
        assert_eq!(cells, [None, None, None, Some(Cell::Word("2"))]);
    }
}
