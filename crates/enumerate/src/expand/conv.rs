//! A convolution sweep, with the same loops as upstream's builder.

use ck_select_types::kernel::{ConvKernel, Kernel, KernelKind};
use ck_select_types::vocab::{Arch, Dtype, Pipeline, Scheduler};

use super::{EnumerateError, Kernels};
use crate::config::{Compv4Tiles, ConvConfig, NameForm, TraitSource};
use crate::rules::{ArchTable, DirectionRules, Rules, TileRule};

/// Pipeline, scheduler, `_dsb` and `_si`, which are combined as a unit.
struct Traits {
    pipeline: Pipeline,
    scheduler: Scheduler,
    double_smem_buffer: bool,
    split_image: bool,
}

/// The lists of a sweep, completed with the rules' defaults.
struct Lists<'a> {
    dtypes: Vec<Dtype>,
    ndims: Vec<u8>,
    tiles: &'a [TileRule],
    merges: Vec<u32>,
    explicit: Vec<bool>,
    two_stage: Vec<bool>,
}

pub(super) fn expand(
    rules: &Rules,
    config: &ConvConfig,
    (arch, table): (Arch, &ArchTable),
    ndim: Option<u8>,
) -> Result<Kernels, EnumerateError> {
    let Some(direction) = rules.conv.directions.get(&config.direction) else {
        return Err(EnumerateError::Refused(format!("the rules have no direction {}", config.direction)));
    };
    let mut kernels = Kernels::default();
    let wanted = config.dtypes.as_deref();
    let own = table.conv_dtypes();
    warn(rules, direction, config, (arch, &own), &mut kernels.warnings);
    let lists = Lists {
        dtypes: allowed(&rules.conv.dtypes, wanted).into_iter().filter(|dtype| own.contains(dtype)).collect(),
        ndims: match (ndim, &config.ndims) {
            (Some(ndim), _) => vec![ndim],
            (None, Some(ndims)) => sorted(ndims),
            (None, None) => vec![2],
        },
        tiles: &rules.conv.tiles,
        merges: sorted(config.num_groups_to_merge.as_deref().unwrap_or(&[1])),
        explicit: sorted(config.explicit_gemm.as_deref().unwrap_or(&[false])),
        two_stage: sorted(config.two_stage.as_ref().unwrap_or(&direction.two_stage)),
    };
    let groups = match config.traits {
        TraitSource::Product => product(rules, direction, config),
        TraitSource::SuffixPool => pool(rules, direction, config),
    };
    // The pool has names for every tile, even where no kernel can be built.
    let skips = config.compv4_tiles == Compv4Tiles::Marked && config.traits == TraitSource::Product;
    for &dtype in &lists.dtypes {
        for &ndim in &lists.ndims {
            for tile in lists.tiles {
                let base = base(rules, config, arch, dtype, ndim, tile);
                for (pipeline, traits) in &groups {
                    if skips && *pipeline == Pipeline::CompV4 && !tile.compv4 {
                        continue;
                    }
                    for &merge in &lists.merges {
                        for traits in traits {
                            push_flags(&mut kernels, direction, config, &lists, &base, merge, traits)?;
                        }
                    }
                }
            }
        }
    }
    Ok(kernels)
}

fn push_flags(
    kernels: &mut Kernels,
    direction: &DirectionRules,
    config: &ConvConfig,
    lists: &Lists<'_>,
    base: &ConvKernel,
    merge: u32,
    traits: &Traits,
) -> Result<(), EnumerateError> {
    for &explicit_gemm in &lists.explicit {
        for &two_stage in &lists.two_stage {
            let rewritten =
                direction.rewrite.as_ref().filter(|rewrite| !rewrite.keep.contains(&traits.pipeline));
            let kernel = ConvKernel {
                pipeline: rewritten.map_or(traits.pipeline, |rewrite| rewrite.to),
                scheduler: traits.scheduler,
                double_smem_buffer: traits.double_smem_buffer,
                split_image: traits.split_image,
                num_groups_to_merge: merge,
                explicit_gemm,
                two_stage,
                ..base.clone()
            };
            let name = name(&kernel, config.names);
            kernels.push(Kernel { name, kind: KernelKind::Conv(kernel) })?;
        }
    }
    Ok(())
}

type Group = (Pipeline, Vec<Traits>);

/// Every combination of the lists, grouped by pipeline and scheduler, because the loop over merged groups is
/// outside the loop over the flags.
fn product(rules: &Rules, direction: &DirectionRules, config: &ConvConfig) -> Vec<Group> {
    let buffers = sorted(config.double_smem_buffer.as_deref().unwrap_or(&[false]));
    let splits = sorted(config.split_image.as_deref().unwrap_or(&[false]));
    let mut groups = Vec::new();
    for pipeline in allowed(&direction.pipelines, config.pipelines.as_deref()) {
        for scheduler in allowed(&rules.conv.schedulers, config.schedulers.as_deref()) {
            let traits = buffers.iter().flat_map(|&double_smem_buffer| {
                let traits = move |&split_image: &bool| Traits {
                    pipeline,
                    scheduler,
                    double_smem_buffer,
                    split_image,
                };
                splits.iter().map(traits)
            });
            groups.push((pipeline, traits.collect()));
        }
    }
    groups
}

/// The pool of legal suffixes, narrowed by the lists.
fn pool(rules: &Rules, direction: &DirectionRules, config: &ConvConfig) -> Vec<Group> {
    fn admits<T: PartialEq>(list: Option<&[T]>, item: &T) -> bool {
        list.is_none_or(|list| list.contains(item))
    }
    let mut groups = Vec::new();
    for entry in &rules.conv.suffix_pool {
        let pipeline = entry.pipeline;
        if !admits(config.pipelines.as_deref(), &pipeline) || !direction.pipelines.contains(&pipeline) {
            continue;
        }
        for &scheduler in entry.schedulers.iter().filter(|it| admits(config.schedulers.as_deref(), it)) {
            let traits = entry.dsb_si.iter().map(|&[buffer, split]| Traits {
                pipeline,
                scheduler,
                double_smem_buffer: buffer != 0,
                split_image: split != 0,
            });
            let traits = traits.filter(|traits| {
                admits(config.double_smem_buffer.as_deref(), &traits.double_smem_buffer)
                    && admits(config.split_image.as_deref(), &traits.split_image)
            });
            groups.push((pipeline, traits.collect()));
        }
    }
    groups
}

fn base(
    rules: &Rules,
    config: &ConvConfig,
    arch: Arch,
    dtype: Dtype,
    ndim: u8,
    tile: &TileRule,
) -> ConvKernel {
    ConvKernel {
        direction: config.direction,
        dtype_in: dtype,
        dtype_wei: dtype,
        dtype_out: dtype,
        layout: rules.conv.layout,
        ndim,
        tile: tile.tile,
        wave: tile.wave,
        warp_tile: tile.warp_tile,
        epilogue: rules.conv.epilogue,
        vector: tile.vector,
        arch: Some(arch),
        ..ConvKernel::USUAL
    }
}

fn name(kernel: &ConvKernel, form: NameForm) -> String {
    let name = kernel.name();
    match form {
        NameForm::Full => name,
        // No other part of a name contains this word.
        NameForm::WithoutIntrawave => name.replacen("_intrawave", "", 1),
    }
}

/// The items of a rule's list that are allowed, in the rule's order.
fn allowed<T: Copy + PartialEq>(all: &[T], list: Option<&[T]>) -> Vec<T> {
    all.iter().copied().filter(|item| list.is_none_or(|list| list.contains(item))).collect()
}

fn sorted<T: Copy + Ord>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list.dedup();
    list
}

/// Warns about what upstream's sweep ignores silently.
fn warn(
    rules: &Rules,
    direction: &DirectionRules,
    config: &ConvConfig,
    (arch, types): (Arch, &[Dtype]),
    warnings: &mut Vec<String>,
) {
    for dtype in config.dtypes.iter().flatten() {
        if !types.contains(dtype) || !rules.conv.dtypes.contains(dtype) {
            warnings.push(format!("{arch} has no convolution kernels of {dtype}, so it gives none"));
        }
    }
    for pipeline in config.pipelines.iter().flatten() {
        if !direction.pipelines.contains(pipeline) {
            warnings.push(format!("{} has no pipeline {pipeline}, so it gives no kernels", config.direction));
        }
    }
    for scheduler in config.schedulers.iter().flatten() {
        if !rules.conv.schedulers.contains(scheduler) {
            warnings.push(format!("sweeps have no scheduler {scheduler}, so it gives no kernels"));
        }
    }
}
