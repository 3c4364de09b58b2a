//! The tile engine's names of quantised kernels. [`GemmKernel::name`] prints the code generator's, which say
//! more; here are kernels of the tile engine, under the names by which it builds them.

use std::fmt::Write as _;

use ck_select_types::kernel::{GemmKernel, Mnk, Quant};
use ck_select_types::vocab::QuantMode;

use super::families::ProfileRule;

/// The name of a kernel. If the tile engine's name of one with scales would not tell how deep groups are, it
/// is the code generator's.
pub(crate) fn name(variant: &str, profile: Option<&ProfileRule>, kernel: &GemmKernel) -> String {
    let GemmKernel { dtype_a, layout, pipeline, epilogue, scheduler, tile, wave, warp_tile, .. } = kernel;
    let (pipeline, last, groups) = match (profile, kernel.variant.quant) {
        (Some(profile), Some(Quant { group_a, group_b, .. })) => {
            let [a, b] = [group_a, group_b].map(|group| group.unwrap_or(Mnk::new(1, 1, 1)));
            (profile.word.as_str(), vec![kernel.persistent], format!("_{a}_{b}"))
        }
        (None, Some(quant)) => {
            let Quant { mode, group_b, .. } = quant;
            let depth = |quant: Quant| quant.group_a.or(quant.group_b).map(|group| group.k);
            let told = depth(quant) == depth(Quant::usual(mode));
            let flags = if mode.flagged_scales() != [false; 2] && told {
                let shuffled = kernel.variant.shuffled_scales.into_iter().zip(mode.flagged_scales());
                shuffled.filter(|(_, has)| *has).map(|(shuffled, _)| shuffled).collect()
            } else if matches!(mode, QuantMode::RowCol | QuantMode::Tensor) && !kernel.grouped {
                vec![kernel.persistent]
            } else {
                return kernel.name();
            };
            let n = group_b.map_or(1, |group| group.n);
            let groups = if mode == QuantMode::AB { format!("_gsn{n}") } else { String::new() };
            (pipeline.as_str(), flags, groups)
        }
        _ => return kernel.name(),
    };
    let mut name = format!("{variant}_{dtype_a}_{layout}_{pipeline}_{epilogue}_{scheduler}");
    for flag in kernel.pad.into_iter().chain(last) {
        name.push_str(if flag { "_True" } else { "_False" });
    }
    // Writing to a `String` cannot fail.
    let _ = write!(name, "{groups}_{tile}_{wave}_{warp_tile}");
    name
}
