//! The machine-learning sweep's GEMM kernels.

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

use super::words;

/// The kernels, and their common parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRules {
    /// A comment for human readers.
    pub about: String,
    /// Waves per workgroup.
    #[serde(deserialize_with = "words::shape")]
    pub wave: Mnk,
    /// How results leave the registers.
    #[serde(deserialize_with = "words::one")]
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
    #[serde(deserialize_with = "words::shape")]
    pub tile: Mnk,
    /// The tile of one matrix instruction.
    #[serde(deserialize_with = "words::shape")]
    pub warp_tile: Mnk,
    /// How loads and arithmetic overlap.
    #[serde(deserialize_with = "words::one")]
    pub pipeline: Pipeline,
    /// How waves are interleaved.
    #[serde(deserialize_with = "words::one")]
    pub scheduler: Scheduler,
}
