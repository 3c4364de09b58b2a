//! What every name of a GEMM kernel contains, and the kernel that has no more than that.

use super::GemmKernel;
use crate::shape::Mnk;
use crate::vocab::{Dtype, Epilogue, GemmLayout, Pipeline, Scheduler};

/// What every name of a GEMM kernel contains: the `body` of names and identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmBody {
    /// Element type of A and B; those of C and of the accumulators follow from it.
    pub dtype: Dtype,
    /// Memory orders of A, B, C.
    pub layout: GemmLayout,
    /// How loads overlap with arithmetic.
    pub pipeline: Pipeline,
    /// How results leave the registers.
    pub epilogue: Epilogue,
    /// How waves are interleaved.
    pub scheduler: Scheduler,
    /// Handles m, n, k that the tile does not divide.
    pub pad: [bool; 3],
    /// Workgroups stay resident and loop over tiles.
    pub persistent: bool,
    /// Result tile and depth of one step, per workgroup.
    pub tile: Mnk,
    /// Waves of a workgroup along each axis.
    pub wave: Mnk,
    /// Tile of one matrix instruction.
    pub warp_tile: Mnk,
}

/// The kernel without anything that names append: no fused work, native vector widths, any architecture.
impl From<GemmBody> for GemmKernel {
    fn from(body: GemmBody) -> Self {
        let GemmBody { dtype, layout, pipeline, epilogue, scheduler, pad, persistent, tile, wave, warp_tile } =
            body;
        Self {
            dtype_a: dtype,
            dtype_b: dtype,
            dtype_c: dtype.result(),
            dtype_acc: dtype.accumulator(),
            layout,
            tile,
            wave,
            warp_tile,
            pipeline,
            scheduler,
            epilogue,
            double_buffer: pipeline.double_buffered(),
            persistent,
            pad,
            ..Self::USUAL
        }
    }
}
