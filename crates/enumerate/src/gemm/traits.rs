//! The traits of GEMM kernels: all that a configuration combines apart from tiles.

use ck_select_types::kernel::{GemmKernel, GemmVariant, Mnk, Quant};
use ck_select_types::vocab::{Arch, Dtype, Epilogue, GemmLayout, Pipeline, QuantMode, Scheduler};

use crate::config::{GemmProfiles, GemmRanges, GemmScales, GemmVariants};
use crate::kernels::EnumerateError;
use crate::rules::{BuiltRule, FamilyRules, ProfileRule, Rules};

/// The highest number of combinations of traits.
const MAX_TRAITS: u64 = 1 << 20;

/// What all kernels of an enumeration share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) rules: &'a Rules,
    /// The architecture as the user wrote it.
    pub(crate) target: &'a str,
    pub(crate) arch: Arch,
    pub(crate) dtype: Dtype,
    pub(crate) layout: GemmLayout,
}

/// One combination.
pub(crate) struct Traits<'a> {
    /// The kernel, but for its tile.
    pub(crate) kernel: GemmKernel,
    /// The profile of `gemm_quant`.
    pub(crate) profile: Option<&'a ProfileRule>,
    /// The rules of the family that take it; a tile has to fit one of them. `None` if the family has no
    /// rules.
    pub(crate) rules: Option<Vec<&'a BuiltRule>>,
}

/// The combinations that are built, the last list fastest.
pub(crate) fn all<'a>(
    shared: Shared<'a>,
    ranges: &'a GemmRanges,
    family: Option<&'a FamilyRules>,
) -> Result<Vec<Traits<'a>>, EnumerateError> {
    check_number("traits", lengths(ranges), MAX_TRAITS)?;
    let mut found = match &ranges.variant {
        GemmVariants::Profiles(profiles) => of_profiles(shared, ranges, profiles)?,
        _ => of_lists(shared, ranges),
    };
    let Some(family) = family else { return Ok(found) };
    for traits in &mut found {
        let takes = |rule: &&BuiltRule| rule.takes(shared.arch, &traits.kernel);
        traits.rules = Some(family.built.iter().filter(takes).collect());
    }
    found.retain(|traits| traits.rules.as_ref().is_none_or(|rules| !rules.is_empty()));
    Ok(found)
}

fn of_lists<'a>(shared: Shared<'a>, ranges: &'a GemmRanges) -> Vec<Traits<'a>> {
    let mut found = Vec::new();
    for &pipeline in &ranges.pipelines {
        for &epilogue in &ranges.epilogues {
            for &scheduler in &ranges.schedulers {
                if !shared.rules.gemm.allows(pipeline, epilogue, scheduler) {
                    continue;
                }
                for flags in flags(ranges) {
                    let plain = kernel(shared, pipeline, epilogue, scheduler, flags);
                    let traits = |kernel| Traits { kernel, profile: None, rules: None };
                    found.extend(variants(&ranges.variant, &plain).into_iter().map(traits));
                }
            }
        }
    }
    found
}

/// A kernel, but for its tile.
pub(crate) fn kernel(
    shared: Shared<'_>,
    pipeline: Pipeline,
    epilogue: Epilogue,
    scheduler: Scheduler,
    (pad, persistent): ([bool; 3], bool),
) -> GemmKernel {
    let Shared { dtype: dtype_a, layout, .. } = shared;
    let usual = GemmKernel::USUAL;
    GemmKernel { dtype_a, layout, pipeline, epilogue, scheduler, pad, persistent, ..usual }.completed()
}

fn of_profiles<'a>(
    shared: Shared<'a>,
    ranges: &'a GemmRanges,
    profiles: &GemmProfiles,
) -> Result<Vec<Traits<'a>>, EnumerateError> {
    let known = &shared.rules.gemm_families.profiles;
    let mut found = Vec::new();
    for word in &profiles.profiles {
        let Some(profile) = known.iter().find(|profile| profile.word == *word) else {
            let known = known.iter().map(|profile| profile.word.as_str()).collect::<Vec<_>>().join(", ");
            return Err(EnumerateError::Refused(format!(
                "trait_config.profile: unknown profile '{word}', expected one of: {known}"
            )));
        };
        for &epilogue in &ranges.epilogues {
            for flags in flags(ranges) {
                let shuffled = |mode| profile.shuffled_scales && profile.mode == mode;
                let plain = kernel(shared, profile.pipeline, epilogue, profile.scheduler, flags);
                let traits = |quant| Traits {
                    kernel: scaled(&plain, quant, [QuantMode::A, QuantMode::B].map(shuffled)),
                    profile: Some(profile),
                    rules: None,
                };
                found.extend(groups(profile, &profiles.groups).into_iter().map(traits));
            }
        }
    }
    Ok(found)
}

/// The groups for which a profile is built, B's fastest.
fn groups(profile: &ProfileRule, [of_a, of_b]: &[Vec<Mnk>; 2]) -> Vec<Quant> {
    let fitting = |list: &[Mnk], known: &[Mnk]| -> Vec<Mnk> {
        list.iter().filter(|group| known.contains(group)).copied().collect()
    };
    let of_b = fitting(of_b, &profile.groups_b);
    let one = |group_a: Mnk| {
        of_b.iter().map(move |&group_b| {
            let mut quant = Quant::usual(profile.mode);
            quant.group_a = quant.group_a.map(|_| group_a);
            quant.group_b = quant.group_b.map(|_| group_b);
            quant
        })
    };
    fitting(of_a, &profile.groups_a).into_iter().flat_map(one).collect()
}

/// Pads along m, n and k, and whether workgroups stay resident.
fn flags(ranges: &GemmRanges) -> Vec<([bool; 3], bool)> {
    let [pad_m, pad_n, pad_k] = &ranges.pad;
    let mut found = Vec::new();
    for &m in pad_m {
        for &n in pad_n {
            for &k in pad_k {
                found.extend(ranges.persistent.iter().map(|&persistent| ([m, n, k], persistent)));
            }
        }
    }
    found
}

/// The kernels of a variant that agree in everything else.
fn variants(variant: &GemmVariants, plain: &GemmKernel) -> Vec<GemmKernel> {
    let with = |change: &dyn Fn(&mut GemmKernel)| {
        let mut kernel = plain.clone();
        change(&mut kernel);
        kernel
    };
    match variant {
        GemmVariants::Universal | GemmVariants::Profiles(_) => vec![plain.clone()],
        GemmVariants::StreamK(reductions) => {
            let of = |&reduction| with(&|kernel| kernel.variant.stream_k = Some(reduction));
            reductions.iter().map(of).collect()
        }
        &GemmVariants::MultiD(tensors, operation) => {
            vec![with(&|kernel| (kernel.num_d_tensors, kernel.elementwise) = (tensors, operation))]
        }
        GemmVariants::Preshuffle(_) => vec![with(&|kernel| kernel.preshuffle = true)],
        // Their names have no flag for persistence, because they never stay resident.
        GemmVariants::Batched => {
            vec![with(&|kernel| (kernel.variant.batched, kernel.persistent) = (true, false))]
        }
        GemmVariants::Grouped => vec![with(&|kernel| kernel.grouped = true)],
        GemmVariants::Scaled(scales) => of_scales(scales, &with(&|kernel| kernel.grouped = scales.grouped)),
    }
}

/// The kernels with some scales, those of B shuffled faster than those of A, and its groups fastest.
fn of_scales(scales: &GemmScales, plain: &GemmKernel) -> Vec<GemmKernel> {
    let GemmScales { mode, shuffled, group_k, group_n, .. } = scales;
    let usual = Quant::usual(*mode);
    let deep = |group: Mnk| if *mode == QuantMode::Mx { group } else { Mnk { k: *group_k, ..group } };
    let quant = Quant { mode: *mode, group_a: usual.group_a.map(deep), group_b: usual.group_b.map(deep) };
    let wide = |&n: &u32| Quant { group_b: quant.group_b.map(|group| Mnk { n, ..group }), ..quant };
    let quants = if *mode == QuantMode::AB { group_n.iter().map(wide).collect() } else { vec![quant] };
    let mut found = Vec::new();
    for &a in &shuffled[0] {
        for &b in &shuffled[1] {
            found.extend(quants.iter().map(|&quant| scaled(plain, quant, [a, b])));
        }
    }
    found
}

/// A kernel with scales; `shuffled_scales` is whether those of A and of B lie in the order in which they are
/// read.
fn scaled(plain: &GemmKernel, quant: Quant, shuffled_scales: [bool; 2]) -> GemmKernel {
    let dtype_c = if plain.dtype_a == Dtype::PkFp4 { Dtype::Fp16 } else { plain.dtype_c };
    let variant = GemmVariant { quant: Some(quant), shuffled_scales, ..plain.variant };
    GemmKernel { dtype_c, variant, ..plain.clone() }
}

/// Whether a tile holds whole groups, and groups whole instructions.
pub(crate) fn groups_fit(traits: &Traits<'_>, tile: Mnk, warp_tile: Mnk) -> bool {
    let Some(Quant { mode, group_a, group_b }) = traits.kernel.variant.quant else { return true };
    // An instruction of microscaling applies several scales. Profiles leave the groups of A unchecked.
    let whole = match mode {
        QuantMode::B => true,
        QuantMode::A | QuantMode::AB => traits.profile.is_none(),
        QuantMode::RowCol | QuantMode::Tensor | QuantMode::Mx => false,
    };
    [group_a, group_b].into_iter().flatten().all(|group| {
        tile.m.is_multiple_of(group.m)
            && tile.k.is_multiple_of(group.k)
            && (!whole || group.k.is_multiple_of(warp_tile.k))
    })
}

/// Refuses more combinations of lists of these lengths than there may be.
pub(crate) fn check_number(
    what: &str,
    lengths: impl Iterator<Item = usize>,
    most: u64,
) -> Result<(), EnumerateError> {
    let found = lengths.fold(1u64, |product, length| product.saturating_mul(length as u64));
    if found <= most {
        return Ok(());
    }
    Err(EnumerateError::Refused(format!("{found} combinations of {what}, expected at most {most}")))
}

fn lengths(ranges: &GemmRanges) -> impl Iterator<Item = usize> {
    let [pad_m, pad_n, pad_k] = &ranges.pad;
    let pairs = [ranges.pipelines.len(), ranges.schedulers.len()];
    let own = match &ranges.variant {
        GemmVariants::Profiles(GemmProfiles { profiles, groups: [of_a, of_b] }) => {
            vec![profiles.len(), of_a.len(), of_b.len()]
        }
        GemmVariants::Scaled(GemmScales { shuffled: [of_a, of_b], group_n, .. }) => {
            vec![pairs[0], pairs[1], of_a.len(), of_b.len(), group_n.len().max(1)]
        }
        _ => pairs.to_vec(),
    };
    let flags = [&ranges.persistent, pad_m, pad_n, pad_k].map(Vec::len);
    own.into_iter().chain(flags).chain([ranges.epilogues.len()])
}
