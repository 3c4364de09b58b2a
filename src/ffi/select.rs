//! Choosing, ranking, predicting, explaining.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::offset_of;
use std::sync::OnceLock;

use super::error::{Failure, boundary};
use super::input::{
    Versioned, give, give_optional, out_struct, output, read_handle, read_struct, word, write_output,
    write_values,
};
use super::memory::give_text;
use super::{CkRegistry, CkStatus};
use crate::problem::{FieldSet, Problem};
use crate::ranking::RankError;
use crate::registry::{Registry, SelectError};
use crate::vocab::Op;

/// The source that chose a kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkSource {
    /// An override file.
    Override = 0,
    /// The store: a winner that was measured earlier.
    Store = 1,
    /// A model's prediction.
    Model = 2,
    /// A search: measured during the call.
    Search = 3,
    /// An estimate, where nothing was measured.
    Estimate = 4,
    /// The registered priority.
    Priority = 5,
}

/// A chosen kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkSelection {
    /// `sizeof(ck_selection)`, set by the caller.
    pub struct_size: usize,
    /// The kernel's name.
    pub name: *const c_char,
    /// The `user` pointer of its hooks.
    pub user: *mut c_void,
    /// The kernel's index among the registered kernels at the time of the call.
    pub index: usize,
    /// The parts into which the reduction is split (CK's `k_batch`): the problem's, unless it is 0 there. 1
    /// for attention.
    pub split_k: i32,
    /// 0.
    pub reserved: i32,
    /// The kernel's rank in the order of the source, counted from 0.
    pub rank: usize,
    /// Number of kernels before it that do not support the problem.
    pub unsupported: usize,
    /// The model's score in the unit of its target, usually TFLOPS; the estimate's time in microseconds; NaN
    /// from other sources.
    pub score: f64,
    /// The kernel's measured time in milliseconds; NaN if it was not measured.
    pub measured_ms: f64,
    /// The state that answered; see `ck_registry_generation`.
    pub generation: u64,
    /// A `ck_source`: the source that chose it.
    pub source: i32,
    /// 1 if the problem is outside the model's training range, else 0.
    pub out_of_range: i32,
    /// A bit for each such field; see `ck_problem_field_name`.
    pub out_of_range_fields: u64,
    /// 1 if no kernel measured for the model had this kernel's pipeline or suffixes, or if the library does not
    /// know one of its words, else 0.
    pub unmeasured: i32,
    /// 1 if the model is for one architecture and neither the problem nor the options name one, else 0: the
    /// device may be different.
    pub arch_unknown: i32,
    /// 1 if the first kernel by priority was chosen only because no model and no other source had an answer,
    /// else 0.
    pub no_model: i32,
    /// 1 if the model is a universal one, which ranks for any GPU, direction and type, else 0.
    pub universal: i32,
    /// The model that chose it: "embedded:universal" or another built-in one, a directory, or the name under
    /// which a model was loaded from memory; NULL if another source chose. Valid for the life of the process.
    pub model: *const c_char,
    /// The expected loss of the choice, as a share of the speed of the best kernel of the pool (docs/sureness.md); NaN
    /// if it is not known, as for types and architectures without judged choices, and where the kernel was measured.
    pub expected_loss: f64,
    /// The chance that the kernel is within 2 % of the best; NaN if it is not known.
    pub chance: f64,
    /// How many of the first kernels have to be measured for the fastest of them to be within 2 % of the best with a
    /// chance of 90 %; 0 if it is not known.
    pub sure_within_90: u32,
    /// How many of the first kernels have to be measured for a chance of 99 %.
    pub sure_within_99: u32,
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
    /// `sizeof(ck_ranked)`, set by the caller in the first of the array.
    pub struct_size: usize,
    /// The kernel's name.
    pub name: *const c_char,
    /// The `user` pointer of its hooks.
    pub user: *mut c_void,
    /// The kernel's index among the registered kernels.
    pub index: usize,
    /// The parts of the reduction, as in `ck_selection`.
    pub split_k: i32,
    /// 0.
    pub reserved: i32,
    /// The model's score, or the estimate's time in microseconds.
    pub score: f64,
    /// 1 if the previous or the next place has the same score, so that the source does not distinguish
    /// them, else 0.
    pub tied: i32,
    /// As in `ck_selection`.
    pub unmeasured: i32,
    /// A `ck_source`: the model, best score first, or the estimate, shortest time first.
    pub source: i32,
    /// 0.
    pub reserved_source: i32,
    /// The expected time in microseconds; NaN if it is not known.
    pub time_us: f64,
    /// By how much it is slower than the first place: 1 for an equal kernel; NaN if the scores have no unit.
    pub slower: f64,
    /// The expected loss of choosing it, as in `ck_selection`.
    pub expected_loss: f64,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and addresses.
unsafe impl Versioned for CkRanked {
    const NAME: &'static str = "ck_ranked";
    const LEAST: usize = offset_of!(Self, tied);
}

/// A problem struct of any operation.
pub(super) trait AsProblem: Versioned {
    /// The problem, its words checked and the rest not yet.
    ///
    /// # Safety
    /// The struct's addresses are what its documentation says.
    unsafe fn problem(self) -> Result<Problem, Failure>;
}

/// Reads a registry, and a problem without validating it: the registry does, once, and only where no equal
/// one was decided before.
///
/// # Safety
/// As for [`read_handle`] and [`read_struct`]; the problem's `arch` is NULL or a NUL-terminated string, and
/// its other addresses are what the struct's documentation says.
#[allow(clippy::inline_always)] // else a problem is copied once more
#[inline(always)]
pub(super) unsafe fn read_call<'a, T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
) -> Result<(&'a Registry, Problem), Failure> {
    // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `problem` is NULL or a struct
    // with its size set.
    let (registry, raw) = unsafe { (read_handle(registry)?, read_struct(problem)?) };
    // SAFETY: by contract.
    Ok((registry, unsafe { raw.problem() }?))
}

/// # Safety
/// As for `ck_registry_select_conv`.
pub(super) unsafe fn select<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    selection: *mut CkSelection,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (registry, problem) = unsafe { read_call(registry, problem) }?;
    // SAFETY: by contract, `selection` is NULL or a struct with its size set.
    let selection = unsafe { out_struct(selection) }?;
    let chosen = registry.select(&problem).map_err(select_failure)?;
    let [few, more] = chosen.sure.map_or([0; 2], |sure| sure.sure_within);
    let value = CkSelection {
        struct_size: size_of::<CkSelection>(),
        name: chosen.entry.c_name().as_ptr(),
        user: chosen.entry.user().0,
        index: chosen.index,
        split_k: chosen.split_k,
        reserved: 0,
        rank: chosen.rank,
        unsupported: chosen.unsupported,
        score: chosen.score.unwrap_or(f64::NAN),
        measured_ms: chosen.measured_ms.unwrap_or(f64::NAN),
        generation: chosen.generation,
        source: chosen.source as i32,
        out_of_range: chosen.out_of_range().into(),
        out_of_range_fields: chosen.outside.bits(),
        unmeasured: chosen.unmeasured.into(),
        arch_unknown: chosen.arch_unknown.into(),
        no_model: chosen.no_model.into(),
        universal: chosen.universal.into(),
        model: chosen.c_model_name().map_or(std::ptr::null(), CStr::as_ptr),
        expected_loss: chosen.sure.map_or(f64::NAN, |sure| sure.expected_loss.into()),
        chance: chosen.sure.map_or(f64::NAN, |sure| sure.chance.into()),
        sure_within_90: few,
        sure_within_99: more,
    };
    // SAFETY: by contract, `selection` still has the room that was checked.
    unsafe { selection.write(value) };
    Ok(())
}

fn select_failure(error: SelectError) -> Failure {
    let status = match error {
        SelectError::Problem(ref field) => return Failure::new(CkStatus::InvalidProblem, field),
        SelectError::Override { .. } => CkStatus::OverrideFailed,
        SelectError::NoModel { .. } => CkStatus::NoModel,
        SelectError::NotRankable { .. } => CkStatus::NotFound,
        SelectError::NoKernel { .. }
        | SelectError::Mismatch { .. }
        | SelectError::Rank(RankError::NoKernel { .. }) => CkStatus::NoKernel,
        SelectError::Rank(_) => CkStatus::InvalidKernel,
    };
    Failure::new(status, error)
}

/// Writes the name of a problem field of an operation, a `ck_op`, by its bit in `out_of_range_fields`: "N",
/// "direction" and so on; "features" stands for the features that the model computes from them.
///
/// # Safety
/// `name` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_problem_field_name(op: i32, bit: usize, name: *mut *const c_char) -> CkStatus {
    boundary(|| {
        let op = word("op", op, Op::ALL, Op::WORDS)?;
        let names = field_names(op);
        let field = names.get(bit).ok_or_else(|| {
            let message = format!("no field at bit {bit}: {op} problems have {} fields", names.len());
            Failure::new(CkStatus::NotFound, message)
        })?;
        // SAFETY: by contract, `name` is NULL or valid for writing.
        unsafe { give(name, "name", field.as_ptr()) }
    })
}

/// The names of an operation's fields as C strings.
fn field_names(op: Op) -> &'static [CString] {
    static NAMES: [OnceLock<Vec<CString>>; Op::ALL.len()] = [const { OnceLock::new() }; Op::ALL.len()];
    let make = || FieldSet::fields(op).filter_map(|name| CString::new(name).ok()).collect();
    NAMES.get(op as usize).map_or(&[], |names| names.get_or_init(make).as_slice())
}

/// # Safety
/// As for `ck_registry_rank_conv`.
pub(super) unsafe fn rank<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    capacity: usize,
    ranked: *mut CkRanked,
    count: *mut usize,
    left_out: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (registry, problem) = unsafe { read_call(registry, problem) }?;
    let count = output(count, "count")?;
    let room = match capacity {
        0 => None,
        // SAFETY: by contract, `ranked` has `capacity` structs, of which the first has its size set.
        _ => Some(unsafe { out_struct(output(ranked, "ranked")?) }?),
    };
    let ranking = registry.rank(&problem).map_err(select_failure)?;
    for (rank, of) in ranking.places.iter().enumerate().take(capacity) {
        let Some(room) = &room else { break };
        let value = CkRanked {
            struct_size: size_of::<CkRanked>(),
            name: of.entry.c_name().as_ptr(),
            user: of.entry.user().0,
            index: of.index,
            split_k: of.split_k,
            reserved: 0,
            score: of.score,
            tied: of.tied.into(),
            unmeasured: (!of.unmeasured.is_empty()).into(),
            source: ranking.source as i32,
            reserved_source: 0,
            time_us: of.time_us.unwrap_or(f64::NAN),
            slower: of.slower.unwrap_or(f64::NAN),
            expected_loss: of.loss.unwrap_or(f64::NAN),
        };
        // SAFETY: by contract, `ranked` has room for `capacity` structs; `place` is below that.
        unsafe { room.at(rank).write(value) };
    }
    // SAFETY: by contract, `count` is valid for writing, and `left_out` is NULL or valid for writing.
    unsafe {
        write_output(count, ranking.places.len());
        give_optional(left_out, ranking.left_out);
    }
    Ok(())
}

/// A model's predictions for one kernel; NaN for targets without a forest.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkPredictions {
    /// `sizeof(ck_predictions)`, set by the caller.
    pub struct_size: usize,
    /// Trillions of operations per second.
    pub tflops: f64,
    /// Milliseconds.
    pub latency_ms: f64,
    /// Gigabytes per second.
    pub bandwidth_gb_s: f64,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers.
unsafe impl Versioned for CkPredictions {
    const NAME: &'static str = "ck_predictions";
    const LEAST: usize = offset_of!(Self, latency_ms);
}

/// # Safety
/// As for `ck_registry_predict_conv`.
pub(super) unsafe fn predict<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    index: usize,
    predictions: *mut CkPredictions,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (registry, problem) = unsafe { read_call(registry, problem) }?;
    // SAFETY: by contract, `predictions` is NULL or a struct with its size set.
    let predictions = unsafe { out_struct(predictions) }?;
    let prediction = registry.predict(&problem, index).map_err(select_failure)?;
    let value = CkPredictions {
        struct_size: size_of::<CkPredictions>(),
        tflops: prediction.tflops.unwrap_or(f64::NAN),
        latency_ms: prediction.latency_ms.unwrap_or(f64::NAN),
        bandwidth_gb_s: prediction.bandwidth_gb_s.unwrap_or(f64::NAN),
    };
    // SAFETY: by contract, `predictions` still has the room that was checked.
    unsafe { predictions.write(value) };
    Ok(())
}

/// # Safety
/// As for `ck_registry_extract_conv`.
pub(super) unsafe fn extract<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    index: usize,
    capacity: usize,
    features: *mut f64,
    count: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (registry, problem) = unsafe { read_call(registry, problem) }?;
    let count = output(count, "count")?;
    let row = registry.features(&problem, index).map_err(select_failure)?;
    if capacity < row.len() {
        // SAFETY: by contract, `count` is valid for writing.
        unsafe { write_output(count, row.len()) };
        let message = format!("capacity is {capacity}, the model has {} features", row.len());
        return Err(Failure::new(CkStatus::BufferTooSmall, message));
    }
    // SAFETY: by contract, `features` has `capacity` doubles, which are enough, and `count` is valid for
    // writing.
    unsafe {
        write_values(features, "features", &row)?;
        write_output(count, row.len());
    }
    Ok(())
}

/// # Safety
/// As for `ck_registry_explain_conv`.
pub(super) unsafe fn explain<T: AsProblem>(
    registry: *const CkRegistry,
    problem: *const T,
    text: *mut *mut c_char,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (registry, problem) = unsafe { read_call(registry, problem) }?;
    let explained = registry.explain(&problem).map_err(select_failure)?;
    // SAFETY: by contract, `text` is NULL or valid for writing.
    unsafe { give_text(text, "text", &explained) }
}
