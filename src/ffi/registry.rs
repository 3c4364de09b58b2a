//! The registry's handle and options.

use std::ffi::c_char;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{
    Versioned, output, read_arch, read_optional_text, read_registry, read_struct, write_output,
};
use super::words::word;
use crate::registry::{Mode, Options, OptionsError, Registry};

/// Kernels, models and options. Any number of threads may use one at once, also while others change it; only
/// `ck_registry_destroy` must be the last.
pub struct CkRegistry {
    _opaque: [u8; 0],
}

/// Which sources are asked, in this order.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkMode {
    /// Override, model, priority.
    Model = 0,
    /// Override, priority: nothing is predicted.
    Priority = 1,
}

/// How a registry chooses. Begin with all bytes 0 and `struct_size` set: those are the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkOptions {
    /// `sizeof(ck_options)`.
    pub struct_size: usize,
    /// A `ck_mode`.
    pub mode: i32,
    /// Not 0: the environment (`CK_SELECT_MODE`, `CK_SELECT_OVERRIDE`) is not looked at.
    pub ignore_environment: i32,
    /// A file of rules `problem -> kernel name`, which come before everything else; NULL for none. Copied.
    pub override_file: *const c_char,
    /// The architecture to assume when a problem names none, such as "gfx950"; NULL for any. Copied.
    pub arch: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkOptions {
    const NAME: &'static str = "ck_options";
}

/// Makes an empty registry. `options` may be NULL for the defaults. The environment is read now and wins over the
/// options. Destroy it with `ck_registry_destroy`.
///
/// # Safety
/// `options` is NULL or points to a `ck_options` with its `struct_size` set; `registry` points to an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_create(
    options: *const CkOptions,
    registry: *mut *mut CkRegistry,
) -> CkStatus {
    boundary(|| {
        let registry = output(registry, "registry")?;
        // SAFETY: the caller's contract.
        let options = unsafe { read_options(options) }?;
        let made = Box::new(Registry::new(options).map_err(options_failure)?);
        // SAFETY: the caller's contract.
        unsafe { write_output(registry, Box::into_raw(made).cast()) };
        Ok(())
    })
}

/// Destroys a registry and everything that it handed out: names are dead after this. NULL is fine.
///
/// # Safety
/// `registry` is NULL, or from `ck_registry_create`, and no thread uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_destroy(registry: *mut CkRegistry) {
    boundary_value((), || {
        if !registry.is_null() {
            // SAFETY: the caller's contract: the address is from `Box::into_raw` of a `Registry`.
            drop(unsafe { Box::from_raw(registry.cast::<Registry>()) });
        }
    });
}

/// Replaces the options. `options` may be NULL for the defaults.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_options` with its `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_set_options(
    registry: *mut CkRegistry,
    options: *const CkOptions,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller's contract.
        let registry = unsafe { read_registry(registry) }?;
        // SAFETY: the caller's contract.
        let options = unsafe { read_options(options) }?;
        registry.set_options(options).map_err(options_failure)
    })
}

/// # Safety
/// As for [`read_struct`], with NULL for the defaults; its texts are NULL or NUL-terminated.
unsafe fn read_options(options: *const CkOptions) -> Result<Options, Failure> {
    let mut read = Options::default();
    let mut environment = true;
    if !options.is_null() {
        // SAFETY: the caller's contract.
        let raw = unsafe { read_struct(options) }?;
        read.mode = word("mode", raw.mode, &[Mode::Model, Mode::Priority], &["model", "priority"])?;
        // SAFETY: the caller's contract.
        unsafe {
            read.override_file = read_optional_text(raw.override_file, "override_file")?.map(Into::into);
            read.arch = read_arch(raw.arch, "arch")?;
        }
        environment = raw.ignore_environment == 0;
    }
    if environment {
        read.with_environment(|name| std::env::var_os(name)).map_err(options_failure)
    } else {
        Ok(read)
    }
}

fn options_failure(error: OptionsError) -> Failure {
    let status = match error {
        OptionsError::Mode { .. } => CkStatus::InvalidArgument,
        OptionsError::Override(_) => CkStatus::Io,
    };
    Failure::new(status, error)
}
