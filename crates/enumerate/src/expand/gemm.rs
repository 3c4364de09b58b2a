//! GEMM kernels: ranges through the tile engine's validator, and the machine-learning sweep.

use ck_select_types::kernel::{GemmBody, GemmKernel, Kernel, KernelKind, Mnk};
use ck_select_types::vocab::{Arch, Dtype, GemmLayout, Pipeline};

use super::{EnumerateError, Kernels, gemm_quant};
use crate::config::{GemmConfig, GemmRanges, GemmVariants, LdsLimit};
use crate::rules::Rules;
use crate::valid::{GemmRefusal, GemmValidator};

/// The highest number of combinations that are examined.
const MAX_COMBINATIONS: u64 = 1 << 28;

/// What all kernels of an enumeration share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) rules: &'a Rules,
    /// The architecture as the user wrote it.
    pub(super) target: &'a str,
    pub(super) arch: Arch,
    pub(super) dtype: Dtype,
    pub(super) layout: GemmLayout,
}

pub(super) fn expand(
    shared: Shared<'_>,
    config: &GemmConfig,
    valid_only: bool,
) -> Result<Kernels, EnumerateError> {
    match config {
        GemmConfig::Ranges(ranges) => match &ranges.variant {
            GemmVariants::Quant(quant) => gemm_quant::expand(shared, ranges, quant),
            _ => expand_ranges(shared, ranges),
        },
        GemmConfig::Sweep => expand_sweep(shared, valid_only),
    }
}

/// Tile by tile, and for each tile trait by trait. Each pipeline's own rules decide about a tile.
fn expand_ranges(shared: Shared<'_>, ranges: &GemmRanges) -> Result<Kernels, EnumerateError> {
    let lengths = [&ranges.tile, &ranges.wave, &ranges.warp_tile].into_iter().flatten().map(Vec::len);
    let combinations = lengths.chain([ranges.pipelines.len()]).map(|len| len as u64);
    let combinations = combinations.fold(1u64, u64::saturating_mul);
    if combinations > MAX_COMBINATIONS {
        return Err(EnumerateError::TooManyCombinations { found: combinations, most: MAX_COMBINATIONS });
    }
    let preshuffle = matches!(ranges.variant, GemmVariants::Preshuffle(_));
    let permuted = ranges.variant == GemmVariants::Preshuffle(true);
    let validator = validator(shared, ranges.lds, preshuffle)?;
    let mut kernels = Kernels { warnings: validator.warnings(), ..Kernels::default() };
    for tile in triples(&ranges.tile) {
        for wave in triples(&ranges.wave) {
            for warp_tile in triples(&ranges.warp_tile) {
                let repeats = u64::from(tile.n) / (u64::from(warp_tile.n) * u64::from(wave.n));
                if permuted && !repeats.is_multiple_of(2) {
                    continue;
                }
                for &pipeline in &ranges.pipelines {
                    if validator.refusal(tile, wave, warp_tile, pipeline).is_some() {
                        continue;
                    }
                    push_traits(&mut kernels, shared, ranges, [tile, wave, warp_tile], pipeline)?;
                }
            }
        }
    }
    Ok(kernels)
}

fn push_traits(
    kernels: &mut Kernels,
    shared: Shared<'_>,
    ranges: &GemmRanges,
    [tile, wave, warp_tile]: [Mnk; 3],
    pipeline: Pipeline,
) -> Result<(), EnumerateError> {
    let [pad_m, pad_n, pad_k] = &ranges.pad;
    for &epilogue in &ranges.epilogues {
        for &scheduler in &ranges.schedulers {
            if !shared.rules.gemm.allows(pipeline, epilogue, scheduler) {
                continue;
            }
            for &m in pad_m {
                for &n in pad_n {
                    for &k in pad_k {
                        for &persistent in &ranges.persistent {
                            let pad = [m, n, k];
                            let body = GemmBody {
                                dtype: shared.dtype,
                                layout: shared.layout,
                                tile,
                                wave,
                                warp_tile,
                                pipeline,
                                epilogue,
                                scheduler,
                                pad,
                                persistent,
                            };
                            for kernel in variants(shared.arch, body, &ranges.variant) {
                                kernels.push(kernel)?;
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The kernels of a variant that agree in everything else.
fn variants(arch: Arch, body: GemmBody, variant: &GemmVariants) -> Vec<Kernel> {
    let plain = GemmKernel::from(body);
    let with = |change: &dyn Fn(&mut GemmKernel)| {
        let mut kernel = plain.clone();
        change(&mut kernel);
        named(arch, kernel)
    };
    match variant {
        // Those of profiles are expanded apart.
        GemmVariants::Universal | GemmVariants::Quant(_) => vec![named(arch, plain)],
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
    }
}

fn expand_sweep(shared: Shared<'_>, valid_only: bool) -> Result<Kernels, EnumerateError> {
    let rules = shared.rules;
    let sweep = &rules.sweep;
    let validator = validator(shared, LdsLimit::Hardware, false)?;
    let mut kernels = Kernels::default();
    for spec in &sweep.specs {
        let refusal = if rules.gemm.allows(spec.pipeline, sweep.epilogue, spec.scheduler) {
            let refusal = validator.refusal(spec.tile, sweep.wave, spec.warp_tile, spec.pipeline);
            refusal.map(GemmRefusal::as_str)
        } else {
            Some("pipeline, epilogue and scheduler do not go together")
        };
        if let Some(reason) = refusal.filter(|_| valid_only) {
            kernels.expanded += 1;
            *kernels.refused.entry(reason).or_default() += 1;
            continue;
        }
        let body = GemmBody {
            dtype: shared.dtype,
            layout: shared.layout,
            tile: spec.tile,
            wave: sweep.wave,
            warp_tile: spec.warp_tile,
            pipeline: spec.pipeline,
            epilogue: sweep.epilogue,
            scheduler: spec.scheduler,
            pad: [sweep.pad; 3],
            persistent: sweep.persistent,
        };
        kernels.push(named(shared.arch, body.into()))?;
    }
    Ok(kernels)
}

pub(super) fn validator(
    shared: Shared<'_>,
    lds: LdsLimit,
    preshuffle: bool,
) -> Result<GemmValidator<'_>, EnumerateError> {
    let Shared { rules, target, dtype, layout, .. } = shared;
    let validator =
        GemmValidator::new(rules, target, dtype, layout, lds).ok_or(EnumerateError::NoElementSize(dtype))?;
    Ok(if preshuffle { validator.with_shuffled_b(dtype) } else { validator })
}

fn named(arch: Arch, mut kernel: GemmKernel) -> Kernel {
    kernel.set_arch(arch);
    Kernel { name: kernel.name(), kind: KernelKind::Gemm(kernel) }
}

/// All combinations, the last axis fastest.
pub(super) fn triples([m, n, k]: &[Vec<u32>; 3]) -> impl Iterator<Item = Mnk> + '_ {
    m.iter().flat_map(move |&m| n.iter().flat_map(move |&n| k.iter().map(move |&k| Mnk::new(m, n, k))))
}
