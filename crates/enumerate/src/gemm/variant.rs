//! What sets the kernels of GEMM ranges apart from plain ones: `ck_select.variant`, or keys that only one
//! variant has.

use std::mem::discriminant;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Elementwise, QuantMode, StreamKReduction};
use serde_json::Value;

use crate::config::reader::{Fault, Object, count, flag, kind, word};

/// What sets the kernels of ranges apart from plain ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GemmVariants {
    /// Nothing.
    Universal,
    /// Stream-K, with these reductions.
    StreamK(Vec<StreamKReduction>),
    /// This many D tensors, and the operation on them.
    MultiD(u8, Elementwise),
    /// B is preshuffled; the flag permutes the columns.
    Preshuffle(bool),
    /// Batched GEMMs.
    Batched,
    /// Grouped GEMMs, which take lists of products.
    Grouped,
    /// Operands with scales, by profiles.
    Profiles(GemmProfiles),
    /// Operands with scales.
    Scaled(GemmScales),
}

/// Kernels of `gemm_quant`, whose pipeline and scheduler follow from a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GemmProfiles {
    /// Words of the rules.
    pub profiles: Vec<String>,
    /// Groups of A and of B that share a scale; `1x1x1` is none.
    pub groups: [Vec<Mnk>; 2],
}

/// Scales of A and B.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmScales {
    /// Which operands have them.
    pub mode: QuantMode,
    /// Whether a kernel takes a list of products.
    pub grouped: bool,
    /// Whether those of A and those of B lie in the order in which they are read.
    pub shuffled: [Vec<bool>; 2],
    /// The extent of groups along k.
    pub group_k: u32,
    /// The extents of B's groups along n.
    pub group_n: Vec<u32>,
}

impl GemmScales {
    /// None shuffled, in groups of 128 elements along k.
    pub(crate) const fn new(mode: QuantMode, grouped: bool) -> Self {
        Self { mode, grouped, shuffled: [Vec::new(), Vec::new()], group_k: 128, group_n: Vec::new() }
    }

    /// Whether names have a flag for shuffled scales, for those of A and of B.
    const fn has_flags(&self) -> [bool; 2] {
        [matches!(self.mode, QuantMode::A | QuantMode::AB), matches!(self.mode, QuantMode::B | QuantMode::AB)]
    }
}

impl GemmVariants {
    /// The value of `ck_select.variant`, under which the rules have it.
    pub fn as_str(&self) -> &'static str {
        let is_same = |other: &Self| match (self, other) {
            (Self::Scaled(own), Self::Scaled(other)) => {
                (own.mode, own.grouped) == (other.mode, other.grouped)
            }
            (own, other) => discriminant(own) == discriminant(other),
        };
        VARIANTS.iter().find(|(_, start)| is_same(&start())).map_or(PLAIN, |(name, _)| name)
    }

    /// Whether kernels may stay resident, and configurations say whether they do.
    pub(crate) const fn may_persist(&self) -> bool {
        match self {
            Self::Scaled(scales) => {
                matches!(scales.mode, QuantMode::Tensor | QuantMode::Mx)
                    || scales.grouped && matches!(scales.mode, QuantMode::RowCol)
            }
            _ => true,
        }
    }

    /// Reads the keys of the variant beside `tile_config` and `trait_config`.
    pub(crate) fn read_root(&mut self, root: &mut Object<'_>) -> Result<(), Fault> {
        match self {
            Self::Preshuffle(permute) => *permute = root.optional("permute_n", flag)?.unwrap_or(false),
            Self::Profiles(profiles) => {
                let missing = ("quant_config".to_owned(), "found nothing, expected an object".to_owned());
                let mut groups = root.object("quant_config")?.ok_or(missing)?;
                profiles.groups =
                    [needed(&mut groups, "a_group", word)?, needed(&mut groups, "b_group", word)?];
                groups.finish()?;
            }
            Self::Scaled(scales) if scales.has_flags() != [false; 2] => {
                scales.group_k =
                    root.optional("group_size_k", count(1, MAX_GROUP))?.unwrap_or(scales.group_k);
                if scales.mode == QuantMode::AB {
                    let numbers = root.get("group_size_n").is_none_or(Value::is_object);
                    scales.group_n = if numbers {
                        root.values("group_size_n", count(1, MAX_GROUP))?.unwrap_or_else(|| vec![1])
                    } else {
                        vec![root.needed("group_size_n", "a whole number", count(1, MAX_GROUP))?]
                    };
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the keys of the variant in `trait_config`.
    pub(crate) fn read_traits(&mut self, traits: &mut Object<'_>) -> Result<(), Fault> {
        match self {
            Self::StreamK(reductions) => {
                if let Some(listed) = traits.values("reduction_strategy", reduction)? {
                    *reductions = listed;
                }
            }
            Self::Profiles(profiles) => {
                profiles.profiles = needed(traits, "profile", |value| match value {
                    Value::String(word) => Ok(word.clone()),
                    other => Err(format!("found {}, expected a word", kind(other))),
                })?;
            }
            Self::Scaled(scales) => {
                let flags = scales.has_flags();
                for ((shuffled, key), has) in scales.shuffled.iter_mut().zip(FLAGS).zip(flags) {
                    let listed = if has { traits.values(key, flag)? } else { None };
                    *shuffled = listed.unwrap_or_else(|| vec![false]);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The keys of shuffled scales of A and of B.
const FLAGS: [&str; 2] = ["a_preshuffle_quant", "b_preshuffle_quant"];
/// The largest extent of a group.
const MAX_GROUP: u32 = 65_535;

/// What a variant is before its own keys are read.
type Start = fn() -> GemmVariants;

/// The variant of files without keys of their own.
const PLAIN: &str = "gemm_universal";
/// The values of `ck_select.variant`.
const VARIANTS: [(&str, Start); 15] = [
    (PLAIN, || GemmVariants::Universal),
    // The default of upstream's generators.
    ("gemm_streamk", || GemmVariants::StreamK(vec![StreamKReduction::Atomic])),
    ("gemm_multi_d", || GemmVariants::MultiD(2, Elementwise::MultiDAdd)),
    ("gemm_preshuffle", || GemmVariants::Preshuffle(false)),
    ("batched_gemm", || GemmVariants::Batched),
    ("grouped_gemm", || GemmVariants::Grouped),
    ("gemm_quant", || GemmVariants::Profiles(GemmProfiles::default())),
    ("gemm_aquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::A, false))),
    ("gemm_bquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::B, false))),
    ("gemm_abquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::AB, false))),
    ("gemm_rowcolquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::RowCol, false))),
    ("gemm_tensor_quant", || GemmVariants::Scaled(GemmScales::new(QuantMode::Tensor, false))),
    ("grouped_gemm_rowcolquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::RowCol, true))),
    ("grouped_gemm_tensorquant", || GemmVariants::Scaled(GemmScales::new(QuantMode::Tensor, true))),
    ("mx_gemm", || GemmVariants::Scaled(GemmScales::new(QuantMode::Mx, false))),
];

/// Advice for keys of variants other than the chosen one, at the root and in `trait_config`.
pub(crate) const ROOT_HINTS: &[(&str, &str)] = &[
    ("quant_config", "it is a key of \"ck_select\": {\"variant\": \"gemm_quant\"}"),
    ("permute_n", "it is a key of \"ck_select\": {\"variant\": \"gemm_preshuffle\"}"),
    ("group_size_n", "it is a key of \"ck_select\": {\"variant\": \"gemm_abquant\"}"),
    (
        "group_size_k",
        "it is a key of \"ck_select\": {\"variant\": \"gemm_aquant\"}, gemm_bquant and gemm_abquant",
    ),
];
/// The same in `trait_config`.
pub(crate) const TRAIT_HINTS: &[(&str, &str)] = &[
    ("profile", "it is a key of \"ck_select\": {\"variant\": \"gemm_quant\"}"),
    ("reduction_strategy", "it is a key of \"ck_select\": {\"variant\": \"gemm_streamk\"}"),
    ("a_preshuffle_quant", "it is a key of \"ck_select\": {\"variant\": \"gemm_aquant\"} and gemm_abquant"),
    ("b_preshuffle_quant", "it is a key of \"ck_select\": {\"variant\": \"gemm_bquant\"} and gemm_abquant"),
];
/// Pipelines that only microscaled kernels have.
const OF_MX: [&str; 2] = ["comp_async_eight_waves", "weight_preshuffle"];

/// The variant that `ck_select` names, or else the one that has the file's keys; without keys of its own, a
/// file is one of plain GEMMs.
pub(crate) fn choose(root: &Value, ours: &mut Object<'_>) -> Result<GemmVariants, Fault> {
    let Some(start) = ours.choice("variant", &VARIANTS)? else { return by_keys(root) };
    let mut variant = start();
    if let GemmVariants::MultiD(tensors, operation) = &mut variant {
        *tensors = ours.optional("num_d", count(1, 255))?.map_or(*tensors, |number| number as u8);
        *operation = ours.optional("elementwise", word)?.unwrap_or(*operation);
    }
    Ok(variant)
}

/// Keys of several variants give one of them, to which the others' keys are unknown.
fn by_keys(root: &Value) -> Result<GemmVariants, Fault> {
    let traits = root.get("trait_config");
    let of_root = |key: &str| root.get(key).is_some();
    let of_traits = |key: &str| traits.is_some_and(|traits| traits.get(key).is_some());
    let pipelines = traits.and_then(|traits| traits.pointer("/pipeline/values")).and_then(Value::as_array);
    let is_of_mx = |word: &Value| word.as_str().is_some_and(|word| OF_MX.contains(&word));
    let [of_a, of_b] = FLAGS.map(of_traits);
    let name = if of_traits("profile") || of_root("quant_config") {
        "gemm_quant"
    } else if of_root("permute_n") {
        "gemm_preshuffle"
    } else if of_traits("reduction_strategy") {
        "gemm_streamk"
    } else if of_a && of_b || of_root("group_size_n") {
        "gemm_abquant"
    } else if of_a {
        "gemm_aquant"
    } else if of_b {
        "gemm_bquant"
    } else if pipelines.is_some_and(|list| list.iter().any(is_of_mx)) {
        "mx_gemm"
    } else if of_root("group_size_k") {
        let reason = "several variants have this key, expected one of them as \"ck_select\": {\"variant\": \
                      …}: gemm_aquant, gemm_bquant, gemm_abquant";
        return Err(("group_size_k".to_owned(), reason.to_owned()));
    } else {
        PLAIN
    };
    let start = VARIANTS.iter().find(|(variant, _)| *variant == name);
    Ok(start.map_or(GemmVariants::Universal, |(_, start)| start()))
}

/// The reduction of a Stream-K kernel; upstream's word `none` belongs to other kernels.
fn reduction(value: &Value) -> Result<StreamKReduction, String> {
    match word(value)? {
        StreamKReduction::None => Err("found 'none', expected one of: tree, linear, atomic".to_owned()),
        reduction => Ok(reduction),
    }
}

pub(crate) fn needed<T>(
    object: &mut Object<'_>,
    key: &'static str,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<T>, Fault> {
    let place = object.place_of(key);
    object
        .values(key, read)?
        .ok_or_else(|| (place, "found nothing, expected an object with 'values'".to_owned()))
}
