//! Configurations of attention sweeps.

use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::FmhaPipeline;
use serde_json::Value;

use super::rules::FmhaFeatures;
use crate::reader::{Claim, ConfigFile, Fault, Object, count, flag, kind, word};

/// A sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FmhaConfig {
    /// The allowed values of each trait.
    pub features: FmhaFeatures,
    /// Pipelines; `None` allows all.
    pub pipelines: Option<Vec<FmhaPipeline>>,
    /// Workgroups per compute unit; -1, the default, means the pipeline's own number.
    pub block_per_cu: Option<Vec<i64>>,
    /// The build to enumerate for, by its number in the rules.
    pub receipt: u32,
    /// Whether to include tiles of the table that are only for tuning.
    pub tuning_tiles: bool,
    /// Whether tiles are products of sizes that pass CK's tests, as in its tile engine, instead of those of
    /// the table.
    pub swept_tiles: bool,
}

/// Advice for wrong keys that are frequent in `trait_config`.
const TRAIT_HINTS: &[(&str, &str)] = &[
    ("dtype", "the key for types is 'data_type'"),
    ("skip", "skip cannot be chosen: both values stay"),
    ("causal", "a causal mask is 'top_left' under 'mask'"),
];

/// Traits that only attention has.
const OWN_TRAITS: [&str; 10] =
    ["mask", "bias", "mode", "lse", "dropout", "logits", "sink", "paged_kv", "qscale", "block_per_cu"];

impl ConfigFile for FmhaProblem {
    type Config = Box<FmhaConfig>;

    /// `fwd` is a word of convolutions, too, so the traits decide.
    fn claim(root: &Value) -> Claim {
        let traits = root.get("trait_config");
        match root.get("variant").and_then(Value::as_str) {
            Some("splitkv" | "pagedkv" | "appendkv" | "batch_prefill" | "bwd") => Claim::Surely,
            Some("fwd") if traits.is_some_and(has_own_trait) => Claim::Surely,
            Some("fwd") if !traits.is_some_and(has_more_than_types) => Claim::Perhaps,
            _ => Claim::No,
        }
    }

    fn read_file(mut object: Object<'_>, _root: &Value) -> Result<Box<FmhaConfig>, Fault> {
        let config = read(&mut object)?;
        object.finish()?;
        Ok(Box::new(config))
    }
}

fn has_own_trait(traits: &Value) -> bool {
    let pipelines = traits.pointer("/pipeline/values").and_then(Value::as_array);
    let is_own = |word: &Value| word.as_str().is_some_and(|word| word.parse::<FmhaPipeline>().is_ok());
    OWN_TRAITS.iter().any(|name| traits.get(name).is_some())
        || pipelines.is_some_and(|pipelines| pipelines.iter().any(is_own))
}

fn has_more_than_types(traits: &Value) -> bool {
    traits.as_object().is_some_and(|traits| traits.keys().any(|name| name != "data_type"))
}

fn read(root: &mut Object<'_>) -> Result<FmhaConfig, Fault> {
    root.needed("variant", "fwd", |value| match value.as_str() {
        Some("fwd") => Ok(()),
        _ => Err(format!("found {}, expected fwd: the rules have no tiles of other families", kind(value))),
    })?;
    let mut traits = root.part("trait_config")?;
    let mut ours = root.part("ck_select")?;
    let receipt = ours.optional("receipt", count(0, 9999))?.unwrap_or(0);
    let tuning_tiles = ours.optional("tuning_tiles", flag)?.unwrap_or(false);
    let swept_tiles = ours.is_second("tiles", ["table", "sweep"])?;
    if swept_tiles && tuning_tiles {
        let reason = "found sweep, expected table beside tuning_tiles";
        return Err((ours.place_of("tiles"), reason.to_owned()));
    }
    let features = FmhaFeatures {
        dtypes: traits.values("data_type", word)?,
        mask: traits.values("mask", word)?,
        bias: traits.values("bias", word)?,
        mode: traits.values("mode", word)?,
        qscale: traits.values("qscale", word)?,
        lse: traits.values("lse", flag)?,
        dropout: traits.values("dropout", flag)?,
        logits: traits.values("logits", flag)?,
        sink: traits.values("sink", flag)?,
        ..FmhaFeatures::default()
    };
    let config = FmhaConfig {
        features,
        pipelines: traits.values("pipeline", word)?,
        block_per_cu: traits.values("block_per_cu", |value| match value.as_i64() {
            Some(blocks) if blocks == -1 || (1..=254).contains(&blocks) => Ok(blocks),
            _ => Err(format!("found {}, expected -1 or 1 to 254", kind(value))),
        })?,
        receipt,
        tuning_tiles,
        swept_tiles,
    };
    // The forward kernels of these tables have no pages; a sweep that asks for pages means another family.
    traits.values("paged_kv", |value| {
        let none = "found true, expected false: the rules have no paged kernels";
        if flag(value)? { Err(none.to_owned()) } else { Ok(()) }
    })?;
    traits.finish_with(TRAIT_HINTS)?;
    ours.finish()?;
    Ok(config)
}
