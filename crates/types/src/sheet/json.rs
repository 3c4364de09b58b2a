//! JSON, value by value: `serde_json` reads a value from a stream, but not a list element by element.
//!
//! ```text
//! opens('[')   element(']')  value()  element(']')  value()  element(']') == false
//! opens('{')   key()  value()  key()  value()  key() == None
//! ```
//!
//! Bytes are counted as they are read, so that a value has the line where it begins.

use std::io::{self, BufRead as _, Read};

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Map, Value};

use super::{Row, Text};
use crate::cells::Cell;
use crate::problem::text_keys;
use crate::vocab::Op;

/// A text of JSON, read up to some position.
pub struct JsonText<'a> {
    bytes: Counted<'a>,
    /// Whether a value was read since the last bracket.
    is_inside: bool,
}

/// A fault in a text of JSON, and its position.
#[derive(Debug, thiserror::Error)]
#[error("{reason} at line {line} column {column}")]
pub struct JsonFault {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The fault.
    pub reason: String,
}

/// Bytes with their position in a text.
struct Counted<'a> {
    text: Text<'a>,
    /// A byte that is to be read once more.
    again: Option<u8>,
    line: u64,
    column: u64,
    last: u8,
}

impl Counted<'_> {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(match self.again {
            None => self.text.fill_buf()?.first().copied(),
            again => again,
        })
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        if let Some(again) = self.again.take() {
            return Ok(Some(again));
        }
        let Some(byte) = self.peek()? else { return Ok(None) };
        self.text.consume(1);
        self.last = byte;
        (self.line, self.column) =
            if byte == b'\n' { (self.line + 1, 0) } else { (self.line, self.column + 1) };
        Ok(Some(byte))
    }
}

impl Read for Counted<'_> {
    /// Reads one byte: the deserializer asks for no more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        let next = self.next()?;
        Ok(next.map_or(0, |byte| {
            *first = byte;
            1
        }))
    }
}

impl<'a> JsonText<'a> {
    /// Begins to read.
    pub fn new(text: Text<'a>) -> Self {
        let bytes = Counted { text, again: None, line: 1, column: 0, last: 0 };
        Self { bytes, is_inside: false }
    }

    /// The line of the next value, once [`JsonText::peek`] or what stands on it saw that there is one.
    pub const fn line(&self) -> u64 {
        self.bytes.line
    }

    /// A fault at the position up to which the text was read.
    pub fn fault(&self, reason: &str) -> JsonFault {
        JsonFault { line: self.bytes.line, column: self.bytes.column, reason: reason.to_owned() }
    }

    /// The next byte that is no white space; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<u8>, JsonFault> {
        let mut next = || {
            while self.bytes.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
                self.bytes.next()?;
            }
            self.bytes.peek()
        };
        next().map_err(|error: io::Error| self.fault(&error.to_string()))
    }

    /// Takes a byte if it comes next.
    fn eat(&mut self, byte: u8) -> Result<bool, JsonFault> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.bytes.next().map_err(|error| self.fault(&error.to_string()))?;
        }
        Ok(is_next)
    }

    /// Takes an opening bracket if one comes next.
    pub fn opens(&mut self, bracket: u8) -> Result<bool, JsonFault> {
        let opens = self.eat(bracket)?;
        self.is_inside &= !opens;
        Ok(opens)
    }

    /// Goes to the next element; false at the closing bracket, which is taken.
    pub fn element(&mut self, close: u8) -> Result<bool, JsonFault> {
        let is_next = self.is_inside && self.eat(b',')?;
        match self.peek()? {
            None => Err(self.fault("EOF while parsing a list")),
            Some(byte) if byte == close && is_next => Err(self.fault("trailing comma")),
            Some(byte) if byte == close => {
                self.is_inside = true;
                self.eat(close).map(|_| false)
            }
            Some(_) if self.is_inside && !is_next => {
                Err(self.fault(&format!("expected `,` or `{}`", char::from(close))))
            }
            Some(_) => Ok(true),
        }
    }

    /// The next key of an object; `None` at its closing bracket, which is taken.
    pub fn key(&mut self) -> Result<Option<String>, JsonFault> {
        if !self.element(b'}')? {
            return Ok(None);
        }
        let key = self.value()?;
        if self.eat(b':')? { Ok(Some(key)) } else { Err(self.fault("expected `:`")) }
    }

    /// Reads a value.
    pub fn value<T: DeserializeOwned>(&mut self) -> Result<T, JsonFault> {
        let is_number = self.peek()?.is_some_and(|byte| byte == b'-' || byte.is_ascii_digit());
        let value = T::deserialize(&mut Deserializer::from_reader(&mut self.bytes));
        // A number ends where something else begins, which was read with it.
        self.bytes.again = Some(self.bytes.last).filter(|last| is_number && !last.is_ascii_digit());
        self.is_inside = true;
        value.map_err(|error| {
            let text = error.to_string();
            self.fault(text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message))
        })
    }

    /// The rest of the text that was not read yet, and the number of lines before it.
    pub(crate) fn into_rest(self) -> (Text<'a>, u64) {
        (self.bytes.text, self.bytes.line - 1)
    }
}

/// The keys of an object in the order of a table's columns: names of fields stand together, so that a key that
/// sorts between two of them is not taken for a third.
pub fn columns_of(object: &Map<String, Value>, op: Op) -> Vec<&str> {
    let known = text_keys(op);
    let is_field = |name: &&str| known.contains(name);
    let (mut names, others): (Vec<&str>, Vec<&str>) = object.keys().map(String::as_str).partition(is_field);
    names.extend(others);
    names
}

impl Row for Vec<&Value> {
    fn at(&self, column: usize) -> Option<Cell<'_>> {
        cell(self.get(column)?)
    }
}

/// A value as a cell; `None` for null, and for what no cell can have.
pub fn cell(value: &Value) -> Option<Cell<'_>> {
    match value {
        Value::String(text) => Cell::from_text(text),
        Value::Bool(flag) => Some(Cell::Word(if *flag { "true" } else { "false" })),
        Value::Number(number) => {
            number.as_i64().map(Cell::Whole).or_else(|| number.as_f64().map(Cell::Number))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<(u64, Value)>, String> {
        let mut json = JsonText::new(Box::new(text.as_bytes()));
        let mut read = || {
            let mut all = Vec::new();
            assert!(json.opens(b'[')?);
            while json.element(b']')? {
                all.push((json.line(), json.value()?));
            }
            assert_eq!(json.peek()?, None);
            Ok(all)
        };
        read().map_err(|fault: JsonFault| fault.to_string())
    }

    #[test]
    fn elements_of_a_list_are_read_one_by_one() {
        let expected = ["1", "-2.5", "\"]\"", "{\"a\":[1]}", "[]", "true", "7"];
        for separator in [",", " ,", ",\n "] {
            let text = format!("[{}]", expected.join(separator));
            let all = values(&text).unwrap();
            let texts: Vec<String> = all.iter().map(|(_, value)| value.to_string()).collect();
            assert_eq!(texts, expected, "{text}");
            let lines: Vec<u64> = all.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines == [1, 2, 3, 4, 5, 6, 7], separator.contains('\n'));
        }
        assert_eq!(values(" [ ] ").unwrap(), []);
        for (text, fault) in [
            ("[1,]", "trailing comma at line 1 column 3"),
            ("[1 2]", "expected `,` or `]` at line 1 column 3"),
            ("[1,\n2", "EOF while parsing a list at line 2 column 1"),
            ("[{\"a\" 1}]", "expected `:` at line 1 column 7"),
            ("[1,\n\nx]", "expected value at line 3 column 1"),
        ] {
            assert_eq!(values(text).unwrap_err(), fault, "{text}");
        }
    }
}
