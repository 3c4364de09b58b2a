//! Feature inputs from named cells: a row of a CSV, or a mapping as upstream's Python tools take it.
//!
//! Upstream looks every input up by name and silently takes a default if it is absent or unknown.
//! [`Upstream`](super::Uncoded::Upstream) does exactly that, for parity; [`Error`](super::Uncoded::Error)
//! refuses both.

use super::aliases;
use super::named::Named;
use super::operation::KernelTermsOf;
use super::reader::Reader;
use super::schema::{Features, Picked};
use super::sides::{KernelFeatures as _, OperationFeatures};
use super::{Extractor, FieldError, KernelTerms, ProblemTerms, Uncoded};
use crate::cells::Fields;
use crate::hardware::Hardware;
use crate::vocab::Op;
use ck_select_types::each_operation;

/// The inputs of one feature row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowInputs {
    /// What features know about the problem.
    pub problem: ProblemTerms,
    /// What they know about the kernel.
    pub kernel: KernelTerms,
    /// The constants of the GPU.
    pub hardware: Hardware,
}

impl RowInputs {
    /// Reads the inputs of an extractor's features from named cells.
    ///
    /// The hardware is the extractor's, overridden by `hw_*` cells.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let (problem, kernel) = sides(extractor, fields)?;
        let reader = Reader::new(extractor, fields);
        // Upstream's C++ header for attention assumes a profile of zeros.
        let zeros = extractor.schema.op() == Op::Fmha && reader.is_lenient();
        let least = i64::from(!zeros);
        Ok(Self { problem, kernel, hardware: reader.hardware(extractor.hardware, least)? })
    }
}

/// Reads both sides of a row: the kernel from its name if it has one, otherwise from its cells.
fn sides(extractor: &Extractor, row: &dyn Fields) -> Result<(ProblemTerms, KernelTerms), FieldError> {
    match Named::read(extractor, row)? {
        Some(named) => {
            named.check_variant(extractor, row)?;
            let kernel = named.side(extractor)?;
            Ok((named.into_problem().complete(extractor, row)?, kernel))
        }
        None => Ok((ProblemTerms::read(extractor, row)?, KernelTerms::read_cells(extractor, row)?)),
    }
}

impl Extractor {
    /// Fills the features of a row of cells, of which it is known whether it names its kernel.
    pub(crate) fn fill_cells(
        &self,
        cells: &dyn Fields,
        named: Option<Named>,
        row: &mut [f64],
    ) -> Result<(), FieldError> {
        let Some(named) = named else {
            let Some(columns) = self.schema.picked() else { return Ok(()) };
            return each_operation!(columns, Picked(features) => fill(features, self, cells, row));
        };
        named.check_variant(self, cells)?;
        let kernel = named.side(self)?;
        self.fill(&named.into_problem().complete(self, cells)?, &kernel, row);
        Ok(())
    }
}

fn fill<P: OperationFeatures>(
    features: &Features<P>,
    extractor: &Extractor,
    cells: &dyn Fields,
    row: &mut [f64],
) -> Result<(), FieldError> {
    let problem = problem_terms::<P>(extractor, cells)?;
    let kernel = P::Kernel::terms_of_cells(extractor, cells)?;
    features.fill(&problem, &kernel, &extractor.hardware, extractor.schema.needs_own(), row);
    Ok(())
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
fn problem_terms<P: OperationFeatures>(
    extractor: &Extractor,
    fields: &dyn Fields,
) -> Result<P::Terms, FieldError> {
    if extractor.rules.uncoded == Uncoded::Upstream {
        return P::terms_of_cells(extractor, fields);
    }
    let op = extractor.schema.op();
    aliases::check_op(op, fields)?;
    P::terms_of_strict_cells(extractor, fields, &aliases::AliasedFields { op, row: fields })
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

    /// The same for a row that names no kernel.
    pub(crate) fn read_cells(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let op = extractor.schema.op();
        each_operation!(op, Own => kernel_terms::<Own>(extractor, fields).map(Self::from))
    }
}

fn kernel_terms<P: OperationFeatures>(
    extractor: &Extractor,
    row: &dyn Fields,
) -> Result<KernelTermsOf<P>, FieldError> {
    P::Kernel::terms_of_cells(extractor, row)
}
