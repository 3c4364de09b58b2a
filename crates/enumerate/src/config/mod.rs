//! Configurations: which kernels to enumerate, in upstream's JSON format.
//!
//! Upstream ignores unknown keys, so a misspelt key silently means its default. Here it is an error. What
//! upstream's files cannot express is under a key of our own, `ck_select`.

pub(crate) mod reader;

pub use crate::conv::config::{ConvConfig, ConvSweep};
pub use crate::conv::instances::{Family, Instances, OtherKernel};
pub use crate::fmha::config::FmhaConfig;
pub use crate::gemm::config::{GemmConfig, GemmRanges, LdsLimit};
pub use crate::gemm::variant::{GemmProfiles, GemmVariants};

use std::path::Path;

use ck_select_types::json::Strict;
use ck_select_types::vocab::Op;
use ck_select_types::{each_operation, files};
use serde_json::Value;

use reader::{Fault, Object, in_file};

type Own<P> = <P as ConfigFile>::Config;

ck_select_types::operation_enum! {
    /// What to enumerate.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Config(Own);
}

/// Problems of an operation whose kernels a file can ask for.
pub(crate) trait ConfigFile {
    /// What a file asks for.
    type Config;

    /// How surely a file that names no operation is one of this one's.
    fn claim(root: &Value) -> Claim;

    /// Reads a file.
    fn read_file(object: Object<'_>, root: &Value) -> Result<Self::Config, Fault>;
}

/// How surely a file is one of an operation's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// It is none.
    No,
    /// It is one if no other operation claims it.
    Perhaps,
    /// It is one.
    Surely,
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
        Self::from_value(&root, op).map_err(fault)
    }

    fn from_value(root: &Value, op: Option<Op>) -> Result<Self, Fault> {
        let object = Object::at(String::new(), root)?;
        let op = op.map_or_else(|| op_of(root), Ok)?;
        each_operation!(op, Own => Own::read_file(object, root).map(Self::from))
    }
}

/// The operation that claims a file most surely.
fn op_of(root: &Value) -> Result<Op, Fault> {
    let claims = Op::ALL.iter().map(|&op| (each_operation!(op, Own => Own::claim(root)), op));
    let surest = claims.clone().map(|(claim, _)| claim).max().unwrap_or(Claim::No);
    let mut claimants = claims.filter(|(claim, _)| *claim == surest).map(|(_, op)| op);
    let (place, reason) = match (surest, claimants.next(), claimants.next()) {
        (Claim::Perhaps | Claim::Surely, Some(op), None) => return Ok(op),
        (Claim::Perhaps | Claim::Surely, ..) => (
            "variant",
            "found fwd, which is attention or a forward convolution: say which with --params op=, or write \
             forward",
        ),
        (Claim::No, ..) if root.get("tile_configs").is_some() => (
            "tile_configs",
            "a key of the code generators, whose configurations are not enumerated; the tile engine's have \
             'tile_config'",
        ),
        (Claim::No, ..) => {
            ("", "neither 'variant' (a grouped convolution) nor 'tile_config' (a GEMM) is there")
        }
    };
    Err((place.to_owned(), reason.to_owned()))
}

#[cfg(test)]
mod tests;
