//! Grouped convolution, default rule set.

use std::collections::BTreeMap;

use ck_select_types::kernel::ConvTile;
use ck_select_types::vocab::{ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

/// The kernels to which a sweep expands, and which of them can be built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvRules {
    /// A comment for human readers.
    pub about: String,
    /// The tiles, in sweep order.
    pub tiles: Vec<ConvTile>,
    /// The types, in sweep order.
    pub dtypes: Vec<Dtype>,
    /// The schedulers, in sweep order.
    pub schedulers: Vec<Scheduler>,
    /// The layout of every kernel, for any number of dimensions.
    pub layout: ConvLayout,
    /// The epilogue of every kernel.
    pub epilogue: Epilogue,
    /// Rules that differ between directions.
    pub directions: BTreeMap<Direction, DirectionRules>,
    /// The only pipelines that can interleave waves.
    pub interwave_pipelines: Vec<Pipeline>,
    /// Pipelines that require two buffers in shared memory.
    pub always_double_buffered: Vec<Pipeline>,
    /// Pipelines whose tiles must give every thread something to load.
    pub thread_coverage: ThreadCoverage,
    /// The legal suffixes, by pipeline.
    pub suffix_pool: Vec<PoolEntry>,
}

/// The rules of one direction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionRules {
    /// The pipelines, in sweep order.
    pub pipelines: Vec<Pipeline>,
    /// Values of `two_stage` if a configuration has none.
    pub two_stage: Vec<bool>,
    /// How pipelines are replaced when a configuration is built.
    pub rewrite: Option<Rewrite>,
    /// Pipelines that cannot be built.
    #[serde(default)]
    pub refused_pipelines: Vec<Pipeline>,
}

/// Pipelines that are not in `keep` become `to`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Pipelines that stay.
    pub keep: Vec<Pipeline>,
    /// The replacement of the others.
    pub to: Pipeline,
}

/// Pipelines whose tiles must give every thread something to load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadCoverage {
    /// The pipelines.
    pub pipelines: Vec<Pipeline>,
    /// The number of threads that the check assumes.
    pub block_size: u32,
}

/// The legal suffixes of a pipeline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolEntry {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The pipeline's schedulers.
    pub schedulers: Vec<Scheduler>,
    /// Pairs of 0 or 1 for `_dsb` and `_si`.
    pub dsb_si: Vec<[u8; 2]>,
}
