//! Which words of a problem a file specifies itself.

use crate::cells::Fields;
use crate::fmha;
use crate::kernel::KernelKind;
use crate::problem::{ConvProblem, GemmProblem, Problem};

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
    /// Of attention, what kernels are made for: family, mask, bias and the like.
    pub signature: bool,
}

impl StatedFields {
    /// The words that named cells specify.
    pub fn by(fields: &dyn Fields) -> Self {
        let has = |name: &str| fields.cell(name).is_some();
        Self {
            direction: ["direction", "variant"].into_iter().any(has),
            dtype: ["dtype", "dtype_in", "dtype_a", "data_type"].into_iter().any(has),
            other_types: ["dtype_wei", "dtype_out", "dtype_b", "dtype_c"].into_iter().any(has),
            layout: has("layout"),
            signature: fmha::has_signature(has),
        }
    }

    /// A problem of which these words are specified, as a kernel would run it: the other words are the
    /// kernel's. `None` if the kernel computes something else.
    pub fn completed(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        self.filled(problem, kernel).filter(|problem| kernel.computes(problem))
    }

    /// The same whether the kernel computes it or not; `None` if it is of another operation.
    pub fn filled(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        Some(match (problem, kernel) {
            (Problem::Conv(asked), KernelKind::Conv(own)) => {
                let mut problem: ConvProblem = *asked;
                if !self.direction {
                    problem.direction = own.direction;
                }
                if !self.dtype {
                    problem.dtype_in = own.dtype_in;
                }
                if !self.other_types {
                    (problem.dtype_wei, problem.dtype_out) = (own.dtype_wei, own.dtype_out);
                }
                if !self.layout {
                    problem.layout = own.layout;
                }
                problem.into()
            }
            (Problem::Gemm(asked), KernelKind::Gemm(own)) => {
                let mut problem: GemmProblem = *asked;
                if !self.dtype {
                    problem.dtype_a = own.dtype_a;
                }
                if !self.other_types {
                    (problem.dtype_b, problem.dtype_c) = (own.dtype_b, own.dtype_c);
                }
                if !self.layout {
                    problem.layout = own.layout;
                }
                // Stream-K and scales are the kernel's, unless they are asked for.
                problem.request.stream_k = problem.request.stream_k.or(own.variant.stream_k);
                if let (None, Some(scales)) = (problem.request.quant, own.variant.quant) {
                    problem.request = problem.request.scaled(scales);
                }
                problem.into()
            }
            // If a file specifies only sizes, the rest comes from the kernel, as in upstream's benchmarks.
            (Problem::Fmha(asked), KernelKind::Fmha(own)) => {
                let mut problem = if self.signature { *asked } else { own.sign(asked) };
                problem.dtype = if self.dtype { asked.dtype } else { own.dtype };
                problem.into()
            }
            _ => return None,
        })
    }
}
