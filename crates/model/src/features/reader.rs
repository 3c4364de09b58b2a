//! Lookups of cells by name, with upstream's defaults or without.

use super::schema::SCHEDULERS;
use super::{Extractor, Uncoded};
use crate::cells::{Cell, Fields};
use crate::hardware::Hardware;
use crate::problem::{InvalidField, Problem, ProblemDefaults};
use crate::table::Row;
use crate::vocab::Pipeline;

/// A cell that cannot be used: its column, what it holds, what it may hold.
pub type FieldError = InvalidField;

/// Lookups with upstream's defaults, which apply only if lenient.
pub(super) struct Reader<'a> {
    fields: &'a dyn Fields,
    /// The row that they are, if they are those of a table.
    row: Option<Row<'a>>,
    lenient: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(extractor: &Extractor, fields: &'a dyn Fields) -> Self {
        Self { fields, row: fields.row(), lenient: extractor.rules.uncoded == Uncoded::Upstream }
    }

    /// A cell. Inlined: tables have thousands of rows, and each row is asked for dozens of cells.
    #[inline(always)]
    pub(super) fn cell(&self, name: &str) -> Option<Cell<'a>> {
        match self.row {
            Some(row) => row.at(name),
            None => self.fields.cell(name),
        }
    }

    /// A cell as text.
    #[inline(always)]
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, FieldError> {
        self.cell(name).map(|cell| cell.text(name)).transpose()
    }

    pub(super) const fn is_lenient(&self) -> bool {
        self.lenient
    }

    /// A cell as messages show it.
    pub(super) fn found(&self, name: &str) -> String {
        self.cell(name).map_or_else(|| "nothing".to_owned(), |cell| cell.to_string())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.cell(name).is_some()
    }

    /// A cell as text, whatever it is.
    pub(super) fn found_word(&self, name: &str) -> Option<String> {
        self.cell(name).map(|cell| match cell {
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

    #[inline(always)]
    pub(super) fn word(&self, name: &str, default: &'static str) -> Result<&'a str, FieldError> {
        match self.text(name)? {
            Some(word) => Ok(word),
            None if self.lenient => Ok(default),
            None => Err(Self::absent(name, "a word")),
        }
    }

    #[inline(always)]
    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64, FieldError> {
        self.int_or(name, self.lenient.then_some(default))
    }

    #[inline(always)]
    fn int_or(&self, name: &str, default: Option<i64>) -> Result<i64, FieldError> {
        match self.opt_int(name)? {
            Some(value) => Ok(value),
            None => default.ok_or_else(|| Self::absent(name, "a whole number")),
        }
    }

    /// Three whole numbers.
    #[inline(always)]
    pub(super) fn triple(&self, names: [&str; 3], default: Option<[i64; 3]>) -> Result<[i64; 3], FieldError> {
        let [x, y, z] = default.map_or([None; 3], |default| default.map(Some));
        Ok([self.int_or(names[0], x)?, self.int_or(names[1], y)?, self.int_or(names[2], z)?])
    }

    /// A whole number; where absent cells are not errors, fractions are truncated, as in upstream.
    #[inline(always)]
    pub(super) fn opt_int(&self, name: &str) -> Result<Option<i64>, FieldError> {
        match self.cell(name) {
            None => Ok(None),
            Some(Cell::Whole(value)) => Ok(Some(value)),
            Some(cell) if self.lenient => cell.truncated(name).map(Some),
            Some(cell) => cell.whole(name).map(Some),
        }
    }

    #[inline(always)]
    pub(super) fn opt_flag(&self, name: &str) -> Result<Option<bool>, FieldError> {
        self.cell(name).map(|cell| cell.flag(name)).transpose()
    }

    #[inline(always)]
    pub(super) fn flag(&self, name: &str) -> Result<bool, FieldError> {
        match self.opt_flag(name)? {
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
        self.triple(names, self.lenient.then_some([default; 3]))
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
        let word = self.text(name)?.unwrap_or("intrawave");
        if self.is_lenient() || SCHEDULERS.contains(&word) {
            return Ok(word);
        }
        Err(InvalidField::new(name, format_args!("'{word}'"), format!("one of {}", SCHEDULERS.join(", "))))
    }
}

/// The problem of a row where absent cells are errors: read and validated as everywhere else.
pub(crate) fn asked_problem(extractor: &Extractor, row: &dyn Fields) -> Result<Problem, FieldError> {
    let op = extractor.schema.op();
    let defaults = ProblemDefaults { direction: extractor.direction, ..ProblemDefaults::new(op) };
    Problem::from_fields(op, row, &defaults)
}
