//! The lines of a text that are neither blank nor comments, in bounded memory.

use std::io::{self, BufRead as _, Cursor, Read as _};

use super::Text;
use super::csv::{CARRIAGE_RETURN, CsvFault, ENDLESS, LONGEST};

/// The lines of a text, of which the last that was read is here.
pub struct Lines<'a> {
    source: Text<'a>,
    text: String,
    number: u64,
}

impl<'a> Lines<'a> {
    /// Begins to read.
    pub fn new(source: Text<'a>) -> Self {
        Self { source, text: String::new(), number: 0 }
    }

    /// Goes to the next line; false at the end.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<bool, CsvFault> {
        loop {
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
            bytes.clear();
            self.number += 1;
            let read = self.source.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)?;
            let text = String::from_utf8(bytes);
            let is_utf8 = text.is_ok();
            self.text = text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            let line = self.line();
            match line {
                _ if read == 0 => return Ok(false),
                _ if read as u64 == LONGEST => return Err(self.fault(ENDLESS)),
                _ if !is_utf8 => return Err(self.fault("not UTF-8")),
                _ if line.contains('\r') => return Err(self.fault(CARRIAGE_RETURN)),
                line if line.is_empty() || line.starts_with('#') => {}
                _ => return Ok(true),
            }
        }
    }

    fn fault(&self, reason: &str) -> CsvFault {
        CsvFault::Row { line: self.number, reason: reason.to_owned() }
    }

    /// The line without blanks around it.
    pub fn line(&self) -> &str {
        self.text.trim()
    }

    /// Whether the line has its end.
    pub fn is_whole(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// The number of the line, from 1.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Whether a line that follows is such a one. All of them are kept in memory.
    pub(crate) fn any_follows(&mut self, is_one: impl Fn(&str) -> bool) -> io::Result<bool> {
        let mut rest = Vec::new();
        self.source.read_to_end(&mut rest)?;
        let any = rest.split(|&byte| byte == b'\n').any(|line| is_one(String::from_utf8_lossy(line).trim()));
        self.source = Box::new(Cursor::new(rest));
        Ok(any)
    }

    /// The text from the last line on, and how many lines are before it.
    pub(crate) fn into_rest(self) -> (Text<'a>, u64) {
        (Box::new(Cursor::new(self.text).chain(self.source)), self.number - 1)
    }
}
