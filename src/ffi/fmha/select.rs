//! Selections for attention.

use std::ffi::c_char;

use super::CkFmhaProblem;
use crate::ffi::error::{Failure, boundary};
use crate::ffi::input::give;
use crate::ffi::select::{
    CkPredictions, CkRanked, CkSelection, explain, extract, predict, rank, read_call, select,
};
use crate::ffi::{CkRegistry, CkStatus};
use crate::problem::{FmhaProblem, Problem};

/// As `ck_registry_select_conv`, for one stage of attention.
///
/// # Safety
/// As for `ck_registry_select_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_select_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: `select` has the contract of this function.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// As `ck_registry_rank_conv`, for attention.
///
/// # Safety
/// As for `ck_registry_rank_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_rank_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: `rank` has the contract of this function.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// As `ck_registry_predict_conv`, for attention.
///
/// # Safety
/// As for `ck_registry_predict_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_predict_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: `predict` has the contract of this function.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// As `ck_registry_extract_conv`, for attention.
///
/// # Safety
/// As for `ck_registry_extract_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_extract_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: `extract` has the contract of this function.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// As `ck_registry_explain_conv`, for attention.
///
/// # Safety
/// As for `ck_registry_explain_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_explain_fmha(
    registry: *const CkRegistry,
    problem: *const CkFmhaProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: `explain` has the contract of this function.
    boundary(|| unsafe { explain(registry, problem, text) })
}

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
        // with its size set and a valid `arch`.
        let (registry, problem) = unsafe { read_call(registry, problem) }?;
        let Problem::Fmha(problem) = problem else { return Ok(()) };
        let split = FmhaProblem { num_splits: 1, ..problem };
        split.validate().map_err(Failure::of(CkStatus::InvalidProblem))?;
        // SAFETY: by contract, `splits` is NULL or valid for writing.
        unsafe { give(splits, "splits", registry.fmha_splits(&problem, most)) }
    })
}
