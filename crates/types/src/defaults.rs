//! What a problem has where text or a table does not give it.

use crate::gemm::request::GemmRequest;
use crate::vocab::{Arch, ConvLayout, Direction, Dtype, GemmLayout};

/// Values of fields that the text omits: usually what a model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemDefaults {
    /// Direction of a convolution.
    pub direction: Direction,
    /// Element type of the inputs.
    pub dtype: Dtype,
    /// Architecture, if any.
    pub arch: Option<Arch>,
    /// Memory order of a convolution's tensors.
    pub conv_layout: ConvLayout,
    /// Memory orders of a GEMM's operands.
    pub gemm_layout: GemmLayout,
    /// What a GEMM asks for besides one plain GEMM.
    pub gemm_request: GemmRequest,
    /// Element type of a GEMM's C, if not what follows from A's.
    pub dtype_c: Option<Dtype>,
}
