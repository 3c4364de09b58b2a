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
    /// For readers of the file.
    pub about: String,
    /// Arrangements of a workgroup's waves by architecture; one that is not here may have any.
    #[serde(deserialize_with = "words::named_shapes")]
    pub waves: BTreeMap<String, Vec<Mnk>>,
    /// Pipelines that keep two tiles in shared memory, so that each may take half of it.
    #[serde(deserialize_with = "words::list")]
    pub double_buffered: Vec<Pipeline>,
    /// Pipelines for which covers and instructions are checked.
    #[serde(deserialize_with = "words::list")]
    pub cover_pipelines: Vec<Pipeline>,
    /// Widths of a load that are tried, in this order; one below 16 bytes only for elements of at least that
    /// size when it is 4 or less.
    pub load_bytes: Vec<u32>,
    /// Width of a store of the cshuffle epilogue.
    pub cshuffle_bytes: u32,
    /// Matrix instructions by architecture, then by the types of A, B and C; what is not here may have any.
    #[serde(deserialize_with = "nested_shapes")]
    pub warp_tiles: BTreeMap<String, BTreeMap<String, Vec<Mnk>>>,
    /// Combinations that are refused on every architecture.
    pub refused_traits: Vec<TraitRefusal>,
}

impl GemmRules {
    /// Whether pipeline, epilogue and scheduler may go together.
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
