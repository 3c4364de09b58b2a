//! Problems of rows in strict mode: read and validated as everywhere else, under every name that tables have
//! for a field.

use super::{Extractor, FieldError};
use crate::cells::{Cell, Fields};
use crate::problem::{InvalidField, Problem, ProblemDefaults};
use crate::vocab::{Direction, Op};

/// Fields, and the other name that tables have for them.
const ALIASES: [(&str, &str); 4] =
    [("direction", "variant"), ("ndim", "ndim_spatial"), ("dtype", "dtype_in"), ("dtype", "dtype_a")];

/// A row whose fields are found under either name.
pub(super) struct Asked<'a>(pub(super) &'a dyn Fields);

impl Fields for Asked<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        match self.cell(name) {
            Some(Cell::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let other =
            || ALIASES.iter().find_map(|&(field, alias)| self.0.cell(alias).filter(|_| field == name));
        self.0.cell(name).or_else(other)
    }
}

/// Refuses a row of another operation.
pub(super) fn check_op(op: Op, row: &dyn Fields) -> Result<(), FieldError> {
    for column in ["op_type", "op"] {
        if let Some(Cell::Word(word)) = row.cell(column)
            && word.parse() != Ok(op)
            // Upstream's converters write this word where they could not read a kernel's name.
            && word != "grouped"
        {
            return Err(InvalidField::new(
                column,
                format_args!("'{word}'"),
                format!("{op}, as of the model"),
            ));
        }
    }
    Ok(())
}

/// The problem of a row.
pub(crate) fn read(extractor: &Extractor, row: &dyn Fields) -> Result<Problem, FieldError> {
    let op = extractor.schema.op();
    for (field, alias) in ALIASES {
        if let (Some(expected), Some(found)) = (row.cell(field), row.cell(alias))
            && !same(expected, found)
        {
            return Err(InvalidField::new(alias, found, format!("{expected} as in {field}")));
        }
    }
    let defaults = ProblemDefaults { direction: extractor.direction, ..ProblemDefaults::of(op) };
    Problem::from_fields(op, &Asked(row), &defaults)
}

fn same(one: Cell<'_>, other: Cell<'_>) -> bool {
    let number = |cell: Cell<'_>| match cell {
        Cell::Whole(value) => Some(value as f64),
        Cell::Number(value) => Some(value),
        Cell::Word(text) => text.parse().ok(),
    };
    let direction = |cell: Cell<'_>| match cell {
        Cell::Word(word) => word.parse::<Direction>().ok(),
        Cell::Whole(_) | Cell::Number(_) => None,
    };
    one == other
        || number(one).is_some_and(|value| number(other) == Some(value))
        // `fwd` and `forward` are the same direction.
        || direction(one).is_some_and(|value| direction(other) == Some(value))
}
