//! Why a kernel does not compute a problem.

use super::{ConvKernel, GemmKernel, Kernel, KernelKind};
use crate::problem::{ConvProblem, GemmRequest, Problem};
use crate::vocab::{Direction, Specialization};

impl Kernel {
    /// Why it does not compute the problem; `None` if it does ([`Kernel::computes`]).
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
        let types = |own: String, asked: String| {
            (!self.has_types_of(problem)).then(|| format!("its types and layout are {own}, not {asked}"))
        };
        match (&self.kind, problem) {
            (KernelKind::Fmha(kernel), Problem::Fmha(problem)) => {
                kernel.check(problem).err().map(|broken| broken.to_string())
            }
            (KernelKind::Gemm(k), Problem::Gemm(p)) => {
                if !k.answers(p) {
                    return Some(k.misfit(&p.request));
                }
                let own = format!("{} {} {} {}", k.dtype_a, k.dtype_b, k.dtype_c, k.layout);
                types(own, format!("{} {} {} {}", p.dtype_a, p.dtype_b, p.dtype_c, p.layout))
            }
            (KernelKind::Conv(k), Problem::Conv(p)) => k.misfit(p).or_else(|| {
                let own = format!("{} {} {} {}", k.dtype_in, k.dtype_wei, k.dtype_out, k.layout);
                types(own, format!("{} {} {} {}", p.dtype_in, p.dtype_wei, p.dtype_out, p.layout))
            }),
            _ => Some(format!("it is a {} kernel", self.op())),
        }
    }
}

impl GemmKernel {
    /// What the problem would have to ask for, for the first thing in which they differ.
    fn misfit(&self, request: &GemmRequest) -> String {
        let GemmRequest { batch, groups, stream_k, num_d, preshuffle: _, quant } = request;
        if self.variant.batched != (*batch > 0) {
            let own = if self.variant.batched { "a batch" } else { "no batch" };
            return format!("it is for {own} (batch)");
        }
        if self.grouped == groups.is_empty() {
            let own = if self.grouped { "a list" } else { "no list" };
            return format!("it is for {own} of GEMMs (groups)");
        }
        if self.variant.stream_k != *stream_k {
            return match self.variant.stream_k {
                Some(own) => format!("it is a Stream-K kernel (stream_k={own})"),
                None => "it is not a Stream-K kernel (stream_k)".to_owned(),
            };
        }
        if self.variant.quant != *quant {
            return match self.variant.quant {
                Some(own) => format!("its operands have other scales (quant={})", own.mode),
                None => "its operands have no scales (quant)".to_owned(),
            };
        }
        if *num_d > 0 && self.num_d_tensors != *num_d {
            return format!("it reads {} D tensors (num_d)", self.num_d_tensors);
        }
        "it reads B as it is (preshuffle)".to_owned()
    }
}

impl ConvKernel {
    fn misfit(&self, problem: &ConvProblem) -> Option<String> {
        if self.direction != problem.direction {
            return Some(format!("its direction is {}", self.direction));
        }
        if self.ndim != problem.ndim {
            return Some(format!("it is for {} dimensions", self.ndim));
        }
        if self.is_made_for(problem) {
            return None;
        }
        let groups = self.num_groups_to_merge;
        Some(match self.specialization {
            Specialization::Filter3x3 if !is_3x3(problem) => {
                "it is made for filters of 3x3 and groups of one channel".to_owned()
            }
            Specialization::Filter1x1Pad0 if !is_1x1(problem, false) => {
                "it is made for filters of 1x1 without padding".to_owned()
            }
            Specialization::Filter1x1Stride1Pad0 if !is_1x1(problem, true) => {
                "it is made for filters of 1x1 and strides of 1 without padding".to_owned()
            }
            _ if self.direction == Direction::Forward => {
                format!(
                    "it merges {groups} groups, of which the problem has no multiple, or not of one channel"
                )
            }
            _ => format!("it merges {groups} groups, of which the problem has no multiple"),
        })
    }

    /// Whether its specialization and its merged groups admit the problem, as the kernels of CK check at launch.
    /// What a name leaves out admits everything. The widths of memory accesses are not judged: short names do
    /// not tell them, and which extent they divide depends on the layout.
    #[inline]
    pub fn is_made_for(&self, problem: &ConvProblem) -> bool {
        // Nearly all kernels are made for everything.
        (self.specialization == Specialization::Default && self.num_groups_to_merge <= 1)
            || self.admits(problem)
    }

    fn admits(&self, problem: &ConvProblem) -> bool {
        let merges = self.num_groups_to_merge > 1;
        let fits = match self.specialization {
            Specialization::Default => true,
            Specialization::Filter3x3 => is_3x3(problem),
            Specialization::Filter1x1Pad0 => is_1x1(problem, false),
            Specialization::Filter1x1Stride1Pad0 => is_1x1(problem, true),
        };
        // Forward kernels read along groups of one channel.
        let one_channel = self.direction != Direction::Forward || problem.c == problem.g;
        fits && (!merges || one_channel && problem.g % i64::from(self.num_groups_to_merge) == 0)
    }
}

fn is_1x1(problem: &ConvProblem, of_stride_1: bool) -> bool {
    let is_one = |extents: [i64; 3]| extents == [1; 3];
    is_one(problem.filter)
        && (!of_stride_1 || is_one(problem.stride))
        && problem.pad_left == [0; 3]
        && problem.pad_right == [0; 3]
}

/// Of groups with one channel: such kernels are for depthwise convolutions.
fn is_3x3(problem: &ConvProblem) -> bool {
    let axes = 3 - usize::from(problem.ndim.clamp(1, 3));
    problem.filter[axes..].iter().all(|&extent| extent == 3) && problem.c == problem.g
}
