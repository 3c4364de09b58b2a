//! Forward attention kernels: loops over types, head sizes, modes, features, pipelines with their paddings,
//! and tiles, in this order.

use ck_select_types::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::{Arch, FmhaBias, FmhaFamily, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale};

use super::config::FmhaConfig;
use super::rules::FmhaTileRule;
use super::tiles::Tiles;
use crate::error::EnumerateError;
use crate::kernels::{Expansion, Kernels};
use crate::lists::admits;
use crate::request::Request;
use crate::rules::Rules;

const MODES: [FmhaMode; 2] = [FmhaMode::Batch, FmhaMode::Group];
/// The masks of CK's forward kernels: a causal mask is named after the corner where it starts.
const MASKS: [FmhaMask; 3] = [FmhaMask::No, FmhaMask::TopLeft, FmhaMask::Generic];
const BIASES: [FmhaBias; 3] = [FmhaBias::No, FmhaBias::Elementwise, FmhaBias::Alibi];
const QSCALES: [FmhaQscale; 3] = [FmhaQscale::No, FmhaQscale::Pertensor, FmhaQscale::Blockscale];

impl Expansion for FmhaProblem {
    fn expand(
        rules: &Rules,
        config: &Box<FmhaConfig>,
        arch: Arch,
        _request: &Request,
    ) -> Result<Kernels, EnumerateError> {
        rules.table(arch)?;
        let (rules, named) = (&rules.fmha, arch.as_str());
        if !rules.archs.iter().any(|known| known == named) {
            let known = rules.archs.join(", ");
            return Err(EnumerateError::Refused(format!(
                "no attention kernels for {arch}; the rules cover {known}"
            )));
        }
        let tiles = Tiles::new(rules, config, named);
        let receipt = config.receipt.to_string();
        let Some(build) = tiles.receipts.get(&receipt) else {
            let known = tiles.receipts.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(EnumerateError::Refused(format!(
                "no build has the receipt {receipt}, expected one of: {known}"
            )));
        };
        let mut kernels = Kernels::default();
        for dtype in
            rules.dtypes.iter().copied().filter(|dtype| admits(config.features.dtypes.as_deref(), dtype))
        {
            for hdims in tiles.heads(dtype) {
                let accepted = tiles.by_pipeline(dtype, hdims);
                let mut plain =
                    FmhaKernel::plain(FmhaFamily::Fwd, hdims, FmhaPipeline::Qr, FmhaTile::default());
                (plain.dtype, plain.arch) = (dtype, Some(arch));
                for plain in featured(plain) {
                    if tiles.refused.iter().any(|refused| refused.fit(&plain))
                        || !build.fit(&plain)
                        || !config.features.fit(&plain)
                    {
                        continue;
                    }
                    for spec in rules.specs.iter().filter(|spec| spec.is_for(&plain, named, config.receipt)) {
                        if !admits(config.pipelines.as_deref(), &spec.pipeline) {
                            continue;
                        }
                        for pads in &spec.pads {
                            let mut padded = FmhaKernel { pipeline: spec.pipeline, ..plain.clone() };
                            for (pad, letter) in padded.pad.iter_mut().zip(pads.chars()) {
                                *pad = letter == 't';
                            }
                            // Sequences with individual lengths do not divide into tiles.
                            if padded.mode == FmhaMode::Group && !(padded.pad[0] && padded.pad[1]) {
                                continue;
                            }
                            let own = accepted.iter().filter(|(pipeline, _)| *pipeline == padded.pipeline);
                            for rule in own.flat_map(|(_, rules)| rules) {
                                push(&mut kernels, &padded, rule, config.block_per_cu.as_deref())?;
                            }
                        }
                    }
                }
            }
        }
        Ok(kernels)
    }
}

fn push(
    kernels: &mut Kernels,
    padded: &FmhaKernel,
    rule: &FmhaTileRule,
    blocks: Option<&[i64]>,
) -> Result<(), EnumerateError> {
    let mut kernel = FmhaKernel { tile: rule.tile.into(), ..padded.clone() };
    kernel.set_warp_tile(rule.warp);
    if let Some(second) = rule.warp1 {
        kernel.warp_tile[3..6].copy_from_slice(&second);
    }
    (kernel.wave[0], kernel.wave[3]) = (rule.waves, rule.waves);
    let own = [rule.block_per_cu.map_or(-1, i64::from)];
    for &blocks in blocks.unwrap_or(&own) {
        let block_per_cu = u8::try_from(blocks).unwrap_or(FmhaKernel::PIPELINE_DECIDES);
        let kernel = FmhaKernel { block_per_cu, ..kernel.clone() };
        kernels.push(Kernel { name: kernel.config_name(), kind: KernelKind::Fmha(kernel) })?;
    }
    Ok(())
}

/// A kernel in all modes and with all combinations of features; the mode is the outermost loop.
fn featured(plain: FmhaKernel) -> Vec<FmhaKernel> {
    fn each<T: Copy>(kernels: &[FmhaKernel], values: &[T], set: fn(&mut FmhaKernel, T)) -> Vec<FmhaKernel> {
        let with = |kernel: &FmhaKernel, value| {
            let mut kernel = kernel.clone();
            set(&mut kernel, value);
            kernel
        };
        kernels.iter().flat_map(|kernel| values.iter().map(|&value| with(kernel, value))).collect()
    }
    let flags = [true, false];
    let kernels = each(&[plain], &MODES, |kernel, mode| kernel.mode = mode);
    let kernels = each(&kernels, &flags, |kernel, logits| kernel.logits = logits);
    let kernels = each(&kernels, &QSCALES, |kernel, qscale| kernel.qscale = qscale);
    let kernels = each(&kernels, &MASKS, |kernel, mask| kernel.mask = mask);
    let kernels = each(&kernels, &BIASES, |kernel, bias| kernel.bias = bias);
    let kernels = each(&kernels, &flags, |kernel, lse| kernel.lse = lse);
    let kernels = each(&kernels, &flags, |kernel, dropout| kernel.dropout = dropout);
    let kernels = each(&kernels, &flags, |kernel, skip| kernel.skip = skip);
    each(&kernels, &flags, |kernel, sink| kernel.sink = sink)
}
