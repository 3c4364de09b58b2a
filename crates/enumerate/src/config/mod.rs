//! Configurations: which kernels to enumerate, in upstream's JSON format.
//!
//! Upstream ignores unknown keys, so a misspelt key silently means its default. Here it is an error. What
//! upstream's files cannot express is under a key of our own, `ck_select`.

pub use crate::conv::config::{ConvConfig, ConvSweep};
pub use crate::conv::instances::Instances;
pub use crate::fmha::config::FmhaConfig;
pub use crate::gemm::config::{GemmConfig, GemmRanges, LdsLimit};
pub use crate::gemm::variant::{GemmProfiles, GemmVariants};
pub use crate::kernels::{Family, OtherKernel};
pub use crate::moe::{MoeConfig, MoeSweep};
pub use crate::reader::ConfigError;

use std::path::Path;

use ck_select_types::json::Strict;
use ck_select_types::vocab::Op;
use ck_select_types::{each_operation, files};
use serde_json::Value;

use crate::reader::{Claim, ConfigFile, Fault, Object, in_file};
use crate::rules::MoeFamily;

type Own<P> = <P as ConfigFile>::Config;

ck_select_types::operation_enum! {
    /// A configuration: the kernels to enumerate.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Config(Own);
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

    /// The family that a word names: the tuners' of mixtures of experts, or one of AITER's.
    pub fn family(name: &str) -> Self {
        if name == MoeFamily::NAME {
            MoeConfig::Family.into()
        } else {
            GemmConfig::Family(name.to_owned()).into()
        }
    }

    /// The parameters of an operation's kernels that a [`Request`](crate::Request) may set: `ndim`, `dtype`,
    /// `layout`.
    pub fn params(op: Op) -> &'static [&'static str] {
        each_operation!(op, Own => <Own as ConfigFile>::PARAMS)
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
    let (key, reason) = match (surest, claimants.next(), claimants.next()) {
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
    Err((key.to_owned(), reason.to_owned()))
}

#[cfg(test)]
mod tests;
