//! What upstream's engines make of cells that are absent or unknown: defaults, silently.
//!
//! Upstream looks every input up by its name and takes a default if it is absent or no word that it knows.
//! Models and tables of upstream's are evaluated with the same defaults
//! ([`Uncoded::Upstream`](crate::features::Uncoded::Upstream)); golden rows hold each of them. Most are values
//! of a problem or a kernel, so that a lenient row is a [`Given`] over a record of defaults, like any other.
//! What no value of ours means (a GEMM without a pipeline, an absent size of a block, words that the Python
//! twin numbers in its own way) is put into the kernel's terms at the end, here and nowhere else.

mod conv;
mod fmha;
mod gemm;

use crate::cells::Fields;
use crate::features::{Extractor, OperationTerms};
use crate::given::Given;
use crate::operation::KernelOf;
use crate::problem::InvalidField;

/// The cells of a record that are read, a list of names for each field; the first in a list takes precedence.
pub(super) type Columns = &'static [&'static [&'static str]];

/// Problems of an operation whose rows upstream's tools read.
pub(super) trait Upstream: OperationTerms {
    /// The cells of problems.
    const PROBLEM: Columns;

    /// The problem whose fields stand for unknown words.
    const UNKNOWN: Self;

    /// The cells of kernels. Strict rows that name no kernel describe it in these cells, too,
    const KERNEL: Columns;

    /// and in these, which upstream's tools number in a way of their own.
    const KERNEL_WORDS: Columns = &[];

    /// The kernel whose fields stand for unknown words.
    fn unknown_kernel() -> KernelOf<Self>;

    /// The problem of a lenient row.
    fn problem(extractor: &Extractor, given: &Given<Self>) -> Self;

    /// The kernel of a lenient row that names none, as features see it.
    fn kernel(
        extractor: &Extractor,
        given: &Given<KernelOf<Self>>,
        cells: &dyn Fields,
    ) -> Result<Self::KernelTerms, InvalidField>;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ck_select_types::each_operation;

    use super::*;
    use crate::inputs;
    use crate::rows::conv::tile::TILE_CELLS;
    use crate::vocab::Op;

    /// Pages and bindings list as inputs exactly the cells that are read.
    #[test]
    fn inputs_are_the_cells_that_are_read() {
        for &op in Op::ALL {
            let (mut problem, mut kernel) = each_operation!(op, Own => {
                let kernel = [<Own as Upstream>::KERNEL, <Own as Upstream>::KERNEL_WORDS].concat().concat();
                (<Own as Upstream>::PROBLEM.concat(), kernel)
            });
            problem.extend(
                ["arch", "groups", "histogram", "skew"]
                    .into_iter()
                    .filter(|name| inputs::of_problem(op).contains(name)),
            );
            kernel.extend(TILE_CELLS.into_iter().filter(|name| inputs::of_kernel(op).contains(name)));
            let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
            assert_eq!(set(&problem), set(&inputs::of_problem(op)), "{op}");
            assert_eq!(set(&kernel), set(inputs::of_kernel(op)), "{op}");
        }
    }
}
