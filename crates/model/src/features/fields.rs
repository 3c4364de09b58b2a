//! Feature inputs from named cells: a row of a CSV, or a mapping as upstream's Python tools take it.
//!
//! Upstream looks every input up by name and silently takes a default if it is absent or unknown.
//! [`Upstream`](super::Uncoded::Upstream) does exactly that, for parity; [`Error`](super::Uncoded::Error)
//! refuses both.

use super::aliases;
use super::named::Named;
use super::operation::KernelTermsOf;
use super::reader::Reader;
use super::sides::{KernelFeatures as _, OperationFeatures};
use super::{Extractor, FieldError, KernelTerms, ProblemTerms};
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
pub(crate) fn sides(
    extractor: &Extractor,
    row: &dyn Fields,
) -> Result<(ProblemTerms, KernelTerms), FieldError> {
    named_sides(extractor, row, Named::read(extractor, row)?)
}

/// The same for a row of which it is known whether it names its kernel.
pub(crate) fn named_sides(
    extractor: &Extractor,
    row: &dyn Fields,
    named: Option<Named>,
) -> Result<(ProblemTerms, KernelTerms), FieldError> {
    match named {
        Some(named) => {
            named.check_variant(extractor, row)?;
            let kernel = named.side(extractor)?;
            Ok((named.into_problem().complete(extractor, row)?, kernel))
        }
        None => Ok((ProblemTerms::read(extractor, row)?, KernelTerms::read_cells(extractor, row)?)),
    }
}

impl ProblemTerms {
    /// Reads what an extractor's features know about a problem from named cells.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let reader = Reader::new(extractor, fields);
        if !reader.is_lenient() {
            return Self::read_strict(extractor, fields);
        }
        let op = extractor.schema.op();
        each_operation!(op, Own => Own::terms_of_cells(extractor, fields).map(Self::from))
    }

    /// The same if absent cells are errors: invalid values, and values that the features would ignore, are
    /// errors, too. Padding after an axis, for which upstream has no cell, counts.
    fn read_strict(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let op = extractor.schema.op();
        aliases::check_op(op, fields)?;
        let row = aliases::AliasedFields { op, row: fields };
        each_operation!(op, Own => Own::terms_of_strict_cells(extractor, fields, &row).map(Self::from))
    }
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
