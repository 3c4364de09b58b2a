//! Kernels in the JSON format of CK's registries.

use std::ffi::{CString, c_char, c_void};
use std::mem::offset_of;

use super::error::{Failure, boundary};
use super::input::{
    Versioned, check_reserved, init_options, read_array, read_handle, read_optional_struct,
    read_optional_text, read_struct, word,
};
use super::kernels::{CkKernelHooks, add, with_hooks};
use super::memory::give_text;
use super::{CkRegistry, CkStatus};
use crate::pool::ExportOptions;
use crate::pool::Pool;
use crate::vocab::Op;

/// Adds the kernels of a JSON export of a CK registry, all or none. `hooks_of` is called for each kernel with
/// its name (for a GEMM its identifier) and hooks to fill in: all bytes 0 except for `struct_size` and
/// `priority` 1. It returns 0 to skip the kernel and anything else to add it; it must not use the registry.
/// If `hooks_of` is NULL, all kernels are added, without callbacks.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `json` points to `len` bytes; `hooks_of` is NULL or callable with
/// `user`, and the callbacks that it sets stay callable until the registry is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_import_json(
    registry: *mut CkRegistry,
    json: *const u8,
    len: usize,
    hooks_of: Option<
        unsafe extern "C" fn(name: *const c_char, hooks: *mut CkKernelHooks, user: *mut c_void) -> i32,
    >,
    user: *mut c_void,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `json` has `len` bytes.
        let (registry, json) = unsafe { (read_handle(registry)?, read_array(json, len, "json")?) };
        let pool = Pool::from_bytes("json", json).map_err(Failure::of(CkStatus::InvalidKernel))?;
        let mut kernels = Vec::with_capacity(pool.len());
        for kernel in &pool {
            let hooks = match hooks_of {
                None => None,
                Some(hooks_of) => {
                    let name =
                        CString::new(kernel.name.as_str()).map_err(Failure::of(CkStatus::InvalidKernel))?;
                    let mut hooks = CkKernelHooks::NONE;
                    // SAFETY: `hooks_of` is callable with `user`; name and hooks live for the call.
                    if unsafe { hooks_of(name.as_ptr(), &raw mut hooks, user) } == 0 {
                        continue;
                    }
                    // SAFETY: the struct is this function's own, though the callback may have overwritten its
                    // size.
                    Some(unsafe { read_struct(&raw const hooks) }?)
                }
            };
            kernels.push(with_hooks(kernel.clone().into(), hooks)?);
        }
        add(registry, kernels)
    })
}

/// Options of an export.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkExportOptions {
    /// `sizeof(ck_export_options)`.
    pub struct_size: usize,
    /// The registry's name in the export; NULL for "default".
    pub registry_name: *const c_char,
    /// The time of a GEMM export in CK's format, "YYYY-MM-DDThh:mm:ss"; NULL omits it, so that the same
    /// kernels give the same text. Convolution exports have no timestamp.
    pub timestamp: *const c_char,
    /// Not 0: adds counts of kernels by type, pipeline, architecture and so on.
    pub statistics: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkExportOptions {
    const NAME: &'static str = "ck_export_options";
    const LEAST: usize = offset_of!(Self, timestamp);
}

/// Initialises options with `struct_size` and the defaults.
///
/// # Safety
/// `options` points to a `ck_export_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_export_options_init(options: *mut CkExportOptions) -> CkStatus {
    // SAFETY: by contract, `options` is NULL or has room for a `ck_export_options`.
    boundary(|| unsafe { init_options(options) })
}

/// Exports the kernels of one operation, a `ck_op`, in the JSON format of CK's registry for that operation.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_export_options` with its
/// `struct_size` set; `text` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_export_json(
    registry: *const CkRegistry,
    op: i32,
    options: *const CkExportOptions,
    text: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        let op = word("op", op, Op::ALL, Op::WORDS)?;
        let mut asked = ExportOptions::default();
        // SAFETY: by contract, `options` is NULL or a struct with its size set.
        if let Some(raw) = unsafe { read_optional_struct(options) }? {
            check_reserved("", raw.reserved)?;
            asked.statistics = raw.statistics != 0;
            // SAFETY: by contract, `raw.timestamp` is NULL or NUL-terminated; `raw.registry_name` is NULL
            // or NUL-terminated.
            unsafe {
                asked.timestamp = read_optional_text(raw.timestamp, "timestamp")?;
                if let Some(name) = read_optional_text(raw.registry_name, "registry_name")? {
                    asked.registry_name = name;
                }
            }
        }
        let json = registry.export_json(op, &asked).map_err(Failure::of(CkStatus::Io))?;
        // SAFETY: by contract, `text` is NULL or valid for writing.
        unsafe { give_text(text, "text", &json) }
    })
}
