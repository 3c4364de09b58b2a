//! What a GEMM and a kernel make of each other, once for all features that ask.

use super::Meets;
use super::exact::{ceil_ratio, float, product, ratio, rest_share, tile_rest};
use super::gemm::{GemmKernelSide, GemmSide};
use crate::hardware::Hardware;

/// A GEMM on a kernel.
#[derive(Debug, Clone)]
pub struct GemmPair {
    pub(super) hardware: Hardware,
    /// Bytes of shared memory for one step.
    pub(super) lds_usage: f64,
    /// Tiles along m, n and k.
    pub(super) tiles: [f64; 3],
    /// Tiles of the result.
    pub(super) output_tiles: f64,
    /// Share of the last tile that is used, along m, n and k.
    pub(super) efficiency: [f64; 3],
    /// Extent / tile.
    pub(super) quotient: [f64; 3],
    /// The extent is smaller than the tile.
    pub(super) smaller: [bool; 3],
    /// The tile does not divide the extent.
    pub(super) needs_padding: [bool; 3],
    /// Needed and not there.
    pub(super) misses_padding: [bool; 3],
}

impl Meets<GemmKernelSide> for GemmSide {
    type Pair = GemmPair;

    fn meet(&self, kernel: &GemmKernelSide, hardware: &Hardware) -> GemmPair {
        let (extents, tile) = (self.extents().map(i128::from), kernel.tile.map(i128::from));
        let along = |of: fn(i128, i128) -> f64| std::array::from_fn(|axis| of(extents[axis], tile[axis]));
        let tiles: [f64; 3] = along(ceil_ratio);
        let rests: [i128; 3] = std::array::from_fn(|axis| tile_rest(extents[axis], tile[axis]));
        let needs_padding = rests.map(|rest| rest != 0);
        let [m, n, k] = tile;
        GemmPair {
            hardware: *hardware,
            lds_usage: float(product([m, k]).saturating_add(product([n, k]))) * self.element_bytes(),
            tiles,
            output_tiles: tiles[0] * tiles[1],
            efficiency: std::array::from_fn(|axis| rest_share(rests[axis], tile[axis])),
            quotient: along(ratio),
            smaller: std::array::from_fn(|axis| extents[axis] < tile[axis]),
            needs_padding,
            misses_padding: std::array::from_fn(|axis| needs_padding[axis] && !kernel.pad[axis]),
        }
    }
}
