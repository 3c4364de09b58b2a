//! Which problems a kernel computes, check by check:
//!
//! 1. [`Kernel::matches_request`]: operation, direction, variant
//! 2. [`Kernel::matches_types`]: types and layouts
//! 3. [`KernelKind::refusal`]: extents and splits; [`Kernel::matches`] is these three
//! 4. [`Kernel::runs_on`]: the architecture; a registry's kernel that passes these is eligible
//! 5. what the callback `supports` of a registered kernel says

use super::{Kernel, KernelKind};
use crate::each_operation;
use crate::field::{Field, position};
use crate::limits::LimitedKernel;
use crate::operation::Operation;
use crate::problem::Problem;
use crate::vocab::{Arch, Op};

impl Kernel {
    /// Whether the kernel computes the problem: what it asks for, in its types and layouts, with its extents
    /// and its split. The architecture is another matter ([`Kernel::runs_on`]).
    pub fn matches(&self, problem: &Problem) -> bool {
        self.kind.matches(problem)
    }

    /// See [`KernelKind::matches_request`].
    pub fn matches_request(&self, problem: &Problem) -> bool {
        self.kind.matches_request(problem)
    }

    /// See [`KernelKind::matches_types`].
    pub fn matches_types(&self, problem: &Problem) -> bool {
        self.kind.matches_types(problem)
    }

    /// Why the kernel does not compute the problem; `None` if it does ([`Kernel::matches`]).
    ///
    /// ```
    /// use ck_select_types::kernel::Kernel;
    /// use ck_select_types::problem::{ConvProblem, Problem};
    ///
    /// let kernel = Kernel::from_name(
    ///     "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_2x2x1_32x32x16_filter3x3",
    /// )?;
    /// let problem = ConvProblem { c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) };
    /// let reason = kernel.misfit(&Problem::from(problem)).unwrap();
    /// assert_eq!(reason, "it is made for filters of 3x3 and groups of one channel");
    /// # Ok::<(), ck_select_types::kernel::NameError>(())
    /// ```
    pub fn misfit(&self, problem: &Problem) -> Option<String> {
        let why = each_operation!((&self.kind, problem), (KernelKind(kernel), Problem(of)) => kernel.mismatch(of).map(|why| why.to_string()), {
            return Some(format!("it is a {} kernel", self.op()));
        });
        let other_types = || {
            (!self.matches_types(problem)).then(|| {
                let own = types(self.op(), KernelKind::fields(self.op()), &self.kind.values());
                let asked = types(self.op(), Problem::fields(self.op()), &problem.values());
                format!("its types and layout are {own}, not {asked}")
            })
        };
        why.or_else(other_types)
            .or_else(|| self.kind.refusal(problem, None).map(|refusal| refusal.to_string()))
    }

    /// Whether the kernel may run on an architecture; unknown ones on either side match all.
    #[inline]
    pub fn runs_on(&self, arch: Option<Arch>) -> bool {
        !matches!((self.kind.arch(), arch), (Some(own), Some(asked)) if own != asked)
            && (!self.kind.needs_scaled_instructions() || arch.is_none_or(Arch::multiplies_scaled))
    }
}

/// The first of the kernels that agree with a problem in most fields, if none computes it: why that one does not
/// ([`Kernel::misfit`]) says best what is missing.
pub fn closest<'k>(kernels: impl IntoIterator<Item = &'k Kernel>, problem: &Problem) -> Option<&'k Kernel> {
    let (asked, values) = (Problem::fields(problem.op()), problem.values());
    let own = KernelKind::fields(problem.op()).iter();
    let shared: Vec<(usize, i64)> = own
        .enumerate()
        .filter_map(|(at, field)| {
            let same = asked.iter().position(|other| other.name == field.name)?;
            Some((at, values[same]))
        })
        .collect();
    let agreements = |kernel: &Kernel| {
        let own = kernel.kind.values();
        let agree = shared.iter().filter(|&&(at, value)| own[at] == value).count();
        if kernel.op() == problem.op() { agree } else { 0 }
    };
    kernels
        .into_iter()
        .map(|kernel| (kernel, agreements(kernel)))
        .reduce(|best, one| if one.1 > best.1 { one } else { best })
        .map(|(kernel, _)| kernel)
}

impl KernelKind {
    /// See [`Kernel::matches`].
    pub fn matches(&self, problem: &Problem) -> bool {
        self.matches_request(problem) && self.matches_types(problem) && self.refusal(problem, None).is_none()
    }

    /// Whether the kernel computes what the problem asks for, in any types and layouts: the operation, for
    /// convolutions the direction, the number of spatial dimensions and the specialization
    /// ([`ConvKernel::matches_specialization`](super::ConvKernel::matches_specialization)), for GEMMs the
    /// variant ([`GemmKernel::matches_request`](super::GemmKernel::matches_request)), and for attention
    /// everything: there a kernel that breaks a rule computes something else
    /// ([`FmhaKernel::check`](super::FmhaKernel::check)).
    pub fn matches_request(&self, problem: &Problem) -> bool {
        each_operation!((self, problem), (KernelKind(kernel), Problem(of)) => kernel.matches_request(of), false)
    }

    /// Whether the kernel needs the matrix instructions of gfx950 and gfx1250 that scale their operands, or multiply
    /// 128 elements of at most 8 bits at once. Compiled for another architecture, such kernels compute zeros. Other
    /// instructions are not judged: CK composes larger ones of what there is.
    #[inline]
    fn needs_scaled_instructions(&self) -> bool {
        each_operation!(self, Self(kernel) => kernel.needs_scaled_instructions())
    }

    /// Whether operand types and layouts match the problem's. Convolution layouts that differ only in the
    /// number of dimensions (`nhwgc`, `ndhwgc`) count as equal: CK's tools use either for 3D.
    pub fn matches_types(&self, problem: &Problem) -> bool {
        each_operation!((self, problem), (KernelKind(kernel), Problem(of)) => kernel.matches_types(of), false)
    }
}

/// The types and the layout among the values of an operation's fields, as messages show them.
fn types(op: Op, fields: &[Field], values: &[i64]) -> String {
    let words = Operation::get(op).variant_fields.iter().filter(|name| **name != "direction");
    let word = |name: &&str| {
        let index = position(fields, name)?;
        let text = fields[index].words().map(|_| fields[index].text(values[index]))?;
        (!text.is_empty()).then_some(text)
    };
    words.filter_map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemDefaults;

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
                let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap();
                assert_eq!(kernel.matches_request(&problem), name == other, "{name} {request}");
                // Why not names the field of the problem.
                let why = kernel.misfit(&problem).filter(|why| !why.starts_with("its types"));
                let differs =
                    |field: &str| (name == other) || why.as_ref().is_some_and(|why| why.contains(field));
                let fields = ["batch", "groups", "stream_k", "quant"];
                assert!(fields.into_iter().any(differs), "{name} {request}: {why:?}");
            }
        }
    }

    #[test]
    fn a_kernel_answers_only_what_it_is_made_for() {
        let name = |direction: &str, end: &str| {
            let name = format!(
                "grouped_conv_{direction}_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_2x2x1_32x32x16{end}"
            );
            Kernel::from_name(&name).unwrap()
        };
        let plain = "N=1,C=64,K=64,Hi=8,Wi=8";
        for (end, problem, expected) in [
            ("", "Y=3,X=3,pad_h=1,pad_w=1", true),
            ("_filter1x1_stride1_pad0", "Y=1,X=1", true),
            ("_filter1x1_stride1_pad0", "Y=1,X=1,stride_h=2,stride_w=2", false),
            ("_filter1x1_stride1_pad0", "Y=3,X=3", false),
            ("_filter1x1_pad0", "Y=1,X=1,stride_h=2,stride_w=2", true),
            ("_filter1x1_pad0", "Y=1,X=1,pad_h=1,pad_w=1", false),
            ("_filter3x3", "Y=3,X=3,G=64", true),
            ("_filter3x3", "Y=3,X=3", false),
            ("_filter3x3", "Y=5,X=5,G=64", false),
            ("_gm8", "Y=3,X=3,G=64", true),
            ("_gm8", "Y=3,X=3", false),
            ("_gm8", "Y=3,X=3,G=4", false),
            ("_gm8", "Y=3,X=3,G=8", false),
        ] {
            let text = format!("{plain},{problem},dtype=fp16");
            let defaults = ProblemDefaults::new(Op::Conv);
            let problem = Problem::parse(Op::Conv, &text, &defaults).unwrap();
            let kernel = name("fwd", end);
            assert_eq!(kernel.matches_request(&problem), expected, "{end} {text}");
            assert_eq!(kernel.misfit(&problem).is_none(), expected, "{end} {text}");
        }
        // Kernels of other directions read along groups of several channels, too.
        let text = format!("{plain},Y=3,X=3,G=8,dtype=fp16,direction=bwd_weight");
        let problem = Problem::parse(Op::Conv, &text, &ProblemDefaults::new(Op::Conv)).unwrap();
        assert!(name("bwdw", "_gm8").matches_request(&problem), "{text}");
    }

    #[test]
    fn scaled_instructions_are_not_everywhere() {
        let deep = QUANT.replace("16x16x32", "16x16x128");
        for (name, [gfx942, gfx950, gfx1250]) in [
            (format!("gemm_universal_fp8_rcr_{BODY}"), [true; 3]),
            (
                format!("gemm_universal_fp8_rcr_{}", BODY.replace("32x32x16", "16x16x128")),
                [false, true, true],
            ),
            (format!("gemm_abquant_fp8_rcr_{deep}_aqg1x1x128_bqg1x1x128"), [false, true, true]),
        ] {
            let kernel = Kernel::from_name(&name).unwrap();
            for (arch, expected) in [("gfx942", gfx942), ("gfx950", gfx950), ("gfx1250", gfx1250)] {
                assert_eq!(kernel.runs_on(arch.parse().ok()), expected, "{name} {arch}");
            }
            assert!(kernel.runs_on(None));
        }
    }

    #[test]
    fn d_tensors_and_a_shuffled_b_count_only_in_requests_for_them() {
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
            let problem = Problem::parse(Op::Gemm, &text, &ProblemDefaults::new(Op::Gemm)).unwrap();
            let found = [&plain, &two, &shuffled]
                .map(|name| Kernel::from_name(name).unwrap().matches_request(&problem));
            assert_eq!(found, expected, "{request}");
        }
    }
}
