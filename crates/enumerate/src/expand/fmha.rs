//! Forward attention kernels: loops over types, head sizes, modes, features, pipelines with their paddings,
//! and tiles, in this order.

use ck_select_types::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use ck_select_types::vocab::{Arch, FmhaBias, FmhaFamily, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale};

use super::fmha_tiles::Tiles;
use super::{EnumerateError, Kernels};
use crate::config::FmhaConfig;
use crate::rules::{FmhaRules, FmhaTileRule};

/// The masks of CK's forward kernels: a causal mask is named after the corner where it starts.
const MASKS: [FmhaMask; 3] = [FmhaMask::No, FmhaMask::TopLeft, FmhaMask::Generic];
const BIASES: [FmhaBias; 3] = [FmhaBias::No, FmhaBias::Elementwise, FmhaBias::Alibi];
const QSCALES: [FmhaQscale; 3] = [FmhaQscale::No, FmhaQscale::Pertensor, FmhaQscale::Blockscale];

pub(super) fn expand(rules: &FmhaRules, config: &FmhaConfig, arch: Arch) -> Result<Kernels, EnumerateError> {
    let named = arch.as_str();
    if !rules.archs.iter().any(|known| known == named) {
        let known = rules.archs.join(", ");
        return Err(EnumerateError::Refused(format!(
            "the rules have no attention kernels for {arch}, but for {known}"
        )));
    }
    let tiles = Tiles::new(rules, config, named);
    let receipt = config.receipt.to_string();
    let Some(build) = tiles.receipts().get(&receipt) else {
        let known = tiles.receipts().keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(EnumerateError::Refused(format!(
            "no build has the receipt {receipt}, expected one of: {known}"
        )));
    };
    let mut kernels = Kernels::default();
    for dtype in rules.dtypes.iter().copied().filter(|dtype| allows(config.dtypes.as_ref(), dtype)) {
        for hdims in tiles.heads(dtype) {
            let accepted = tiles.by_pipeline(dtype, hdims);
            for mode in [FmhaMode::Batch, FmhaMode::Group]
                .into_iter()
                .filter(|mode| allows(config.modes.as_ref(), mode))
            {
                for features in features(config) {
                    let mut plain =
                        FmhaKernel::plain(FmhaFamily::Fwd, hdims, FmhaPipeline::Qr, FmhaTile::default());
                    (plain.dtype, plain.mode, plain.arch) = (dtype, mode, Some(arch));
                    features.give(&mut plain);
                    if tiles.refused().iter().any(|refused| refused.fit(&plain)) || !build.fit(&plain) {
                        continue;
                    }
                    for spec in rules.specs.iter().filter(|spec| spec.is_for(&plain, named, config.receipt)) {
                        if !allows(config.pipelines.as_ref(), &spec.pipeline) {
                            continue;
                        }
                        for pads in &spec.pads {
                            let mut padded = FmhaKernel { pipeline: spec.pipeline, ..plain.clone() };
                            for (pad, letter) in padded.pad.iter_mut().zip(pads.chars()) {
                                *pad = letter == 't';
                            }
                            // Sequences with individual lengths do not divide into tiles.
                            if mode == FmhaMode::Group && !(padded.pad[0] && padded.pad[1]) {
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
    }
    Ok(kernels)
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

fn allows<T: PartialEq>(list: Option<&Vec<T>>, value: &T) -> bool {
    list.is_none_or(|list| list.contains(value))
}

/// One combination of features that a kernel computes.
#[derive(Clone, Copy)]
struct Features {
    logits: bool,
    qscale: FmhaQscale,
    mask: FmhaMask,
    bias: FmhaBias,
    lse: bool,
    dropout: bool,
    skip: bool,
    sink: bool,
}

impl Features {
    fn give(self, kernel: &mut FmhaKernel) {
        let Self { logits, qscale, mask, bias, lse, dropout, skip, sink } = self;
        (kernel.logits, kernel.qscale, kernel.mask, kernel.bias) = (logits, qscale, mask, bias);
        (kernel.lse, kernel.dropout, kernel.skip, kernel.sink) = (lse, dropout, skip, sink);
    }
}

/// All combinations that a sweep allows; the first feature is the outermost loop.
fn features(config: &FmhaConfig) -> Vec<Features> {
    let flags = |list: Option<&Vec<bool>>| -> Vec<bool> {
        [true, false].into_iter().filter(|flag| allows(list, flag)).collect()
    };
    let mut all = Vec::new();
    for logits in flags(config.logits.as_ref()) {
        for qscale in QSCALES.into_iter().filter(|word| allows(config.qscales.as_ref(), word)) {
            for mask in MASKS.into_iter().filter(|word| allows(config.masks.as_ref(), word)) {
                for bias in BIASES.into_iter().filter(|word| allows(config.biases.as_ref(), word)) {
                    for lse in flags(config.lse.as_ref()) {
                        for dropout in flags(config.dropout.as_ref()) {
                            for skip in [true, false] {
                                for sink in flags(config.sink.as_ref()) {
                                    all.push(Features {
                                        logits,
                                        qscale,
                                        mask,
                                        bias,
                                        lse,
                                        dropout,
                                        skip,
                                        sink,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    all
}
