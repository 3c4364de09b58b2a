//! Selections for GEMMs.

use std::ffi::c_char;

use super::CkGemmProblem;
use crate::ffi::error::boundary;
use crate::ffi::select::{CkPredictions, CkRanked, CkSelection, explain, extract, predict, rank, select};
use crate::ffi::{CkRegistry, CkStatus};

/// As `ck_registry_select_conv`, for a GEMM.
///
/// # Safety
/// As for `ck_registry_select_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_select_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: `select` has the contract of this function.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// As `ck_registry_rank_conv`, for a GEMM.
///
/// # Safety
/// As for `ck_registry_rank_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_rank_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: `rank` has the contract of this function.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// As `ck_registry_predict_conv`, for a GEMM.
///
/// # Safety
/// As for `ck_registry_predict_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_predict_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: `predict` has the contract of this function.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// As `ck_registry_extract_conv`, for a GEMM.
///
/// # Safety
/// As for `ck_registry_extract_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_extract_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: `extract` has the contract of this function.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// As `ck_registry_explain_conv`, for a GEMM.
///
/// # Safety
/// As for `ck_registry_explain_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_explain_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: `explain` has the contract of this function.
    boundary(|| unsafe { explain(registry, problem, text) })
}
