//! The lines of a CSV.

use std::io::{self, BufRead};

/// Longest line, and longest quoted cell that spans several lines.
const MAX_LINE: usize = 1 << 20;

/// A line that is neither blank nor a comment, without its end.
pub(super) enum Line<'a> {
    /// Without quotes.
    Plain(&'a [u8]),
    /// With quotes; cells may hold line ends.
    Quoted(&'a [u8]),
    /// Longer than 1 MiB.
    TooLong,
}

/// Lines that are neither blank nor comments.
pub(super) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    /// How much of the reader's buffer the last line took; the line may still be in use there.
    taken: usize,
    /// A line that is not contiguous in the buffer, or that has quotes.
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead) -> Self {
        Self { reader, taken: 0, line: Vec::new(), number: 0 }
    }

    /// Number of the last line, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.reader.consume(std::mem::take(&mut self.taken));
            let buffer = fill(self.reader)?;
            if buffer.is_empty() {
                return Ok(None);
            }
            match memchr::memchr2(b'\n', b'"', buffer) {
                Some(end) if buffer[end] == b'\n' && end + 1 < MAX_LINE => {
                    self.taken = end + 1;
                    self.number += 1;
                    let line = without_end(&buffer[..end]);
                    if !is_blank(line) && line.first() != Some(&b'#') {
                        // Repeated, because the first borrow would extend over the loop.
                        return Ok(Some(Line::Plain(without_end(&fill(self.reader)?[..end]))));
                    }
                }
                _ => match self.gather()? {
                    Gathered::Line { is_quoted } => {
                        let line = without_end(&self.line);
                        return Ok(Some(if is_quoted { Line::Quoted(line) } else { Line::Plain(line) }));
                    }
                    Gathered::TooLong => return Ok(Some(Line::TooLong)),
                    Gathered::Nothing => {}
                },
            }
        }
    }

    /// Copies a line from several buffers.
    fn gather(&mut self) -> io::Result<Gathered> {
        self.line.clear();
        self.append()?;
        let mut is_quoted = memchr::memchr(b'"', &self.line).is_some();
        let mut more = 0;
        while is_quoted
            && memchr::memchr_iter(b'"', &self.line).count() % 2 == 1
            && self.line.len() < MAX_LINE
            && self.append()?
        {
            more += 1;
        }
        if self.line.len() >= MAX_LINE {
            return Ok(Gathered::TooLong);
        }
        let line = without_end(&self.line);
        is_quoted &= memchr::memchr(b'"', line).is_some();
        let is_comment = more == 0 && line.first() == Some(&b'#');
        Ok(if is_blank(line) || is_comment { Gathered::Nothing } else { Gathered::Line { is_quoted } })
    }

    /// Appends one more line; false at the end of the file. Of a line without an end, only enough is kept to
    /// show that it is too long.
    fn append(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            let buffer = fill(self.reader)?;
            if buffer.is_empty() {
                self.number += u64::from(any);
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let used = end.map_or(buffer.len(), |end| end + 1);
            let room = MAX_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&buffer[..used.min(room)]);
            self.reader.consume(used);
            if end.is_some() {
                self.number += 1;
                return Ok(true);
            }
        }
    }
}

enum Gathered {
    Line {
        is_quoted: bool,
    },
    TooLong,
    /// A blank line or a comment.
    Nothing,
}

fn fill(reader: &mut dyn BufRead) -> io::Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The buffer is not refilled while it has data.
    reader.fill_buf()
}

fn without_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = line {
        line = rest;
    }
    line
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    /// Every line with its number, kind and text, read through a buffer of this many bytes.
    fn lines(text: &[u8], buffer: usize) -> Vec<(u64, char, Vec<u8>)> {
        let mut reader = BufReader::with_capacity(buffer, text);
        let mut lines = Lines::new(&mut reader);
        let mut all = Vec::new();
        loop {
            let (kind, text) = match lines.next().unwrap() {
                None => return all,
                Some(Line::Plain(line)) => ('p', line.to_vec()),
                Some(Line::Quoted(line)) => ('q', line.to_vec()),
                Some(Line::TooLong) => ('l', Vec::new()),
            };
            all.push((lines.number(), kind, text));
        }
    }

    #[test]
    fn lines_are_numbered_as_they_stand() {
        let text = b"a,b\r\n\n# no\n \t\n\"x\n#y\",1\nlast";
        for buffer in [1, 3, 8, 1024] {
            assert_eq!(
                lines(text, buffer),
                [(1, 'p', b"a,b".to_vec()), (6, 'q', b"\"x\n#y\",1".to_vec()), (7, 'p', b"last".to_vec()),]
            );
        }
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        for (length, is_too_long) in [(MAX_LINE - 2, false), (MAX_LINE - 1, true), (3 * MAX_LINE, true)] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\nnext\n");
            for buffer in [1 << 10, MAX_LINE, 1 << 23] {
                let found = lines(&text, buffer);
                assert_eq!(found.len(), 2);
                assert_eq!((found[0].0, found[0].1 == 'l'), (1, is_too_long), "{length} {buffer}");
                assert_eq!(found[1], (2, 'p', b"next".to_vec()));
            }
        }
    }

    proptest! {
        #[test]
        fn the_buffer_makes_no_difference(text in "[ab,\"#\r\n ]{0,60}", buffer in 1..20usize) {
            prop_assert_eq!(lines(text.as_bytes(), buffer), lines(text.as_bytes(), 1 << 10));
        }
    }
}
