//! What to enumerate from a configuration.

use ck_select_types::vocab::{Dtype, GemmLayout};

use crate::filter::Filter;

/// What to enumerate from a configuration.
#[derive(Debug, Clone)]
pub struct Request {
    /// The architecture, such as `gfx950`. Flags, as in `gfx942:xnack+`, matter to GEMMs as they do upstream.
    pub target: String,
    /// Spatial dimensions of convolutions; overrides the configuration.
    pub ndim: Option<u8>,
    /// Element type of a GEMM's A and B, by default that of problems.
    pub dtype: Option<Dtype>,
    /// Memory orders of a GEMM, by default those of problems.
    pub layout: Option<GemmLayout>,
    /// Whether to omit kernels that cannot be built. GEMM ranges are always checked.
    pub valid_only: bool,
    /// Kernels are kept if all of these are true; errors use the filters' names.
    pub filters: Vec<(String, Filter)>,
}

impl Request {
    /// Everything for an architecture.
    pub fn new(target: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            ndim: None,
            dtype: None,
            layout: None,
            valid_only: false,
            filters: Vec::new(),
        }
    }
}
