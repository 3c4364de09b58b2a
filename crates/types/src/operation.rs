//! What each operation says about itself, once: what its tables have, and what its fields are called.

use crate::field::Field;
use crate::vocab::Dtype;

/// An operation's record, which stands in its folder.
#[derive(Debug)]
pub struct Operation {
    /// What its kernels are called in messages.
    pub noun: &'static str,
    /// The fields of its problems, in the order of text; the architecture is none of them.
    pub problem: &'static [Field],
    /// The fields of its kernels.
    pub kernel: &'static [Field],
    /// The fields without which a table has no problem of it.
    pub needed: &'static [&'static str],
    /// The fields that are element types.
    pub operands: &'static [&'static str],
    /// The element type where none is given.
    pub dtype: Dtype,
    /// The columns that problems have in tables of measurements: upstream's, in its order.
    pub columns: &'static [&'static str],
    /// Columns that such a table has besides where one of its problems needs them; those of one list go
    /// together.
    pub more_columns: &'static [&'static [&'static str]],
    /// The names of the cells that describe a problem, and those that tell whether a model applies to it.
    pub problem_cells: &'static [&'static [&'static str]],
    /// The cells of a row that describe a kernel without a name, as upstream's feature engines call them.
    pub kernel_cells: &'static [&'static str],
}
