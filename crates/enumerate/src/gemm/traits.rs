//! The traits of GEMM kernels: all that a configuration combines apart from tiles.

use std::borrow::Cow;

use ck_select_types::kernel::{GemmKernel, Mnk, Quant};
use ck_select_types::vocab::{Arch, Dtype, Epilogue, GemmLayout, Pipeline, QuantMode, Scheduler};

use super::config::GemmRanges;
use super::families::{BuiltRule, FamilyRules, ProfileRule};
use super::variant::{GemmProfiles, GemmVariants, with_scales};
use crate::error::EnumerateError;
use crate::rules::Rules;

/// The highest number of combinations of traits.
const MAX_TRAITS: u64 = 1 << 20;

/// The rules, target and configuration that all kernels of an enumeration share.
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
    let sources = sources(shared, ranges)?;
    let combined = |source: &PipelineTraits<'_>| source.schedulers.len().saturating_mul(source.kernels.len());
    let flags = ranges.pad.iter().chain([&ranges.persistent]).map(Vec::len);
    let lengths = [sources.iter().map(combined).sum(), ranges.epilogues.len()];
    check_number("traits", flags.chain(lengths), MAX_TRAITS)?;
    let flags = flags_of(ranges);
    let mut all = Vec::new();
    for PipelineTraits { pipeline, schedulers, profile, kernels } in &sources {
        for &epilogue in &ranges.epilogues {
            for &scheduler in *schedulers {
                if profile.is_none() && !shared.rules.gemm.allows(*pipeline, epilogue, scheduler) {
                    continue;
                }
                for &flags in &flags {
                    let whole = |one| kernel(shared, one, *pipeline, epilogue, scheduler, flags);
                    let traits = |one| Traits { kernel: whole(one), profile: *profile, rules: None };
                    all.extend(kernels.iter().map(traits));
                }
            }
        }
    }
    let Some(family) = family else { return Ok(all) };
    for traits in &mut all {
        let takes = |rule: &&BuiltRule| rule.takes(shared.arch, &traits.kernel);
        traits.rules = Some(family.built.iter().filter(takes).collect());
    }
    all.retain(|traits| traits.rules.as_ref().is_none_or(|rules| !rules.is_empty()));
    Ok(all)
}

/// A pipeline with its schedulers, to be combined with epilogues and flags.
struct PipelineTraits<'a> {
    pipeline: Pipeline,
    schedulers: &'a [Scheduler],
    profile: Option<&'a ProfileRule>,
    /// Kernels with what sets them apart from plain ones, and with all else as usual.
    kernels: Cow<'a, [GemmKernel]>,
}

fn sources<'a>(
    shared: Shared<'a>,
    ranges: &'a GemmRanges,
) -> Result<Vec<PipelineTraits<'a>>, EnumerateError> {
    let GemmVariants { kernels, profiles, .. } = &ranges.variant;
    let Some(GemmProfiles { profiles, groups: listed }) = profiles else {
        let of = |&pipeline| {
            let kernels = Cow::Borrowed(kernels.as_slice());
            PipelineTraits { pipeline, schedulers: &ranges.schedulers, profile: None, kernels }
        };
        return Ok(ranges.pipelines.iter().map(of).collect());
    };
    let known = &shared.rules.gemm_families.profiles;
    let of = |word: &String| {
        let Some(profile) = known.iter().find(|profile| profile.word == *word) else {
            let known = known.iter().map(|profile| profile.word.as_str()).collect::<Vec<_>>().join(", ");
            return Err(EnumerateError::Refused(format!(
                "trait_config.profile: unknown profile '{word}', expected one of: {known}"
            )));
        };
        let shuffled = |mode| profile.shuffled_scales && profile.mode == mode;
        let shuffled = [QuantMode::A, QuantMode::B].map(shuffled);
        let kernel = |quant| with_scales(&GemmKernel::USUAL, quant, shuffled);
        Ok(PipelineTraits {
            pipeline: profile.pipeline,
            schedulers: std::slice::from_ref(&profile.scheduler),
            profile: Some(profile),
            kernels: groups(profile, listed).into_iter().map(kernel).collect(),
        })
    };
    profiles.iter().map(of).collect()
}

/// A kernel, but for its tile; `own` has what sets it apart from plain ones.
pub(crate) fn kernel(
    shared: Shared<'_>,
    own: &GemmKernel,
    pipeline: Pipeline,
    epilogue: Epilogue,
    scheduler: Scheduler,
    (pad, persistent): ([bool; 3], bool),
) -> GemmKernel {
    let Shared { dtype: dtype_a, layout, .. } = shared;
    // Names of batched ones have no flag for persistence, because they never stay resident.
    let persistent = persistent && !own.variant.batched;
    let own = own.clone();
    let mut kernel =
        GemmKernel { dtype_a, layout, pipeline, epilogue, scheduler, pad, persistent, ..own }.completed();
    if kernel.variant.quant.is_some() && dtype_a == Dtype::PkFp4 {
        kernel.dtype_c = Dtype::Fp16;
    }
    kernel
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
fn flags_of(ranges: &GemmRanges) -> Vec<([bool; 3], bool)> {
    let [pad_m, pad_n, pad_k] = &ranges.pad;
    let mut flags = Vec::new();
    for &m in pad_m {
        for &n in pad_n {
            for &k in pad_k {
                flags.extend(ranges.persistent.iter().map(|&persistent| ([m, n, k], persistent)));
            }
        }
    }
    flags
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
    let combinations = lengths.fold(1u64, |product, length| product.saturating_mul(length as u64));
    if combinations <= most {
        return Ok(());
    }
    Err(EnumerateError::Refused(format!("{combinations} combinations of {what}, expected at most {most}")))
}
