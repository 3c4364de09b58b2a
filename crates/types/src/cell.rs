//! The value of a named cell.

use crate::invalid::InvalidField;

/// Texts of a cell without a value: nothing, and what upstream's harness and data frames write for it.
const ABSENT: [&str; 7] = ["", "N/A", "nan", "NaN", "null", "None", "NULL"];

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

impl<'a> Cell<'a> {
    /// The cell of a text in a table of measurements; `None` if the text stands for no value.
    pub fn from_text(text: &'a str) -> Option<Self> {
        (!ABSENT.contains(&text)).then_some(Self::Word(text))
    }

    /// The cell as a number.
    pub fn number(self, name: &str) -> Result<f64, InvalidField> {
        let value = match self {
            Self::Whole(value) => Some(value as f64),
            Self::Number(value) => Some(value),
            Self::Word(text) => text.parse().ok(),
        };
        value.ok_or_else(|| InvalidField::new(name, self, "a number"))
    }

    /// The cell as a whole number. `name` is for the error.
    pub fn whole(self, name: &str) -> Result<i64, InvalidField> {
        // Tables that went through a data frame hold whole numbers as floats.
        self.integer(name, |float| float.fract() == 0.0 && float.abs() < 9.0e15)
    }

    /// The cell as a whole number, without the digits behind the decimal point.
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

    /// The cell as a flag.
    #[inline]
    pub fn flag(self, name: &str) -> Result<bool, InvalidField> {
        match self {
            Self::Whole(1) | Self::Number(1.0) | Self::Word("1" | "1.0" | "true" | "True" | "TRUE") => {
                Ok(true)
            }
            Self::Whole(0) | Self::Number(0.0) | Self::Word("0" | "0.0" | "false" | "False" | "FALSE") => {
                Ok(false)
            }
            _ => Err(InvalidField::new(name, self, "0, 1, true or false")),
        }
    }

    /// The cell as text.
    #[inline]
    pub fn text(self, name: &str) -> Result<&'a str, InvalidField> {
        match self {
            Self::Word(text) => Ok(text),
            number => Err(InvalidField::new(name, number, "a word")),
        }
    }
}
