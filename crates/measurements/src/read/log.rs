//! Streaming logs of GEMM benchmarks: headers that name a shape, and one JSON object per kernel among other
//! text.

use std::io::{self, BufRead, Read};

use ck_select_types::json::Strict;
use serde_json::Value;

use super::DataError;
use super::objects::{Objects, flat};
use super::record::SourceFile;
use super::rows::{Fault, FileRows, RowOutcome};

/// Longest object.
const MAX_OBJECT: usize = 1 << 20;
/// Longest line.
const LONGEST: u64 = 2 << 20;

/// Reads all objects.
pub(super) fn read(reader: &mut dyn BufRead, rows: FileRows<'_>) -> Result<SourceFile, DataError> {
    let file = rows.file;
    let mut log = Log { objects: Objects::new(rows), shape: None, open: None };
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        // A line without an end does not belong to a log: truncated, it is an object that cannot be read.
        if limited_line(reader, &mut bytes).map_err(|error| DataError::io(file, error))? == 0 {
            break;
        }
        number += 1;
        log.line(&String::from_utf8_lossy(&bytes), number)?;
    }
    if let Some(open) = log.open.take() {
        log.cut_off(&open, "the file ends inside the object")?;
    }
    Ok(log.objects.rows.counts)
}

/// The number of bytes of the next line, which is truncated where no line of a log ends.
fn limited_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let used = Read::take(&mut *reader, LONGEST).read_until(b'\n', line)?;
    if used as u64 == LONGEST && !line.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
    }
    Ok(used)
}

/// An object that is not complete yet.
struct PartialObject {
    text: String,
    /// The line where it begins.
    line: u64,
    indent: usize,
    depth: Depth,
}

/// The nesting of braces at the end of a text; braces inside strings do not count.
#[derive(Default)]
struct Depth {
    braces: i64,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            match (self.in_string, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.in_string = !self.in_string,
                (false, b'{') => self.braces += 1,
                (false, b'}') => self.braces -= 1,
                _ => {}
            }
        }
        // JSON strings do not span lines.
        self.in_string = false;
        self.escaped = false;
    }
}

struct Log<'a> {
    objects: Objects<'a>,
    /// The extents of the last header.
    shape: Option<[i64; 3]>,
    open: Option<PartialObject>,
}

impl Log<'_> {
    fn line(&mut self, raw: &str, number: u64) -> Result<(), DataError> {
        let line = raw.trim();
        if let Some(shape) = header(line) {
            // Between two shapes no object is open, unless its benchmark was killed.
            if let Some(open) = self.open.take() {
                self.cut_off(&open, "the next shape begins before the object ends")?;
            }
            self.shape = Some(shape);
            return Ok(());
        }
        let indent = raw.len() - raw.trim_start().len();
        if line.starts_with('{')
            && self.open.as_ref().is_some_and(|open| indent <= open.indent)
            && let Some(open) = self.open.take()
        {
            self.cut_off(&open, "the next object begins before this one ends")?;
        }
        match &mut self.open {
            None if line.starts_with('{') => {
                let mut depth = Depth::default();
                depth.add(line);
                self.open = Some(PartialObject { text: line.to_owned(), line: number, indent, depth });
            }
            None => return Ok(()),
            Some(open) => {
                open.text.push('\n');
                open.text.push_str(line);
                open.depth.add(line);
            }
        }
        if let Some(open) = self.open.take() {
            if open.depth.braces <= 0 {
                return self.object(&open);
            }
            if open.text.len() > MAX_OBJECT {
                return self.cut_off(&open, "an object of more than 1 MiB");
            }
            self.open = Some(open);
        }
        Ok(())
    }

    fn cut_off(&mut self, open: &PartialObject, reason: &str) -> Result<(), DataError> {
        self.objects.rows.reject(format!("line {}", open.line), reason.to_owned())
    }

    fn object(&mut self, open: &PartialObject) -> Result<(), DataError> {
        let row = match serde_json::from_str::<Strict>(&open.text) {
            Ok(Strict(object)) => self.row(&object),
            Err(error) => Err(Fault::Row(format!("no JSON object: {error}"))),
        };
        self.objects.rows.count(row, || format!("line {}", open.line))
    }

    fn row(&mut self, object: &Value) -> Result<RowOutcome, Fault> {
        let mut row = flat(object)?;
        let shape = self.shape.iter().flat_map(|shape| ["m", "n", "k"].into_iter().zip(shape));
        for (extent, &value) in shape {
            if !row.contains_key(extent) {
                row.insert(extent.to_owned(), value.into());
            }
        }
        self.objects.take(&row)
    }
}

/// Reads `Shape <int>: M=<int> N=<int> K=<int> dtype=<word> layout=<word>`, anywhere in the line. Type and
/// layout are ignored, because the kernels' names contain them.
fn header(line: &str) -> Option<[i64; 3]> {
    line.match_indices("Shape").find_map(|(at, word)| {
        let mut rest = number(blanks(&line[at + word.len()..])?)?.1;
        rest = rest.strip_prefix(':')?;
        let mut shape = [0; 3];
        for (extent, key) in shape.iter_mut().zip(["M=", "N=", "K="]) {
            (*extent, rest) = number(rest.trim_start().strip_prefix(key)?)?;
        }
        let rest = blanks(rest)?.strip_prefix("dtype=")?;
        let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        blanks(rest)?.strip_prefix("layout=").map(|_| shape)
    })
}

fn blanks(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    (rest.len() < text.len()).then_some(rest)
}

fn number(text: &str) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_anywhere_in_a_line() {
        for (line, shape) in [
            ("Shape 1: M=16 N=1536 K=7168 dtype=fp8 layout=rcr", Some([16, 1536, 7168])),
            ("12:00 Shape 7:  M=1   N=2 K=3 dtype=bf16 layout=rrr [gpu 0]", Some([1, 2, 3])),
            ("Shape Shape 1: M=1 N=2 K=3 dtype=a layout=b", Some([1, 2, 3])),
            ("Shape 1: M=1 N=2 K=3", None),
            ("Shape x: M=1 N=2 K=3 dtype=fp8 layout=rcr", None),
            ("Shape 1: M= N=2 K=3 dtype=fp8 layout=rcr", None),
        ] {
            assert_eq!(header(line), shape, "{line}");
        }
    }

    #[test]
    fn braces_in_strings_do_not_count() {
        let mut depth = Depth::default();
        depth.add(r#"{"a": "}}", "b": "\"{", "c": {"#);
        assert_eq!(depth.braces, 2);
    }
}
