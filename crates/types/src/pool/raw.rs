//! A kernel in JSON before its values are read.

use serde::Deserialize;

use crate::json::Strict;

/// A kernel as exporters write it. Every key may be missing; unlisted ones are ignored.
#[derive(Default, Deserialize)]
pub(super) struct RawKernel {
    pub(super) name: Option<String>,
    pub(super) identifier: Option<String>,
    /// What it computes, and how, whose keys depend on the operation.
    pub(super) signature: Option<Strict>,
    pub(super) algorithm: Option<Strict>,
    pub(super) arch: Option<String>,
    pub(super) gfx_arch: Option<String>,
    // Attention has these instead of parts.
    pub(super) family: Option<String>,
    pub(super) dtype: Option<String>,
    pub(super) pipeline: Option<String>,
}
