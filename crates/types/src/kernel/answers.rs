//! Which problems a kernel can be asked for.

use super::{GemmKernel, Kernel, KernelKind};
use crate::problem::{GemmProblem, GemmRequest, Problem};
use crate::vocab::Arch;

impl Kernel {
    /// Whether the kernel computes the problem: what it asks for, in its types and layouts. The architecture
    /// is another matter ([`Kernel::runs_on`]).
    pub fn computes(&self, problem: &Problem) -> bool {
        self.kind.computes(problem)
    }

    /// See [`KernelKind::answers`].
    pub fn answers(&self, problem: &Problem) -> bool {
        self.kind.answers(problem)
    }

    /// See [`KernelKind::has_types_of`].
    pub fn has_types_of(&self, problem: &Problem) -> bool {
        self.kind.has_types_of(problem)
    }

    /// Whether it may run on an architecture; unknown ones on either side match all.
    pub fn runs_on(&self, arch: Option<Arch>) -> bool {
        !matches!((self.kind.arch(), arch), (Some(own), Some(asked)) if own != asked)
    }
}

impl KernelKind {
    /// See [`Kernel::computes`].
    pub fn computes(&self, problem: &Problem) -> bool {
        self.answers(problem) && self.has_types_of(problem)
    }

    /// Whether the kernel computes what the problem asks for, in any types and layouts: the operation, for
    /// convolutions the direction and the number of spatial dimensions, for GEMMs the variant
    /// ([`GemmKernel::answers`]), and for attention everything: there a kernel that breaks a rule computes
    /// something else ([`FmhaKernel::check`](super::FmhaKernel::check)).
    pub fn answers(&self, problem: &Problem) -> bool {
        match (self, problem) {
            (Self::Conv(kernel), Problem::Conv(problem)) => {
                kernel.direction == problem.direction && kernel.ndim == problem.ndim
            }
            (Self::Gemm(kernel), Problem::Gemm(problem)) => kernel.answers(problem),
            (Self::Fmha(kernel), Problem::Fmha(problem)) => kernel.supports(problem),
            _ => false,
        }
    }

    /// Whether operand types and layouts match the problem's. Convolution layouts that differ only in the
    /// number of dimensions (`nhwgc`, `ndhwgc`) count as equal: CK's tools use either for 3D.
    pub fn has_types_of(&self, problem: &Problem) -> bool {
        match (self, problem) {
            (Self::Conv(k), Problem::Conv(p)) => {
                k.dtype_in == p.dtype_in
                    && k.dtype_wei == p.dtype_wei
                    && k.dtype_out == p.dtype_out
                    && k.layout.order() == p.layout.order()
            }
            (Self::Gemm(k), Problem::Gemm(p)) => {
                k.dtype_a == p.dtype_a
                    && k.dtype_b == p.dtype_b
                    && k.dtype_c == p.dtype_c
                    && k.layout == p.layout
            }
            (Self::Fmha(kernel), Problem::Fmha(problem)) => kernel.dtype == problem.dtype,
            _ => false,
        }
    }
}

impl GemmKernel {
    /// Whether it is of the variant that a problem asks for. Batches, lists, Stream-K and scales must match
    /// the problem, because they are launch arguments; D tensors and a shuffled B must match only if the
    /// problem asks for them.
    pub fn answers(&self, problem: &GemmProblem) -> bool {
        let GemmRequest { batch, groups, stream_k, num_d, preshuffle, quant } = &problem.request;
        self.variant.batched == (*batch > 0)
            && self.grouped != groups.is_empty()
            && self.variant.stream_k == *stream_k
            && self.variant.quant == *quant
            && (*num_d == 0 || self.num_d_tensors == *num_d)
            && (!*preshuffle || self.preshuffle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemDefaults;
    use crate::vocab::Op;

    const BODY: &str = "compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16";
    const QUANT: &str = "compv3_cshuffle_intrawave_128x128x128_1x4x1_16x16x32";

    /// One kernel of each variant, and the request that only this kernel answers.
    #[test]
    fn a_request_is_answered_by_such_kernels_only() {
        let variants = [
            (format!("gemm_universal_fp8_rcr_{BODY}"), ""),
            (format!("gemm_fp8_rcr_{BODY}_batched"), ",batch=1"),
            (format!("grouped_gemm_fp8_rcr_{BODY}"), ",groups=64x64x64*2"),
            (format!("gemm_fp8_rcr_{BODY}_streamk"), ",stream_k=atomic"),
            (format!("gemm_fp8_rcr_{BODY}_streamk_tree"), ",stream_k=tree"),
            (
                format!("gemm_abquant_fp8_rcr_{QUANT}_aqg1x1x128_bqg1x128x128"),
                ",quant=abquant,group_b=1x128x128",
            ),
            (format!("gemm_abquant_fp8_rcr_{QUANT}_aqg1x1x128_bqg1x1x128"), ",quant=abquant"),
            (format!("gemm_rowcolquant_fp8_rcr_{QUANT}"), ",quant=rowcolquant"),
        ];
        for (name, _) in &variants {
            let kernel = Kernel::from_name(name).unwrap();
            for (other, request) in &variants {
                let text = format!("M=64,N=64,K=64{request}");
                let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::of(Op::Gemm)).unwrap();
                assert_eq!(kernel.answers(&problem), name == other, "{name} {request}");
            }
        }
    }

    #[test]
    fn d_tensors_and_a_shuffled_b_count_where_they_are_asked_for() {
        let plain = format!("gemm_fp16_rcr_{BODY}");
        let two = format!("gemm_fp16_rcrr_{BODY}_multid_MultiDAdd_d2");
        let shuffled = format!("gemm_preshuffle_fp16_rcr_{BODY}");
        for (request, expected) in [
            ("", [true, true, true]),
            (",num_d=2", [false, true, false]),
            (",num_d=1", [false, false, false]),
            (",preshuffle=true", [false, false, true]),
        ] {
            let text = format!("M=64,N=64,K=64{request}");
            let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::of(Op::Gemm)).unwrap();
            let found =
                [&plain, &two, &shuffled].map(|name| Kernel::from_name(name).unwrap().answers(&problem));
            assert_eq!(found, expected, "{request}");
        }
    }
}
