//! Architectures: what hardware and instruction set allow.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Dtype, Epilogue, Pipeline, Scheduler};
use serde::Deserialize;

use super::words;

/// All architectures, and what holds for each of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchRules {
    /// For readers of the file.
    pub about: String,
    /// Of upstream's file.
    pub version: String,
    /// By name.
    pub architectures: BTreeMap<String, ArchTable>,
    /// Bits of an element.
    #[serde(deserialize_with = "words::keyed")]
    pub element_bits: BTreeMap<Dtype, u32>,
    /// Shared memory that a pipeline may use.
    #[serde(deserialize_with = "words::keyed")]
    pub pipeline_lds: BTreeMap<Pipeline, LdsBudget>,
    /// The same for pipelines that are not listed.
    pub pipeline_lds_otherwise: LdsBudget,
    /// Pipelines that read B as it was stored for them.
    #[serde(deserialize_with = "words::list")]
    pub preshuffle_pipelines: Vec<Pipeline>,
    /// Combinations that no architecture supports.
    pub unsupported_traits: Vec<TraitRefusal>,
}

/// How much shared memory a pipeline may use.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum LdsBudget {
    /// A share of what the architecture has.
    Share(f64),
    /// As much on every architecture.
    Fixed {
        /// Bytes.
        bytes: u64,
    },
}

impl LdsBudget {
    /// The bytes on an architecture that has so many.
    pub fn of(self, lds_bytes: u64) -> u64 {
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
    /// AMD's name of its family.
    pub family: String,
    /// Threads of a wave.
    pub warp_size: u32,
    /// Shared memory of a compute unit.
    pub lds_bytes: u64,
    /// Types that convolution kernels are made for.
    #[serde(default, deserialize_with = "words::optional_list")]
    pub conv_dtypes: Option<Vec<Dtype>>,
    /// Arrangements of a workgroup's waves.
    #[serde(deserialize_with = "words::shapes")]
    pub waves: Vec<Mnk>,
    /// Matrix instructions by the types of A and B, one word when they are equal.
    #[serde(deserialize_with = "words::named_shapes")]
    pub warp_tiles: BTreeMap<String, Vec<Mnk>>,
    /// The same of kernels that read B as it was stored for them.
    #[serde(default, deserialize_with = "words::named_shapes")]
    pub preshuffle_warp_tiles: BTreeMap<String, Vec<Mnk>>,
}

impl ArchTable {
    /// The types that convolution kernels are made for: those that are said, or those that its instructions
    /// multiply.
    pub fn conv_dtypes(&self) -> Vec<Dtype> {
        let own = || self.warp_tiles.keys().filter_map(|types| types.parse().ok()).collect();
        self.conv_dtypes.clone().unwrap_or_else(own)
    }
}

/// Combinations of pipeline, epilogue and scheduler that are refused: any of each list with any of the
/// others.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraitRefusal {
    /// Any of these pipelines,
    #[serde(deserialize_with = "words::list")]
    pub pipelines: Vec<Pipeline>,
    /// with any of these epilogues,
    #[serde(deserialize_with = "words::list")]
    pub epilogues: Vec<Epilogue>,
    /// and any of these schedulers.
    #[serde(deserialize_with = "words::list")]
    pub schedulers: Vec<Scheduler>,
}

impl TraitRefusal {
    /// Whether it refuses this combination.
    pub fn refuses(&self, pipeline: Pipeline, epilogue: Epilogue, scheduler: Scheduler) -> bool {
        self.pipelines.contains(&pipeline)
            && self.epilogues.contains(&epilogue)
            && self.schedulers.contains(&scheduler)
    }
}

impl ArchRules {
    /// The shared memory that a pipeline may use where there is so much.
    pub fn pipeline_lds(&self, pipeline: Pipeline, lds_bytes: u64) -> u64 {
        self.pipeline_lds.get(&pipeline).unwrap_or(&self.pipeline_lds_otherwise).of(lds_bytes)
    }
}
