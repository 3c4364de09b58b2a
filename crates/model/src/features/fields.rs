//! Feature inputs from named cells: a row of a CSV, or a mapping as upstream's Python tools take it.
//!
//! Upstream looks every input up by name and silently takes a default if it is absent or unknown.
//! [`Upstream`](super::Uncoded::Upstream) does exactly that, for parity; [`Error`](super::Uncoded::Error)
//! refuses both.

use super::engine::Engines;
use super::named::Named;
use super::reader::Reader;
use super::schema::Picked;
use super::{Extractor, FieldError, KernelFeatures as _, KernelTerms, OperationTerms, ProblemTerms, Uncoded};
use crate::cells::{Cell, Fields};
use crate::hardware::Hardware;
use crate::problem::{InvalidField, Problem};
use crate::vocab::Op;
use ck_select_types::each_operation;
use ck_select_types::operation::OperationProblem;

impl Extractor {
    /// Fills the features of a row of named cells. The hardware is the extractor's, overridden by `hw_*`
    /// cells.
    pub fn fill_row(&self, cells: &dyn Fields, row: &mut [f64]) -> Result<(), FieldError> {
        let (named, reader) = (Named::read(self, cells)?, Reader::new(self, cells));
        let least = if reader.is_lenient() { Engines::get(self.schema.op()).least_constant } else { 1 };
        let hardware = reader.hardware(self.hardware, least)?;
        self.fill_cells(cells, named, &hardware, row)
    }

    /// Fills the features of a row for the extractor's GPU, whatever cells say.
    pub(crate) fn fill_named(&self, cells: &dyn Fields, row: &mut [f64]) -> Result<(), FieldError> {
        self.fill_cells(cells, Named::read(self, cells)?, &self.hardware, row)
    }

    /// Fills the features of a row, of which it is known whether it names its kernel, for a GPU with these
    /// constants, whatever cells say.
    pub(crate) fn fill_cells(
        &self,
        cells: &dyn Fields,
        named: Option<Named>,
        hardware: &Hardware,
        row: &mut [f64],
    ) -> Result<(), FieldError> {
        let Some(named) = named else {
            let Some(columns) = self.schema.picked() else { return Ok(()) };
            each_operation!(columns, Picked(features) as Own => {
                let problem = problem_terms::<Own>(self, cells)?;
                let kernel = <Own as OperationProblem>::Kernel::terms_of_cells(self, cells)?;
                features.fill(&problem, &kernel, hardware, self.schema.needs_own(), row);
            });
            return Ok(());
        };
        named.check_variant(self, cells)?;
        let kernel = named.side(self)?;
        self.schema.fill(&named.into_problem().complete(self, cells)?, &kernel, hardware, row);
        Ok(())
    }
}

impl ProblemTerms {
    /// Reads what an extractor's features know about a problem from named cells.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let op = extractor.schema.op();
        each_operation!(op, Own => problem_terms::<Own>(extractor, fields).map(Self::from))
    }
}

/// What an extractor's features know about a problem of cells. If absent cells are errors, invalid values,
/// and values that the features would ignore, are errors, too, and padding after an axis, for which upstream
/// has no cell, counts.
fn problem_terms<P: OperationTerms>(
    extractor: &Extractor,
    fields: &dyn Fields,
) -> Result<P::Terms, FieldError> {
    if extractor.rules.uncoded == Uncoded::Upstream {
        return P::terms_of_cells(extractor, fields);
    }
    let op = extractor.schema.op();
    check_op(op, fields)?;
    P::terms_of_strict_cells(extractor, fields, &AliasedFields { op, row: fields })
}

impl KernelTerms {
    /// Reads what an extractor's features know about a kernel from named cells: from its name if there is one
    /// ([`NAME_COLUMNS`](super::NAME_COLUMNS)), with which the other cells must agree, otherwise from the
    /// others.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        match Named::read(extractor, fields)? {
            Some(named) => named.side(extractor),
            None => Self::read_cells(extractor, fields),
        }
    }

    /// Reads what an extractor's features know about the kernel of a row that names none.
    pub(crate) fn read_cells(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let op = extractor.schema.op();
        each_operation!(op, Own => {
            <Own as OperationProblem>::Kernel::terms_of_cells(extractor, fields).map(Self::from)
        })
    }
}

/// A row in which each field of a problem is found under any of its names.
struct AliasedFields<'a> {
    op: Op,
    row: &'a dyn Fields,
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
fn check_op(op: Op, row: &dyn Fields) -> Result<(), FieldError> {
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
