//! Selections for convolutions.

use std::ffi::c_char;

use super::CkConvProblem;
use crate::ffi::error::boundary;
use crate::ffi::select::{CkPredictions, CkRanked, CkSelection, explain, extract, predict, rank, select};
use crate::ffi::{CkRegistry, CkStatus};

/// Chooses the kernel to run for a problem: the best supported kernel by the first source that has an answer.
/// Fails with `CK_STATUS_NO_KERNEL` if no registered kernel computes the problem and supports it, and with
/// `CK_STATUS_OVERRIDE_FAILED` if an override names a kernel that cannot be used; a wrong kernel is never
/// returned. For attention, which is chosen for one stage, the problem's `family`, CK's rules say what a
/// kernel supports. `ck_select_kernel` is a short name for the convolutions' function.
///
/// Suited for the hot path: unless the options let it measure, it takes no lock, makes no system call and
/// does not allocate once warm, except to write a problem that is new to the file of `CK_SELECT_CAPTURE`. A
/// call that measures runs kernels on the options' stream and waits for them. With `no_model` or
/// `arch_unknown` a registry warns once: see `ck_log_set_callback`.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` and `selection` point to structs with their
/// `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_select_conv(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: `select` has the contract of this function.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// As `ck_registry_select_conv`, for callers that choose only convolutions; a GEMM's kernel is chosen by
/// `ck_registry_select_gemm`.
///
/// # Safety
/// As for `ck_registry_select_conv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_select_kernel(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: `select` has the contract of this function.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// Ranks the kernels for a problem by the model that serves it, best first; without one by the estimate,
/// unless the options turn it off, the shortest time first. At most `capacity` places are written; `count`
/// receives the total number, `left_out`, which may be NULL, that of kernels that compute the problem but
/// that the source cannot describe. `ranked` may be NULL if `capacity` is 0. The `supports`
/// callbacks are not called.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `ranked`
/// points to `capacity` structs, the first with its `struct_size` set, `count` to a `size_t`; `left_out` is
/// NULL or points to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_rank_conv(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: `rank` has the contract of this function.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// Predicts the speed of the kernel at an index for a problem. Fails with `CK_STATUS_NO_KERNEL` if the kernel
/// computes something else.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` and `predictions` point to structs with their
/// `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_predict_conv(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: `predict` has the contract of this function.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// Writes the features of a problem and the kernel at an index as the serving model sees them, in the model's
/// order; `count` receives their number.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set;
/// `features` points to `capacity` doubles, `count` to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_extract_conv(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: `extract` has the contract of this function.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// Explains a selection as human-readable text: which sources were asked, what each answered, and why it was
/// passed over.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `text`
/// points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_explain_conv(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: `explain` has the contract of this function.
    boundary(|| unsafe { explain(registry, problem, text) })
}
