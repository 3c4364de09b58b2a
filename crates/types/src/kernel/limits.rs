//! What a kernel needs of extents and splits, computed once for many problems.

use super::{Kernel, KernelKind};
use crate::each_operation;
use crate::limits::{Judged, LimitedKernel, ProductLimits, Refusal};
use crate::problem::{Checked, Problem};
use crate::vocab::{Arch, GemmLibrary};

/// A kernel's limits on extents and splits ([`KernelKind::refusal`]), as far as they take time to compute: for the
/// select path.
#[derive(Debug, Clone, Copy)]
pub struct Limits(Judged);

impl Kernel {
    /// [`Kernel::matches`] on the problem's architecture, or on `arch` if that names none, by limits that are
    /// the kernel's.
    #[inline]
    pub fn matches_within(&self, limits: &Limits, problem: &Problem, arch: Option<Arch>) -> bool {
        self.matches_request(problem)
            && self.matches_types(problem)
            && !self.kind.is_refused(limits, problem, arch)
    }
}

impl KernelKind {
    /// Why CK would not launch the kernel for a problem that it matches otherwise, on the problem's
    /// architecture, or on `arch` if that names none. A problem that leaves the number of parts is judged as
    /// one part. On GPUs of other vendors, kernels under CK's names are not CK's; what holds everywhere is that
    /// each part has a step.
    pub fn refusal(&self, problem: &Problem, arch: Option<Arch>) -> Option<Refusal> {
        self.refusal_within(None, problem, arch)
    }

    /// Whether the kernel is a candidate for a problem in so many parts. AITER's kernels are candidates for
    /// one part alone unless somebody gives numbers: no model learned their splits, and what the estimate
    /// chooses wins less often than never to split (docs/aiter.md).
    #[inline]
    pub fn admits(&self, problem: Checked<'_>, parts: i32) -> bool {
        parts == 1 || !problem.has_usual_choice() || self.library() != Some(GemmLibrary::Aiter)
    }

    /// The kernel's limits on extents and splits.
    pub fn limits(&self) -> Limits {
        Limits(each_operation!(self, Self(kernel) => kernel.judged()))
    }

    /// Whether there is a [`KernelKind::refusal`], by limits that are the kernel's.
    #[inline]
    pub fn is_refused(&self, limits: &Limits, problem: &Problem, arch: Option<Arch>) -> bool {
        let limits = match &limits.0 {
            Judged::Never => return false,
            Judged::ByFields => None,
            Judged::By(limits) => Some(limits),
        };
        self.refusal_within(limits, problem, arch).is_some()
    }

    #[inline]
    fn refusal_within(
        &self,
        limits: Option<&ProductLimits>,
        problem: &Problem,
        arch: Option<Arch>,
    ) -> Option<Refusal> {
        each_operation!(
            (self, problem),
            (Self(kernel), Problem(of)) => {
                let refusal = kernel.refusal(limits, of)?;
                // Asked last, because nearly no pair gets here.
                let gpus = [kernel.arch, of.arch.or(arch)];
                if gpus.iter().flatten().all(Arch::is_amd) { Some(refusal) } else { kernel.refusal_of_parts(of) }
            },
            None
        )
    }
}
