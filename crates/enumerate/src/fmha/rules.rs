//! Forward attention: tiles by head size, and combinations of features (`fmha.json`).

use std::collections::BTreeMap;

use ck_select_types::kernel::FmhaKernel;
use ck_select_types::vocab::{Dtype, FmhaBias, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale};
use serde::Deserialize;

use crate::lists::admits;

/// The rules of forward attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaRules {
    #[serde(rename = "about")]
    _about: String,
    /// Element types, in sweep order.
    pub dtypes: Vec<Dtype>,
    /// Architectures.
    pub archs: Vec<String>,
    /// Tiles, in sweep order.
    pub tiles: Vec<FmhaTileRule>,
    /// Pipelines and their padding, by features.
    pub specs: Vec<FmhaSpec>,
    /// Combinations of features that are never built.
    pub refused: Vec<FmhaFeatures>,
    /// Which tiles a pipeline accepts.
    pub tile_rules: Vec<FmhaTileTest>,
    /// Tiles by rules instead of the table.
    pub sweep: FmhaSweep,
    /// The single tile of the third version: that pipeline accepts no other, and no other pipeline accepts
    /// it.
    pub v3_tile: FmhaV3,
    /// Builds by number.
    pub receipts: BTreeMap<String, FmhaFeatures>,
}

/// Tiles by rules: products of sizes. `tiles.rs` has the tests of loads and shared memory that they have to
/// pass besides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaSweep {
    #[serde(rename = "about")]
    _about: String,
    /// Queries of a tile.
    pub m0: Vec<u16>,
    /// Keys.
    pub n0: Vec<u16>,
    /// Steps of the first product.
    pub k0: Vec<u16>,
    /// Matrix instructions and head sizes.
    pub types: Vec<FmhaSweepTypes>,
    /// Padded head sizes of queries that differ from the size.
    pub k0max: BTreeMap<u16, u16>,
    /// Step of the second product for types of 16 bits; for those of 8 bits, it is that of the first.
    pub k1: u16,
    /// Tiles with another one.
    pub narrow_k1: Vec<FmhaNarrow>,
    /// Shared memory for the synchronous pipelines.
    pub lds_bytes: u64,
    /// The shared memory of the asynchronous ones, in bytes.
    pub async_lds_bytes: u64,
    /// Which tiles a pipeline accepts.
    pub tile_rules: Vec<FmhaTileTest>,
    /// Combinations of features that are never built.
    pub refused: Vec<FmhaFeatures>,
    /// Builds by number.
    pub receipts: BTreeMap<String, FmhaFeatures>,
}

/// Matrix instructions and head sizes of some types.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaSweepTypes {
    /// The types.
    pub dtypes: Vec<Dtype>,
    /// The matrix instructions of the kernels, in sweep order.
    pub warps: Vec<[u16; 3]>,
    /// Head sizes, in sweep order.
    pub hdims: Vec<[u16; 2]>,
}

/// A tile with a step of its own in the second product.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaNarrow {
    /// Queries.
    pub m0: u16,
    /// Keys.
    pub n0: u16,
    /// Step of the first product.
    pub k0: u16,
    /// Elements of a query.
    pub hdim_q: u16,
    /// The step.
    pub k1: u16,
}

/// A tile.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaTileRule {
    /// The tile's types.
    pub dtypes: Vec<Dtype>,
    /// Head sizes: elements of a query and of a value.
    pub hdims: [u16; 2],
    /// The tile's six numbers.
    pub tile: [u16; 6],
    /// Waves along queries.
    pub waves: u8,
    /// The matrix instruction.
    pub warp: [u16; 3],
    /// The instruction of the second product, if different.
    pub warp1: Option<[u16; 3]>,
    /// The tile's architectures; `None` for all.
    pub archs: Option<Vec<String>>,
    /// Workgroups per compute unit; `None` if the pipeline decides.
    pub block_per_cu: Option<u8>,
    /// Whether the tile is only for tuning.
    #[serde(default)]
    pub tuning: bool,
}

/// The features a kernel may have; `None` accepts anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FmhaFeatures {
    /// A comment for human readers.
    pub comment: String,
    /// Element types.
    pub dtypes: Option<Vec<Dtype>>,
    /// Head sizes.
    pub hdims: Option<Vec<[u16; 2]>>,
    /// Query head sizes by type.
    pub hdim_q_of: BTreeMap<String, Vec<u16>>,
    /// Modes.
    pub mode: Option<Vec<FmhaMode>>,
    /// Masks.
    pub mask: Option<Vec<FmhaMask>>,
    /// Biases.
    pub bias: Option<Vec<FmhaBias>>,
    /// Scales.
    pub qscale: Option<Vec<FmhaQscale>>,
    /// Whether soft caps are used.
    pub logits: Option<Vec<bool>>,
    /// Whether logarithms of sums are stored.
    pub lse: Option<Vec<bool>>,
    /// Whether dropout is used.
    pub dropout: Option<Vec<bool>>,
    /// Whether short sequences are skipped.
    pub skip: Option<Vec<bool>>,
    /// Whether attention sinks are used.
    pub sink: Option<Vec<bool>>,
}

/// A pipeline with its paddings, for kernels with some features.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FmhaSpec {
    /// The pipeline's architectures; `None` for all.
    pub archs: Option<Vec<String>>,
    /// Head sizes that it excludes.
    #[serde(default)]
    pub not_hdims: Vec<[u16; 2]>,
    /// The pipeline's builds; `None` for all.
    pub receipts: Option<Vec<u32>>,
    /// The pipeline.
    pub pipeline: FmhaPipeline,
    /// Four letters each, `t` for padding: queries, keys, elements of queries, elements of values.
    pub pads: Vec<String>,
    /// The kernels' features.
    #[serde(flatten)]
    pub features: FmhaFeatures,
}

/// A condition on tiles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaTileTest {
    /// The pipelines that the condition applies to.
    pub pipelines: Vec<FmhaPipeline>,
    /// The head sizes that it applies to; `None` for all.
    pub hdims: Option<Vec<[u16; 2]>>,
    /// Head sizes that it excludes.
    #[serde(default)]
    pub not_hdims: Vec<[u16; 2]>,
    /// The numbers of queries of which the tile must have one.
    pub m0: Option<Vec<u16>>,
    /// The number of keys that the tile must have.
    pub n0: Option<u16>,
    /// A number of keys that it must not have.
    pub n0_not: Option<u16>,
    /// A step that it must not have.
    pub k0_not: Option<u16>,
}

/// The tile of the third version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaV3 {
    /// The tile's architectures.
    pub archs: Vec<String>,
    /// The pipeline.
    pub pipeline: FmhaPipeline,
    /// Queries.
    pub m0: u16,
    /// Waves.
    pub waves: u8,
}

impl FmhaFeatures {
    /// Whether a kernel has the features.
    pub fn fit(&self, kernel: &FmhaKernel) -> bool {
        admits(self.dtypes.as_deref(), &kernel.dtype)
            && admits(self.hdims.as_deref(), &[kernel.hdim_q, kernel.hdim_v])
            && admits(self.hdim_q_of.get(kernel.dtype.as_str()).map(Vec::as_slice), &kernel.hdim_q)
            && admits(self.mode.as_deref(), &kernel.mode)
            && admits(self.mask.as_deref(), &kernel.mask)
            && admits(self.bias.as_deref(), &kernel.bias)
            && admits(self.qscale.as_deref(), &kernel.qscale)
            && admits(self.logits.as_deref(), &kernel.logits)
            && admits(self.lse.as_deref(), &kernel.lse)
            && admits(self.dropout.as_deref(), &kernel.dropout)
            && admits(self.skip.as_deref(), &kernel.skip)
            && admits(self.sink.as_deref(), &kernel.sink)
    }
}

impl FmhaSweep {
    /// The instructions and head sizes of a type.
    pub fn types(&self, dtype: Dtype) -> Option<&FmhaSweepTypes> {
        self.types.iter().find(|types| types.dtypes.contains(&dtype))
    }
}

impl FmhaSpec {
    /// Whether the pipeline applies to a kernel with these features on an architecture, in a build.
    pub fn is_for(&self, kernel: &FmhaKernel, arch: &str, receipt: u32) -> bool {
        admits(self.archs.as_deref(), arch)
            && admits(self.receipts.as_deref(), &receipt)
            && !self.not_hdims.contains(&[kernel.hdim_q, kernel.hdim_v])
            && self.features.fit(kernel)
    }
}

impl FmhaTileTest {
    /// Whether a tile passes for a pipeline.
    pub fn takes(&self, pipeline: FmhaPipeline, rule: &FmhaTileRule) -> bool {
        let [m0, n0, k0, ..] = rule.tile;
        let applies = self.pipelines.contains(&pipeline)
            && admits(self.hdims.as_deref(), &rule.hdims)
            && !self.not_hdims.contains(&rule.hdims);
        !applies
            || admits(self.m0.as_deref(), &m0)
                && self.n0.is_none_or(|must| must == n0)
                && self.n0_not.is_none_or(|must_not| must_not != n0)
                && self.k0_not.is_none_or(|must_not| must_not != k0)
    }
}

impl FmhaV3 {
    /// Whether a tile of the table is for a pipeline on an architecture.
    pub fn takes(&self, pipeline: FmhaPipeline, rule: &FmhaTileRule, arch: &str) -> bool {
        let is_own = rule.tile[0] == self.m0 && rule.waves == self.waves;
        !self.archs.iter().any(|known| known == arch) || is_own == (pipeline == self.pipeline)
    }
}
