//! Upstream's defaults for GEMMs.

use super::{Columns, Upstream};
use crate::cells::{self, Fields};
use crate::features::gemm::GemmKernelTerms;
use crate::features::{Extractor, KernelFeatures as _, halves_lds};
use crate::given::Given;
use crate::kernel::GemmKernel;
use crate::problem::{GemmProblem, InvalidField};
use crate::vocab::{Dtype, Epilogue, GemmLayout, Major, Pipeline, Scheduler};

impl Upstream for GemmProblem {
    const PROBLEM: Columns = &[
        &["m", "M"],
        &["n", "N"],
        &["k", "K"],
        &["split_k"],
        &["dtype"],
        &["layout"],
        &["batch", "batch_count"],
    ];

    // Neither has a number.
    const UNKNOWN: Self = Self {
        dtype_a: Dtype::Mxfp4,
        layout: GemmLayout { a: Major::Packed, b: Major::Packed, c: Major::Packed },
        ..Self::USUAL
    };

    const KERNEL: Columns = &[
        &["tile_m"],
        &["tile_n"],
        &["tile_k"],
        &["warp_m"],
        &["warp_n"],
        &["warp_k"],
        &["warp_tile_m"],
        &["warp_tile_n"],
        &["warp_tile_k"],
        &["pipeline"],
        &["scheduler"],
        &["epilogue"],
        &["pad_m"],
        &["pad_n"],
        &["pad_k"],
        &["persistent"],
        &["vec_a"],
        &["vec_b"],
        &["vec_c"],
    ];

    fn unknown_kernel() -> GemmKernel {
        let (pipeline, scheduler) = (Pipeline::Wavelet, Scheduler::Auto);
        GemmKernel { pipeline, scheduler, epilogue: Epilogue::None, ..GemmKernel::USUAL }
    }

    fn problem(_: &Extractor, given: &Given<Self>) -> Self {
        let mut problem = given.complete(&Self { m: 0, n: 0, k: 0, ..Self::USUAL });
        problem.request.groups = given.groups().unwrap_or(problem.request.groups);
        Self { arch: given.arch(), ..problem }
    }

    /// An absent pipeline is numbered as compv4, but has all of the shared memory.
    fn kernel(
        extractor: &Extractor,
        given: &Given<GemmKernel>,
        cells: &dyn Fields,
    ) -> Result<GemmKernelTerms, InvalidField> {
        let absent = GemmKernel { pipeline: Pipeline::CompV4, pad: [false; 3], ..GemmKernel::USUAL };
        let terms = given.complete(&absent).terms(extractor)?;
        let half_lds = cells::text(cells, "pipeline")?.is_some_and(halves_lds);
        Ok(GemmKernelTerms { half_lds, ..terms })
    }
}
