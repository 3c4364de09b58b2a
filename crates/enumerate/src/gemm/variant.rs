//! What sets the kernels of GEMM ranges apart from plain ones: `ck_select.variant`, or keys that only one
//! variant has.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmProfiles {
    /// Words of the rules.
    pub profiles: Vec<String>,
    /// Groups of A and of B that share a scale; `1x1x1` is none.
    pub groups: [Vec<Mnk>; 2],
}

/// Scales of A and B.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmScales {
    /// The value of `ck_select.variant`.
    pub name: &'static str,
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

impl GemmVariants {
    /// The value of `ck_select.variant`, under which the rules have it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Universal => PLAIN,
            Self::StreamK(_) => "gemm_streamk",
            Self::MultiD(..) => "gemm_multi_d",
            Self::Preshuffle(_) => "gemm_preshuffle",
            Self::Batched => "batched_gemm",
            Self::Grouped => "grouped_gemm",
            Self::Profiles(_) => "gemm_quant",
            Self::Scaled(scales) => scales.name,
        }
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
}

/// The keys of shuffled scales of A and of B.
const FLAGS: [&str; 2] = ["a_preshuffle_quant", "b_preshuffle_quant"];
/// The largest extent of a group.
const MAX_GROUP: u32 = 65_535;

/// The variant of files without keys of their own.
const PLAIN: &str = "gemm_universal";
/// Microscaled kernels, whose files may have no key of their own.
pub(crate) const MX: &str = "mx_gemm";
/// The values of `ck_select.variant` without scales, or with profiles.
const NAMES: [&str; 7] =
    [PLAIN, "gemm_streamk", "gemm_multi_d", "gemm_preshuffle", "batched_gemm", "grouped_gemm", "gemm_quant"];
/// Those with scales: which operands have them, and whether a kernel takes a list of products.
const SCALED: [(&str, QuantMode, bool); 8] = [
    ("gemm_aquant", QuantMode::A, false),
    ("gemm_bquant", QuantMode::B, false),
    ("gemm_abquant", QuantMode::AB, false),
    ("gemm_rowcolquant", QuantMode::RowCol, false),
    ("gemm_tensor_quant", QuantMode::Tensor, false),
    ("grouped_gemm_rowcolquant", QuantMode::RowCol, true),
    ("grouped_gemm_tensorquant", QuantMode::Tensor, true),
    (MX, QuantMode::Mx, false),
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
/// file is one of plain GEMMs. Its keys are in `ck_select`, beside `trait_config`, and there.
pub(crate) fn read(
    file: &Value,
    ours: &mut Object<'_>,
    root: &mut Object<'_>,
    traits: &mut Object<'_>,
) -> Result<GemmVariants, Fault> {
    let names = NAMES.into_iter().chain(SCALED.map(|(name, ..)| name)).map(|name| (name, name));
    let name = match ours.choice("variant", &names.collect::<Vec<_>>())? {
        Some(name) => name,
        None => by_keys(file)?,
    };
    Ok(match name {
        "gemm_streamk" => {
            let listed = traits.values("reduction_strategy", reduction)?;
            // The default of upstream's generators.
            GemmVariants::StreamK(listed.unwrap_or_else(|| vec![StreamKReduction::Atomic]))
        }
        "gemm_multi_d" => {
            let tensors = ours.optional("num_d", count(1, 255))?.unwrap_or(2);
            let operation = ours.optional("elementwise", word)?.unwrap_or(Elementwise::MultiDAdd);
            GemmVariants::MultiD(tensors as u8, operation)
        }
        "gemm_preshuffle" => GemmVariants::Preshuffle(root.optional("permute_n", flag)?.unwrap_or(false)),
        "batched_gemm" => GemmVariants::Batched,
        "grouped_gemm" => GemmVariants::Grouped,
        "gemm_quant" => GemmVariants::Profiles(profiles(root, traits)?),
        name => match SCALED.into_iter().find(|(known, ..)| *known == name) {
            Some((name, mode, grouped)) => GemmVariants::Scaled(scales(name, mode, grouped, root, traits)?),
            None => GemmVariants::Universal,
        },
    })
}

fn profiles(root: &mut Object<'_>, traits: &mut Object<'_>) -> Result<GemmProfiles, Fault> {
    let missing = ("quant_config".to_owned(), "found nothing, expected an object".to_owned());
    let mut groups = root.object("quant_config")?.ok_or(missing)?;
    let of_each = [needed(&mut groups, "a_group", word)?, needed(&mut groups, "b_group", word)?];
    groups.finish()?;
    let profiles = needed(traits, "profile", |value| match value {
        Value::String(word) => Ok(word.clone()),
        other => Err(format!("found {}, expected a word", kind(other))),
    })?;
    Ok(GemmProfiles { profiles, groups: of_each })
}

/// Scales are not shuffled, and in groups of 128 elements along k, if nothing else is said.
fn scales(
    name: &'static str,
    mode: QuantMode,
    grouped: bool,
    root: &mut Object<'_>,
    traits: &mut Object<'_>,
) -> Result<GemmScales, Fault> {
    let mut scales =
        GemmScales { name, mode, grouped, shuffled: Default::default(), group_k: 128, group_n: Vec::new() };
    for ((shuffled, key), has) in scales.shuffled.iter_mut().zip(FLAGS).zip(mode.flagged_scales()) {
        let listed = if has { traits.values(key, flag)? } else { None };
        *shuffled = listed.unwrap_or_else(|| vec![false]);
    }
    if mode.flagged_scales() != [false; 2] {
        scales.group_k = root.optional("group_size_k", count(1, MAX_GROUP))?.unwrap_or(scales.group_k);
    }
    if mode == QuantMode::AB {
        let numbers = root.get("group_size_n").is_none_or(Value::is_object);
        scales.group_n = if numbers {
            root.values("group_size_n", count(1, MAX_GROUP))?.unwrap_or_else(|| vec![1])
        } else {
            vec![root.needed("group_size_n", "a whole number", count(1, MAX_GROUP))?]
        };
    }
    Ok(scales)
}

/// Keys of several variants give one of them, to which the others' keys are unknown.
fn by_keys(root: &Value) -> Result<&'static str, Fault> {
    let traits = root.get("trait_config");
    let of_root = |key: &str| root.get(key).is_some();
    let of_traits = |key: &str| traits.is_some_and(|traits| traits.get(key).is_some());
    let pipelines = traits.and_then(|traits| traits.pointer("/pipeline/values")).and_then(Value::as_array);
    let is_of_mx = |word: &Value| word.as_str().is_some_and(|word| OF_MX.contains(&word));
    let [of_a, of_b] = FLAGS.map(of_traits);
    Ok(if of_traits("profile") || of_root("quant_config") {
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
        MX
    } else if of_root("group_size_k") {
        let reason = "several variants have this key, expected one of them as \"ck_select\": {\"variant\": \
                      …}: gemm_aquant, gemm_bquant, gemm_abquant";
        return Err(("group_size_k".to_owned(), reason.to_owned()));
    } else {
        PLAIN
    })
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
