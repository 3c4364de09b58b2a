//! The registry's handle and options.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::time::Duration;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{
    Handle, Versioned, destroy, give, give_handle, give_optional, init_options, read_gpu, read_handle,
    read_optional_struct, read_optional_text, refused, word, write_output,
};
use super::memory::give_text;
use crate::environment;
use crate::registry::{Mode, Options, OptionsError, Registry};
use crate::tuning::device::Stream;
use crate::tuning::search::SearchOptions;

/// Kernels, models and options.
pub struct CkRegistry {
    _opaque: [u8; 0],
}

// SAFETY: it is only made by `ck_registry_create`.
unsafe impl Handle for CkRegistry {
    type Owned = Registry;
    const NAME: &'static str = "registry";
}

/// Which sources are asked, and in which order.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkMode {
    /// Override, store, model, search if allowed, estimate, priority.
    Model = 0,
    /// Override, store, search, model, estimate, priority.
    Search = 1,
    /// As `CK_MODE_MODEL`, with a search among the model's best `refine` kernels.
    Refine = 2,
    /// Override, priority: nothing is predicted or measured.
    Priority = 3,
}

/// Options of a registry. Texts are copied; NULL, 0 and what `ck_options_init` leaves are defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkOptions {
    /// `sizeof(ck_options)`.
    pub struct_size: usize,
    /// A `ck_mode`.
    pub mode: i32,
    /// Not 0: ignores the environment (`CK_SELECT_MODE`, `_OVERRIDE`, `_HARDWARE`, `_STORE`, `_CAPTURE`),
    /// except for `CK_SELECT_LOG`, which applies to the process.
    pub ignore_environment: i32,
    /// A file of rules `problem -> kernel name`, which take precedence over all other sources; NULL for none.
    pub override_file: *const c_char,
    /// The architecture of problems that name none, or a product such as "MI300X" for its architecture and
    /// compute units; NULL for any.
    pub arch: *const c_char,
    /// The file that keeps measured winners, or "off" for memory only. NULL: `CK_SELECT_STORE`, or a file in
    /// the user's cache folder, which is opened only by a registry that measures.
    pub store: *const c_char,
    /// The name of the device whose winners the store keeps; NULL asks the HIP runtime. The driver is always
    /// the current one.
    pub device_name: *const c_char,
    /// The stream to measure on (`hipStream_t`), which must live as long as the registry uses these options;
    /// NULL for the default stream.
    pub stream: *mut c_void,
    /// How many of the best kernels `CK_MODE_REFINE` measures; 0 means 3, -1 as many as an answer asks for to be within
    /// 2 % of the best with a chance of 90 %: none where it is sure.
    pub refine: i32,
    /// How many of the model's best kernels `CK_MODE_MODEL` measures if the problem is outside the model's
    /// training range; 0 for none.
    pub refine_out_of_range: i32,
    /// Not 0: without a model `CK_MODE_MODEL` measures all kernels.
    pub search: i32,
    /// Timed runs of each kernel; 0 means 10. Kernels within noise of the fastest are run again, alternating.
    pub repeats: i32,
    /// Warm-up runs of each kernel; 0 means 3, less than 0 means none.
    pub warmup: i32,
    /// Not 0: measures kernels with the host's clock, without a GPU. For run callbacks that do all their work
    /// on the host before they return, such as reference implementations. Requires `arch`, because the host
    /// has none; winners are stored for the device "host".
    pub host_timing: i32,
    /// Not 0: built-in models answer problems that no loaded model serves. A universal model, loaded or built
    /// in, answers only those for which no other model was trained.
    pub embedded_models: i32,
    /// Not 0: the estimate is no source; the priority answers instead.
    pub no_estimate: i32,
    /// Time limit of one search in milliseconds; 0 means one minute.
    pub budget_ms: f64,
    /// A kernel is abandoned if its runs take this many times longer than the best kernel's; 0 means 3.
    pub cutoff: f64,
    /// Time limit of one run in milliseconds; 0 means 5000. A kernel that the GPU has not finished by then is
    /// considered hung: the kernel and its search are abandoned. The selecting thread waits for a run
    /// callback that does not return; others wait one second longer than this limit and then measure without
    /// it.
    pub run_timeout_ms: f64,
    /// A file that describes the GPU (docs/estimate.md); NULL for the profile of the architecture. The
    /// estimate and universal models take it instead of the profile of `arch`, or else of what the file is
    /// `based_on`; models of one architecture keep their constants.
    pub hardware: *const c_char,
    /// The numbers of parts that may be chosen for problems whose `split_k` is 0, such as "1,2,4"; NULL for
    /// "1,2,4,8,16", of which AITER's kernels take 1. Of these, a kernel takes those for which its `supports`
    /// returns not 0. Copied.
    pub splits: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkOptions {
    const NAME: &'static str = "ck_options";
    const LEAST: usize = offset_of!(Self, override_file);
}

/// Initialises options with `struct_size` and the defaults.
///
/// # Safety
/// `options` points to a `ck_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_options_init(options: *mut CkOptions) -> CkStatus {
    // SAFETY: by contract, `options` is NULL or has room for a `ck_options`.
    boundary(|| unsafe { init_options(options) })
}

/// Creates an empty registry. The environment is read now and overrides the options.
///
/// # Safety
/// `options` is NULL or points to a `ck_options` with its `struct_size` set; `registry` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_create(
    options: *const CkOptions,
    registry: *mut *mut CkRegistry,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `options` is NULL or a struct with its size set and valid strings.
        let options = unsafe { read_options(options) }?;
        let made = Box::new(Registry::new(options).map_err(options_failure)?);
        // SAFETY: by contract, `registry` is NULL or valid for writing.
        unsafe { give_handle(registry, made) }
    })
}

/// Destroys a registry and everything that it returned, including kernel names.
///
/// # Safety
/// `registry` is NULL, or from `ck_registry_create`, and no thread uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_destroy(registry: *mut CkRegistry) {
    // SAFETY: the caller gives NULL or a handle, and gives it up.
    boundary_value((), || unsafe { destroy(registry) });
}

/// Replaces the options.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_options` with its
/// `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_set_options(
    registry: *mut CkRegistry,
    options: *const CkOptions,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        // SAFETY: by contract, `options` is NULL or a struct with its size set and valid strings.
        let options = unsafe { read_options(options) }?;
        registry.set_options(options).map_err(options_failure)
    })
}

/// Writes the number of the registry's current state, which increases with every change of kernels, models
/// and options. As long as it stays the same, so do the selections of a registry that does not measure. The
/// `generation` of a selection is that of the state that answered.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `generation` points to a `uint64_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_generation(
    registry: *const CkRegistry,
    generation: *mut u64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        // SAFETY: by contract, `generation` is NULL or valid for writing.
        unsafe { give(generation, "generation", registry.generation()) }
    })
}

/// Reads the winners that other processes have stored since the store was last read, and writes those of this
/// registry that are still waiting (`ck_registry_store_status`). It reads a file, so call it from time to
/// time, not before each selection; it waits up to a quarter of a second for a locked one. A registry sees
/// its own winners immediately. If waiting winners cannot be written, it reads the others and returns
/// `CK_STATUS_IO`.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_refresh_store(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        registry.refresh_store().map_err(Failure::of(CkStatus::Io))?;
        Ok(())
    })
}

/// Reports whether measured winners still have to be written, because the store was locked by another
/// process, damaged, full, or not writable. `waiting` receives the number of winners that are only in memory;
/// `reason` why the store could not be used the last time, or NULL if it could; either may be NULL. Waiting
/// winners are used like others; they are written with a later winner, by `ck_registry_refresh_store`, or by
/// `ck_registry_destroy`. Waits while another thread uses the store's file.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `waiting` points to a `size_t`, `reason` to a pointer; either may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_store_status(
    registry: *const CkRegistry,
    waiting: *mut usize,
    reason: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives a registry from `ck_registry_create`.
        let status = unsafe { read_handle(registry) }?.store_status();
        if !reason.is_null() {
            match &status.reason {
                // SAFETY: the caller's `reason` points to a pointer.
                Some(text) => unsafe { give_text(reason, "reason", text) }?,
                // SAFETY: as above.
                None => unsafe { write_output(reason, std::ptr::null_mut()) },
            }
        }
        // SAFETY: the caller's `waiting` is NULL or points to a `size_t`.
        unsafe { give_optional(waiting, status.waiting) };
        Ok(())
    })
}

/// # Safety
/// As for [`read_struct`], with NULL for the defaults; its texts are NULL or NUL-terminated.
unsafe fn read_options(options: *const CkOptions) -> Result<Options, Failure> {
    let mut read = Options::default();
    let mut environment = true;
    // SAFETY: by contract, `options` is NULL or a struct with its size set.
    if let Some(raw) = unsafe { read_optional_struct(options) }? {
        read.mode = mode(&raw)?;
        // SAFETY: by contract, `raw.override_file` is NULL or NUL-terminated; `raw.arch` is NULL or
        // NUL-terminated; `raw.store` is NULL or NUL-terminated; `raw.device_name` is NULL or NUL-terminated;
        // `raw.hardware` is NULL or NUL-terminated; `raw.splits` is NULL or NUL-terminated.
        unsafe {
            read.override_file = read_optional_text(raw.override_file, "override_file")?.map(Into::into);
            let gpu = read_gpu(raw.arch, "arch")?;
            (read.arch, read.units) = (gpu.map(|gpu| gpu.arch), gpu.and_then(|gpu| gpu.units));
            read.store = read_optional_text(raw.store, "store")?.map(Into::into);
            read.hardware = read_optional_text(raw.hardware, "hardware")?.map(Into::into);
            if let Some(list) = read_optional_text(raw.splits, "splits")? {
                read.splits = list.parse().map_err(Failure::of(CkStatus::InvalidArgument))?;
            }
            read.device_name = read_optional_text(raw.device_name, "device_name")?.map(Into::into);
        }
        read.search = raw.search != 0;
        read.host_timing = raw.host_timing != 0;
        read.embedded_models = raw.embedded_models != 0;
        read.estimate = raw.no_estimate == 0;
        read.refine_out_of_range = count("refine_out_of_range", raw.refine_out_of_range)?;
        // SAFETY: `ck_options` requires a stream that lives as long as the registry uses these options.
        read.stream = unsafe { Stream::from_raw(raw.stream) };
        read.measuring = measuring(&raw)?;
        environment = raw.ignore_environment == 0;
    }
    crate::log::init_from_environment();
    if environment { read.with_environment(environment::variable).map_err(options_failure) } else { Ok(read) }
}

fn mode(raw: &CkOptions) -> Result<Mode, Failure> {
    let refine = match raw.refine {
        -1 => Mode::RefineAuto,
        0 => Mode::Refine(3),
        _ => Mode::Refine(count("refine", raw.refine)?),
    };
    let modes = [Mode::Model, Mode::Search, refine, Mode::Priority];
    word("mode", raw.mode, &modes, &["model", "search", "refine", "priority"])
}

fn count(what: &str, value: i32) -> Result<usize, Failure> {
    usize::try_from(value).map_err(|_| refused(what, value, "0 or more"))
}

fn measuring(raw: &CkOptions) -> Result<SearchOptions, Failure> {
    let usual = SearchOptions::default();
    let time = |what, ms: f64, usual| match ms {
        0.0 => Ok(usual),
        ms => Duration::try_from_secs_f64(ms / 1e3).map_err(|_| refused(what, ms, "milliseconds, or 0")),
    };
    let budget = time("budget_ms", raw.budget_ms, usual.budget)?;
    let run_timeout = time("run_timeout_ms", raw.run_timeout_ms, usual.run_timeout)?;
    let cutoff = match raw.cutoff {
        0.0 => usual.cutoff,
        factor if factor >= 1.0 => Some(factor),
        factor => return Err(refused("cutoff", factor, "1 or more, or 0")),
    };
    let repeats = u32::try_from(raw.repeats).map_err(|_| refused("repeats", raw.repeats, "0 or more"))?;
    Ok(SearchOptions {
        budget,
        cutoff,
        run_timeout,
        repeats: if repeats == 0 { usual.repeats } else { repeats },
        warmup: if raw.warmup == 0 { usual.warmup } else { u32::try_from(raw.warmup).unwrap_or(0) },
        ..usual
    })
}

fn options_failure(error: OptionsError) -> Failure {
    let status = match &error {
        OptionsError::Mode { .. } | OptionsError::HostArch => CkStatus::InvalidArgument,
        OptionsError::Hardware(file) if !file.is_io() => CkStatus::InvalidArgument,
        OptionsError::Hardware(_) | OptionsError::Override(_) | OptionsError::Capture { .. } => CkStatus::Io,
        OptionsError::Model(_) => CkStatus::InvalidModel,
    };
    Failure::new(status, error)
}
