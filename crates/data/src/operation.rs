//! What an operation's file says about its measurements.

use ck_select_types::cells::{Cell, Fields};
use ck_select_types::operation::OperationProblem;
use ck_select_types::problem::ProblemDefaults;

/// Problems of an operation in tables of measurements.
pub(crate) trait OperationData: OperationProblem {
    /// The columns of upstream's canonical table: numbers of the problem, fields of the kernel, and what else
    /// a row has.
    const TABLE: &'static [&'static [&'static str]];
    /// Those of upstream's CSV, under the names of the table.
    const BENCHMARK: &'static [&'static [&'static str]];

    /// The problem of a row: sizes from its cells, words from its kernel, which has a name.
    fn of_row(
        kernel: (&str, &Self::Kernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String>;
}

/// Cells of which some are not read, because the kernel's name says them.
pub(crate) struct Sizes<'a> {
    pub(crate) cells: &'a dyn Fields,
    pub(crate) is_size: fn(&str) -> bool,
}

impl Fields for Sizes<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        if (self.is_size)(name) { self.cells.cell(name) } else { None }
    }
}
