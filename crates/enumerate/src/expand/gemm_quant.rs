//! Kernels of the tile engine's `gemm_quant`: a profile says what has scales and how they are read.

use ck_select_types::kernel::{Kernel, KernelKind, Mnk};
use ck_select_types::vocab::Pipeline;

use super::gemm::{Shared, triples, validator};
use super::{EnumerateError, Kernels};
use crate::config::{GemmRanges, QuantProfile, QuantRanges};

/// Operands without groups of their own.
const NONE: Mnk = Mnk::new(1, 1, 1);
/// Elements along k and along n that share a scale.
const GROUP_K: u32 = 128;
const GROUPS_N: [u32; 5] = [1, 8, 32, 64, 128];

/// Tile by tile, and for each tile profile by profile. The builder makes kernels of one layout and one way of
/// padding only, and leaves everything else out without a word.
pub(super) fn expand(
    shared: Shared<'_>,
    ranges: &GemmRanges,
    quant: &QuantRanges,
) -> Result<Kernels, EnumerateError> {
    let validator = validator(shared, ranges.lds, false)?;
    let mut kernels = Kernels { warnings: validator.warnings(), ..Kernels::default() };
    let layout = shared.layout.to_string();
    let is_built = layout == "rcr" && ranges.epilogues.iter().any(|epilogue| epilogue.as_str() == "cshuffle");
    let [m, n, k] = &ranges.pad;
    let is_padded = m.contains(&false) && n.contains(&false) && k.contains(&true);
    if !(is_built && is_padded && ranges.persistent.contains(&false)) {
        return Ok(kernels);
    }
    for tile in triples(&ranges.tile) {
        for wave in triples(&ranges.wave) {
            for warp_tile in triples(&ranges.warp_tile) {
                for profile in &quant.profiles {
                    let pipeline = if profile.is_mem() { Pipeline::Mem } else { Pipeline::CompV3 };
                    let refused = validator.refusal(tile, wave, warp_tile, pipeline).is_some();
                    for &a in &quant.groups_a {
                        for &b in quant.groups_b.iter().filter(|_| !refused) {
                            if !fits(*profile, [a, b], tile, warp_tile) {
                                continue;
                            }
                            let (word, scheduler) = (profile.as_str(), profile.scheduler());
                            let name = format!(
                                "gemm_quant_{}_{layout}_{word}_cshuffle_{scheduler}_False_False_True_False_{a}_{b}\
                                 _{tile}_{wave}_{warp_tile}",
                                shared.dtype
                            );
                            // A name that is not read back would be another kernel's.
                            let mut kernel = Kernel::from_name(&name).map_err(EnumerateError::Name)?;
                            if let KernelKind::Gemm(kernel) = &mut kernel.kind {
                                kernel.set_arch(shared.arch);
                            }
                            kernels.push(kernel)?;
                        }
                    }
                }
            }
        }
    }
    Ok(kernels)
}

/// Whether the builder combines a profile with these groups and this tile.
fn fits(profile: QuantProfile, [a, b]: [Mnk; 2], tile: Mnk, warp_tile: Mnk) -> bool {
    let groups = match profile.operand() {
        Some('a') => a == Mnk::new(1, 1, GROUP_K) && b == NONE,
        Some(_) => a == NONE && b.m == 1 && b.k == GROUP_K && GROUPS_N.contains(&b.n),
        None => a == NONE && b == NONE,
    };
    groups
        && [a, b].iter().all(|group| tile.m.is_multiple_of(group.m) && tile.k.is_multiple_of(group.k))
        && (profile.operand() != Some('b') || b.k.is_multiple_of(warp_tile.k))
}
