//! The records of all operations: where conv, gemm and fmha are listed.

use crate::defaults::ProblemDefaults;
use crate::gemm::GemmRequest;
use crate::operation::Operation;
use crate::vocab::{ConvLayout, Direction, GemmLayout, Op};
use crate::{conv, fmha, gemm};

impl Operation {
    /// The record of an operation.
    pub const fn get(op: Op) -> &'static Self {
        match op {
            Op::Conv => &conv::OPERATION,
            Op::Gemm => &gemm::OPERATION,
            Op::Fmha => &fmha::OPERATION,
        }
    }
}

impl ProblemDefaults {
    /// Upstream's defaults: forward, `bf16` for convolutions, `fp8` for GEMMs, `fp16` for attention, no
    /// architecture, `nhwgc`, `rcr`.
    pub const fn of(op: Op) -> Self {
        Self {
            direction: Direction::Forward,
            dtype: Operation::get(op).dtype,
            arch: None,
            conv_layout: ConvLayout::Nhwgc,
            gemm_layout: GemmLayout::RCR,
            gemm_request: GemmRequest::NONE,
            dtype_c: None,
        }
    }
}
