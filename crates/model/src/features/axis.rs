//! How tiles divide one extent of a GEMM.

use super::block::blocks;
use super::exact::{flag, float, modulo, ratio};

blocks! {
    /// An extent of a GEMM, cut into tiles. Without effect if the tile is not positive.
    pub struct Axis in AxisBlock {
        /// Extent / tile.
        pub(super) quotient: f64,
        /// Tiles, including a partial last one.
        pub(super) tiles: f64,
        /// Upstream's tile efficiency: the *remainder's* share of a tile, 1 when the tile divides the extent
        /// (129 on 128 gives 1/128). Not the share of useful work; models were trained on it.
        pub(super) efficiency: f64,
        /// 1 if the extent is smaller than the tile, else 0.
        pub(super) smaller: f64,
        /// 1 if the tile does not divide the extent, else 0.
        pub(super) uneven: f64,
    }
}

impl Axis {
    #[inline]
    pub(super) fn new(extent: i128, tile: i128) -> Self {
        let quotient = ratio(extent, tile);
        let rest = if tile > 0 { modulo(extent, tile) } else { 0 };
        Self {
            quotient,
            tiles: quotient.ceil(),
            efficiency: if rest == 0 { 1.0 } else { float(rest) / float(tile) },
            smaller: flag(extent < tile),
            uneven: flag(rest != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_extent_and_efficiency_is_the_remainder() {
        for (extent, tile, tiles, efficiency) in [
            (0, 64, 0.0, 1.0),
            (1, 64, 1.0, 1.0 / 64.0),
            (64, 64, 1.0, 1.0),
            (129, 128, 2.0, 1.0 / 128.0),
            (256, 128, 2.0, 1.0),
            (-1, 128, 0.0, 127.0 / 128.0),
            (7, 0, 7.0, 1.0),
            (5, -3, 5.0, 1.0),
        ] {
            let axis = Axis::new(extent, tile);
            let figures = (axis.tiles, axis.efficiency, axis.uneven, axis.smaller);
            let expected = (tiles, efficiency, flag(efficiency < 1.0), flag(extent < tile));
            assert_eq!(figures, expected, "{extent} in tiles of {tile}");
        }
    }
}
