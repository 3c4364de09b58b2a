//! Problems across the boundary.

use super::CkStatus;
use super::error::{Failure, boundary};
use super::gemm_request;
use super::input::{Versioned, read_struct};
use super::mirror::{AsC, FromC, init, mirror};
use crate::kernel::Mnk;
use crate::problem::{ConvProblem, GemmProblem, GemmRequest, Groups, Problem};
use crate::vocab::{Arch, ConvLayout, Direction, Dtype, GemmLayout, QuantMode, StreamKReduction};
use ck_select_types::{conv_problem, gemm_problem, gemm_request as request_fields};

conv_problem! {
    mirror
    /// A grouped convolution. Axes are in the order depth, height, width. A 2D problem has extent 1, stride 1,
    /// dilation 1 and no padding along the depth; a 1D problem also along the height. `c` and `k` are totals over
    /// all groups.
    CkConvProblem sized "ck_conv_problem",
    [struct_size: usize = size_of::<CkConvProblem>(), "`sizeof(ck_conv_problem)`.";] [reserved]
}

gemm_problem! {
    mirror
    /// A GEMM: C (m x n) = A (m x k) times B (k x n).
    CkGemmProblem sized "ck_gemm_problem",
    [struct_size: usize = size_of::<CkGemmProblem>(), "`sizeof(ck_gemm_problem)`.";] []
}

request_fields! {
    mirror
    /// What a GEMM problem asks for beside one plain GEMM; only kernels that do what it says are then chosen.
    CkGemmRequest, [] []
}

/// Initialises a problem with `struct_size` and defaults. A convolution is a forward bf16 NHWGC one of one
/// image, channel and group with 1x1 extents; a GEMM is 1x1x1, fp8, of layout rcr; attention is forward,
/// fp16, in batch mode, of one sequence with one query, key and head of 128 elements.
///
/// # Safety
/// `problem` points to a `ck_conv_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_conv_problem_init(problem: *mut CkConvProblem) -> CkStatus {
    // SAFETY: by contract, `problem` is valid for writing.
    boundary(|| unsafe { init(problem, "problem", &ConvProblem::USUAL) })
}

/// As `ck_conv_problem_init`: a 1x1x1 fp8 GEMM of layout rcr.
///
/// # Safety
/// `problem` points to a `ck_gemm_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_gemm_problem_init(problem: *mut CkGemmProblem) -> CkStatus {
    // SAFETY: by contract, `problem` is valid for writing.
    boundary(|| unsafe { init(problem, "problem", &GemmProblem::USUAL) })
}

/// A problem struct of any operation.
pub(super) trait AsProblem: Versioned {
    /// The problem, its words checked and the rest not yet.
    ///
    /// # Safety
    /// Its addresses are what the struct's documentation says.
    unsafe fn problem(self) -> Result<Problem, Failure>;
}

impl AsProblem for CkConvProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        unsafe { ConvProblem::from_c(self, "", CkStatus::InvalidProblem) }.map(Problem::Conv)
    }
}

impl AsProblem for CkGemmProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        let mut problem = unsafe { GemmProblem::from_c(self, "", CkStatus::InvalidProblem) }?;
        let request = &mut problem.request;
        if let Some(quant) = gemm_request::completed(request.quant, [request.group_a, request.group_b])? {
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

/// Reads a problem without validating it: the registry does, once, and only where no equal one was decided
/// before.
///
/// # Safety
/// As for [`read_struct`]; its `arch` is NULL or a NUL-terminated string, and its other addresses are what
/// the struct's documentation says.
pub(super) unsafe fn read_problem<T: AsProblem>(address: *const T) -> Result<Problem, Failure> {
    // SAFETY: by contract, `address` is NULL or a struct with its size set.
    let raw = unsafe { read_struct(address) }?;
    // SAFETY: by contract.
    unsafe { raw.problem() }
}
