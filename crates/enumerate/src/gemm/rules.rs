//! GEMM universal: what the tile engine refuses, and the machine-learning sweep's kernels.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

use crate::arch::TraitRefusal;

/// The tables of the tile engine's validator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmRules {
    /// A comment for human readers.
    pub about: String,
    /// Arrangements of a workgroup's waves by architecture; architectures that are not listed accept any.
    pub waves: BTreeMap<String, Vec<Mnk>>,
    /// Pipelines that keep two tiles in shared memory, so that each tile may use half of it.
    pub double_buffered: Vec<Pipeline>,
    /// Pipelines whose coverage is checked.
    pub cover_pipelines: Vec<Pipeline>,
    /// Load widths in bytes, in the order in which they are tried; widths of 4 or less are tried only for
    /// elements that are at least as large.
    pub load_bytes: Vec<u32>,
    /// Store width of the cshuffle epilogue in bytes.
    pub cshuffle_bytes: u32,
    /// Matrix instructions by architecture, then by the types of A, B and C; combinations that are not listed
    /// accept any.
    pub warp_tiles: BTreeMap<String, BTreeMap<String, Vec<Mnk>>>,
    /// The instructions of kernels with a shuffled B, where they differ from those of `arch.json`.
    #[serde(default)]
    pub preshuffle_warp_tiles: BTreeMap<String, BTreeMap<String, Vec<Mnk>>>,
    /// Combinations that are refused on every architecture.
    pub refused_traits: Vec<TraitRefusal>,
}

impl GemmRules {
    /// Whether pipeline, epilogue and scheduler may be combined.
    pub fn allows(&self, pipeline: Pipeline, epilogue: Epilogue, scheduler: Scheduler) -> bool {
        !self.refused_traits.iter().any(|refusal| refusal.refuses(pipeline, epilogue, scheduler))
    }
}

/// The machine-learning sweep's kernels, and their common parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRules {
    /// A comment for human readers.
    pub about: String,
    /// Waves per workgroup.
    pub wave: Mnk,
    /// How results leave the registers.
    pub epilogue: Epilogue,
    /// Whether m, n and k are padded.
    pub pad: bool,
    /// Whether workgroups stay resident.
    pub persistent: bool,
    /// The kernels.
    pub specs: Vec<SweepSpec>,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Upstream's name for it in the sweep.
    pub name: String,
    /// The result tile, and the depth of one step.
    pub tile: Mnk,
    /// The tile of one matrix instruction.
    pub warp_tile: Mnk,
    /// How loads and arithmetic overlap.
    pub pipeline: Pipeline,
    /// How waves are interleaved.
    pub scheduler: Scheduler,
}
