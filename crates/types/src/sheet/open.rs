//! What a text is, by its first bytes and its first line, in one place for all readers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::Path;

use super::csv::LONGEST;
use super::{SheetError, SheetFault};
use crate::files;
use crate::inflate::inflated;

/// The bytes of a text.
pub type Text<'a> = Box<dyn BufRead + 'a>;

const BUFFER: usize = 1 << 20;

/// How a text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with commas, whose header names a column of kernels.
    Table,
    /// JSON.
    Objects,
    /// Anything else: lines, a log, or a table without kernels.
    Lines,
}

/// A text, unpacked if it was compressed with gzip, without a byte-order mark.
pub struct Opened<'a> {
    /// The text's name in errors.
    pub name: String,
    /// How the text is to be read.
    pub format: Format,
    /// The first line that is neither blank nor a comment; of JSON, more.
    pub beginning: String,
    /// The lines up to that one.
    head: Vec<u8>,
    /// The index in `head` of that line's first byte.
    row: usize,
    rest: Text<'a>,
}

impl<'a> Opened<'a> {
    /// Looks at the beginning of a text, up to its first row; `name` is its name in errors.
    pub fn new(name: &str, source: Text<'a>) -> Result<Self, SheetError> {
        Self::recognised(name, source).map_err(|fault| SheetError { file: name.to_owned(), fault })
    }

    fn recognised(name: &str, source: Text<'a>) -> Result<Self, SheetFault> {
        let mut source = unpacked(source)?;
        if let Some(format) = files::not_text(source.fill_buf()?) {
            return Err(SheetFault::Format(format!("found {format}, expected UTF-8 text")));
        }
        let (head, row) = head(&mut source)?;
        // Of JSON, one line says little.
        let is_short = head.get(row..).is_some_and(|line| line.starts_with(b"{") || line.starts_with(b"["));
        let more = if is_short { source.fill_buf()? } else { &[] };
        let beginning = [&head[row..], &more[..more.len().min(1 << 16)]].concat();
        let beginning = String::from_utf8_lossy(&beginning).into_owned();
        let format = format(&beginning);
        Ok(Self { name: name.to_owned(), format, beginning, head, row, rest: source })
    }

    /// All of it.
    pub fn text(self) -> Text<'a> {
        Box::new(Cursor::new(self.head).chain(self.rest))
    }

    /// The first row of a table, whose cells may span lines.
    pub(crate) fn header(&mut self) -> io::Result<&[u8]> {
        let has_odd_quotes = |text: &[u8]| text.split(|&byte| byte == b'"').count() % 2 == 0;
        let mut is_open = has_odd_quotes(&self.head[self.row..]);
        while is_open && (self.head.len() as u64) < LONGEST {
            let end = self.head.len();
            if self.rest.by_ref().take(LONGEST).read_until(b'\n', &mut self.head)? == 0 {
                break;
            }
            is_open = !has_odd_quotes(&self.head[end..]);
        }
        Ok(&self.head)
    }
}

impl Opened<'static> {
    /// Opens a file.
    pub fn file(path: &Path) -> Result<Self, SheetError> {
        let name = path.display().to_string();
        let file = files::open(path).map_err(|error| SheetError::io(&name, error))?;
        Self::of_file(&name, file)
    }

    /// Reads an open file.
    pub fn of_file(name: &str, file: File) -> Result<Self, SheetError> {
        Self::new(name, Box::new(BufReader::with_capacity(BUFFER, file)))
    }
}

fn unpacked(mut source: Text<'_>) -> io::Result<Text<'_>> {
    let is_packed = source.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_packed { Box::new(BufReader::with_capacity(BUFFER, inflated(source))) } else { source })
}

/// The lines up to the first that is neither blank nor a comment, and where in them that one begins. A pipe is
/// read no further, as its writer may wait for an answer.
fn head(source: &mut Text<'_>) -> io::Result<(Vec<u8>, usize)> {
    let (mut head, mut row) = (Vec::new(), 0);
    while (head.len() as u64) < LONGEST {
        let read = source.by_ref().take(LONGEST).read_until(b'\n', &mut head)?;
        if row == 0 {
            head.drain(..head.len() - files::without_bom(&head).len());
        }
        let line = head[row..].trim_ascii_start();
        if read == 0 || !line.is_empty() && !line.starts_with(b"#") {
            row = head.len() - line.len();
            break;
        }
        row = head.len();
    }
    Ok((head, row))
}

/// The format of a text that begins so. Brackets of a log stand around words or times.
fn format(beginning: &str) -> Format {
    let second = beginning.get(1..).and_then(|rest| rest.trim_start().chars().next());
    let is_json = match beginning.as_bytes().first() {
        Some(b'{') => second.is_none_or(|second| "\"}'".contains(second)),
        Some(b'[') => second.is_none_or(|second| !second.is_alphanumeric()),
        _ => false,
    };
    let header = beginning.lines().next().unwrap_or_default();
    // Includes headers that a reader will refuse with a reason.
    let is_kernels = |cell: &str| {
        let name = cell.trim().trim_matches('"').to_lowercase();
        ["kernel", "kernel_name", "kernelname"].contains(&name.as_str())
    };
    if is_json {
        Format::Objects
    } else if header.split([',', ';', '\t']).any(is_kernels) {
        Format::Table
    } else {
        Format::Lines
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn texts_are_recognised_by_their_first_row() {
        for (text, expected) in [
            ("\u{feff}# of today\n\n kernel,M\n", Format::Table),
            ("M;\"Kernel_Name\"\n", Format::Table),
            ("M=1,N=2,K=3\n", Format::Lines),
            ("", Format::Lines),
            ("\u{feff}\n{\n \"results\": []}", Format::Objects),
            ("[", Format::Objects),
            ("[{", Format::Objects),
            ("[aiter] kernel\n", Format::Lines),
            ("[2026-07-11 19:09:06] starting\n", Format::Lines),
            ("{\n[aiter]", Format::Lines),
        ] {
            for packed in [false, true] {
                let mut bytes = text.as_bytes().to_vec();
                if packed {
                    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                    gzip.write_all(&bytes).unwrap();
                    bytes = gzip.finish().unwrap();
                }
                for buffer in [64, 1 << 10] {
                    let source = BufReader::with_capacity(buffer, bytes.as_slice());
                    let opened = Opened::new("t", Box::new(source)).unwrap();
                    assert_eq!(opened.format, expected, "{text}");
                    let read = io::read_to_string(opened.text()).unwrap();
                    assert_eq!(read, text.trim_start_matches('\u{feff}'));
                }
            }
        }
    }
}
