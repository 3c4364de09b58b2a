//! Which problems a kernel can be asked for.

use super::{Kernel, KernelKind};
use crate::problem::Problem;

impl Kernel {
    /// Whether the kernel computes what the problem asks for: the operation, for convolutions the direction and
    /// the number of spatial dimensions, and for attention everything but the architecture: there a kernel that breaks
    /// a rule computes something else ([`FmhaKernel::check`](super::FmhaKernel::check)). Layouts and the types of results are the registry's to match: a model ranks
    /// across them.
    pub fn answers(&self, problem: &Problem) -> bool {
        match (&self.kind, problem) {
            (KernelKind::Conv(kernel), Problem::Conv(problem)) => {
                kernel.direction == problem.direction && kernel.ndim == problem.ndim
            }
            (KernelKind::Gemm(_), Problem::Gemm(_)) => true,
            (KernelKind::Fmha(kernel), Problem::Fmha(problem)) => kernel.supports(problem),
            _ => false,
        }
    }

    /// Whether operand types and layouts are the problem's. Convolution layouts that differ only in the number of
    /// dimensions (`nhwgc`, `ndhwgc`) are one: CK's tools use either word for 3D.
    pub fn has_types_of(&self, problem: &Problem) -> bool {
        match (&self.kind, problem) {
            (KernelKind::Conv(k), Problem::Conv(p)) => {
                k.dtype_in == p.dtype_in
                    && k.dtype_wei == p.dtype_wei
                    && k.dtype_out == p.dtype_out
                    && k.layout.order() == p.layout.order()
            }
            (KernelKind::Gemm(k), Problem::Gemm(p)) => {
                k.dtype_a == p.dtype_a
                    && k.dtype_b == p.dtype_b
                    && k.dtype_c == p.dtype_c
                    && k.layout == p.layout
            }
            (KernelKind::Fmha(kernel), Problem::Fmha(problem)) => kernel.dtype == problem.dtype,
            _ => false,
        }
    }
}
