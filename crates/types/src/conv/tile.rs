//! The ten tiles of upstream's default convolution rules, which say what a short name leaves out.

use serde::Deserialize;

use crate::shape::Mnk;

/// A tile with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvTile {
    /// Result tile and depth of one step, per workgroup.
    pub tile: Mnk,
    /// Waves of a workgroup along each axis.
    pub wave: Mnk,
    /// Tile of one matrix instruction.
    pub warp_tile: Mnk,
    /// Elements of one memory access of A, B and C.
    pub vector: [u32; 3],
    /// Whether the sweep builds it with pipeline `compv4`.
    pub compv4: bool,
}

const fn row(tile: [u32; 3], wave: [u32; 3], warp_tile: [u32; 3], compv4: bool) -> ConvTile {
    const fn mnk([m, n, k]: [u32; 3]) -> Mnk {
        Mnk::new(m, n, k)
    }
    ConvTile { tile: mnk(tile), wave: mnk(wave), warp_tile: mnk(warp_tile), vector: ConvTile::WIDTHS, compv4 }
}

impl ConvTile {
    /// The widths of every tile.
    pub const WIDTHS: [u32; 3] = [4, 8, 8];

    /// The ten tiles, in upstream's order, which is the order of a sweep.
    pub const ALL: [Self; 10] = [
        row([16, 64, 64], [1, 4, 1], [16, 16, 16], true),
        row([32, 64, 64], [2, 2, 1], [16, 16, 16], true),
        row([64, 64, 64], [4, 1, 1], [16, 16, 16], true),
        row([32, 128, 64], [1, 4, 1], [32, 32, 16], false),
        row([64, 128, 64], [2, 2, 1], [32, 32, 16], false),
        row([128, 128, 64], [4, 4, 1], [32, 32, 16], false),
        row([16, 64, 128], [1, 4, 1], [16, 16, 32], true),
        row([32, 64, 128], [2, 2, 1], [16, 16, 32], true),
        row([64, 64, 128], [4, 1, 1], [16, 16, 32], true),
        row([128, 64, 128], [8, 2, 1], [16, 16, 32], false),
    ];

    /// The table's row for `tile`; `None` when the tile is not one of the ten.
    pub fn get(tile: Mnk) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.tile == tile)
    }

    /// The table's row for `tile`, or what upstream's builder assumes for a tile outside its table: waves
    /// 2x2x1, instruction 32x32x16, and not for `compv4`.
    pub fn new(tile: Mnk) -> Self {
        let [m, n, k] = [tile.m, tile.n, tile.k];
        Self::get(tile).unwrap_or(row([m, n, k], [2, 2, 1], [32, 32, 16], false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_satisfy_the_stated_rules() {
        for ConvTile { tile, wave, warp_tile, .. } in ConvTile::ALL {
            assert_eq!(tile.m, wave.m * warp_tile.m, "{tile}");
            assert_eq!(tile.n % (wave.n * warp_tile.n), 0, "{tile}");
            assert_eq!(tile.k % warp_tile.k, 0, "{tile}");
            assert!([4, 16].contains(&(wave.m * wave.n * wave.k)), "{tile}");
        }
        assert_eq!(ConvTile::ALL.iter().filter(|row| row.compv4).count(), 6);
    }

    #[test]
    fn unlisted_tiles_take_the_fallback() {
        let tile = Mnk::new(256, 64, 64);
        assert_eq!(ConvTile::get(tile), None);
        let row = ConvTile::new(tile);
        assert_eq!((row.tile, row.wave, row.warp_tile), (tile, Mnk::new(2, 2, 1), Mnk::new(32, 32, 16)));
    }
}
