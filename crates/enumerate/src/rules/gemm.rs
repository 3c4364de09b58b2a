//! GEMM universal: what the tile engine refuses.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use serde::{Deserialize, Deserializer};

use super::words::NamedShapes;
use super::{TraitRefusal, words};

/// The tables of the tile engine's validator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmRules {
    /// A comment for human readers.
    pub about: String,
    /// Arrangements of a workgroup's waves by architecture; architectures that are not listed accept any.
    #[serde(deserialize_with = "words::named_shapes")]
    pub waves: BTreeMap<String, Vec<Mnk>>,
    /// Pipelines that keep two tiles in shared memory, so that each tile may use half of it.
    #[serde(deserialize_with = "words::list")]
    pub double_buffered: Vec<Pipeline>,
    /// Pipelines whose coverage is checked.
    #[serde(deserialize_with = "words::list")]
    pub cover_pipelines: Vec<Pipeline>,
    /// Load widths in bytes, in the order in which they are tried; widths of 4 or less are tried only for
    /// elements that are at least as large.
    pub load_bytes: Vec<u32>,
    /// Store width of the cshuffle epilogue in bytes.
    pub cshuffle_bytes: u32,
    /// Matrix instructions by architecture, then by the types of A, B and C; combinations that are not listed
    /// accept any.
    #[serde(deserialize_with = "nested_shapes")]
    pub warp_tiles: BTreeMap<String, BTreeMap<String, Vec<Mnk>>>,
    /// The same for kernels with a shuffled B, where they differ from those of `arch.json`.
    #[serde(default, deserialize_with = "nested_shapes")]
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

#[derive(Deserialize)]
struct Shapes(#[serde(deserialize_with = "words::named_shapes")] BTreeMap<String, Vec<Mnk>>);

fn nested_shapes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, NamedShapes>, D::Error> {
    let map = BTreeMap::<String, Shapes>::deserialize(deserializer)?;
    Ok(map.into_iter().map(|(key, Shapes(shapes))| (key, shapes)).collect())
}
