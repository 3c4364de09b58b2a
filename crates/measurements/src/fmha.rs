//! Attention in tables of measurements: upstream's benchmark has no table, so this one is our own.

use ck_select_types::cells::Fields;
use ck_select_types::kernel::FmhaKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, FmhaProblem, ProblemDefaults};

use crate::operation::OperationData;

impl OperationData for FmhaProblem {
    const TABLE: &'static [&'static [&'static str]] = &[
        &FMHA_COLUMNS,
        &["op_type", "dtype", "arch", "kernel_name", "family", "mode", "pipeline", "tile_m0", "tile_n0"],
        &[
            "tile_k0", "tile_n1", "tile_k1", "tile_k0max", "pad_s", "pad_sk", "pad_d", "pad_dv", "mask",
            "bias",
        ],
        &["lse", "dropout", "logits", "sink", "skip", "qscale", "paged_kv", "rope", "deterministic", "dbias"],
        &["latency_ms", "tflops", "bandwidth_gb_s", "is_valid", "problem_idx", "run_id"],
    ];
    const BENCHMARK: &'static [&'static [&'static str]] = &[
        &["kernel", "problem_idx"],
        &FMHA_COLUMNS,
        &["arch", "latency_ms", "tflops", "bandwidth_gb_s", "is_valid"],
    ];

    fn from_row(
        (_, kernel): (&str, &FmhaKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        let is_size = |name: &str| FMHA_COLUMNS.contains(&name) || FMHA_MORE_COLUMNS.contains(&name);
        let sizes = Self::given_in(cells, is_size).and_then(|given| Self::from_given(given, defaults));
        sizes.map(|sizes| kernel.sign(&sizes)).map_err(|error| error.to_string())
    }
}
