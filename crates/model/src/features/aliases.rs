//! Problems of rows in strict mode: read and validated as everywhere else, under every name that tables have
//! for a field.

use super::{Extractor, FieldError};
use crate::cells::{Cell, Fields};
use crate::problem::{InvalidField, Problem, ProblemDefaults};
use crate::vocab::Op;

/// A row in which each field of a problem is found under any of its names.
pub(super) struct AliasedFields<'a> {
    pub(super) op: Op,
    pub(super) row: &'a dyn Fields,
}

impl Fields for AliasedFields<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let other = || {
            let field =
                Problem::fields(self.op).iter().find(|field| field.names().any(|known| known == name))?;
            field.names().find_map(|name| self.row.cell(name))
        };
        self.row.cell(name).or_else(other)
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
    let defaults = ProblemDefaults { direction: extractor.direction, ..ProblemDefaults::of(op) };
    Problem::from_fields(op, row, &defaults)
}
