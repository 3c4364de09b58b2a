//! Rules: where two upstream versions give different values under one name, the choice between them.
//!
//! Both values exist here, and a model records which one it was trained on. Models without a record (all of
//! upstream's) get the choice that upstream's own code made for them; `docs/decisions.md` lists each.

use serde::{Deserialize, Serialize};

use crate::problem::InvalidField;

/// Which depth of a tile the K-features of convolutions use (`tile_volume`, `lds_usage_*`, `num_tiles_k`,
/// `tile_eff_k`, `overall_tile_efficiency`, `ratio_gemm_k_to_tile_k`, `problem_smaller_than_tile_k`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KTile {
    /// `block_size`: the line of engines with 74, 83, 91 and 97 features.
    BlockSize,
    /// `gemm_k_per_block`: the engine with 113 features and its sets by architecture.
    GemmKPerBlock,
}

/// Numbers of the pipelines in the feature `pipeline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineCodes {
    /// compv3 0, compv4 1, compv5 2, mem 3, preshufflev2 4, `basic_v1` 5, compv6 6: the current Python
    /// engines.
    Python,
    /// The first five of those: the first GEMM engine (55 features).
    PythonFirst,
    /// The first five, and compv6 5: the C++ GEMM header.
    Header,
}

/// Bytes of one element in arithmetic intensity and shared-memory use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementBytes {
    /// The Python engines: 4-bit types half a byte.
    Python,
    /// The C++ convolution heuristic: `int4` counts two bytes.
    Header,
}

/// How features interpret the three numbers of a convolution kernel's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelMapping {
    /// Fields in the name's order `block_size`, `gemm_m_per_block`, `gemm_n_per_block`: as upstream's converters read
    /// names, and as models of the 97 line were trained.
    NameOrder,
    /// Fields by meaning: tile m and n are `gemm_m_per_block` and `gemm_n_per_block`, tile k is `gemm_k_per_block`,
    /// and `block_size` is the threads of a workgroup (waves times their threads).
    Tile,
}

/// The treatment of a word that has no number in the model's encoding (a `wavelet` pipeline, an `fp64` operand).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncoded {
    /// An error that names the words with a number.
    #[default]
    Error,
    /// Upstream's silent default: number 0, and 1 (GEMM) or 2 (convolution) bytes per element.
    Upstream,
}

/// How features see the padding of a GEMM kernel with pipeline `mem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemPads {
    /// The flags of the kernel's name.
    #[default]
    Name,
    /// All three extents, whatever its name says: these kernels do pad.
    All,
}

/// Which encoding of attention a model has: element bytes, numbers of words, and exact integers or floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FmhaEncoding {
    /// The Python twin's, with which upstream's forest was trained.
    #[default]
    Python,
    /// The C++ header's, with which upstream evaluates the same forest.
    Header,
}

/// All choices of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Depth of a convolution tile.
    pub k_tile: KTile,
    /// Numbers of the pipelines.
    pub pipeline_codes: PipelineCodes,
    /// Bytes of an element.
    pub element_bytes: ElementBytes,
    /// Reading of convolution tiles.
    pub kernel_mapping: KernelMapping,
    /// Padding of `mem` kernels.
    #[serde(default)]
    pub mem_pads: MemPads,
    /// Encoding of attention.
    #[serde(default)]
    pub fmha_encoding: FmhaEncoding,
    /// Treatment of words without a number.
    #[serde(default)]
    pub uncoded: Uncoded,
}

impl Rules {
    /// The rules of GEMM models and of convolution models of the 97 line.
    pub const CONV97: Self = Self {
        k_tile: KTile::BlockSize,
        pipeline_codes: PipelineCodes::Python,
        element_bytes: ElementBytes::Python,
        kernel_mapping: KernelMapping::NameOrder,
        mem_pads: MemPads::Name,
        fmha_encoding: FmhaEncoding::Python,
        uncoded: Uncoded::Error,
    };

    /// The rules of convolution models of the 113 line.
    pub const SUPERSET: Self =
        Self { k_tile: KTile::GemmKPerBlock, kernel_mapping: KernelMapping::Tile, ..Self::CONV97 };
}

impl PipelineCodes {
    /// The pipelines with a number, in the order of their numbers.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["compv3", "compv4", "compv5", "mem", "preshufflev2", "basic_v1", "compv6"],
            Self::PythonFirst => &["compv3", "compv4", "compv5", "mem", "preshufflev2"],
            Self::Header => &["compv3", "compv4", "compv5", "mem", "preshufflev2", "compv6"],
        }
    }
}

/// Number of a word: its index in the list of words with numbers; 0 is upstream's for others.
pub(super) fn coded_word(
    field: &str,
    word: &str,
    words: &'static [&'static str],
    uncoded: Uncoded,
) -> Result<f64, InvalidField> {
    coded_or(0.0, field, word, words, uncoded)
}

/// Number of a word, where upstream's for others is `other`.
pub(super) fn coded_or(
    other: f64,
    field: &str,
    word: &str,
    words: &'static [&'static str],
    uncoded: Uncoded,
) -> Result<f64, InvalidField> {
    match (words.iter().position(|&known| known == word), uncoded) {
        (Some(code), _) => Ok(code as f64),
        (None, Uncoded::Upstream) => Ok(other),
        (None, Uncoded::Error) => Err(no_number(field, word, words)),
    }
}

/// Bytes of one element, for arithmetic intensity and shared-memory use; `other` is upstream's for words that
/// it does not know.
pub(super) fn coded_element_bytes(other: f64, word: &str, uncoded: Uncoded) -> Result<f64, InvalidField> {
    match word {
        "fp32" => Ok(4.0),
        "fp16" | "bf16" => Ok(2.0),
        "fp8" | "bf8" | "int8" => Ok(1.0),
        "int4" => Ok(0.5),
        // Upstream's engines never met it.
        "pk_fp4" if uncoded == Uncoded::Error => Ok(0.5),
        _ if uncoded == Uncoded::Upstream => Ok(other),
        _ => Err(no_number("dtype", word, &["fp32", "fp16", "bf16", "fp8", "bf8", "int8", "int4", "pk_fp4"])),
    }
}

pub(super) fn no_number(field: &str, word: &str, words: &[&str]) -> InvalidField {
    InvalidField::new(field, format_args!("'{word}'"), format!("one of {}", words.join(", ")))
}
