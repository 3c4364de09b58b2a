//! A convolution and a kernel together: values computed once for all features that use them.

use super::terms::{ConvKernelTerms, ConvTerms};
use super::work::{WorkLoad, WorkPair, WorkShape};
use crate::features::axis::{Axis, AxisBlock};
use crate::features::block::blocks;
use crate::features::exact::{float, product};
use crate::features::hardware::compute_units;
use crate::features::{PairInputs, PairWith};
use crate::hardware::Hardware;

blocks! {
    /// A convolution on a kernel.
    pub struct ConvPair in ConvPairs {
        /// Rows, columns and depth of upstream's GEMM.
        pub(super) axes: [Axis; 3],
        /// Bytes of shared memory for one step.
        pub(super) lds_usage: f64,
        /// Tiles of the result.
        pub(super) output_tiles: f64,
        /// Output tiles for each compute unit.
        pub(super) fill: f64,
        /// The direction's own GEMM, which only our own features use; otherwise zeros.
        pub(super) work: WorkPair,
    }
}

blocks! {
    /// The kernel's part of a pair.
    pub struct ConvShape in ConvShapes {
        /// Elements that upstream assumes that a step loads.
        step_elements: f64,
        work: WorkShape,
    }
}

/// The problem's part of a pair.
#[derive(Debug, Clone, Copy)]
pub struct ConvLoad {
    element_bytes: f64,
    /// Compute units, at least one.
    cus: f64,
    work: WorkLoad,
}

impl PairWith<ConvKernelTerms> for ConvTerms {
    type Pair = ConvPair;
    type Shape = ConvShape;
    type Load = ConvLoad;

    fn gemm(&self) -> [i128; 3] {
        [self.gemm_m, self.gemm_n, self.gemm_k]
    }

    fn tile(kernel: &ConvKernelTerms) -> [i64; 3] {
        [kernel.gemm_m_per_block, kernel.gemm_n_per_block, kernel.k_tile]
    }

    fn axes(block: &mut ConvPairs) -> &mut [AxisBlock; 3] {
        &mut block.axes
    }

    /// Our own features see the waves, too; with upstream's alone, kernels that only differ in them share a
    /// class.
    fn pair_inputs(kernel: &ConvKernelTerms, own: bool) -> PairInputs {
        let mut inputs = PairInputs::default();
        inputs[..3].copy_from_slice(&Self::tile(kernel));
        inputs[3..5].copy_from_slice(&[kernel.pipeline.half_lds, kernel.pipeline.mem].map(i64::from));
        inputs[5] = if own { kernel.block_size } else { 0 };
        inputs
    }

    fn shape(kernel: &ConvKernelTerms, hardware: &Hardware) -> ConvShape {
        let [m, n, k] = Self::tile(kernel).map(i128::from);
        let elements = product([m, k]).saturating_add(product([n, k]));
        ConvShape { step_elements: float(elements), work: WorkShape::new(kernel, hardware) }
    }

    fn load(&self, hardware: &Hardware) -> ConvLoad {
        ConvLoad {
            element_bytes: self.element_bytes,
            cus: compute_units(hardware),
            work: WorkLoad::new(self, hardware),
        }
    }

    #[inline(always)]
    fn pair(load: &ConvLoad, shape: &ConvShape, axes: [Axis; 3], own: bool) -> ConvPair {
        let lds_usage = shape.step_elements * load.element_bytes;
        let output_tiles = axes[0].tiles * axes[1].tiles;
        let fill = output_tiles / load.cus;
        let work = if own { WorkPair::new(&load.work, &shape.work, lds_usage) } else { WorkPair::default() };
        ConvPair { axes, lds_usage, output_tiles, fill, work }
    }
}
