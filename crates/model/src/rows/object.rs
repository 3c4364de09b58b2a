//! One row as a JSON object.

use serde_json::Value;

use crate::cells::{Cell, Fields};
use crate::json;
use crate::problem::InvalidField;

/// Text that is not a row.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It is no JSON object, or has a name twice.
    #[error("not a JSON object of numbers, words and truth values: {0}")]
    Json(#[from] serde_json::Error),
    /// A list or an object in a cell.
    #[error("not a JSON object of numbers, words and truth values: {0}")]
    Cell(#[from] InvalidField),
}

/// A row from a JSON object. Values are numbers, words, `true` and `false`, or `null` for an absent cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object {
    cells: Vec<(String, OwnedCell)>,
}

#[derive(Debug, Clone, PartialEq)]
enum OwnedCell {
    Whole(i64),
    Number(f64),
    Word(String),
}

impl OwnedCell {
    /// `None` for an absent cell.
    fn from_json(name: &str, value: Value) -> Result<Option<Self>, InvalidField> {
        Ok(match value {
            Value::Null => None,
            Value::Bool(flag) => Some(Self::Whole(flag.into())),
            Value::String(word) => Some(Self::Word(word)),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Some(Self::Whole(whole)),
                None => number.as_f64().map(Self::Number),
            },
            value => return Err(InvalidField::new(name, value, "a number, a word, true, false or null")),
        })
    }

    fn borrowed(&self) -> Cell<'_> {
        match self {
            Self::Whole(value) => Cell::Whole(*value),
            Self::Number(value) => Cell::Number(*value),
            Self::Word(word) => Cell::Word(word),
        }
    }
}

impl Object {
    /// Reads a row, in which each name appears once.
    pub fn from_json(text: &[u8]) -> Result<Self, ObjectError> {
        let mut cells = Vec::new();
        for (name, value) in json::object(text)? {
            if let Some(cell) = OwnedCell::from_json(&name, value)? {
                cells.push((name, cell));
            }
        }
        Ok(Self { cells })
    }

    /// The names of its cells.
    pub(super) fn names(&self) -> Vec<&str> {
        self.cells.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl Fields for Object {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let (_, cell) = self.cells.iter().find(|(have, _)| have == name)?;
        match cell.borrowed() {
            Cell::Word("") => None,
            Cell::Number(value) if value.is_nan() => None,
            cell => Some(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kinds() {
        let text =
            br#"{"N":16,"C":2.5,"dtype":"bf16","pad":true,"none":null,"empty":"","N2":9223372036854775808}"#;
        let object = Object::from_json(text).unwrap();
        assert_eq!((object.cell("N"), object.cell("C")), (Some(Cell::Whole(16)), Some(Cell::Number(2.5))));
        assert_eq!((object.get("dtype"), object.cell("pad")), (Some("bf16"), Some(Cell::Whole(1))));
        assert_eq!((object.cell("none"), object.cell("empty"), object.cell("absent")), (None, None, None));
        assert_eq!(object.cell("N2"), Some(Cell::Number(9_223_372_036_854_775_808.0)));
    }

    #[test]
    fn objects_that_are_no_rows_are_refused() {
        for (text, message) in [
            ("[1]", "expected a JSON object"),
            (r#"{"N":[1]}"#, "N: found [1], expected a number, a word, true, false or null"),
            (r#"{"N":1,"N":null}"#, "the key 'N' appears twice"),
            (r#"{"N":1} x"#, "trailing characters at line 1 column 9"),
            ("", "EOF while parsing"),
            (r#"{"N":NaN}"#, "expected value at line 1 column 6"),
        ] {
            let error = Object::from_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
