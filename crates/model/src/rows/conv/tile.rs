//! The numbers of a convolution's tile in a row that names no kernel.
//!
//! Tables have them in two readings under the same names: in the order of a kernel's name (`block_size` is
//! the tile's m, `gemm_n_per_block` its k), as upstream's converters and scripts write them, or by their
//! meaning (`block_size` is the threads of a workgroup), as upstream's newest engine and its validation do.
//! The other reading gives plausible features, but those of another kernel.
//!
//! `gemm_k_per_block` tells the readings apart, because the order of a name has no fourth number. What could be
//! meant in the other reading is refused: often enough one that was added to the first three.

use crate::cells::{Cell, Fields};
use crate::features::{Extractor, KernelMapping};
use crate::kernel::{ConvTile, Mnk};
use crate::problem::InvalidField;

/// The cells.
pub(in crate::rows) const TILE_CELLS: [&str; 4] =
    ["block_size", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block"];

const EXPECTED: &str = "threads of a workgroup and the tile's m, n, k, or, without gemm_k_per_block, the \
                        numbers of a kernel's name in their order, or kernel_name, which says which";

/// The numbers in a row's cells; by upstream's rules, fractions are cut.
pub(in crate::rows) fn numbers(
    cells: &dyn Fields,
    is_lenient: bool,
) -> Result<[Option<i64>; 4], InvalidField> {
    let mut numbers = [None; 4];
    for (number, name) in numbers.iter_mut().zip(TILE_CELLS) {
        let read = |cell: Cell<'_>| if is_lenient { cell.truncated(name) } else { cell.whole(name) };
        *number = cells.cell(name).map(read).transpose()?;
    }
    Ok(numbers)
}

/// The tile that the numbers mean, and the waves.
pub(in crate::rows) fn meant(
    extractor: &Extractor,
    numbers: [Option<i64>; 4],
) -> Result<(Mnk, Mnk), InvalidField> {
    let tiled = match numbers {
        [Some(threads), Some(m), Some(n), Some(k)] => by_meaning(extractor, threads, [m, n, k]),
        [Some(m), Some(n), Some(k), None] => in_order(extractor, [m, n, k]),
        _ => {
            let absent = TILE_CELLS.iter().zip(numbers).find(|(_, number)| number.is_none());
            let name = absent.map_or(TILE_CELLS[0], |(name, _)| name);
            return Err(InvalidField::new(name, "nothing", "a whole number"));
        }
    };
    tiled.ok_or_else(|| {
        let given: Vec<_> = numbers.iter().flatten().map(i64::to_string).collect();
        InvalidField::new(TILE_CELLS[..given.len()].join(", "), given.join(", "), EXPECTED)
    })
}

/// Tile and waves from threads and tile.
fn by_meaning(extractor: &Extractor, threads: i64, tile: [i64; 3]) -> Option<(Mnk, Mnk)> {
    let [m, n, _] = tile;
    let size = extractor.wave_size(None);
    let whole_waves = threads > 0 && threads % size == 0;
    let is_sure = known_threads(extractor, tile) == Some(threads);
    let may_be_a_name = known_threads(extractor, [threads, m, n]).is_some();
    let waves = u32::try_from(threads / size).ok()?;
    (is_sure || (whole_waves && !may_be_a_name)).then_some((mnk(tile)?, Mnk::new(waves, 1, 1)))
}

/// Tile and waves from the three numbers of a name, whose waves are those of a name without any.
fn in_order(extractor: &Extractor, tile: [i64; 3]) -> Option<(Mnk, Mnk)> {
    // A model in the order of names has its own reading of any tile, the other one guesses its waves.
    let may_be_threads = extractor.rules.kernel_mapping == KernelMapping::Tile
        && known_threads(extractor, tile).is_none()
        && tile[0] % extractor.wave_size(None) == 0;
    if may_be_threads || is_validations(extractor, tile) {
        return None;
    }
    let tile = mnk(tile)?;
    Some((tile, ConvTile::new(tile).wave))
}

/// The threads of a workgroup for one of the tiles that upstream's sweeps have.
fn known_threads(extractor: &Extractor, tile: [i64; 3]) -> Option<i64> {
    ConvTile::get(mnk(tile)?).map(|row| extractor.threads(row.wave, None))
}

/// Whether the numbers are the threads, m and n of a known tile, as upstream's validation has them.
fn is_validations(extractor: &Extractor, [threads, m, n]: [i64; 3]) -> bool {
    ConvTile::ALL.iter().any(|row| {
        let tile = [row.tile.m, row.tile.n].map(i64::from);
        tile == [m, n] && extractor.threads(row.wave, None) == threads
    })
}

fn mnk(tile: [i64; 3]) -> Option<Mnk> {
    let [m, n, k] = tile.map(|extent| u32::try_from(extent).ok().filter(|&extent| extent > 0));
    Some(Mnk::new(m?, n?, k?))
}
