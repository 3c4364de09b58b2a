//! Attention as problems across the boundary.

use crate::ffi::CkStatus;
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::give;
use crate::ffi::mirror::{AsC, FromC, Member, mirror};
use crate::ffi::select::AsProblem;
use crate::problem::{FmhaProblem, Problem};
use crate::vocab::{
    Arch, Dtype, FmhaApi, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaQscale,
    FmhaRope,
};
use ck_select_types::fmha_problem;

fmha_problem! {
    mirror
    /// Attention, with the fields of CK's `FmhaProblem` and their numbers.
    CkFmhaProblem sized "ck_fmha_problem",
    [struct_size: usize = size_of::<CkFmhaProblem>(), "`sizeof(ck_fmha_problem)`.";] [reserved]
}

impl CkFmhaProblem {
    /// The problem of attention, its words checked and the rest not yet.
    ///
    /// # Safety
    /// As for [`AsProblem::problem`].
    pub(super) unsafe fn attention(self) -> Result<FmhaProblem, Failure> {
        // SAFETY: by contract.
        let problem = unsafe { FmhaProblem::from_c(self, Member::whole(CkStatus::InvalidProblem)) }?;
        Ok(problem.canonical())
    }
}

impl AsProblem for CkFmhaProblem {
    unsafe fn problem(self) -> Result<Problem, Failure> {
        // SAFETY: by contract.
        unsafe { self.attention() }.map(Problem::Fmha)
    }
}

/// As `ck_conv_problem_init`: forward fp16 attention of one query, key and head of 128 elements.
///
/// # Safety
/// `problem` points to a `ck_fmha_problem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_fmha_problem_init(problem: *mut CkFmhaProblem) -> CkStatus {
    // SAFETY: by contract, `problem` is valid for writing.
    boundary(|| unsafe { give(problem, "problem", FmhaProblem::new([1, 1], 1, 128).to_c()) })
}
