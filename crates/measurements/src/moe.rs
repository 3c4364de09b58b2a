//! Mixtures of experts in tables of measurements: upstream has none, so the table is our own.

use ck_select_types::cells::Fields;
use ck_select_types::kernel::MoeKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{MoeProblem, ProblemDefaults};

use crate::operation::OperationData;

impl OperationData for MoeProblem {
    const TABLE: &'static [&'static [&'static str]] = &[
        &[
            "op_type", "dtype_a", "dtype_b", "arch", "kernel_name", "stage", "tokens", "experts", "topk",
            "n", "k",
        ],
        &["tile_m", "tile_n", "tile_k", "group_m", "num_warps", "num_stages"],
        &["latency_ms", "tflops", "is_valid", "run_id"],
    ];
    const BENCHMARK: &'static [&'static [&'static str]] = &[
        &["kernel", "stage", "tokens", "experts", "topk", "n", "k", "dtype_a", "dtype_b"],
        &["arch", "latency_ms", "tflops", "is_valid"],
    ];

    fn from_row(
        (name, kernel): (&str, &MoeKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        let is_size = |name: &str| !["dtype", "dtype_a", "dtype_b"].contains(&name);
        let read = Self::given_in(cells, is_size).and_then(|given| Self::from_given(given, defaults));
        let problem = read.map_err(|error| error.to_string())?;
        let problem = Self { dtype_a: kernel.dtype_a, dtype_b: kernel.dtype_b, ..problem };
        match kernel.mismatch(&problem) {
            Some(reason) => Err(format!("kernel '{name}' does not compute it: {reason}")),
            None => Ok(problem),
        }
    }
}
