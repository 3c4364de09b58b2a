//! Named cells: a row of a CSV, or a mapping as upstream's Python tools take it.

use crate::invalid::{InvalidField, UnknownWord};
use crate::table::Row;

/// Named cells. An empty cell counts as absent. Each implementation has one of the two functions, which the
/// other follows.
pub trait Fields {
    /// The text of a cell, `None` when it is absent or empty.
    fn get(&self, name: &str) -> Option<&str> {
        match self.cell(name) {
            Some(Cell::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The same for cells with a type of their own, which need not be read from text.
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.get(name).map(Cell::Word)
    }

    /// The row of a table that these are: its cells are found faster than through this trait.
    fn row(&self) -> Option<Row<'_>> {
        None
    }
}

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// A whole number.
    Whole(i64),
    /// A number that may have a fraction; inputs truncate it.
    Number(f64),
    /// A word, or a number as text.
    Word(&'a str),
}

impl std::fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Word(word) => write!(f, "'{word}'"),
        }
    }
}

/// A cell as a whole number; `None` when it is absent.
pub fn whole(cells: &dyn Fields, name: &str) -> Result<Option<i64>, InvalidField> {
    cells.cell(name).map(|cell| cell.whole(name)).transpose()
}

/// A cell as yes or no.
pub fn flag(cells: &dyn Fields, name: &str) -> Result<Option<bool>, InvalidField> {
    cells.cell(name).map(|cell| cell.flag(name)).transpose()
}

impl<'a> Cell<'a> {
    /// As a whole number. `name` is for the error.
    pub fn whole(self, name: &str) -> Result<i64, InvalidField> {
        // Tables that went through a data frame hold whole numbers as floats.
        self.integer(name, |float| float.fract() == 0.0 && float.abs() < 9.0e15)
    }

    /// The same without what is behind the decimal point.
    pub fn truncated(self, name: &str) -> Result<i64, InvalidField> {
        self.integer(name, |float| float.abs() < 9.2e18)
    }

    fn integer(self, name: &str, accepts: impl Fn(f64) -> bool) -> Result<i64, InvalidField> {
        let of_float = |float: f64| accepts(float).then_some(float as i64);
        let value = match self {
            Self::Whole(value) => Some(value),
            Self::Number(value) => of_float(value),
            Self::Word(text) => text.parse().ok().or_else(|| of_float(text.parse().ok()?)),
        };
        value.ok_or_else(|| InvalidField::new(name, self, "a whole number"))
    }

    /// As yes or no.
    #[inline]
    pub fn flag(self, name: &str) -> Result<bool, InvalidField> {
        match self {
            Self::Word("1" | "true" | "True" | "1.0") | Self::Whole(1) | Self::Number(1.0) => Ok(true),
            Self::Word("0" | "false" | "False" | "0.0") | Self::Whole(0) | Self::Number(0.0) => Ok(false),
            _ => Err(InvalidField::new(name, self, "0, 1, true or false")),
        }
    }

    /// As text.
    #[inline]
    pub fn text(self, name: &str) -> Result<&'a str, InvalidField> {
        match self {
            Self::Word(text) => Ok(text),
            number => Err(InvalidField::new(name, number, "a word")),
        }
    }
}

/// A cell as text.
pub fn text<'c>(cells: &'c dyn Fields, name: &str) -> Result<Option<&'c str>, InvalidField> {
    cells.cell(name).map(|cell| cell.text(name)).transpose()
}

/// A cell as the number of a word. Upstream's attention has numbers for words.
pub(crate) fn word(
    cells: &dyn Fields,
    name: &str,
    code: fn(&str) -> Result<i64, UnknownWord>,
) -> Result<Option<i64>, InvalidField> {
    let read = |text: &str| code(text).map(Some).map_err(|error| InvalidField::word(name, &error));
    match cells.cell(name) {
        Some(Cell::Whole(number)) => read(&number.to_string()),
        _ => text(cells, name)?.map_or(Ok(None), read),
    }
}

/// A cell as a word of a vocabulary.
pub(crate) fn parsed<T: std::str::FromStr<Err = UnknownWord>>(
    cells: &dyn Fields,
    name: &str,
) -> Result<Option<T>, InvalidField> {
    let parsed = text(cells, name)?.map(str::parse).transpose();
    parsed.map_err(|error| InvalidField::word(name, &error))
}
