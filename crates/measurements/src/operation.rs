//! What an operation's file says about its measurements.

use ck_select_types::cells::Fields;
use ck_select_types::each_operation;
use ck_select_types::operation::OperationProblem;
use ck_select_types::problem::ProblemDefaults;
use ck_select_types::vocab::{Dtype, Op};

/// Problems of an operation in tables of measurements.
pub(crate) trait OperationData: OperationProblem {
    /// The columns of upstream's canonical table: numbers of the problem, fields of the kernel, and what else
    /// a row has.
    const TABLE: &'static [&'static [&'static str]];
    /// The columns of upstream's CSV.
    const BENCHMARK: &'static [&'static [&'static str]];
    /// Whether flags are true or false in the table, not 1 or 0.
    const HAS_BOOLEANS: bool = false;
    /// Whether the table numbers runs.
    const NUMBERS_RUNS: bool = false;

    /// The problem of a row: sizes from its cells, words from its kernel, which has a name.
    fn from_row(
        kernel: (&str, &Self::Kernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String>;

    /// The kernel as the table has it.
    fn tabulated(kernel: &Self::Kernel) -> Self::Kernel {
        kernel.clone()
    }

    /// A kernel without what depends on the architecture that it was built for.
    fn anywhere(kernel: &Self::Kernel) -> Self::Kernel {
        kernel.clone()
    }

    /// The problem of kernels that read an operand in an order of their own, which tuned tables do not say.
    fn shuffled(self) -> Self {
        self
    }

    /// The problem in the type of a tuned table's row, as a kernel's name may stand for several; `None` if it
    /// does not stand for this one.
    fn with_type(self, _kernel: &Self::Kernel, _dtype: Dtype) -> Option<Self> {
        Some(self)
    }
}

/// Whether an operation's table numbers runs.
pub(crate) fn numbers_runs(op: Op) -> bool {
    each_operation!(op, Own => <Own as OperationData>::NUMBERS_RUNS)
}

/// Whether flags are true or false in an operation's table, not 1 or 0.
pub(crate) fn has_booleans(op: Op) -> bool {
    each_operation!(op, Own => <Own as OperationData>::HAS_BOOLEANS)
}
