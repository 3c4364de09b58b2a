//! Mixtures of experts across the boundary.

use std::ffi::{CStr, c_char};

use crate::ffi::CkStatus;
use crate::ffi::descriptors::{Descriptor, described};
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::{give, read_array, read_text};
use crate::ffi::kernels::operation_callbacks;
use crate::ffi::mirror::{AsC, FromC, Member, Spelled, mirror, parsed, spelled};
use crate::ffi::select::AsProblem;
use crate::kernel::{KernelKind, Mnk, MoeKernel};
use crate::problem::{MoeProblem, Problem};
use crate::registry::NewKernel;
use crate::vocab::{Arch, Dtype, GemmLibrary, MoeActivation, MoeEpilogue, MoeQuant, MoeStage};
use ck_select_types::routing::Routing;
use ck_select_types::{moe_kernel, moe_problem};

spelled! {
    MoeStage = None;
    MoeQuant = None;
    MoeActivation = None;
    MoeEpilogue = None;
}

moe_problem! {
    mirror
    /// Products of the rows of some experts, each with the weights of its expert.
    CkMoeProblem sized "ck_moe_problem",
    [
        struct_size: usize = size_of::<CkMoeProblem>(), "`sizeof(ck_moe_problem)`.";
        histogram: *const i32 = std::ptr::null(),
            "Rows of each expert, in any order; NULL if not known, or if `active`, `largest` and `tiles` say what \
             they come to, as they do where a callback receives a problem.";
        histogram_count: usize = 0, "Numbers of `histogram`.";
    ] []
}

moe_kernel! {
    mirror
    /// A kernel of mixtures of experts.
    CkMoeKernelDesc sized "ck_moe_kernel_desc",
    [
        struct_size: usize = size_of::<CkMoeKernelDesc>(), "`sizeof(ck_moe_kernel_desc)`.";
        name: *const c_char = std::ptr::null(),
            "The name under which it is registered; NULL for the name of its configuration.";
    ] [reserved]
}

operation_callbacks!(MoeProblem: supports_moe, run_moe, "ck_bench_prepare_moe");

impl AsProblem for CkMoeProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        let problem = unsafe { MoeProblem::from_c(self, Member::whole(CkStatus::InvalidProblem)) }?;
        if self.histogram.is_null() {
            return Ok(Problem::Moe(problem));
        }
        // SAFETY: by contract, `histogram` has so many numbers.
        let rows = unsafe { read_array(self.histogram, self.histogram_count, "histogram") }?;
        let routing = Routing::from_rows(rows.iter().map(|&rows| rows.into()));
        let routed = routing.and_then(|routing| problem.with_histogram(&routing));
        routed.map(Problem::Moe).map_err(Failure::of(CkStatus::InvalidProblem))
    }
}

/// As `ck_conv_problem_init`: stage 1 of one token, one expert, one column and a depth of 1, in bf16.
///
/// # Safety
/// `problem` points to a `ck_moe_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_moe_problem_init(problem: *mut CkMoeProblem) -> CkStatus {
    // SAFETY: by contract, `problem` is valid for writing.
    boundary(|| unsafe { give(problem, "problem", MoeProblem::USUAL.to_c()) })
}

impl Descriptor for CkMoeKernelDesc {
    unsafe fn kernel(&self) -> Result<NewKernel, Failure> {
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        unsafe { described(*self, self.name, MoeKernel::name, |kernel, _| KernelKind::Moe(kernel)) }
    }
}

crate::ffi::functions::functions_of_operation! {
    CkMoeProblem, CkMoeKernelDesc of MoeKernel,
    ck_moe_kernel_desc_init ck_registry_add_moe_kernels ck_registry_select_moe ck_registry_rank_moe
    ck_registry_predict_moe ck_registry_extract_moe ck_registry_explain_moe
}
