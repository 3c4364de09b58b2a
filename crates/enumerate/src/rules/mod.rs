//! Upstream's rules as data: the files in `rules/`, which are built in and can be replaced by a directory
//! with the same files.

pub use crate::arch::{ArchRules, ArchTable, LdsBudget, TraitRefusal};
pub use crate::conv::rules::{ConvRules, DirectionRules, PoolEntry, Rewrite, ThreadCoverage};
pub use crate::fmha::rules::{
    FmhaFeatures, FmhaNarrow, FmhaRules, FmhaSpec, FmhaSweep, FmhaSweepTypes, FmhaTileRule, FmhaTileTest,
    FmhaV3,
};
pub use crate::gemm::aiter::{AiterList, AiterRules};
pub use crate::gemm::families::{BuiltRule, FamilyRules, GemmFamilies, ProfileRule, ResultTile};
pub use crate::gemm::rules::{GemmRules, SweepRules, SweepSpec};
pub use crate::moe::rules::MoeFamily;

use std::path::Path;

use ck_select_types::kernel::Kernel;
use ck_select_types::nearest::distance;
use ck_select_types::vocab::{Arch, Op};
use serde::de::DeserializeOwned;

use crate::error::EnumerateError;

/// Declares the rules, a line a file.
macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident: $type:ty = $file:literal;)+) => {
        /// All rules.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Rules {
            $($(#[$doc])+ pub $name: $type,)+
        }

        /// Each file's name and built-in text.
        pub const FILES: &[(&str, &str)] = &[$(($file, include_str!(concat!("../../rules/", $file)))),+];

        impl Rules {
            fn from_texts(
                text: impl Fn(&str, &str) -> Result<(String, String), RulesError>,
            ) -> Result<Self, RulesError> {
                Ok(Self {
                    $($name: parse(&text($file, include_str!(concat!("../../rules/", $file)))?)?,)+
                })
            }
        }
    };
}

rules! {
    /// Architectures.
    arch: ArchRules = "arch.json";
    /// Grouped convolution, default rule set.
    conv: ConvRules = "conv.json";
    /// GEMM universal.
    gemm: GemmRules = "gemm.json";
    /// The machine-learning sweep's GEMM kernels.
    sweep: SweepRules = "ml_sweep.json";
    /// Forward attention.
    fmha: FmhaRules = "fmha.json";
    /// Families of GEMMs with conditions of their own.
    gemm_families: GemmFamilies = "gemm_families.json";
    /// AITER's pools.
    aiter: AiterRules = "aiter.json";
    /// The configurations that tuners of mixtures of experts try.
    moe: MoeFamily = "moe.json";
}

/// Rules that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct RulesError {
    /// The file.
    pub file: String,
    /// The fault in the file, and its position.
    pub reason: String,
}

impl Rules {
    /// The built-in rules.
    pub fn built_in() -> Result<Self, RulesError> {
        Self::from_texts(|file, text| Ok((format!("built-in {file}"), text.to_owned())))
    }

    /// The rules in a directory; the built-in ones replace missing files.
    pub fn read(directory: &Path) -> Result<Self, RulesError> {
        if !directory.is_dir() {
            let reason = "no such directory".to_owned();
            return Err(RulesError { file: directory.display().to_string(), reason });
        }
        check_names(directory)?;
        Self::from_texts(|file, text| {
            let path = directory.join(file);
            let label = path.display().to_string();
            match ck_select_types::files::read_to_string(&path) {
                Ok(own) => Ok((label, own)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    Ok((format!("built-in {file}"), text.to_owned()))
                }
                Err(error) => Err(RulesError { file: label, reason: error.to_string() }),
            }
        })
    }
}

impl Rules {
    /// The operation of a family's kernels.
    pub fn op_of_family(family: &str) -> Op {
        if family == MoeFamily::NAME { MoeFamily::OP } else { AiterRules::OP }
    }

    /// The kernels of a family, each with its number in its tuner's list, if it has one.
    pub fn family(&self, family: &str, arch: Arch) -> Result<Vec<(Kernel, Option<usize>)>, EnumerateError> {
        if family == MoeFamily::NAME {
            let kernels = MoeFamily::kernels(self, arch)?;
            return Ok(kernels.into_iter().map(|kernel| (kernel, None)).collect());
        }
        self.aiter.kernels(family, arch)
    }
}

/// Refuses a folder without rules, and a file under another name, which would not be read.
fn check_names(directory: &Path) -> Result<(), RulesError> {
    let known: Vec<&str> = FILES.iter().map(|(file, _)| *file).collect();
    let fault = |reason: String| RulesError { file: directory.display().to_string(), reason };
    let entries = std::fs::read_dir(directory).map_err(|error| fault(error.to_string()))?;
    let mut any = false;
    for entry in entries {
        let name = entry.map_err(|error| fault(error.to_string()))?.file_name();
        let name = name.to_string_lossy();
        any |= known.contains(&&*name);
        let is_like = |file: &&str| distance(file, &name.to_lowercase()) <= 2;
        if !known.contains(&&*name) && known.iter().any(is_like) {
            return Err(fault(format!("found {name}, expected only {}", known.join(", "))));
        }
    }
    if any { Ok(()) } else { Err(fault(format!("found no rules, expected some of {}", known.join(", ")))) }
}

/// serde's message contains line and column.
fn parse<T: DeserializeOwned>((file, text): &(String, String)) -> Result<T, RulesError> {
    serde_json::from_str(text).map_err(|error| RulesError { file: file.clone(), reason: error.to_string() })
}

#[cfg(test)]
mod tests;
