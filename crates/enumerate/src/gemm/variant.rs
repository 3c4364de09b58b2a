//! What sets the kernels of GEMM ranges apart from plain ones: `ck_select.variant`, or keys that only one
//! variant has.

use ck_select_types::kernel::{GemmKernel, GemmVariant, Mnk, Quant};
use ck_select_types::vocab::{Elementwise, QuantMode, StreamKReduction};
use serde_json::Value;

use crate::lists::distinct;
use crate::reader::{Fault, Object, count, flag, kind, word};

/// A variant of the kernels of ranges: what sets them apart from plain ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmVariants {
    /// The value of `ck_select.variant`, under which the rules have it.
    pub name: &'static str,
    /// A kernel with what sets each of them apart, and with all else as usual.
    pub kernels: Vec<GemmKernel>,
    /// Profiles of scales.
    pub profiles: Option<GemmProfiles>,
    /// Whether the columns of a preshuffled B are permuted.
    pub permuted: bool,
    /// Whether kernels may stay resident, and configurations say whether they do.
    pub may_persist: bool,
}

/// Kernels of `gemm_quant`, whose pipeline and scheduler follow from a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmProfiles {
    /// Words of the rules.
    pub profiles: Vec<String>,
    /// Groups of A and of B that share a scale; `1x1x1` is none.
    pub groups: [Vec<Mnk>; 2],
}

/// The keys of shuffled scales of A and of B.
const FLAGS: [&str; 2] = ["a_preshuffle_quant", "b_preshuffle_quant"];
/// The largest extent of a group.
const MAX_GROUP: u32 = 65_535;

/// The variant of files without keys of their own.
pub(crate) const PLAIN: &str = "gemm_universal";
/// The variant of kernels with a preshuffled B.
pub(crate) const PRESHUFFLE: &str = "gemm_preshuffle";
/// Microscaled kernels, whose files may have no key of their own.
pub(crate) const MX: &str = "mx_gemm";
/// The values of `ck_select.variant` without scales, or with profiles.
const NAMES: [&str; 7] =
    [PLAIN, "gemm_streamk", "gemm_multi_d", PRESHUFFLE, "batched_gemm", "grouped_gemm", "gemm_quant"];
/// The variants with scales: which operands have them, whether a kernel takes a list of products, and whether it may
/// stay resident.
const SCALED: [(&str, QuantMode, bool, bool); 8] = [
    ("gemm_aquant", QuantMode::A, false, false),
    ("gemm_bquant", QuantMode::B, false, false),
    ("gemm_abquant", QuantMode::AB, false, false),
    ("gemm_rowcolquant", QuantMode::RowCol, false, false),
    ("gemm_tensor_quant", QuantMode::Tensor, false, true),
    ("grouped_gemm_rowcolquant", QuantMode::RowCol, true, true),
    ("grouped_gemm_tensorquant", QuantMode::Tensor, true, true),
    (MX, QuantMode::Mx, false, true),
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
/// Advice for such keys in `trait_config`.
pub(crate) const TRAIT_HINTS: &[(&str, &str)] = &[
    ("profile", "it is a key of \"ck_select\": {\"variant\": \"gemm_quant\"}"),
    ("reduction_strategy", "it is a key of \"ck_select\": {\"variant\": \"gemm_streamk\"}"),
    ("a_preshuffle_quant", "it is a key of \"ck_select\": {\"variant\": \"gemm_aquant\"} and gemm_abquant"),
    ("b_preshuffle_quant", "it is a key of \"ck_select\": {\"variant\": \"gemm_bquant\"} and gemm_abquant"),
];
/// Pipelines that only microscaled kernels have.
const OF_MX: [&str; 2] = ["comp_async_eight_waves", "weight_preshuffle"];

/// The variant that `ck_select` names, or else the one that has the file's keys; without keys of its own, a
/// file is one of plain GEMMs. Its keys are in `ck_select`, beside `trait_config` and in it.
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
    let with = |change: &dyn Fn(&mut GemmKernel)| {
        let mut kernel = GemmKernel::USUAL;
        change(&mut kernel);
        kernel
    };
    let (mut profiles, mut permuted, mut may_persist) = (None, false, true);
    let kernels = match name {
        "gemm_streamk" => {
            let listed = traits.values("reduction_strategy", reduction)?;
            // The default of upstream's generators.
            let reductions = listed.unwrap_or_else(|| vec![StreamKReduction::Atomic]).into_iter();
            reductions.map(|one| with(&|kernel| kernel.variant.stream_k = Some(one))).collect()
        }
        "gemm_multi_d" => {
            let tensors = ours.optional("num_d", count(1, 255))?.unwrap_or(2);
            let operation = ours.optional("elementwise", word)?.unwrap_or(Elementwise::MultiDAdd);
            vec![with(&|kernel| (kernel.num_d_tensors, kernel.elementwise) = (tensors as u8, operation))]
        }
        PRESHUFFLE => {
            permuted = root.optional("permute_n", flag)?.unwrap_or(false);
            vec![with(&|kernel| kernel.preshuffle = true)]
        }
        "batched_gemm" => vec![with(&|kernel| kernel.variant.batched = true)],
        "grouped_gemm" => vec![with(&|kernel| kernel.grouped = true)],
        "gemm_quant" => {
            profiles = Some(read_profiles(root, traits)?);
            Vec::new()
        }
        name => match SCALED.into_iter().find(|(known, ..)| *known == name) {
            Some((_, mode, grouped, persists)) => {
                may_persist = persists;
                scaled(mode, &with(&|kernel| kernel.grouped = grouped), root, traits)?
            }
            None => vec![GemmKernel::USUAL],
        },
    };
    Ok(GemmVariants { name, kernels, profiles, permuted, may_persist })
}

fn read_profiles(root: &mut Object<'_>, traits: &mut Object<'_>) -> Result<GemmProfiles, Fault> {
    let missing = ("quant_config".to_owned(), "found nothing, expected an object".to_owned());
    let mut groups = root.object("quant_config")?.ok_or(missing)?;
    let of_each =
        [groups.needed_values("a_group", word)?, groups.needed_values("b_group", word)?].map(distinct);
    groups.finish()?;
    let profiles = traits.needed_values("profile", |value| match value {
        Value::String(word) => Ok(word.clone()),
        other => Err(format!("found {}, expected a word", kind(other))),
    })?;
    Ok(GemmProfiles { profiles, groups: of_each })
}

/// The kernels with some scales, those of B shuffled faster than those of A, and its groups fastest. By default
/// scales are not shuffled, and in groups of 128 elements along k.
fn scaled(
    mode: QuantMode,
    plain: &GemmKernel,
    root: &mut Object<'_>,
    traits: &mut Object<'_>,
) -> Result<Vec<GemmKernel>, Fault> {
    let mut shuffled = [const { Vec::new() }; 2];
    for ((shuffled, key), has) in shuffled.iter_mut().zip(FLAGS).zip(mode.flagged_scales()) {
        let listed = if has { traits.values(key, flag)? } else { None };
        *shuffled = listed.map_or_else(|| vec![false], distinct);
    }
    let mut quant = Quant::usual(mode);
    if mode.flagged_scales() != [false; 2] {
        let depth = root.optional("group_size_k", count(1, MAX_GROUP))?.unwrap_or(128);
        let deep = |group: Option<Mnk>| group.map(|group| Mnk { k: depth, ..group });
        (quant.group_a, quant.group_b) = (deep(quant.group_a), deep(quant.group_b));
    }
    let mut quants = vec![quant];
    if mode == QuantMode::AB {
        let numbers = root.get("group_size_n").is_none_or(Value::is_object);
        let columns = if numbers {
            root.values("group_size_n", count(1, MAX_GROUP))?.unwrap_or_else(|| vec![1])
        } else {
            vec![root.needed("group_size_n", "a whole number", count(1, MAX_GROUP))?]
        };
        let wide = |n| Quant { group_b: quant.group_b.map(|group| Mnk { n, ..group }), ..quant };
        quants = distinct(columns).into_iter().map(wide).collect();
    }
    let mut kernels = Vec::new();
    for &a in &shuffled[0] {
        for &b in &shuffled[1] {
            kernels.extend(quants.iter().map(|&quant| with_scales(plain, quant, [a, b])));
        }
    }
    Ok(kernels)
}

/// A kernel with scales; `shuffled_scales` is whether those of A and of B lie in the order in which they are
/// read.
pub(crate) fn with_scales(plain: &GemmKernel, quant: Quant, shuffled_scales: [bool; 2]) -> GemmKernel {
    let variant = GemmVariant { quant: Some(quant), shuffled_scales, ..plain.variant };
    GemmKernel { variant, ..plain.clone() }
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
        PRESHUFFLE
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
