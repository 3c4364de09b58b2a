//! Parts of a sequence's keys.

use super::CkFmhaProblem;
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::{give, read_handle, read_struct};
use crate::ffi::{CkRegistry, CkStatus};
use crate::problem::FmhaProblem;

/// Chooses the number of parts into which the keys of a sequence are split, by the estimate: the power of two
/// up to `most` for which the fastest kernels of both stages together take the least time. 1 if the registry
/// lacks kernels of either stage, or an estimate for the architecture. The problem's own `num_splits` and
/// `family` are ignored.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `splits`
/// points to an `int64_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_choose_fmha_splits(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    most: i64,
    splits: *mut i64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `problem` is NULL or a struct
        // with its size set.
        let (registry, problem) = unsafe { (read_handle(registry)?, read_struct(problem)?) };
        // SAFETY: by contract, `arch` is valid.
        let problem = unsafe { problem.attention() }?;
        let split = FmhaProblem { num_splits: 1, ..problem };
        split.validate().map_err(Failure::of(CkStatus::InvalidProblem))?;
        // SAFETY: by contract, `splits` is NULL or valid for writing.
        unsafe { give(splits, "splits", registry.fmha_splits(&problem, most)) }
    })
}
