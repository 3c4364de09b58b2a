//! The numbers of a convolution's tile in a row that names no kernel.
//!
//! Tables have them in two readings under the same names: in the order of a kernel's name (`block_size` is
//! the tile's m, `gemm_n_per_block` its k), as upstream's converters and scripts write them, or by their
//! meaning (`block_size` is the threads of a workgroup), as upstream's newest engine and its validation do.
//! The other reading gives plausible features, but those of another kernel.

use super::super::reader::Reader;
use super::super::{Extractor, FieldError, KernelMapping};
use crate::kernel::{ConvTile, Mnk};
use crate::problem::InvalidField;

/// The cells.
pub(super) const TILE_CELLS: [&str; 4] =
    ["block_size", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block"];

const EXPECTED: &str = "threads of a workgroup and the tile's m, n, k, or, without gemm_k_per_block, the \
                        numbers of a kernel's name in their order, or kernel_name, which says which";

/// What a row's cells hold.
pub(super) fn found(reader: &Reader<'_>) -> Result<[Option<i64>; 4], FieldError> {
    let mut found = [None; 4];
    for (cell, name) in found.iter_mut().zip(TILE_CELLS) {
        *cell = reader.opt_int(name)?;
    }
    Ok(found)
}

impl Extractor {
    /// The numbers in the model's own reading.
    ///
    /// `gemm_k_per_block` tells the readings apart, because the order of a name has no fourth number. What
    /// could be meant in the other reading is refused: often enough one that was added to the first three.
    /// Only upstream's own models get the numbers as they are where absent cells have defaults.
    pub(super) fn read_blocks(&self, reader: &Reader<'_>) -> Result<[i64; 4], FieldError> {
        let cells = found(reader)?;
        if reader.is_lenient() && (!self.is_ours || cells == [None; 4]) {
            let [block, m, n, k] = cells;
            // If both are absent, the block size defaults to 16, but the depth to 64.
            return Ok([block.unwrap_or(16), m.unwrap_or(64), n.unwrap_or(64), k.or(block).unwrap_or(64)]);
        }
        let blocks = match cells {
            [Some(block), Some(m), Some(n), Some(k)] => self.by_meaning(block, [m, n, k]),
            [Some(m), Some(n), Some(k), None] => self.in_order([m, n, k]),
            _ => {
                let absent = TILE_CELLS.iter().zip(cells).find(|(_, cell)| cell.is_none());
                let name = absent.map_or(TILE_CELLS[0], |(name, _)| name);
                return Err(InvalidField::new(name, "nothing", "a whole number"));
            }
        };
        blocks.ok_or_else(|| {
            let given: Vec<_> = cells.iter().flatten().map(i64::to_string).collect();
            InvalidField::new(TILE_CELLS[..given.len()].join(", "), given.join(", "), EXPECTED)
        })
    }

    /// From threads and tile.
    fn by_meaning(&self, threads: i64, tile: [i64; 3]) -> Option<[i64; 4]> {
        let [m, n, k] = tile;
        let whole_waves = threads > 0 && threads % self.wave_size(None) == 0;
        let is_sure = self.known_threads(tile) == Some(threads);
        let may_be_a_name = self.known_threads([threads, m, n]).is_some();
        (is_sure || (whole_waves && !may_be_a_name)).then_some(match self.rules.kernel_mapping {
            KernelMapping::Tile => [threads, m, n, k],
            KernelMapping::NameOrder => [m, n, k, m],
        })
    }

    /// From the three numbers of a name, whose waves are those of a name without any.
    fn in_order(&self, tile: [i64; 3]) -> Option<[i64; 4]> {
        let [m, n, k] = tile;
        let blocks = match self.rules.kernel_mapping {
            KernelMapping::NameOrder => [m, n, k, m],
            KernelMapping::Tile => [self.threads(ConvTile::new(mnk(tile)?).wave, None), m, n, k],
        };
        // A model in the order of names has its own reading of any tile, the other one guesses its waves.
        let may_be_threads = self.rules.kernel_mapping == KernelMapping::Tile
            && self.known_threads(tile).is_none()
            && m % self.wave_size(None) == 0;
        (!may_be_threads && !self.is_validations(tile)).then_some(blocks)
    }

    /// The threads of a workgroup for one of the tiles that upstream's sweeps have.
    fn known_threads(&self, tile: [i64; 3]) -> Option<i64> {
        ConvTile::get(mnk(tile)?).map(|row| self.threads(row.wave, None))
    }

    /// Whether the numbers are the threads, m and n of a known tile, as upstream's validation has them.
    fn is_validations(&self, [threads, m, n]: [i64; 3]) -> bool {
        ConvTile::ALL.iter().any(|row| {
            let tile = [row.tile.m, row.tile.n].map(i64::from);
            tile == [m, n] && self.threads(row.wave, None) == threads
        })
    }
}

fn mnk(tile: [i64; 3]) -> Option<Mnk> {
    let [m, n, k] = tile.map(|extent| u32::try_from(extent).ok().filter(|&extent| extent > 0));
    Some(Mnk::new(m?, n?, k?))
}
