//! Families of GEMMs with conditions of their own: quantised, microscaled and preshuffled kernels.

use std::collections::BTreeMap;

use ck_select_types::kernel::{GemmKernel, Mnk};
use ck_select_types::vocab::{Arch, Dtype, Epilogue, GemmLayout, Pipeline, QuantMode, Scheduler};
use serde::{Deserialize, Deserializer};

use crate::lists::admits;

/// The conditions, by family.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmFamilies {
    /// A comment for human readers.
    pub about: String,
    /// Matrix instructions by name, architecture and type.
    pub instructions: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<Mnk>>>>,
    /// The profiles of `gemm_quant`.
    pub profiles: Vec<ProfileRule>,
    /// Families by the value of `ck_select.variant`; those that are not listed have no further conditions.
    pub families: BTreeMap<String, FamilyRules>,
}

/// A profile of `gemm_quant`: pipeline, scheduler and scales in one word.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRule {
    /// The word in configurations and names.
    pub word: String,
    /// Which operands have scales.
    pub mode: QuantMode,
    /// How loads and arithmetic overlap.
    pub pipeline: Pipeline,
    /// How waves are interleaved.
    pub scheduler: Scheduler,
    /// Groups of A for which the profile is built; `1x1x1` is none.
    pub groups_a: Vec<Mnk>,
    /// The groups of B.
    pub groups_b: Vec<Mnk>,
    /// Whether the scales lie in the order in which they are read.
    #[serde(default)]
    pub shuffled_scales: bool,
}

/// Which kernels of a family are built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FamilyRules {
    /// Types of A and B; `None` allows all.
    pub dtypes: Option<Vec<Dtype>>,
    /// Memory orders; `None` allows all.
    pub layouts: Option<Vec<GemmLayout>>,
    /// The name of the family's matrix instructions, in place of those of the tile engine's tables.
    pub instructions: Option<String>,
    /// The combinations that are built.
    pub built: Vec<BuiltRule>,
}

/// Kernels that are built; `None` allows everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltRule {
    /// Architectures.
    pub architectures: Option<Vec<String>>,
    /// Types of A and B.
    pub dtypes: Option<Vec<Dtype>>,
    /// Memory orders.
    pub layouts: Option<Vec<GemmLayout>>,
    /// How loads and arithmetic overlap.
    pub pipelines: Vec<Pipeline>,
    /// How results leave the registers.
    pub epilogues: Vec<Epilogue>,
    /// How waves are interleaved.
    pub schedulers: Vec<Scheduler>,
    /// Sets of padded axes: letters of m, n, k, in this order.
    #[serde(default, deserialize_with = "pads")]
    pub pads: Option<Vec<[bool; 3]>>,
    /// Whether workgroups stay resident.
    pub persistent: Option<bool>,
    /// Whether scales lie in the order in which they are read.
    pub shuffled_scales: Option<bool>,
    /// Arrangements of a workgroup's waves.
    pub waves: Option<Vec<Mnk>>,
    /// Matrix instructions, of those that the family has.
    pub instructions: Option<Vec<Mnk>>,
    /// The numbers of which the sides of a tile are multiples.
    #[serde(default = "one")]
    pub tile_multiple: Mnk,
    /// The depth of a tile.
    pub tile_k: Option<u32>,
    /// Whether a workgroup has to load A and B in whole vectors.
    #[serde(default)]
    pub whole_loads: bool,
    /// Whether a workgroup has to store C in whole vectors.
    #[serde(default)]
    pub whole_stores: bool,
    /// How a tile of C lies in shared memory, which has to have room for it.
    pub result: Option<ResultTile>,
}

/// How a tile of C lies in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultTile {
    /// Rows without space between them.
    Packed,
    /// Rows with one element between them.
    PaddedRows,
    /// Layers of as many rows as fit in 256 bytes, at least one, with one word between layers if a layer's number of
    /// words is even.
    PaddedLayers,
}

impl BuiltRule {
    /// Whether the rule takes a kernel for an architecture, whatever the kernel's tile.
    pub fn takes(&self, arch: Arch, traits: &GemmKernel) -> bool {
        let shuffled_scales = traits.variant.shuffled_scales != [false; 2];
        admits(self.architectures.as_deref(), arch.as_str())
            && admits(self.dtypes.as_deref(), &traits.dtype_a)
            && admits(self.layouts.as_deref(), &traits.layout)
            && self.pipelines.contains(&traits.pipeline)
            && self.epilogues.contains(&traits.epilogue)
            && self.schedulers.contains(&traits.scheduler)
            && admits(self.pads.as_deref(), &traits.pad)
            && self.persistent.is_none_or(|persistent| persistent == traits.persistent)
            && self.shuffled_scales.is_none_or(|shuffled| shuffled == shuffled_scales)
    }

    /// Whether the rule takes a tile, apart from vectors and shared memory.
    pub fn takes_tile(&self, tile: Mnk, wave: Mnk, warp_tile: Mnk) -> bool {
        let Mnk { m, n, k } = self.tile_multiple;
        admits(self.waves.as_deref(), &wave)
            && admits(self.instructions.as_deref(), &warp_tile)
            && tile.m.is_multiple_of(m)
            && tile.n.is_multiple_of(n)
            && tile.k.is_multiple_of(k)
            && self.tile_k.is_none_or(|depth| depth == tile.k)
    }
}

impl ResultTile {
    /// The bytes of a tile of `m` x `n` elements of `size` bytes.
    pub fn bytes(self, m: u64, n: u64, size: u64) -> u64 {
        match self {
            Self::Packed => m * n * size,
            Self::PaddedRows => (m * n + m.saturating_sub(1)) * size,
            Self::PaddedLayers => {
                let rows = (256 / (n * size).max(1)).max(1);
                let layer = rows * n * size;
                let layers = m / rows;
                let padding = if (layer / 4).is_multiple_of(2) { 4 } else { 0 };
                layers * layer + layers.saturating_sub(1) * padding
            }
        }
    }
}

const fn one() -> Mnk {
    Mnk::new(1, 1, 1)
}

fn pads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<[bool; 3]>>, D::Error> {
    let axes = |word: &String| {
        let pad = ['m', 'n', 'k'].map(|axis| word.contains(axis));
        let letters: String =
            ['m', 'n', 'k'].into_iter().zip(pad).filter(|&(_, pad)| pad).map(|(axis, _)| axis).collect();
        let unknown = || format!("found '{word}', expected letters of mnk, in this order");
        if letters == *word { Ok(pad) } else { Err(serde::de::Error::custom(unknown())) }
    };
    Vec::<String>::deserialize(deserializer)?.iter().map(axes).collect::<Result<_, _>>().map(Some)
}
