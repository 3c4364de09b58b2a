//! Architectures: the limits of hardware and instruction set.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Dtype, Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

/// All architectures, and rules that they share.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchRules {
    /// A comment for human readers.
    pub about: String,
    /// The version of upstream's file.
    pub version: String,
    /// The architectures by name.
    pub architectures: BTreeMap<String, ArchTable>,
    /// Bits per element.
    pub element_bits: BTreeMap<Dtype, u32>,
    /// The shared memory that a pipeline may use.
    pub pipeline_lds: BTreeMap<Pipeline, LdsBudget>,
    /// The shared memory that a pipeline may use if `pipeline_lds` does not list it.
    pub pipeline_lds_otherwise: LdsBudget,
    /// Pipelines for preshuffled B.
    pub preshuffle_pipelines: Vec<Pipeline>,
    /// Combinations that no architecture supports.
    pub unsupported_traits: Vec<TraitRefusal>,
}

/// How much shared memory a pipeline may use.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum LdsBudget {
    /// A share of the architecture's shared memory.
    Share(f64),
    /// An amount that does not depend on the architecture.
    Fixed {
        /// The amount in bytes.
        bytes: u64,
    },
}

impl LdsBudget {
    /// The bytes on an architecture with `lds_bytes` of shared memory.
    pub fn bytes(self, lds_bytes: u64) -> u64 {
        match self {
            Self::Share(share) => (lds_bytes as f64 * share) as u64,
            Self::Fixed { bytes } => bytes,
        }
    }
}

/// One architecture.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchTable {
    /// AMD's name for its family.
    pub family: String,
    /// Threads per wave.
    pub warp_size: u32,
    /// Shared memory of a compute unit in bytes.
    pub lds_bytes: u64,
    /// Types that convolution kernels are built for.
    pub conv_dtypes: Option<Vec<Dtype>>,
    /// Possible arrangements of a workgroup's waves.
    pub waves: Vec<Mnk>,
    /// Matrix instructions by the types of A and B (one word if they are equal).
    pub warp_tiles: BTreeMap<String, Vec<Mnk>>,
    /// Matrix instructions of kernels with preshuffled B, by types as in `warp_tiles`.
    #[serde(default)]
    pub preshuffle_warp_tiles: BTreeMap<String, Vec<Mnk>>,
}

impl ArchTable {
    /// The types that convolution kernels are built for: those that the table lists, or else those that its
    /// instructions multiply.
    pub fn conv_dtypes(&self) -> Vec<Dtype> {
        let own = || self.warp_tiles.keys().filter_map(|types| types.parse().ok()).collect();
        self.conv_dtypes.clone().unwrap_or_else(own)
    }
}

/// Refused combinations of pipeline, epilogue and scheduler: any member of each list with any members of the
/// others.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraitRefusal {
    /// Any of these pipelines,
    pub pipelines: Vec<Pipeline>,
    /// with any of these epilogues,
    pub epilogues: Vec<Epilogue>,
    /// and any of these schedulers.
    pub schedulers: Vec<Scheduler>,
}

impl TraitRefusal {
    /// Whether the combination is refused.
    pub fn refuses(&self, pipeline: Pipeline, epilogue: Epilogue, scheduler: Scheduler) -> bool {
        self.pipelines.contains(&pipeline)
            && self.epilogues.contains(&epilogue)
            && self.schedulers.contains(&scheduler)
    }
}

impl ArchRules {
    /// The shared memory that a pipeline may use if there are `lds_bytes`.
    pub fn pipeline_lds(&self, pipeline: Pipeline, lds_bytes: u64) -> u64 {
        self.pipeline_lds.get(&pipeline).unwrap_or(&self.pipeline_lds_otherwise).bytes(lds_bytes)
    }
}
