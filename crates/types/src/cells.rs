//! Named cells: a row of a CSV, or a mapping as upstream's Python tools take it.

use crate::invalid::{InvalidField, UnknownWord};

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
    // Tables that went through a data frame hold whole numbers as floats.
    integer(cells, name, |float| float.fract() == 0.0 && float.abs() < 9.0e15)
}

/// The same without what is behind the decimal point.
pub fn truncated(cells: &dyn Fields, name: &str) -> Result<Option<i64>, InvalidField> {
    integer(cells, name, |float| float.abs() < 9.2e18)
}

fn integer(
    cells: &dyn Fields,
    name: &str,
    accepts: impl Fn(f64) -> bool,
) -> Result<Option<i64>, InvalidField> {
    let Some(cell) = cells.cell(name) else { return Ok(None) };
    let of_float = |float: f64| accepts(float).then_some(float as i64);
    let value = match cell {
        Cell::Whole(value) => Some(value),
        Cell::Number(value) => of_float(value),
        Cell::Word(text) => text.parse().ok().or_else(|| of_float(text.parse().ok()?)),
    };
    value.map(Some).ok_or_else(|| InvalidField::new(name, cell, "a whole number"))
}

/// A cell as yes or no.
pub fn flag(cells: &dyn Fields, name: &str) -> Result<Option<bool>, InvalidField> {
    match cells.cell(name) {
        None => Ok(None),
        Some(Cell::Word("1" | "true" | "True" | "1.0") | Cell::Whole(1) | Cell::Number(1.0)) => {
            Ok(Some(true))
        }
        Some(Cell::Word("0" | "false" | "False" | "0.0") | Cell::Whole(0) | Cell::Number(0.0)) => {
            Ok(Some(false))
        }
        Some(cell) => Err(InvalidField::new(name, cell, "0, 1, true or false")),
    }
}

/// A cell as text.
pub fn text<'c>(cells: &'c dyn Fields, name: &str) -> Result<Option<&'c str>, InvalidField> {
    match cells.cell(name) {
        None => Ok(None),
        Some(Cell::Word(text)) => Ok(Some(text)),
        Some(number) => Err(InvalidField::new(name, number, "a word")),
    }
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
