//! Grouped convolution, default rule set.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

use super::words;

/// What a sweep expands to, and which of it can be built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvRules {
    /// A comment for human readers.
    pub about: String,
    /// The tiles, in sweep order.
    pub tiles: Vec<TileRule>,
    /// The types, in sweep order.
    #[serde(deserialize_with = "words::list")]
    pub dtypes: Vec<Dtype>,
    /// The schedulers, in sweep order.
    #[serde(deserialize_with = "words::list")]
    pub schedulers: Vec<Scheduler>,
    /// The layout of every kernel, for any number of dimensions.
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
    /// Pipelines that require two buffers in shared memory.
    #[serde(deserialize_with = "words::list")]
    pub always_double_buffered: Vec<Pipeline>,
    /// Pipelines whose tiles must give every thread something to load.
    pub thread_coverage: ThreadCoverage,
    /// The legal suffixes, by pipeline.
    pub suffix_pool: Vec<PoolEntry>,
}

/// A tile and the parameters that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TileRule {
    /// The result tile, and the depth of one step.
    #[serde(deserialize_with = "words::shape")]
    pub tile: Mnk,
    /// Waves per workgroup.
    #[serde(deserialize_with = "words::shape")]
    pub wave: Mnk,
    /// The tile of one matrix instruction.
    #[serde(deserialize_with = "words::shape")]
    pub warp_tile: Mnk,
    /// Elements per access of A, B and C.
    pub vector: [u32; 3],
    /// Whether a sweep builds `compv4` for it.
    pub compv4: bool,
}

/// What differs between directions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionRules {
    /// The pipelines, in sweep order.
    #[serde(deserialize_with = "words::list")]
    pub pipelines: Vec<Pipeline>,
    /// Values of `two_stage` if a configuration has none.
    pub two_stage: Vec<bool>,
    /// How pipelines are replaced when a configuration is built.
    #[serde(default)]
    pub rewrite: Option<Rewrite>,
    /// Pipelines that cannot be built.
    #[serde(default, deserialize_with = "words::list")]
    pub refused_pipelines: Vec<Pipeline>,
}

/// Pipelines that are not in `keep` become `to`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Pipelines that stay.
    #[serde(deserialize_with = "words::list")]
    pub keep: Vec<Pipeline>,
    /// The replacement of the others.
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
    /// The number of threads that the check assumes.
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
