//! Measuring between selections.

use std::ffi::c_void;
use std::mem::offset_of;
use std::time::Duration;

use super::error::{Failure, boundary};
use super::input::{Versioned, check_reserved, out_struct, read_handle, read_struct, refused};
use super::{CkRegistry, CkStatus};
use crate::registry::TuneBudget;
use crate::tuning::device::Stream;

/// The budget of a call of `ck_registry_tune`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkTuneBudget {
    /// `sizeof(ck_tune_budget)`.
    pub struct_size: usize,
    /// How long the call may take, in milliseconds. No run begins after it, so it is exceeded by at most one
    /// run.
    pub time_ms: f64,
    /// The stream to measure on (`hipStream_t`); NULL for that of the options.
    pub stream: *mut c_void,
    /// How many of a problem's best kernels are measured, by the order in which the sources would choose
    /// them: 2 or more; 0 means 3.
    pub kernels: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and an address.
unsafe impl Versioned for CkTuneBudget {
    const NAME: &'static str = "ck_tune_budget";
    const LEAST: usize = offset_of!(Self, stream);
}

/// What a call of `ck_registry_tune` did.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkTuneReport {
    /// `sizeof(ck_tune_report)`, set by the caller.
    pub struct_size: usize,
    /// Number of problems that got a winner.
    pub measured: usize,
    /// Number of those whose winner differs from the kernel that was chosen before.
    pub improved: usize,
    /// Number of problems for which no kernel could be measured. They are skipped until kernels, models or
    /// options change.
    pub failed: usize,
    /// Number of problems that wait to be measured.
    pub waiting: usize,
    /// Milliseconds that one run of each improved problem takes less than before.
    pub saved_ms: f64,
    /// Milliseconds that the call took.
    pub elapsed_ms: f64,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers.
unsafe impl Versioned for CkTuneReport {
    const NAME: &'static str = "ck_tune_report";
    const LEAST: usize = offset_of!(Self, improved);
}

/// Measures, within a budget, the most frequently requested problems among those that a model, the estimate
/// or the priority answers: call it between two training steps or requests. Later selections get the winners,
/// as do later processes through the store.
///
/// The first call only starts counting requests. From then on, a call takes the problems that are answered
/// without a measurement in the order of their expected gain: the number of requests, times the time of a
/// run, times the average loss of such answers. Each call continues where the previous one stopped, so short
/// calls get as far as one long call; only a problem of which even one kernel exceeds the remaining time is
/// left to a longer one. A kernel that takes longer than a whole call loses to the others. Problems with a list of GEMMs are not measured, and in `CK_MODE_PRIORITY` none.
///
/// Run callbacks are called on this thread and launch on the stream, with their own operands; the stream must
/// be idle or become idle, and must not be captured into a graph. Selections on other threads do not wait:
/// they get the old answer or the winner. Concurrent calls take different problems and measure in turn, so a
/// thread that does nothing else refines in the background.
///
/// `report` receives what was done; it may be NULL. The call fails with `CK_STATUS_CANNOT_MEASURE` if there
/// is no device, if no architecture is known, if a callback on the measuring thread calls it, or if the
/// device failed. What was measured before the failure is kept.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `budget` points to a `ck_tune_budget` and `report` is NULL or
/// points to a `ck_tune_report`, with their `struct_size` set. The stream lives until the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_tune(
    registry: *mut CkRegistry,
    budget: *const CkTuneBudget,
    report: *mut CkTuneReport,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        // SAFETY: by contract, `budget` is NULL or a struct with its size set.
        let raw = unsafe { read_struct(budget) }?;
        // SAFETY: by contract, `report` is NULL or a struct with its size set.
        let report = if report.is_null() { None } else { Some(unsafe { out_struct(report) }?) };
        let done = registry.tune(&read_budget(&raw)?).map_err(Failure::of(CkStatus::CannotMeasure))?;
        if let Some(report) = report {
            let value = CkTuneReport {
                struct_size: size_of::<CkTuneReport>(),
                measured: done.measured,
                improved: done.improved,
                failed: done.failed,
                waiting: done.waiting,
                saved_ms: done.saved_ms,
                elapsed_ms: done.elapsed.as_secs_f64() * 1e3,
            };
            // SAFETY: by contract, `report` still has the room that was checked.
            unsafe { report.write(value) };
        }
        Ok(())
    })
}

fn read_budget(raw: &CkTuneBudget) -> Result<TuneBudget, Failure> {
    check_reserved("ck_tune_budget.", raw.reserved)?;
    let time = Duration::try_from_secs_f64(raw.time_ms / 1e3)
        .map_err(|_| refused("time_ms", raw.time_ms, "milliseconds"))?;
    let usual = TuneBudget::new(time);
    let kernels = match usize::try_from(raw.kernels) {
        Ok(0) => usual.kernels,
        Ok(kernels) if kernels >= 2 => kernels,
        _ => return Err(refused("kernels", raw.kernels, "2 or more, or 0")),
    };
    // SAFETY: by the contract of `ck_registry_tune`, the stream lives for the call.
    let stream = (!raw.stream.is_null()).then(|| unsafe { Stream::from_raw(raw.stream) });
    Ok(TuneBudget { kernels, stream, ..usual })
}
