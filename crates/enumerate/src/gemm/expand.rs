//! GEMM kernels: ranges through the tile engine's validator, and the machine-learning sweep.

use ck_select_types::kernel::{GemmKernel, Kernel, KernelKind, Mnk};
use ck_select_types::problem::{GemmProblem, ProblemDefaults};
use ck_select_types::vocab::{Arch, Dtype, GemmLayout, Op, Pipeline};

use super::config::{GemmConfig, GemmRanges, LdsLimit};
use super::families::{BuiltRule, FamilyRules};
use super::traits::Shared;
use super::valid::GemmValidator;
use super::variant::{GemmVariants, MX, PLAIN, PRESHUFFLE};
use super::{names, traits};
use crate::error::EnumerateError;
use crate::kernels::{Expansion, Kernels};
use crate::request::Request;
use crate::rules::Rules;

/// The highest number of combinations that are examined.
const MAX_COMBINATIONS: u64 = 1 << 28;

impl Expansion for GemmProblem {
    fn expand(
        rules: &Rules,
        config: &GemmConfig,
        arch: Arch,
        request: &Request,
    ) -> Result<Kernels, EnumerateError> {
        rules.table(arch)?;
        let &Request { ref target, dtype, layout, valid_only, .. } = request;
        let usual = ProblemDefaults::new(Op::Gemm);
        let (dtype, layout) = (dtype.unwrap_or(usual.dtype), layout.unwrap_or(usual.gemm_layout));
        let shared = Shared { rules, target, arch, dtype, layout };
        match config {
            GemmConfig::Ranges(ranges) => expand_ranges(shared, ranges),
            GemmConfig::Sweep => expand_sweep(shared, valid_only),
            GemmConfig::Family(family) => {
                let mut kernels = Kernels::default();
                for (kernel, _) in rules.aiter.kernels(family, arch)? {
                    kernels.push(kernel)?;
                }
                Ok(kernels)
            }
        }
    }
}

/// Tile by tile, and for each tile trait by trait. Each pipeline's own rules decide about a tile.
fn expand_ranges(shared: Shared<'_>, ranges: &GemmRanges) -> Result<Kernels, EnumerateError> {
    let &GemmVariants { name, ref profiles, permuted, .. } = &ranges.variant;
    let of_traits = profiles.as_ref().map_or(ranges.pipelines.len(), |of| of.profiles.len());
    let lengths = [&ranges.tile, &ranges.wave, &ranges.warp_tile].into_iter().flatten().map(Vec::len);
    let what = "tiles, waves, instructions and pipelines";
    traits::check_number(what, lengths.chain([of_traits]), MAX_COMBINATIONS)?;
    let mut kernels = Kernels::default();
    let family = shared.rules.gemm_families.families.get(name);
    if let Some(warning) = family.and_then(|family| outside(shared, name, family)) {
        kernels.enumeration.warnings.push(warning);
        return Ok(kernels);
    }
    let validator = GemmValidator::new(shared, ranges.lds, family, name == PRESHUFFLE)?;
    let all = traits::all(shared, ranges, family)?;
    kernels.enumeration.warnings = validator.warnings();
    if all.is_empty() && family.is_some() {
        let warning = format!("{name} has no kernels of these traits on {}, so it gives none", shared.arch);
        kernels.enumeration.warnings.push(warning);
    }
    for tile in triples(&ranges.tile) {
        for wave in triples(&ranges.wave) {
            for warp_tile in triples(&ranges.warp_tile) {
                let repeats = u64::from(tile.n) / (u64::from(warp_tile.n) * u64::from(wave.n));
                if permuted && !repeats.is_multiple_of(2) {
                    continue;
                }
                // Combinations of one pipeline follow each other.
                let mut judged = None;
                for traits in &all {
                    let pipeline = traits.kernel.pipeline;
                    if judged.is_none_or(|(known, _)| known != pipeline) {
                        let refusal = validator.refusal(tile, wave, warp_tile, pipeline);
                        judged = Some((pipeline, refusal.is_none()));
                    }
                    let takes = |rule: &&BuiltRule| validator.takes(rule, tile, wave, warp_tile);
                    if judged.is_some_and(|(_, passes)| passes)
                        && traits::groups_fit(traits, tile, warp_tile)
                        && traits.rules.as_ref().is_none_or(|rules| rules.iter().any(takes))
                    {
                        let mut kernel = GemmKernel { tile, wave, warp_tile, ..traits.kernel.clone() };
                        kernel.set_arch(shared.arch);
                        let name = names::name(name, traits.profile, &kernel);
                        kernels.push(Kernel { name, kind: KernelKind::Gemm(kernel) })?;
                    }
                }
            }
        }
    }
    if kernels.enumeration.kernels.is_empty() && name == PLAIN {
        kernels.enumeration.warnings.extend(perhaps_mx(shared, ranges));
    }
    Ok(kernels)
}

/// Configurations of microscaled GEMMs have no key of their own; types and pipelines may give them away.
fn perhaps_mx(shared: Shared<'_>, ranges: &GemmRanges) -> Option<String> {
    let family = shared.rules.gemm_families.families.get(MX)?;
    let of_family = |pipeline: &Pipeline| family.built.iter().any(|rule| rule.pipelines.contains(pipeline));
    let hint = shared.dtype == Dtype::PkFp4 || ranges.pipelines.iter().any(of_family);
    hint.then(|| {
        format!("read as plain GEMMs; of microscaled ones, it needs \"ck_select\": {{\"variant\": \"{MX}\"}}")
    })
}

/// Why a family has no kernels at all of the type or the memory orders.
fn outside(shared: Shared<'_>, name: &str, family: &FamilyRules) -> Option<String> {
    let Shared { dtype, layout, .. } = shared;
    let says = |what: String, known: Vec<String>| {
        format!("{name} has no kernels of {what}, so it gives none; expected {}", known.join(", "))
    };
    match (&family.dtypes, &family.layouts) {
        (Some(known), _) if !known.contains(&dtype) => {
            Some(says(dtype.to_string(), known.iter().map(Dtype::to_string).collect()))
        }
        (_, Some(known)) if !known.contains(&layout) => {
            Some(says(format!("layout {layout}"), known.iter().map(GemmLayout::to_string).collect()))
        }
        _ => None,
    }
}

fn expand_sweep(shared: Shared<'_>, valid_only: bool) -> Result<Kernels, EnumerateError> {
    let rules = shared.rules;
    let sweep = &rules.sweep;
    let validator = GemmValidator::new(shared, LdsLimit::Hardware, None, false)?;
    let mut kernels = Kernels::default();
    for spec in &sweep.specs {
        let refusal = if rules.gemm.allows(spec.pipeline, sweep.epilogue, spec.scheduler) {
            validator.refusal(spec.tile, sweep.wave, spec.warp_tile, spec.pipeline)
        } else {
            Some("pipeline, epilogue and scheduler do not go together")
        };
        if let Some(reason) = refusal.filter(|_| valid_only) {
            kernels.refuse(reason);
            continue;
        }
        let flags = ([sweep.pad; 3], sweep.persistent);
        let traits =
            traits::kernel(shared, &GemmKernel::USUAL, spec.pipeline, sweep.epilogue, spec.scheduler, flags);
        let (tile, wave, warp_tile) = (spec.tile, sweep.wave, spec.warp_tile);
        let mut kernel = GemmKernel { tile, wave, warp_tile, ..traits };
        kernel.set_arch(shared.arch);
        kernels.push(Kernel { name: kernel.name(), kind: KernelKind::Gemm(kernel) })?;
    }
    Ok(kernels)
}

/// All combinations, the last axis fastest.
fn triples([m, n, k]: &[Vec<u32>; 3]) -> impl Iterator<Item = Mnk> + '_ {
    m.iter().flat_map(move |&m| n.iter().flat_map(move |&n| k.iter().map(move |&k| Mnk::new(m, n, k))))
}
