//! Configurations: which kernels to enumerate, in upstream's JSON format.
//!
//! Upstream ignores unknown keys, so a misspelt key silently means its default. Here it is an error. What
//! upstream's files cannot express is under a key of our own, `ck_select`.

pub(crate) mod reader;

pub use crate::conv::config::ConvConfig;
pub use crate::conv::instances::{Family, Instances, OtherKernel};
pub use crate::fmha::config::FmhaConfig;
pub use crate::gemm::config::{GemmRanges, LdsLimit};
pub use crate::gemm::variant::{GemmProfiles, GemmVariants};

use std::path::Path;

use ck_select_types::json::Strict;
use ck_select_types::vocab::{FmhaPipeline, Op};
use ck_select_types::{each_operation, files};
use serde_json::Value;

use reader::{Fault, Object, in_file};

/// What to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    /// A sweep of a grouped convolution.
    Conv(Box<ConvConfig>),
    /// A list of grouped-convolution kernels.
    Instances(Instances),
    /// GEMM kernels of all combinations of ranges, as in the tile engine.
    Gemm(Box<GemmRanges>),
    /// Those of the machine-learning sweep.
    GemmSweep,
    /// A sweep of attention.
    Fmha(Box<FmhaConfig>),
    /// A family of AITER's kernels.
    Aiter(String),
}

/// Problems of an operation whose kernels a file can ask for.
pub(crate) trait Configured {
    /// Reads a file.
    fn config(object: Object<'_>, root: &Value) -> Result<Config, Fault>;
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}{place}: {reason}", if place.is_empty() { "" } else { ", " })]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The field, such as `trait_config.pipeline.values[2]`; empty for the whole file.
    pub place: String,
    /// What was found and what was expected.
    pub reason: String,
}

impl Config {
    /// The operation of the kernels.
    pub const fn op(&self) -> Op {
        match self {
            Self::Conv(_) | Self::Instances(_) => Op::Conv,
            Self::Gemm(_) | Self::GemmSweep | Self::Aiter(_) => Op::Gemm,
            Self::Fmha(_) => Op::Fmha,
        }
    }

    /// Reads a file; see [`Config::from_json`].
    pub fn read(path: &Path, op: Option<Op>) -> Result<Self, ConfigError> {
        let label = path.display().to_string();
        let bytes = files::read(path).map_err(|error| in_file(&label)((String::new(), error.to_string())))?;
        Self::from_json(&label, &bytes, op)
    }

    /// Reads the contents of a file; `label` names it in errors. Without `op`, the file determines the
    /// operation: a `tile_config` means GEMM, a `variant` convolution or, if it is one of attention's
    /// families, attention. `fwd` is a word of both, so the traits decide.
    ///
    /// ```
    /// use ck_select_enumerate::config::Config;
    ///
    /// let text = br#"{"variant": "forward", "trait_config": {"ndim": {"values": [2]}}}"#;
    /// let error = Config::from_json("sweep.json", text, None).unwrap_err().to_string();
    /// assert!(error.starts_with("sweep.json, trait_config.ndim: unknown key, expected one of: data_type, "));
    /// assert!(error.ends_with("the key for dimensions is 'ndim_spatial'"));
    /// ```
    pub fn from_json(label: &str, bytes: &[u8], op: Option<Op>) -> Result<Self, ConfigError> {
        let fault = in_file(label);
        let Strict(root) = serde_json::from_slice(files::without_bom(bytes))
            .map_err(|error| fault((String::new(), format!("JSON: {error}"))))?;
        Self::of_value(&root, op).map_err(fault)
    }

    fn of_value(root: &Value, op: Option<Op>) -> Result<Self, Fault> {
        let object = Object::at(String::new(), root)?;
        let op = match (op, root.get("variant")) {
            (Some(op), _) => Some(op),
            (None, Some(variant)) => Some(op_of(variant, root.get("trait_config"))?),
            (None, None) => {
                root.get("tile_config").or_else(|| root.pointer("/ck_select/kernels")).map(|_| Op::Gemm)
            }
        };
        match op {
            Some(op) => each_operation!(op, Own => Own::config(object, root)),
            None if root.get("tile_configs").is_some() => Err((
                "tile_configs".to_owned(),
                "a key of the code generators, whose configurations are not enumerated; the tile engine's \
                 have 'tile_config'"
                    .to_owned(),
            )),
            None => Err((
                String::new(),
                "neither 'variant' (a grouped convolution) nor 'tile_config' (a GEMM) is there".to_owned(),
            )),
        }
    }
}

/// Traits that only attention has.
const OF_ATTENTION: [&str; 10] =
    ["mask", "bias", "mode", "lse", "dropout", "logits", "sink", "paged_kv", "qscale", "block_per_cu"];

/// The operation of a sweep, by its variant and, for `fwd`, by its traits.
fn op_of(variant: &Value, traits: Option<&Value>) -> Result<Op, Fault> {
    match variant.as_str() {
        Some("splitkv" | "pagedkv" | "appendkv" | "batch_prefill" | "bwd") => Ok(Op::Fmha),
        Some("fwd") => {
            let names = traits.and_then(Value::as_object);
            let has = |name: &&str| names.is_some_and(|names| names.contains_key(*name));
            let pipelines = traits.and_then(|traits| traits.pointer("/pipeline/values")?.as_array());
            let is_of_attention = |pipeline: &Value| {
                pipeline.as_str().is_some_and(|pipeline| pipeline.parse::<FmhaPipeline>().is_ok())
            };
            let said = OF_ATTENTION.iter().any(has)
                || pipelines.is_some_and(|pipelines| pipelines.iter().any(is_of_attention));
            match (said, names.is_some_and(|names| names.keys().any(|name| name != "data_type"))) {
                (true, _) => Ok(Op::Fmha),
                (false, true) => Ok(Op::Conv),
                (false, false) => Err((
                    "variant".to_owned(),
                    "found fwd, which is attention or a forward convolution: say which with --params op=, \
                     or write forward"
                        .to_owned(),
                )),
            }
        }
        _ => Ok(Op::Conv),
    }
}

#[cfg(test)]
mod tests;
