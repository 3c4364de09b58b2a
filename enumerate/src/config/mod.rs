//! Configurations: which kernels to enumerate, in upstream's JSON.
//!
//! Upstream passes over keys that it does not know, so that a misspelt one silently means its default. Here such a key is
//! passed over with a warning. What upstream's files cannot say stands under a key of our own, `ck_select`, in which
//! nothing unknown is accepted.

mod conv;
mod gemm;
mod reader;

pub use conv::{Compv4Tiles, ConvConfig, NameForm, TraitSource};
pub use gemm::{GemmConfig, GemmRanges, LdsLimit};

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use ck_select::files;
use ck_select::vocab::Op;
use serde_json::Value;

use reader::{Object, in_file};

/// Largest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// What to enumerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    /// Kernels of a grouped convolution.
    Conv(Box<ConvConfig>),
    /// Kernels of GEMM universal.
    Gemm(GemmConfig),
}

/// A configuration with what its reader noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadConfig {
    /// The configuration.
    pub config: Config,
    /// Keys without effect, one sentence each, with the file's name.
    pub warnings: Vec<String>,
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The field, such as `trait_config.pipeline.values[2]`; empty when it is the whole file.
    pub place: String,
    /// What was found and what was expected.
    pub reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, reason } = self;
        if place.is_empty() { write!(f, "{file}: {reason}") } else { write!(f, "{file}, {place}: {reason}") }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// The operation whose kernels it is about.
    pub const fn op(&self) -> Op {
        match self {
            Self::Conv(_) => Op::GroupedConv,
            Self::Gemm(_) => Op::Gemm,
        }
    }

    /// Reads a file; see [`Config::from_json`].
    pub fn read(path: &Path, op: Option<Op>) -> Result<ReadConfig, ConfigError> {
        let label = path.display().to_string();
        let read = || {
            let mut bytes = Vec::new();
            files::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let whole = |reason| ConfigError { file: label.clone(), place: String::new(), reason };
        let bytes = read().map_err(|error: std::io::Error| whole(error.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(whole(format!("larger than {} MiB", MAX_BYTES >> 20)));
        }
        Self::from_json(&label, &bytes, op)
    }

    /// Reads the contents of a file; `label` names it in errors. Without `op` the file tells the operation: a `variant` is
    /// a convolution's, a `tile_config` a GEMM's.
    ///
    /// ```
    /// use ck_select_enumerate::config::Config;
    ///
    /// let text = br#"{"variant": "forward", "trait_config": {"wave_mode": {"values": ["intrawave"]}}}"#;
    /// let read = Config::from_json("sweep.json", text, None)?;
    /// assert!(read.warnings[0].starts_with(
    ///     "sweep.json, trait_config.wave_mode: this key has no effect; the key for schedulers is 'scheduler'"
    /// ));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(label: &str, bytes: &[u8], op: Option<Op>) -> Result<ReadConfig, ConfigError> {
        let fault = in_file(label);
        let root: Value = serde_json::from_slice(bytes)
            .map_err(|error| fault((String::new(), format!("JSON: {error}"))))?;
        let mut object = Object::root(&root).map_err(&fault)?;
        let mut warnings = Vec::new();
        let op = op.or_else(|| root.get("variant").map(|_| Op::GroupedConv)).or_else(|| {
            root.get("tile_config").or_else(|| root.pointer("/ck_select/kernels")).map(|_| Op::Gemm)
        });
        let config = match op {
            Some(Op::GroupedConv) => {
                conv::read(&mut object, &mut warnings).map(|conv| Self::Conv(Box::new(conv)))
            }
            Some(Op::Gemm) => gemm::read(&mut object, &mut warnings).map(Self::Gemm),
            None => Err((
                String::new(),
                "neither 'variant' (a grouped convolution) nor 'tile_config' (a GEMM) is there".to_owned(),
            )),
        };
        let config = config.map_err(&fault)?;
        object.warn_unknown(&[], &mut warnings);
        let warnings = warnings.into_iter().map(|warning| format!("{label}, {warning}")).collect();
        Ok(ReadConfig { config, warnings })
    }
}

#[cfg(test)]
mod tests;
