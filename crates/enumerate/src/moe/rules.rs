//! The rules of the family `moe`, as data.

use std::collections::BTreeMap;

use ck_select_types::vocab::Dtype;
use serde::Deserialize;

/// The family, as data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoeFamily {
    #[serde(rename = "about")]
    _about: String,
    pub(super) types: Vec<[Dtype; 2]>,
    pub(super) spaces: Vec<MoeSpace>,
}

/// The values of each number, for architectures whose names begin so.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct MoeSpace {
    pub(super) architectures: String,
    #[serde(flatten)]
    pub(super) values: BTreeMap<String, Vec<u32>>,
}
