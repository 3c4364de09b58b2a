//! Upstream's defaults for convolutions.

use super::super::conv::tile;
use super::{Columns, Upstream};
use crate::cells::{self, Fields};
use crate::features::conv::{ConvKernelTerms, PipelineFlags};
use crate::features::{Extractor, KernelFeatures as _};
use crate::given::Given;
use crate::kernel::ConvKernel;
use crate::problem::{ConvProblem, InvalidField};
use crate::vocab::{Dtype, Pipeline, Scheduler};

impl Upstream for ConvProblem {
    const PROBLEM: Columns = &[
        &["direction"],
        &["N"],
        &["C"],
        &["K"],
        &["G"],
        &["Di"],
        &["Hi"],
        &["Wi"],
        &["Z"],
        &["Y"],
        &["X"],
        &["stride_d"],
        &["stride_h"],
        &["stride_w"],
        &["dilation_d"],
        &["dilation_h"],
        &["dilation_w"],
        &["pad_d"],
        &["pad_h"],
        &["pad_w"],
        &["dtype"],
    ];

    // A type without a number.
    const UNKNOWN: Self = Self { dtype_in: Dtype::Mxfp4, ..Self::USUAL };

    const KERNEL: Columns = &[&["pipeline"], &["wave_mode"], &["has_dsb"], &["has_si"], &["two_stage"]];

    fn unknown_kernel() -> ConvKernel {
        ConvKernel { pipeline: Pipeline::Wavelet, scheduler: Scheduler::Auto, ..ConvKernel::USUAL }
    }

    /// A model is for one direction, so that upstream's tables have none.
    fn problem(extractor: &Extractor, given: &Given<Self>) -> Self {
        let direction = extractor.direction;
        let mut problem =
            given.complete(&Self { direction, c: 64, k: 64, input: [1, 32, 32], ..Self::USUAL });
        if given.is_unknown("direction") {
            problem.direction = direction;
        }
        let is_deep = problem.input[0] > 1 || problem.filter[0] > 1 || problem.pad_left[0] > 0;
        Self { pad_right: problem.pad_left, ndim: if is_deep { 3 } else { 2 }, ..problem }
    }

    /// The kernel's terms. Without a block size, the block has 16 threads, and the tile a depth of 64; without a
    /// depth, the tile has the block size.
    fn kernel(
        extractor: &Extractor,
        given: &Given<ConvKernel>,
        cells: &dyn Fields,
    ) -> Result<ConvKernelTerms, InvalidField> {
        let kernel = given.complete(&ConvKernel::USUAL);
        let numbers = tile::numbers(cells, true)?;
        if extractor.is_ours && numbers != [None; 4] {
            let (tile, wave) = tile::meant(extractor, numbers)?;
            let kernel = ConvKernel { tile, wave, ..kernel };
            return Ok(with_word(kernel.terms(extractor)?, cells));
        }
        let [block, m, n, k] = numbers;
        let blocks = [block.unwrap_or(16), m.unwrap_or(64), n.unwrap_or(64), k.or(block).unwrap_or(64)];
        Ok(with_word(kernel.terms(extractor)?.with_blocks(extractor.rules.k_tile, blocks), cells))
    }
}

/// The terms with what features see in the word of a pipeline, known or not.
fn with_word(terms: ConvKernelTerms, cells: &dyn Fields) -> ConvKernelTerms {
    match cells::text(cells, "pipeline") {
        Ok(Some(word)) => ConvKernelTerms { pipeline: PipelineFlags::new(word), ..terms },
        _ => terms,
    }
}
