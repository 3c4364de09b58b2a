//! What a problem has where text or a table does not give it.

use crate::gemm::GemmRequest;
use crate::vocab::{Arch, ConvLayout, Direction, Dtype, GemmLayout, Op};

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

impl ProblemDefaults {
    /// Upstream's defaults: forward, `bf16` for convolutions, `fp8` for GEMMs, `fp16` for attention, no
    /// architecture, `nhwgc`, `rcr`.
    pub const fn of(op: Op) -> Self {
        let dtype = match op {
            Op::GroupedConv => Dtype::Bf16,
            Op::Gemm => Dtype::Fp8,
            Op::Fmha => Dtype::Fp16,
        };
        Self {
            direction: Direction::Forward,
            dtype,
            arch: None,
            conv_layout: ConvLayout::Nhwgc,
            gemm_layout: GemmLayout::RCR,
            gemm_request: GemmRequest::NONE,
            dtype_c: None,
        }
    }
}
