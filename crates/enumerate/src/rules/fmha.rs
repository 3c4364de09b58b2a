//! Forward attention: tiles by head size, and products of features (`fmha.json`).

use std::collections::BTreeMap;

use ck_select_types::kernel::FmhaKernel;
use ck_select_types::vocab::{Dtype, FmhaBias, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale};
use serde::Deserialize;

use super::words::Word;

/// The rules of forward attention.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaRules {
    #[serde(rename = "about")]
    _about: String,
    /// Element types, in the order of a sweep.
    pub dtypes: Vec<Word<Dtype>>,
    /// Architectures.
    pub archs: Vec<String>,
    /// Tiles, in the order of a sweep.
    pub tiles: Vec<FmhaTileRule>,
    /// Pipelines and padding by features.
    pub specs: Vec<FmhaSpec>,
    /// Combinations of features that nobody builds.
    pub refused: Vec<FmhaFeatures>,
    /// Which tiles a pipeline takes.
    pub tile_rules: Vec<FmhaTileTest>,
    /// The one tile of the third version: that pipeline takes no other, and no other takes it.
    pub v3_tile: FmhaV3,
    /// Builds by their numbers.
    pub receipts: BTreeMap<String, FmhaFeatures>,
}

/// A tile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaTileRule {
    /// For which types.
    pub dtypes: Vec<Word<Dtype>>,
    /// Elements of a query and of a value.
    pub hdims: [u16; 2],
    /// The six numbers.
    pub tile: [u16; 6],
    /// Waves along queries.
    pub waves: u8,
    /// The instruction.
    pub warp: [u16; 3],
    /// That of the second product, when it is another.
    pub warp1: Option<[u16; 3]>,
    /// For which architectures; `None` for all.
    pub archs: Option<Vec<String>>,
    /// Workgroups of a compute unit; `None` when the pipeline decides.
    pub block_per_cu: Option<u8>,
    /// Only for tuning.
    #[serde(default)]
    pub tuning: bool,
}

/// What a kernel must have; what is `None` may be anything.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FmhaFeatures {
    #[serde(rename = "comment")]
    _comment: String,
    /// Element types.
    pub dtypes: Option<Vec<Word<Dtype>>>,
    /// Head sizes.
    pub hdims: Option<Vec<[u16; 2]>>,
    /// Elements of a query by type.
    pub hdim_q_of: BTreeMap<String, Vec<u16>>,
    /// Modes.
    pub mode: Option<Vec<Word<FmhaMode>>>,
    /// Masks.
    pub mask: Option<Vec<Word<FmhaMask>>>,
    /// Biases.
    pub bias: Option<Vec<Word<FmhaBias>>>,
    /// Scales.
    pub qscale: Option<Vec<Word<FmhaQscale>>>,
    /// The flags.
    pub logits: Option<bool>,
    /// See there.
    pub lse: Option<bool>,
    /// See there.
    pub dropout: Option<bool>,
    /// See there.
    pub skip: Option<bool>,
    /// See there.
    pub sink: Option<bool>,
}

/// A pipeline with its paddings, for kernels of some features.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FmhaSpec {
    /// For which architectures; `None` for all.
    pub archs: Option<Vec<String>>,
    /// Head sizes that it is not for.
    #[serde(default)]
    pub not_hdims: Vec<[u16; 2]>,
    /// For which builds; `None` for all.
    pub receipts: Option<Vec<u32>>,
    /// The pipeline.
    pub pipeline: Word<FmhaPipeline>,
    /// Four letters each, `t` where it pads: queries, keys, elements of queries, elements of values.
    pub pads: Vec<String>,
    /// For which features.
    #[serde(flatten)]
    pub features: FmhaFeatures,
}

/// A test of tiles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaTileTest {
    /// Of which pipelines.
    pub pipelines: Vec<Word<FmhaPipeline>>,
    /// For which head sizes; `None` for all.
    pub hdims: Option<Vec<[u16; 2]>>,
    /// And for which not.
    #[serde(default)]
    pub not_hdims: Vec<[u16; 2]>,
    /// Queries that the tile must have.
    pub m0: Option<u16>,
    /// Keys that it must have.
    pub n0: Option<u16>,
    /// Keys that it must not have.
    pub n0_not: Option<u16>,
    /// The step that it must not have.
    pub k0_not: Option<u16>,
}

/// The tile of the third version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FmhaV3 {
    /// On which architectures.
    pub archs: Vec<String>,
    /// The pipeline.
    pub pipeline: Word<FmhaPipeline>,
    /// Queries.
    pub m0: u16,
    /// Waves.
    pub waves: u8,
}

fn fits<T: PartialEq + Copy>(accepted: Option<&Vec<Word<T>>>, value: T) -> bool {
    accepted.is_none_or(|accepted| accepted.iter().any(|word| word.0 == value))
}

impl FmhaFeatures {
    /// Whether a kernel has them.
    pub fn fit(&self, kernel: &FmhaKernel) -> bool {
        let flag = |accepted: Option<bool>, value: bool| accepted.is_none_or(|accepted| accepted == value);
        let heads = [kernel.hdim_q, kernel.hdim_v];
        fits(self.dtypes.as_ref(), kernel.dtype)
            && self.hdims.as_ref().is_none_or(|hdims| hdims.contains(&heads))
            && self.hdim_q_of.get(kernel.dtype.as_str()).is_none_or(|hdims| hdims.contains(&kernel.hdim_q))
            && fits(self.mode.as_ref(), kernel.mode)
            && fits(self.mask.as_ref(), kernel.mask)
            && fits(self.bias.as_ref(), kernel.bias)
            && fits(self.qscale.as_ref(), kernel.qscale)
            && flag(self.logits, kernel.logits)
            && flag(self.lse, kernel.lse)
            && flag(self.dropout, kernel.dropout)
            && flag(self.skip, kernel.skip)
            && flag(self.sink, kernel.sink)
    }
}

impl FmhaSpec {
    /// Whether it is for a kernel of these features on an architecture, in a build.
    pub fn is_for(&self, kernel: &FmhaKernel, arch: &str, receipt: u32) -> bool {
        self.archs.as_ref().is_none_or(|archs| archs.iter().any(|known| known == arch))
            && self.receipts.as_ref().is_none_or(|receipts| receipts.contains(&receipt))
            && !self.not_hdims.contains(&[kernel.hdim_q, kernel.hdim_v])
            && self.features.fit(kernel)
    }
}

impl FmhaRules {
    /// Whether a pipeline takes a tile.
    pub fn takes(&self, pipeline: FmhaPipeline, rule: &FmhaTileRule, arch: &str) -> bool {
        let [m0, n0, k0, ..] = rule.tile;
        let v3 = &self.v3_tile;
        let is_v3_tile = m0 == v3.m0 && rule.waves == v3.waves;
        if v3.archs.iter().any(|known| known == arch) && is_v3_tile != (pipeline == v3.pipeline.0) {
            return false;
        }
        let asked = self.tile_rules.iter().filter(|test| {
            test.pipelines.iter().any(|known| known.0 == pipeline)
                && test.hdims.as_ref().is_none_or(|hdims| hdims.contains(&rule.hdims))
                && !test.not_hdims.contains(&rule.hdims)
        });
        asked.into_iter().all(|test| {
            test.m0.is_none_or(|must| must == m0)
                && test.n0.is_none_or(|must| must == n0)
                && test.n0_not.is_none_or(|must_not| must_not != n0)
                && test.k0_not.is_none_or(|must_not| must_not != k0)
        })
    }
}
