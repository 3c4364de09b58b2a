//! What rows of an operation's problems and kernels mean beside their fields.

use super::upstream::Upstream;
use crate::cells::Fields;
use crate::features::{Extractor, OperationTerms};
use crate::given::Given;
pub(super) use crate::operation::KernelOf;
use crate::problem::InvalidField;
use ck_select_types::operation_enum;

operation_enum! {
    /// A problem as far as cells give it.
    #[derive(Debug, Clone, PartialEq)]
    #[allow(clippy::large_enum_variant, reason = "a pool of rows holds one")]
    pub enum GivenProblem(Given);
}

/// The cell that names a row's kernel: its column and the name.
#[derive(Clone, Copy)]
pub(super) struct NameCell<'a>(pub(super) &'static str, pub(super) &'a str);

impl NameCell<'_> {
    /// Who says what other cells must agree with.
    pub(super) fn says(self) -> String {
        format!("{} '{}' says", self.0, self.1)
    }
}

/// The names of problems' cells that a kernel's name already says.
pub(super) struct CellsInName {
    /// Cells that upstream's engines look at.
    pub(super) upstream: &'static [&'static str],
    /// Cells that only strict rows must agree with.
    pub(super) strict_only: &'static [&'static str],
}

impl CellsInName {
    /// The cells that must agree with a kernel's name.
    pub(super) fn cells(&self, is_lenient: bool) -> impl Iterator<Item = &'static str> + use<> {
        let strict_only = if is_lenient { &[] } else { self.strict_only };
        self.upstream.iter().chain(strict_only).copied()
    }
}

/// Problems of an operation, as rows describe them and their kernels.
pub(super) trait OperationRows: OperationTerms + Upstream {
    /// The kernels of rows that can serve a problem, in words; `None` if all can.
    const SERVED_BY: Option<&'static str> = None;

    /// The cells by which a row may ask for another variant than its kernel's, in words.
    const VARIANT: Option<&'static str> = None;

    /// The cells of kernels whose values a name says besides those that upstream's engines read.
    const BESIDE: &'static [&'static str] = &[];

    /// Cells of kernels with more than one reading, in which a name and a cell may differ.
    const SEVERAL_READINGS: &'static [&'static str] = &[];

    /// The cells of problems that a kernel's name already says.
    const IN_NAME: CellsInName;

    /// The cells that upstream's converters derive from a name besides; those of problems are among them.
    const CONVERTED: &'static [&'static str];

    /// The cells that a strict row has, with which it says more than a problem in text needs to.
    fn needs(given: &Given<Self>) -> &'static [&'static str];

    /// Refuses what only some features cannot do without.
    fn check(_extractor: &Extractor, _given: &Given<Self>) -> Result<(), InvalidField> {
        Ok(())
    }

    /// Whether two values of a field mean the same.
    fn is_same(_field: &str, values: [i64; 2]) -> bool {
        values[0] == values[1]
    }

    /// Whether a row's kernel can serve this problem: by its name or, without one, by the row's cells that
    /// problems have, too. Without more than sizes (`is_signed`), the problem is for any signature.
    fn is_served_by(&self, _kernel: Result<&KernelOf<Self>, &Given<Self>>, _is_signed: bool) -> bool {
        true
    }

    /// Whether cells say more of a problem than its sizes and type.
    fn is_signed(_given: &Given<Self>) -> bool {
        false
    }

    /// The cells that a row has that names no kernel; an error where only a name says what features need.
    fn needs_of_kernel(extractor: &Extractor) -> Result<Vec<&'static str>, InvalidField>;

    /// Refuses words of a row that names no kernel, which some features cannot do without.
    fn check_kernel(
        _extractor: &Extractor,
        _given: &Given<KernelOf<Self>>,
        _cells: &dyn Fields,
    ) -> Result<(), InvalidField> {
        Ok(())
    }

    /// The kernel of a strict row that names none. What no cell says is as usual, and no feature's value.
    fn kernel_of_cells(
        extractor: &Extractor,
        given: &Given<KernelOf<Self>>,
        cells: &dyn Fields,
    ) -> Result<KernelOf<Self>, InvalidField>;

    /// Refuses a row whose cells contradict a kernel's name, where values have more than one reading.
    fn agree(
        _extractor: &Extractor,
        _kernel: &KernelOf<Self>,
        _cells: &dyn Fields,
        _name: NameCell<'_>,
    ) -> Result<(), InvalidField> {
        Ok(())
    }

    /// Cells of axes that the problems of a kernel do not have, each with the number that has no effect.
    fn absent_axes(_kernel: &KernelOf<Self>) -> &'static [(&'static str, i64)] {
        &[]
    }

    /// Cells that upstream's converters derive from a kernel's name and that are none of its fields.
    fn converted(_kernel: &KernelOf<Self>) -> Vec<(&'static str, i64)> {
        Vec::new()
    }
}
