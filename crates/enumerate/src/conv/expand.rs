//! Convolutions: a sweep, with the same loops as upstream's builder, and lists of instances.

use ck_select_types::kernel::{ConvKernel, ConvTile, Kernel, KernelKind};
use ck_select_types::problem::ConvProblem;
use ck_select_types::vocab::{Arch, Direction, Dtype, Pipeline, Scheduler};

use super::config::{ConvConfig, ConvSweep};
use super::instances::Instances;
use super::rules::DirectionRules;
use super::valid::refusal;
use crate::arch::ArchTable;
use crate::error::EnumerateError;
use crate::kernels::{Expansion, Kernels};
use crate::lists::admits;
use crate::request::Request;
use crate::rules::Rules;

/// A pipeline with a scheduler, and the values of `_dsb` and `_si` that they are combined with.
type Group = (Pipeline, Scheduler, Vec<(bool, bool)>);

impl Expansion for ConvProblem {
    fn expand(
        rules: &Rules,
        config: &ConvConfig,
        arch: Arch,
        request: &Request,
    ) -> Result<Kernels, EnumerateError> {
        let table = rules.table(arch)?;
        let mut kernels = match config {
            ConvConfig::Sweep(sweep) => swept(rules, sweep, (arch, table), request.ndim)?,
            ConvConfig::Instances(_) if request.ndim.is_some() => {
                return Err(EnumerateError::FixedDimensions);
            }
            ConvConfig::Instances(instances) => listed(instances, arch)?,
        };
        if request.valid_only {
            let is_listed = matches!(config, ConvConfig::Instances(_));
            let enumeration = &mut kernels.enumeration;
            enumeration.kernels.retain(|kernel| {
                let KernelKind::Conv(conv) = &kernel.kind else { return true };
                let refusal = refusal(rules, conv, arch.as_str(), is_listed);
                refusal.inspect(|&refusal| *enumeration.refused.entry(refusal).or_default() += 1).is_none()
            });
        }
        Ok(kernels)
    }
}

/// The kernels of a sweep.
fn swept(
    rules: &Rules,
    config: &ConvSweep,
    (arch, table): (Arch, &ArchTable),
    ndim: Option<u8>,
) -> Result<Kernels, EnumerateError> {
    let Some(direction) = rules.conv.directions.get(&config.direction) else {
        return Err(EnumerateError::Refused(format!("the rules have no direction {}", config.direction)));
    };
    let mut kernels = Kernels::default();
    let own = table.conv_dtypes();
    warn(rules, direction, config, (arch, &own), &mut kernels.enumeration.warnings);
    let mut dtypes = allowed(&rules.conv.dtypes, config.dtypes.as_deref());
    dtypes.retain(|dtype| own.contains(dtype));
    let ndims = match (ndim, &config.ndims) {
        (Some(ndim), _) => vec![ndim],
        (None, Some(ndims)) => sorted(ndims),
        (None, None) => vec![2],
    };
    let groups = if config.suffix_pool { pool } else { product }(rules, direction, config);
    // The pool has names for every tile, even where no kernel can be built.
    let skips = !config.all_compv4 && !config.suffix_pool;
    for (types, tile) in pairs(&pairs(&dtypes, &ndims), &rules.conv.tiles) {
        let base = base(rules, config, (arch, types), &tile);
        let is_built = |group: &&Group| !skips || tile.compv4 || group.0 != Pipeline::CompV4;
        for kernel in
            groups.iter().filter(is_built).flat_map(|group| variants(&base, group, direction, config))
        {
            let mut name = kernel.name();
            if config.without_intrawave {
                // No other part of a name contains this word.
                name = name.replacen("_intrawave", "", 1);
            }
            kernels.push(Kernel { name, kind: KernelKind::Conv(kernel) })?;
        }
    }
    Ok(kernels)
}

/// The kernels of a tile with a pipeline and a scheduler: merged groups slowest, then the flags, then what is
/// not part of the name or at its end.
fn variants(
    base: &ConvKernel,
    (pipeline, scheduler, flags): &Group,
    direction: &DirectionRules,
    config: &ConvSweep,
) -> Vec<ConvKernel> {
    let rewrite = direction.rewrite.as_ref().filter(|own| !own.keep.contains(pipeline));
    let merges = sorted(config.num_groups_to_merge.as_deref().unwrap_or(&[1]));
    let explicit = sorted(config.explicit_gemm.as_deref().unwrap_or(&[false]));
    let two_stage = sorted(config.two_stage.as_ref().unwrap_or(&direction.two_stage));
    let ends = pairs(flags, &pairs(&explicit, &two_stage));
    let kernel =
        |(num_groups_to_merge, ((double_smem_buffer, split_image), (explicit_gemm, two_stage)))| ConvKernel {
            pipeline: rewrite.map_or(*pipeline, |rewrite| rewrite.to),
            scheduler: *scheduler,
            num_groups_to_merge,
            double_smem_buffer,
            split_image,
            explicit_gemm,
            two_stage,
            ..base.clone()
        };
    pairs(&merges, &ends).into_iter().map(kernel).collect()
}

/// Every combination of the lists.
fn product(rules: &Rules, direction: &DirectionRules, config: &ConvSweep) -> Vec<Group> {
    let buffers = sorted(config.double_smem_buffer.as_deref().unwrap_or(&[false]));
    let splits = sorted(config.split_image.as_deref().unwrap_or(&[false]));
    let schedulers = allowed(&rules.conv.schedulers, config.schedulers.as_deref());
    let pipelines = allowed(&direction.pipelines, config.pipelines.as_deref()).into_iter();
    let group = |pipeline, scheduler| (pipeline, scheduler, pairs(&buffers, &splits));
    let of = |pipeline| schedulers.iter().map(move |&scheduler| group(pipeline, scheduler));
    pipelines.flat_map(of).collect()
}

/// The pool of legal suffixes, narrowed by the lists.
fn pool(rules: &Rules, direction: &DirectionRules, config: &ConvSweep) -> Vec<Group> {
    let buffers = config.double_smem_buffer.as_deref();
    let splits = config.split_image.as_deref();
    let mut groups = Vec::new();
    for entry in &rules.conv.suffix_pool {
        if !admits(config.pipelines.as_deref(), &entry.pipeline)
            || !direction.pipelines.contains(&entry.pipeline)
        {
            continue;
        }
        let flags = entry.dsb_si.iter().map(|[buffer, split]| (*buffer != 0, *split != 0));
        let flags = flags.filter(|(buffer, split)| admits(buffers, buffer) && admits(splits, split));
        for scheduler in allowed(&entry.schedulers, config.schedulers.as_deref()) {
            groups.push((entry.pipeline, scheduler, flags.clone().collect()));
        }
    }
    groups
}

/// All pairs, the second item fastest.
fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|&first| second.iter().map(move |&second| (first, second))).collect()
}

fn base(
    rules: &Rules,
    config: &ConvSweep,
    (arch, (dtype, ndim)): (Arch, (Dtype, u8)),
    tile: &ConvTile,
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

/// The items of a rule's list that are allowed, in the rule's order.
fn allowed<T: Copy + PartialEq>(all: &[T], list: Option<&[T]>) -> Vec<T> {
    all.iter().copied().filter(|item| admits(list, item)).collect()
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
    config: &ConvSweep,
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

/// The kernels of a list of instances, each of which already is one.
fn listed(instances: &Instances, arch: Arch) -> Result<Kernels, EnumerateError> {
    let mut kernels = Kernels::default();
    for instance in &instances.kernels {
        // Upstream's loader omits these: backward weight has no such pipeline.
        let lacking = matches!(instance.pipeline, Pipeline::CompV2 | Pipeline::BasicV2);
        if instance.direction == Direction::BwdWeight && lacking {
            kernels.refuse("pipeline not for this direction");
            continue;
        }
        let mut kernel = instance.clone();
        kernel.arch = Some(arch);
        // Instances differ in waves, vectors and specializations, which short names omit.
        kernels.push(Kernel { name: kernel.long_name(), kind: KernelKind::Conv(kernel) })?;
    }
    for other in &instances.others {
        if kernels.is_new(&other.name) {
            kernels.enumeration.others.push(other.clone());
        }
    }
    Ok(kernels)
}
