//! What a GEMM and a kernel make of each other, once for all features that ask.

use super::Meets;
use super::axis::{Axis, AxisBlock, Cut};
use super::block::blocks;
use super::exact::{float, product};
use super::gemm::{GemmKernelSide, GemmSide};
use crate::hardware::Hardware;

blocks! {
    /// A GEMM on a kernel.
    pub struct GemmPair in GemmPairs {
        /// Rows, columns and depth.
        pub(super) axes: [Axis; 3],
        /// Bytes of shared memory for one step.
        pub(super) lds_usage: f64,
        /// Tiles of the result.
        pub(super) output_tiles: f64,
    }
}

impl Cut for GemmPair {
    fn axes(block: &mut GemmPairs) -> &mut [AxisBlock; 3] {
        &mut block.axes
    }
}

blocks! {
    /// What pairs ask of a kernel.
    pub struct GemmShape in GemmShapes {
        /// Elements that a step loads.
        step_elements: f64,
    }
}

/// What pairs ask of a problem.
#[derive(Debug, Clone, Copy)]
pub struct GemmLoad {
    element_bytes: f64,
}

impl Meets<GemmKernelSide> for GemmSide {
    type Pair = GemmPair;
    type Shape = GemmShape;
    type Load = GemmLoad;

    fn gemm(&self) -> [i128; 3] {
        self.extents().map(i128::from)
    }

    fn tile(kernel: &GemmKernelSide) -> [i64; 3] {
        kernel.tile
    }

    fn shape(kernel: &GemmKernelSide, _hardware: &Hardware) -> GemmShape {
        let [m, n, k] = kernel.tile.map(i128::from);
        GemmShape { step_elements: float(product([m, k]).saturating_add(product([n, k]))) }
    }

    fn load(&self, _hardware: &Hardware) -> GemmLoad {
        GemmLoad { element_bytes: self.element_bytes() }
    }

    #[inline(always)]
    fn pair(load: &GemmLoad, shape: &GemmShape, axes: [Axis; 3], _own: bool) -> GemmPair {
        GemmPair {
            axes,
            lds_usage: shape.step_elements * load.element_bytes,
            output_tiles: axes[0].tiles * axes[1].tiles,
        }
    }
}
