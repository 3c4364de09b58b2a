//! Registering kernels by descriptor.

use std::ffi::c_char;

use super::CkRegistry;
use super::error::Failure;
use super::input::{Versioned, read_handle, read_optional_text, read_structs};
use super::kernels::{CkKernelHooks, add, new_kernel, read_all_hooks, read_hooks_at};
use crate::kernel::Kernel;

/// # Safety
/// As for `ck_registry_add_conv_kernels`.
pub(super) unsafe fn add_described<D: Descriptor>(
    registry: *mut CkRegistry,
    descs: *const D,
    hooks: *const CkKernelHooks,
    count: usize,
) -> Result<(), Failure> {
    // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `descs` has `count` structs,
    // each with its size set.
    let (registry, descs) = unsafe { (read_handle(registry)?, read_structs(descs, count, "descs")?) };
    // SAFETY: by contract, `hooks` is NULL or has `count` structs, each with its size set.
    let hooks = unsafe { read_all_hooks(hooks, count) }?;
    let mut kernels = Vec::new();
    for index in 0..descs.len() {
        // SAFETY: `index` is in both arrays, which by contract live for the call.
        let (desc, hooks) = unsafe { (descs.read(index)?, read_hooks_at(hooks.as_ref(), index)?) };
        // SAFETY: by contract, the descriptor's strings are NULL or NUL-terminated.
        let kernel = unsafe { desc.kernel() }?;
        kernels.push(new_kernel(kernel, hooks));
    }
    add(registry, kernels)
}

/// A descriptor of any operation.
pub(super) trait Descriptor: Versioned {
    /// The kernel, with its words checked; the registry checks its numbers.
    ///
    /// # Safety
    /// Its texts are NULL or NUL-terminated.
    unsafe fn kernel(&self) -> Result<Kernel, Failure>;
}

/// A descriptor's name; by default what the kernel's fields make.
///
/// # Safety
/// As for [`read_optional_text`].
pub(super) unsafe fn named(text: *const c_char, usual: impl FnOnce() -> String) -> Result<String, Failure> {
    // SAFETY: by contract.
    Ok(unsafe { read_optional_text(text, "name") }?.map_or_else(usual, str::to_owned))
}
