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
    /// The request of a GEMM besides one plain GEMM.
    pub gemm_request: GemmRequest,
    /// Element type of a GEMM's C, if not what follows from A's.
    pub dtype_c: Option<Dtype>,
}

/// Words that a file specifies itself. Others may be taken from the kernel: upstream's problem sets leave out
/// direction, types and layouts, because the kernels' names contain them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StatedFields {
    /// The direction of a convolution.
    pub direction: bool,
    /// The element types.
    pub dtype: bool,
    /// The types of weights, of B, or of results.
    pub other_types: bool,
    /// The memory layout.
    pub layout: bool,
    /// The signature of attention for which kernels are made: family, mask, bias and the like.
    pub signature: bool,
}
