//! A GEMM and a kernel together: values computed once for all features that use them.

use super::terms::{GemmKernelTerms, GemmTerms};
use crate::features::axis::{Axis, AxisBlock};
use crate::features::block::blocks;
use crate::features::exact::{float, product};
use crate::features::{PairInputs, PairWith};
use crate::hardware::Hardware;
use crate::problem::MAX_GROUPS;
use crate::vocab::Epilogue;

blocks! {
    /// A GEMM on a kernel.
    pub struct GemmPair in GemmPairs {
        /// Rows, columns and depth.
        pub(super) axes: [Axis; 3],
        /// Bytes of shared memory for one step.
        pub(super) lds_usage: f64,
        /// Tiles of the results of all GEMMs.
        pub(super) output_tiles: f64,
    }
}

blocks! {
    /// The kernel's part of a pair.
    pub struct GemmShape in GemmShapes {
        /// Elements that a step loads.
        step_elements: f64,
        /// Rows of a tile.
        tile_m: f64,
        /// Columns of a tile.
        tile_n: f64,
    }
}

/// The problem's part of a pair.
#[derive(Debug, Clone, Copy)]
pub struct GemmLoad {
    element_bytes: f64,
    batch: f64,
    /// Rows, columns and count of the GEMMs of a list.
    groups: [[f64; 3]; MAX_GROUPS],
    len: usize,
}

impl PairWith<GemmKernelTerms> for GemmTerms {
    type Pair = GemmPair;
    type Shape = GemmShape;
    type Load = GemmLoad;

    fn gemm(&self) -> [i128; 3] {
        [self.m, self.n, self.k].map(i128::from)
    }

    fn tile(kernel: &GemmKernelTerms) -> [i64; 3] {
        kernel.tile
    }

    fn axes(block: &mut GemmPairs) -> &mut [AxisBlock; 3] {
        &mut block.axes
    }

    fn pair_inputs(kernel: &GemmKernelTerms, _own: bool) -> PairInputs {
        let mut inputs = PairInputs::default();
        inputs[..3].copy_from_slice(&kernel.tile);
        inputs[3..6].copy_from_slice(&kernel.pad.map(i64::from));
        inputs[6] = i64::from(kernel.half_lds);
        if let Some(vector) = kernel.vector {
            inputs[7..10].copy_from_slice(&kernel.wave);
            inputs[10..13].copy_from_slice(&kernel.warp_tile);
            inputs[13..16].copy_from_slice(&vector.widths);
            inputs[16] = 1 + i64::from(vector.epilogue == Epilogue::CShuffle);
        }
        inputs
    }

    fn shape(kernel: &GemmKernelTerms, _hardware: &Hardware) -> GemmShape {
        let [m, n, k] = kernel.tile.map(i128::from);
        GemmShape {
            step_elements: float(product([m, k]).saturating_add(product([n, k]))),
            tile_m: float(m.max(1)),
            tile_n: float(n.max(1)),
        }
    }

    fn load(&self, _hardware: &Hardware) -> GemmLoad {
        let listed = self.groups.as_slice();
        let mut groups = [[0.0; 3]; MAX_GROUPS];
        for (index, group) in groups.iter_mut().zip(listed) {
            let [m, n, _] = group.extents.map(f64::from);
            *index = [m, n, f64::from(group.count)];
        }
        GemmLoad { element_bytes: self.element_bytes, batch: self.batch, groups, len: listed.len() }
    }

    #[inline(always)]
    fn pair(load: &GemmLoad, shape: &GemmShape, axes: [Axis; 3], _own: bool) -> GemmPair {
        let mut output_tiles = axes[0].tiles * axes[1].tiles * load.batch;
        if load.len > 0 {
            output_tiles = 0.0;
            for [m, n, count] in load.groups.iter().take(load.len) {
                output_tiles += (m / shape.tile_m).ceil() * (n / shape.tile_n).ceil() * count;
            }
        }
        GemmPair { axes, lds_usage: shape.step_elements * load.element_bytes, output_tiles }
    }
}
