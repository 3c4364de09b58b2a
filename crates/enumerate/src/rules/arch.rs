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
    /// The architecture whose types a convolution sweep takes for one without `conv_dtypes`.
    pub conv_dtypes_of: String,
    /// By name.
    pub architectures: BTreeMap<String, ArchTable>,
    /// Bits of an element.
    #[serde(deserialize_with = "words::keyed")]
    pub element_bits: BTreeMap<Dtype, u32>,
    /// Shared memory that a pipeline may use, whatever the architecture has.
    #[serde(deserialize_with = "words::keyed")]
    pub pipeline_lds_bytes: BTreeMap<Pipeline, u64>,
    /// The same for pipelines that are not listed.
    pub pipeline_lds_bytes_otherwise: u64,
    /// Combinations that no architecture supports.
    pub unsupported_traits: Vec<TraitRefusal>,
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
}

/// Combinations of pipeline, epilogue and scheduler that are refused: any of each list with any of the others.
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
    /// The types that a convolution sweep takes for an architecture, known or not.
    pub fn conv_dtypes(&self, arch: &str) -> &[Dtype] {
        let own = |name: &str| self.architectures.get(name)?.conv_dtypes.as_deref();
        own(arch).or_else(|| own(&self.conv_dtypes_of)).unwrap_or_default()
    }

    /// The shared memory that a pipeline may use under the flat limits.
    pub fn pipeline_lds(&self, pipeline: Pipeline) -> u64 {
        self.pipeline_lds_bytes.get(&pipeline).copied().unwrap_or(self.pipeline_lds_bytes_otherwise)
    }
}
