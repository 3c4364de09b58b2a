//! One row as a JSON object.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::cells::{Cell, Fields};

/// Text that is not a row.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON object of numbers, words and truth values: {0}")]
pub struct ObjectError(#[from] serde_json::Error);

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
    fn borrowed(&self) -> Cell<'_> {
        match self {
            Self::Whole(value) => Cell::Whole(*value),
            Self::Number(value) => Cell::Number(*value),
            Self::Word(word) => Cell::Word(word),
        }
    }
}

impl Object {
    /// Reads a row. Of a repeated name, the last value counts.
    pub fn from_json(text: &[u8]) -> Result<Self, ObjectError> {
        let mut reader = serde_json::Deserializer::from_slice(text);
        let object = reader.deserialize_map(Cells)?;
        reader.end()?;
        Ok(object)
    }

    /// Copies the cells of these names.
    pub fn of(fields: &dyn Fields, names: &[&str]) -> Self {
        let cell = |name: &&str| {
            let cell = match fields.cell(name)? {
                Cell::Whole(value) => OwnedCell::Whole(value),
                Cell::Number(value) => OwnedCell::Number(value),
                Cell::Word(word) => OwnedCell::Word(word.to_owned()),
            };
            Some(((*name).to_owned(), cell))
        };
        Self { cells: names.iter().filter_map(cell).collect() }
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

struct Cells;

impl<'de> Visitor<'de> for Cells {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let (mut cells, mut absent) = (Vec::new(), Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            match map.next_value::<Option<OwnedCell>>()? {
                Some(cell) => cells.push((name, cell)),
                None => absent.push(name),
            }
        }
        let mut names: Vec<&String> = cells.iter().map(|(name, _)| name).chain(&absent).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(A::Error::custom(format_args!("the key '{}' appears twice", pair[0]))),
            None => Ok(Object { cells }),
        }
    }
}

impl<'de> Deserialize<'de> for OwnedCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = OwnedCell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a word, true, false or null")
            }

            fn visit_bool<E>(self, value: bool) -> Result<OwnedCell, E> {
                Ok(OwnedCell::Whole(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<OwnedCell, E> {
                Ok(OwnedCell::Whole(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<OwnedCell, E> {
                Ok(i64::try_from(value).map_or(OwnedCell::Number(value as f64), OwnedCell::Whole))
            }

            fn visit_f64<E>(self, value: f64) -> Result<OwnedCell, E> {
                Ok(OwnedCell::Number(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<OwnedCell, E> {
                Ok(OwnedCell::Word(value.to_owned()))
            }
        }
        deserializer.deserialize_any(One)
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
        let copied = Object::of(&object, &["dtype", "N", "absent"]);
        assert_eq!(
            (copied.cell("N"), copied.cell("C"), copied.cells.len()),
            (Some(Cell::Whole(16)), None, 2)
        );
    }

    #[test]
    fn a_name_appears_once() {
        let error = Object::from_json(br#"{"N":1,"N":null}"#).unwrap_err().to_string();
        assert!(error.contains("the key 'N' appears twice"), "{error}");
    }

    #[test]
    fn what_is_no_row_is_said() {
        for (text, message) in [
            ("[1]", "invalid type: sequence, expected an object"),
            (r#"{"N":[1]}"#, "expected a number, a word, true, false or null at line 1 column 6"),
            (r#"{"N":1} x"#, "trailing characters at line 1 column 9"),
            ("", "EOF while parsing"),
            (r#"{"N":NaN}"#, "expected value at line 1 column 6"),
        ] {
            let error = Object::from_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
