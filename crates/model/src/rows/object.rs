//! One row as a JSON object.

use ck_select_types::sheet;
use serde_json::{Map, Value};

use crate::cells::{Cell, Fields};
use crate::json;
use crate::problem::InvalidField;

/// Text that is not a row.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The text is no JSON object, or has a name twice.
    #[error("not a JSON object of numbers, words and truth values: {0}")]
    Json(#[from] serde_json::Error),
    /// A list or an object in a cell.
    #[error("not a JSON object of numbers, words and truth values: {0}")]
    Cell(#[from] InvalidField),
}

/// A row from a JSON object. Values are numbers, words, `true` and `false`, or `null` for an absent cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Map<String, Value>);

impl Object {
    /// Reads a row, in which each name appears once.
    pub fn from_json(text: &[u8]) -> Result<Self, ObjectError> {
        let mut cells = json::object(text)?;
        cells.retain(|_, value| !value.is_null());
        match cells.iter().find(|(_, value)| value.is_array() || value.is_object()) {
            Some((name, value)) => {
                Err(InvalidField::new(name, value, "a number, a word, true, false or null").into())
            }
            None => Ok(Self(cells)),
        }
    }

    /// The names of the object's cells.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Fields for Object {
    /// The cell under a name. As in Python, `true` is 1; a word that stands for no value in files is a word here.
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        match self.0.get(name)? {
            Value::Bool(flag) => Some(Cell::Whole((*flag).into())),
            Value::String(word) => (!word.is_empty()).then_some(Cell::Word(word)),
            number => sheet::json::cell(number),
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
