//! Choosing, ranking, predicting, explaining.

use std::ffi::{CString, c_char, c_void};
use std::mem::offset_of;
use std::sync::OnceLock;

use super::error::{Failure, boundary};
use super::input::{Versioned, output, read_registry, room, write_output};
use super::memory::give_text;
use super::problems::{AsProblem, CkConvProblem, CkGemmProblem, read_any_problem, read_problem};
use super::words::word;
use super::{CkRegistry, CkStatus};
use crate::problem::FieldSet;
use crate::registry::{SelectError, Source};
use crate::vocab::Op;

/// Who chose a kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkSource {
    /// An override file.
    Override = 0,
    /// A winner that was measured earlier.
    Store = 1,
    /// A model's prediction.
    Model = 2,
    /// Measured now.
    Search = 3,
    /// The registered priority.
    Priority = 4,
    /// An estimate, where nothing was measured.
    Estimate = 5,
}

/// A chosen kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkSelection {
    /// `sizeof(ck_selection)`, set by the caller.
    pub struct_size: usize,
    /// Its name. Lives until the registry is destroyed or, once the kernel is removed, until `ck_registry_compact`.
    pub name: *const c_char,
    /// What its owner wants to get back.
    pub user: *mut c_void,
    /// Its place among the registered kernels at the time of the call.
    pub index: usize,
    /// Its place in the order of the source, counted from 0.
    pub rank: usize,
    /// Kernels that stand before it in that order and do not support the problem.
    pub unsupported: usize,
    /// What the model says of it, in the unit of its target, usually TFLOPS; what the estimate says, in microseconds; NaN from
    /// other sources.
    pub score: f64,
    /// How long it took when it was measured, in milliseconds; NaN when it was not.
    pub measured_ms: f64,
    /// The state of the registry that was asked: it rises with every change.
    pub generation: u64,
    /// A `ck_source`: who chose it.
    pub source: i32,
    /// 1 when the problem lies outside of what the model saw in training, else 0.
    pub out_of_range: i32,
    /// The fields in which it does, a bit for each: `ck_problem_field_name` has their names.
    pub out_of_range_fields: u64,
    /// 1 when no kernel that was measured for the model had the pipeline or the suffixes of this one, else 0.
    pub unmeasured: i32,
    /// 1 when the model is for one architecture and neither the problem nor the options name any, else 0: the device may
    /// be another one.
    pub arch_unknown: i32,
    /// 1 when the first kernel by priority was taken only because no model and nothing else had an answer, else 0.
    pub no_model: i32,
    /// Always 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and addresses.
unsafe impl Versioned for CkSelection {
    const NAME: &'static str = "ck_selection";
    const LEAST: usize = offset_of!(Self, index);
}

/// One place of a ranking.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkRanked {
    /// The kernel's name. Lives as long as that of a selection.
    pub name: *const c_char,
    /// What its owner wants to get back.
    pub user: *mut c_void,
    /// Its place among the registered kernels.
    pub index: usize,
    /// What the model says of it.
    pub score: f64,
    /// 1 when the place before or behind has the same score, else 0: the model does not tell them apart.
    pub tied: i32,
    /// 1 when no kernel that was measured for the model had the pipeline or the suffixes of this one, else 0.
    pub unmeasured: i32,
}

/// Chooses the kernel to run for a convolution: the best supported one by the first source that has an answer.
///
/// On the hot path, unless the options let it measure: takes no lock, makes no system call and does not allocate once it
/// is warm. With `CK_SELECT_CAPTURE`, a problem that the file does not hold yet is written to it by the call, or by one that is
/// writing already: then a call makes system calls, but never waits for another one. A call that measures runs kernels on
/// the options' stream and waits for them.
///
/// A registry that chooses without knowing enough says so once, on standard error as long as neither
/// `ck_set_log_callback` was called nor `CK_SELECT_LOG` says otherwise: when no model is for the problem (`no_model`), and
/// when a model that is built in is asked for an architecture that nobody named (`arch_unknown`).
///
/// Fails with `CK_STATUS_NO_KERNEL` when no registered kernel fits and is supported, never with a wrong kernel; with
/// `CK_STATUS_OVERRIDE_FAILED` when an override names a kernel that cannot be taken.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` and `selection` point to structs with their `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_select_kernel(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// Chooses the kernel to run for a GEMM; see `ck_select_kernel`.
///
/// # Safety
/// As for `ck_select_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_select_gemm_kernel(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    selection: *mut CkSelection,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { select(registry, problem, selection) })
}

/// # Safety
/// As for `ck_select_kernel`.
unsafe fn select<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    selection: *mut CkSelection,
) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    let (registry, problem) = unsafe { (read_registry(registry)?, read_any_problem(problem)?) };
    // SAFETY: the caller's contract.
    let selection = unsafe { room(selection) }?;
    let chosen = registry.select(&problem).map_err(select_failure)?;
    let value = CkSelection {
        struct_size: size_of::<CkSelection>(),
        name: chosen.entry.c_name().as_ptr(),
        user: chosen.entry.user().0,
        index: chosen.index,
        rank: chosen.rank,
        unsupported: chosen.unsupported,
        score: chosen.score.unwrap_or(f64::NAN),
        measured_ms: chosen.measured_ms.unwrap_or(f64::NAN),
        generation: chosen.generation,
        source: match chosen.source {
            Source::Override => CkSource::Override,
            Source::Store => CkSource::Store,
            Source::Model => CkSource::Model,
            Source::Search => CkSource::Search,
            Source::Priority => CkSource::Priority,
            Source::Estimate => CkSource::Estimate,
        } as i32,
        out_of_range: chosen.out_of_range.into(),
        out_of_range_fields: chosen.outside.bits(),
        unmeasured: chosen.unmeasured.into(),
        arch_unknown: chosen.arch_unknown.into(),
        no_model: chosen.no_model.into(),
        reserved: 0,
    };
    // SAFETY: the caller's contract.
    unsafe { selection.write(value) };
    Ok(())
}

fn select_failure(error: SelectError) -> Failure {
    let status = match error {
        // Said as the functions say it that find it while they read the problem.
        SelectError::Problem(ref field) => return Failure::new(CkStatus::InvalidProblem, field),
        SelectError::Override { .. } => CkStatus::OverrideFailed,
        SelectError::NoModel { .. } => CkStatus::NoModel,
        SelectError::NotThere { .. } => CkStatus::NotFound,
        SelectError::Rank(_) => CkStatus::InvalidKernel,
        SelectError::NoKernel { .. } => CkStatus::NoKernel,
    };
    Failure::new(status, error)
}

/// Writes the name of a field of an operation's problems, by its bit in `out_of_range_fields`: "N", "direction" and so on;
/// "features" stands for what the model's features make of them. To walk over all, count from 0 until
/// `CK_STATUS_NOT_FOUND`. `op` is a `ck_op`; the text is constant.
///
/// # Safety
/// `name` points to an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_problem_field_name(op: i32, bit: usize, name: *mut *const c_char) -> CkStatus {
    boundary(|| {
        let name = output(name, "name")?;
        let op = word("op", op, Op::ALL, Op::WORDS)?;
        let names = field_names(op);
        let found = names.get(bit).ok_or_else(|| {
            let message = format!("{op} problems have {} fields, and none at {bit}", names.len());
            Failure::new(CkStatus::NotFound, message)
        })?;
        // SAFETY: the caller's contract.
        unsafe { write_output(name, found.as_ptr()) };
        Ok(())
    })
}

/// The names of an operation's fields, as C wants them.
fn field_names(op: Op) -> &'static [CString] {
    static NAMES: [OnceLock<Vec<CString>>; 2] = [const { OnceLock::new() }; 2];
    let make = || FieldSet::fields(op).iter().filter_map(|&name| CString::new(name).ok()).collect();
    NAMES.get(op as usize).map_or(&[], |names| names.get_or_init(make).as_slice())
}

/// Ranks the kernels for a convolution by the model that fits, best first. At most `capacity` are written, and to
/// `count` how many there are in all; `ranked` may be NULL when `capacity` is 0. Support is not asked.
///
/// `left_out` gets the number of kernels that compute the problem and that the model cannot describe: they have no place;
/// it may be NULL.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `ranked` points to
/// `capacity` structs, `count` to a `size_t`; `left_out` is NULL or points to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_rank_kernels(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// Ranks the kernels for a GEMM; see `ck_rank_kernels`.
///
/// # Safety
/// As for `ck_rank_kernels`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_rank_gemm_kernels(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { rank(registry, problem, capacity, ranked, count, left_out) })
}

/// # Safety
/// As for `ck_rank_kernels`.
unsafe fn rank<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    let (registry, problem) = unsafe { (read_registry(registry)?, read_problem(problem)?) };
    let count = output(count, "count")?;
    let ranked = if capacity == 0 { ranked } else { output(ranked, "ranked")? };
    let ranking = registry.rank(&problem).map_err(select_failure)?;
    for (place, of) in ranking.places.iter().enumerate().take(capacity) {
        let value = CkRanked {
            name: of.entry.c_name().as_ptr(),
            user: of.entry.user().0,
            index: of.index,
            score: of.score,
            tied: of.tied.into(),
            unmeasured: (!of.unmeasured.is_empty()).into(),
        };
        // SAFETY: the caller's contract: `place` is below `capacity`.
        unsafe { write_output(ranked.wrapping_add(place), value) };
    }
    // SAFETY: the caller's contract.
    unsafe { write_output(count, ranking.places.len()) };
    if !left_out.is_null() {
        // SAFETY: the caller's contract.
        unsafe { write_output(output(left_out, "left_out")?, ranking.left_out) };
    }
    Ok(())
}

/// What a model predicts for one kernel; NaN where it has no forest.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkPredictions {
    /// `sizeof(ck_predictions)`, set by the caller.
    pub struct_size: usize,
    /// Trillions of operations a second.
    pub tflops: f64,
    /// Milliseconds.
    pub latency_ms: f64,
    /// Gigabytes a second.
    pub bandwidth_gb_s: f64,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers.
unsafe impl Versioned for CkPredictions {
    const NAME: &'static str = "ck_predictions";
    const LEAST: usize = offset_of!(Self, latency_ms);
}

/// Predicts the speed of the kernel at a place for a convolution.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` and `predictions` point to structs with their `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_predict(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// Predicts the speed of the kernel at a place for a GEMM.
///
/// # Safety
/// As for `ck_predict`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_predict_gemm(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    index: usize,
    predictions: *mut CkPredictions,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { predict(registry, problem, index, predictions) })
}

/// # Safety
/// As for `ck_predict`.
unsafe fn predict<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    index: usize,
    predictions: *mut CkPredictions,
) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    let (registry, problem) = unsafe { (read_registry(registry)?, read_problem(problem)?) };
    // SAFETY: the caller's contract.
    let predictions = unsafe { room(predictions) }?;
    let found = registry.predict(&problem, index).map_err(select_failure)?;
    let value = CkPredictions {
        struct_size: size_of::<CkPredictions>(),
        tflops: found.tflops.unwrap_or(f64::NAN),
        latency_ms: found.latency_ms.unwrap_or(f64::NAN),
        bandwidth_gb_s: found.bandwidth_gb_s.unwrap_or(f64::NAN),
    };
    // SAFETY: the caller's contract.
    unsafe { predictions.write(value) };
    Ok(())
}

/// Writes the features that the model that fits would see for a convolution and the kernel at a place, in the model's
/// order. `count` gets their number, also when `capacity` is smaller and the call fails with `CK_STATUS_BUFFER_TOO_SMALL`.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `features` points
/// to `capacity` doubles, `count` to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_extract_features(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// Writes the features for a GEMM; see `ck_extract_features`.
///
/// # Safety
/// As for `ck_extract_features`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_extract_gemm_features(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { extract(registry, problem, index, capacity, features, count) })
}

/// # Safety
/// As for `ck_extract_features`.
unsafe fn extract<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    let (registry, problem) = unsafe { (read_registry(registry)?, read_problem(problem)?) };
    let count = output(count, "count")?;
    let row = registry.features(&problem, index).map_err(select_failure)?;
    if capacity < row.len() {
        // SAFETY: the caller's contract.
        unsafe { write_output(count, row.len()) };
        let message = format!("capacity is {capacity}, the model has {} features", row.len());
        return Err(Failure::new(CkStatus::BufferTooSmall, message));
    }
    let features = if row.is_empty() { features } else { output(features, "features")? };
    for (place, &value) in row.iter().enumerate() {
        // SAFETY: the caller's contract: `place` is below `capacity`.
        unsafe { write_output(features.wrapping_add(place), value) };
    }
    // SAFETY: the caller's contract.
    unsafe { write_output(count, row.len()) };
    Ok(())
}

/// Says for a convolution which sources were asked, what each answered and why it was passed over, as text for people.
/// Free it with `ck_string_free`.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `text` points to
/// an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_explain_selection(
    registry: *const CkRegistry,
    problem: *const CkConvProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { explain(registry, problem, text) })
}

/// The same for a GEMM; see `ck_explain_selection`.
///
/// # Safety
/// As for `ck_explain_selection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_explain_gemm_selection(
    registry: *const CkRegistry,
    problem: *const CkGemmProblem,
    text: *mut *mut c_char,
) -> CkStatus {
    // SAFETY: the caller's contract.
    boundary(|| unsafe { explain(registry, problem, text) })
}

/// # Safety
/// As for `ck_explain_selection`.
unsafe fn explain<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    text: *mut *mut c_char,
) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    let (registry, problem) = unsafe { (read_registry(registry)?, read_problem(problem)?) };
    let explained = registry.explain(&problem).map_err(select_failure)?;
    // SAFETY: the caller's contract.
    unsafe { give_text(text, "text", &explained) }
}
