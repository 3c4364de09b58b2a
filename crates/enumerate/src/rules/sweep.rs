//! The machine-learning sweep's GEMM kernels.

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

/// The kernels, and their common parameters.
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
