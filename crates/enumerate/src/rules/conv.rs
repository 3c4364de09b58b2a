//! Grouped convolution, default rule set.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

use super::words;

/// What a sweep expands, and what of it can be built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvRules {
    /// For readers of the file.
    pub about: String,
    /// The tiles, in the order of a sweep.
    pub tiles: Vec<TileRule>,
    /// The types, in the order of a sweep.
    #[serde(deserialize_with = "words::list")]
    pub dtypes: Vec<Dtype>,
    /// The schedulers, in the order of a sweep.
    #[serde(deserialize_with = "words::list")]
    pub schedulers: Vec<Scheduler>,
    /// The layout of every kernel, whatever its dimensions.
    #[serde(deserialize_with = "words::one")]
    pub layout: ConvLayout,
    /// The epilogue of every kernel.
    #[serde(deserialize_with = "words::one")]
    pub epilogue: Epilogue,
    /// What differs between directions.
    #[serde(deserialize_with = "words::keyed")]
    pub directions: BTreeMap<Direction, DirectionRules>,
    /// The only pipelines that can interleave waves.
    #[serde(deserialize_with = "words::list")]
    pub interwave_pipelines: Vec<Pipeline>,
    /// Pipelines that cannot be built without two buffers in shared memory.
    #[serde(deserialize_with = "words::list")]
    pub always_double_buffered: Vec<Pipeline>,
    /// Pipelines whose tiles must give every thread something to load.
    pub thread_coverage: ThreadCoverage,
    /// The legal suffixes, by pipeline.
    pub suffix_pool: Vec<PoolEntry>,
}

/// A tile with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TileRule {
    /// Result tile and depth of one step.
    #[serde(deserialize_with = "words::shape")]
    pub tile: Mnk,
    /// Waves of a workgroup.
    #[serde(deserialize_with = "words::shape")]
    pub wave: Mnk,
    /// Tile of one matrix instruction.
    #[serde(deserialize_with = "words::shape")]
    pub warp_tile: Mnk,
    /// Elements of one access of A, B and C.
    pub vector: [u32; 3],
    /// Whether a sweep builds it with `compv4`.
    pub compv4: bool,
}

/// What differs between directions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionRules {
    /// The pipelines, in the order of a sweep.
    #[serde(deserialize_with = "words::list")]
    pub pipelines: Vec<Pipeline>,
    /// Values of `two_stage` when a configuration does not say.
    pub two_stage: Vec<bool>,
    /// What becomes of pipelines when a configuration is built.
    #[serde(default)]
    pub rewrite: Option<Rewrite>,
    /// Pipelines that cannot be built.
    #[serde(default, deserialize_with = "words::list")]
    pub refused_pipelines: Vec<Pipeline>,
}

/// Pipelines outside of `keep` become `to`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Pipelines that stay.
    #[serde(deserialize_with = "words::list")]
    pub keep: Vec<Pipeline>,
    /// What the others become.
    #[serde(deserialize_with = "words::one")]
    pub to: Pipeline,
}

/// Pipelines whose tiles must give every thread something to load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadCoverage {
    /// The pipelines.
    #[serde(deserialize_with = "words::list")]
    pub pipelines: Vec<Pipeline>,
    /// The threads that are counted.
    pub block_size: u32,
}

/// The legal suffixes of a pipeline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolEntry {
    /// The pipeline.
    #[serde(deserialize_with = "words::one")]
    pub pipeline: Pipeline,
    /// Its schedulers.
    #[serde(deserialize_with = "words::list")]
    pub schedulers: Vec<Scheduler>,
    /// Pairs of 0 or 1 for `_dsb` and `_si`.
    pub dsb_si: Vec<[u8; 2]>,
}
