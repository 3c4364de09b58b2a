//! GEMMs in tables of measurements.

use ck_select_types::cells::Fields;
use ck_select_types::kernel::GemmKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{GemmProblem, GemmRequest, ProblemDefaults};
use ck_select_types::vocab::{Dtype, Pipeline};

use crate::operation::OperationData;

impl OperationData for GemmProblem {
    const TABLE: &'static [&'static [&'static str]] = &[
        &["op_type", "dtype", "layout", "arch", "kernel_name", "m", "n", "k", "split_k"],
        &["measured_tflops", "latency_ms", "bandwidth_gb_s", "is_valid"],
        &["tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_k"],
        &["warp_tile_m", "warp_tile_n", "warp_tile_k", "pipeline", "scheduler", "epilogue"],
        &["pad_m", "pad_n", "pad_k", "persistent", "run_id"],
    ];
    const BENCHMARK: &'static [&'static [&'static str]] = &[
        &["kernel_name", "m", "n", "k", "split_k", "arch"],
        &["latency_ms", "measured_tflops", "bandwidth_gb_s", "is_valid"],
    ];
    const HAS_BOOLEANS: bool = true;

    fn from_row(
        (name, kernel): (&str, &GemmKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        let is_size = |name: &str| !["dtype", "dtype_a", "dtype_b", "dtype_c", "layout"].contains(&name);
        let read = Self::given_in(cells, is_size).and_then(|given| Self::from_given(given, defaults));
        let mut problem = read.map_err(|error| error.to_string())?;
        (problem.dtype_a, problem.dtype_b, problem.dtype_c) =
            (kernel.dtype_a, kernel.dtype_b, kernel.dtype_c);
        problem.layout = kernel.layout;
        let request = &mut problem.request;
        request.stream_k = kernel.variant.stream_k;
        (request.quant, request.group_a, request.group_b) = (None, None, None);
        if let Some(scales) = kernel.variant.quant {
            *request = request.scaled(scales);
        }
        let request = &problem.request;
        if (kernel.variant.batched, kernel.grouped) != (request.batch > 0, !request.groups.is_empty()) {
            let expected = if kernel.grouped { "a list of GEMMs as 'groups'" } else { "no list of GEMMs" };
            let batch = if kernel.variant.batched { "'batch' of 1 or more" } else { "no batch" };
            return Err(format!("kernel '{name}' needs {batch} and {expected}"));
        }
        match kernel.mismatch(&problem) {
            Some(reason) => Err(format!("kernel '{name}' does not compute it: {reason}")),
            None => Ok(problem),
        }
    }

    /// Kernels of pipeline `mem` pad all three extents, whatever the flags in their names. Upstream corrects
    /// these columns in one of its three ways to make training data; here they are always correct. The
    /// descriptor follows the name.
    fn tabulated(kernel: &GemmKernel) -> GemmKernel {
        let pads_all = kernel.pipeline == Pipeline::Mem;
        GemmKernel { pad: kernel.pad.map(|pads| pads || pads_all), ..kernel.clone() }
    }

    /// The wave size of the architecture says how many threads its waves have.
    fn anywhere(kernel: &GemmKernel) -> GemmKernel {
        GemmKernel { block_size: 0, ..kernel.clone() }
    }

    fn shuffled(self) -> Self {
        Self { request: GemmRequest { preshuffle: true, ..self.request }, ..self }
    }

    /// One of AITER's names stands for kernels of fp8 and of int8.
    fn with_type(self, kernel: &GemmKernel, dtype: Dtype) -> Option<Self> {
        let problem = Self { dtype_a: dtype, dtype_b: dtype, ..self };
        kernel.matches_types(&problem).then_some(problem)
    }
}
