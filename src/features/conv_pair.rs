//! What a convolution and a kernel make of each other, once for all features that ask.

use std::cell::OnceCell;

use super::Meets;
use super::conv::{ConvKernelSide, ConvSide};
use super::conv_work::WorkPair;
use super::exact::{ceil_ratio, float, product, tile_efficiency};
use crate::hardware::Hardware;

/// A convolution on a kernel.
#[derive(Debug, Clone)]
pub struct ConvPair {
    pub(super) hardware: Hardware,
    /// Compute units, at least one.
    pub(super) cus: f64,
    /// Bytes of shared memory for one step.
    pub(super) lds_usage: f64,
    /// Tiles along m, n and k of upstream's GEMM.
    pub(super) tiles: [f64; 3],
    /// Tiles of the result.
    pub(super) output_tiles: f64,
    /// Share of the last tile that is used, along m, n and k.
    pub(super) efficiency: [f64; 3],
    /// Output tiles for each compute unit.
    pub(super) fill: f64,
    /// Only our own features ask for it.
    work: OnceCell<WorkPair>,
}

impl Meets<ConvKernelSide> for ConvSide {
    type Pair = ConvPair;

    fn meet(&self, kernel: &ConvKernelSide, hardware: &Hardware) -> ConvPair {
        let extents = [self.gemm_m, self.gemm_n, self.gemm_k];
        let tile = [kernel.gemm_m_per_block, kernel.gemm_n_per_block, kernel.k_tile].map(i128::from);
        let along = |of: fn(i128, i128) -> f64| std::array::from_fn(|axis| of(extents[axis], tile[axis]));
        let tiles: [f64; 3] = along(ceil_ratio);
        let cus = hardware.num_cus.max(1) as f64;
        let output_tiles = tiles[0] * tiles[1];
        let elements = product([tile[0], tile[2]]).saturating_add(product([tile[1], tile[2]]));
        ConvPair {
            hardware: *hardware,
            cus,
            lds_usage: float(elements) * self.element_bytes,
            tiles,
            output_tiles,
            efficiency: along(tile_efficiency),
            fill: output_tiles / cus,
            work: OnceCell::new(),
        }
    }
}

impl ConvPair {
    /// The direction's own GEMM.
    pub(super) fn work(&self, problem: &ConvSide, kernel: &ConvKernelSide) -> &WorkPair {
        self.work.get_or_init(|| WorkPair::new(problem, kernel, self))
    }
}
