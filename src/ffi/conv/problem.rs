//! Convolutions as problems across the boundary.

use crate::ffi::CkStatus;
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::give;
use crate::ffi::mirror::{AsC, FromC, Member, mirror};
use crate::ffi::select::AsProblem;
use crate::problem::{ConvProblem, Problem};
use crate::vocab::{Arch, ConvLayout, Direction, Dtype};
use ck_select_types::conv_problem;

conv_problem! {
    mirror
    /// A grouped convolution. Axes are in the order depth, height, width. A 2D problem has extent 1, stride
    /// 1, dilation 1 and no padding along the depth; a 1D problem also along the height. `c` and `k` are
    /// totals over all groups.
    CkConvProblem sized "ck_conv_problem",
    [struct_size: usize = size_of::<CkConvProblem>(), "`sizeof(ck_conv_problem)`.";] [reserved]
}

impl AsProblem for CkConvProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        unsafe { ConvProblem::from_c(self, Member::whole(CkStatus::InvalidProblem)) }.map(Problem::Conv)
    }
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
    boundary(|| unsafe { give(problem, "problem", ConvProblem::USUAL.to_c()) })
}
