//! What to enumerate from a configuration.

use ck_select_types::problem::ProblemDefaults;
use ck_select_types::vocab::{Dtype, GemmLayout, Op};

use crate::filter::Filter;

/// What to enumerate from a configuration.
#[derive(Debug, Clone)]
pub struct Request {
    /// The architecture, such as `gfx950`. Flags, as in `gfx942:xnack+`, matter to GEMMs as they do upstream.
    pub target: String,
    /// Spatial dimensions of convolutions; overrides the configuration.
    pub ndim: Option<u8>,
    /// Element type of a GEMM's A and B.
    pub dtype: Dtype,
    /// Memory orders of a GEMM.
    pub layout: GemmLayout,
    /// Whether to omit kernels that cannot be built. GEMM ranges are always checked.
    pub valid_only: bool,
    /// Kernels are kept if all of these are true; errors use the filters' names.
    pub filters: Vec<(String, Filter)>,
}

impl Request {
    /// Everything for an architecture; GEMMs of the type and layout that problems have by default.
    pub fn new(target: impl Into<String>) -> Self {
        let ProblemDefaults { dtype, gemm_layout, .. } = ProblemDefaults::new(Op::Gemm);
        Self {
            target: target.into(),
            ndim: None,
            dtype,
            layout: gemm_layout,
            valid_only: false,
            filters: Vec::new(),
        }
    }
}
