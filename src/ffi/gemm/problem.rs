//! GEMMs as problems across the boundary.

use crate::ffi::CkStatus;
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::give;
use crate::ffi::mirror::{AsC, FromC, Member, mirror};
use crate::ffi::select::AsProblem;
use crate::kernel::Mnk;
use crate::problem::{GemmProblem, GemmRequest, Groups, Problem};
use crate::vocab::{Arch, Dtype, GemmLayout, QuantMode, StreamKReduction};
use ck_select_types::{gemm_problem, gemm_request as request_fields};

gemm_problem! {
    mirror
    /// A GEMM: C (m x n) = A (m x k) times B (k x n).
    CkGemmProblem sized "ck_gemm_problem",
    [struct_size: usize = size_of::<CkGemmProblem>(), "`sizeof(ck_gemm_problem)`.";] []
}

request_fields! {
    mirror
    /// What a GEMM problem asks for besides one plain GEMM; only kernels that do what it says are then
    /// chosen.
    CkGemmRequest, [] []
}

impl AsProblem for CkGemmProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        let mut problem = unsafe { GemmProblem::from_c(self, Member::whole(CkStatus::InvalidProblem)) }?;
        let request = &mut problem.request;
        if let Some(quant) = super::request::completed(request.quant, [request.group_a, request.group_b])? {
            *request = request.scaled(quant);
        }
        // As it was initialised, a list's problem has no extents of its own.
        if let Some(largest) = request.groups.largest()
            && [problem.m, problem.n, problem.k] == [1; 3]
        {
            [problem.m, problem.n, problem.k] = largest.extents.map(i64::from);
        }
        Ok(Problem::Gemm(problem))
    }
}

/// As `ck_conv_problem_init`: a 1x1x1 fp8 GEMM of layout rcr.
///
/// # Safety
/// `problem` points to a `ck_gemm_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_gemm_problem_init(problem: *mut CkGemmProblem) -> CkStatus {
    // SAFETY: by contract, `problem` is valid for writing.
    boundary(|| unsafe { give(problem, "problem", GemmProblem::USUAL.to_c()) })
}
