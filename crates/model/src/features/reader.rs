//! Lookups of cells by name, with upstream's defaults or without.

use super::schema::SCHEDULERS;
use super::{Extractor, Uncoded};
use crate::cells::{self, Cell, Fields};
use crate::hardware::Hardware;
use crate::problem::InvalidField;
use crate::vocab::Pipeline;

/// A cell that cannot be used: its column, what it holds, what it may hold.
pub type FieldError = InvalidField;

/// Lookups with upstream's defaults, which apply only if lenient.
pub(super) struct Reader<'a> {
    pub(super) fields: &'a dyn Fields,
    lenient: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(extractor: &Extractor, fields: &'a dyn Fields) -> Self {
        Self { fields, lenient: extractor.rules.uncoded == Uncoded::Upstream }
    }

    pub(super) const fn is_lenient(&self) -> bool {
        self.lenient
    }

    /// A cell as messages show it.
    pub(super) fn found(&self, name: &str) -> String {
        self.fields.cell(name).map_or_else(|| "nothing".to_owned(), |cell| cell.to_string())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.cell(name).is_some()
    }

    /// A cell as text, whatever it is.
    pub(super) fn found_word(&self, name: &str) -> Option<String> {
        self.fields.cell(name).map(|cell| match cell {
            Cell::Word(word) => word.to_owned(),
            number => number.to_string(),
        })
    }

    pub(super) fn absent(name: &str, expected: &str) -> FieldError {
        InvalidField::new(name, "nothing", expected)
    }

    /// Lists all absent cells at once where they are errors. A single one is left to its own reader, which
    /// knows what it may hold.
    pub(super) fn require(&self, names: impl IntoIterator<Item = &'static str>) -> Result<(), FieldError> {
        if self.lenient {
            return Ok(());
        }
        let absent: Vec<_> = names.into_iter().filter(|name| !self.has(name)).collect();
        if absent.len() < 2 { Ok(()) } else { Err(Self::absent(&absent.join(", "), "a value for each")) }
    }

    pub(super) fn word(&self, name: &str, default: &'static str) -> Result<&'a str, FieldError> {
        match cells::text(self.fields, name)? {
            Some(word) => Ok(word),
            None if self.lenient => Ok(default),
            None => Err(Self::absent(name, "a word")),
        }
    }

    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64, FieldError> {
        match self.opt_int(name)? {
            Some(value) => Ok(value),
            None if self.lenient => Ok(default),
            None => Err(Self::absent(name, "a whole number")),
        }
    }

    /// A whole number; where absent cells are not errors, fractions are truncated, as in upstream.
    pub(super) fn opt_int(&self, name: &str) -> Result<Option<i64>, FieldError> {
        if self.lenient { cells::truncated(self.fields, name) } else { cells::whole(self.fields, name) }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, FieldError> {
        match cells::flag(self.fields, name)? {
            Some(flag) => Ok(flag),
            None if self.lenient => Ok(false),
            None => Err(Self::absent(name, "0, 1, true or false")),
        }
    }

    pub(super) fn hardware(&self, mut hardware: Hardware, least: i64) -> Result<Hardware, FieldError> {
        for (name, column) in Hardware::NAMES.into_iter().zip(Hardware::COLUMNS) {
            if let Some(value) = self.opt_int(column)? {
                let set = hardware.set_from(name, value, least);
                set.map_err(|error| InvalidField { field: column.to_owned(), ..error })?;
            }
        }
        Ok(hardware)
    }

    /// Three axes, depth first.
    pub(super) fn axes(&self, names: [&str; 3], default: i64) -> Result<[i64; 3], FieldError> {
        Ok([self.int(names[0], default)?, self.int(names[1], default)?, self.int(names[2], default)?])
    }

    /// Number of a pipeline. Features without it are those of any word, but a misspelt one is an error.
    pub(super) fn pipeline_code(&self, extractor: &Extractor, word: &str) -> Result<f64, FieldError> {
        let code = extractor.pipeline_code(word)?;
        match word.parse::<Pipeline>() {
            Err(error) if !self.is_lenient() => Err(InvalidField::word("pipeline", &error)),
            _ => Ok(code),
        }
    }

    pub(super) fn scheduler(&self, name: &str) -> Result<&'a str, FieldError> {
        let word = cells::text(self.fields, name)?.unwrap_or("intrawave");
        if self.is_lenient() || SCHEDULERS.contains(&word) {
            return Ok(word);
        }
        Err(InvalidField::new(name, format_args!("'{word}'"), format!("one of {}", SCHEDULERS.join(", "))))
    }
}
