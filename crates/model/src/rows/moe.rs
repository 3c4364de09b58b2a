//! Rows of mixtures of experts and of their kernels.

use super::operation::{CellsInName, OperationRows};
use super::upstream::{Columns, Upstream};
use crate::cells::Fields;
use crate::features::moe::MoeKernelTerms;
use crate::features::{Extractor, KernelFeatures as _};
use crate::given::Given;
use crate::kernel::MoeKernel;
use crate::problem::{InvalidField, MoeProblem};

/// Upstream has no such tools: a lenient row is a strict one without the cells that it lacks.
impl Upstream for MoeProblem {
    const PROBLEM: Columns = &[
        &["stage"],
        &["tokens"],
        &["experts"],
        &["topk"],
        &["n"],
        &["k"],
        &["dtype_a", "dtype"],
        &["dtype_b"],
        &["quant"],
        &["active"],
        &["largest"],
        &["tiles_16"],
        &["tiles_32"],
        &["tiles_64"],
        &["tiles_128"],
        &["tiles_256"],
    ];
    const UNKNOWN: Self = Self::USUAL;
    const KERNEL: Columns = &[
        &["tile_m"],
        &["tile_n"],
        &["tile_k"],
        &["group_m"],
        &["num_warps", "wave_m"],
        &["num_stages", "stages"],
        &["waves_per_eu"],
        &["nonkdim"],
        &["kpack"],
    ];

    fn unknown_kernel() -> MoeKernel {
        MoeKernel::USUAL
    }

    fn problem(_: &Extractor, given: &Given<Self>) -> Self {
        given.complete(&Self::UNKNOWN)
    }

    fn kernel(
        extractor: &Extractor,
        given: &Given<MoeKernel>,
        _: &dyn Fields,
    ) -> Result<MoeKernelTerms, InvalidField> {
        given.complete(&MoeKernel::USUAL).terms(extractor)
    }
}

impl OperationRows for MoeProblem {
    const SERVED_BY: Option<&'static str> = Some("kernels for its stage, scales and activation");
    const IN_NAME: CellsInName = CellsInName { upstream: &["dtype_a", "dtype_b"], strict_only: &[] };
    const CONVERTED: &'static [&'static str] = &[];

    fn needs(_: &Given<Self>) -> &'static [&'static str] {
        &["stage", "tokens", "experts", "topk", "n", "k", "dtype_a"]
    }

    fn is_served_by(&self, kernel: Result<&MoeKernel, &Given<Self>>, _: bool) -> bool {
        kernel.is_ok_and(|kernel| kernel.matches_request(self)) || kernel.is_err()
    }

    fn needs_of_kernel(_: &Extractor) -> Result<Vec<&'static str>, InvalidField> {
        Ok(vec!["tile_m", "tile_n", "tile_k", "group_m", "num_warps", "num_stages"])
    }

    fn kernel_of_cells(
        _: &Extractor,
        given: &Given<MoeKernel>,
        _: &dyn Fields,
    ) -> Result<MoeKernel, InvalidField> {
        Ok(given.complete(&MoeKernel::USUAL))
    }
}
