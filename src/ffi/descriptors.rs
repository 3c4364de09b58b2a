//! Registering kernels by descriptor.

use std::ffi::c_char;

use super::CkRegistry;
use super::error::Failure;
use super::input::{Versioned, give, read_handle, read_optional_text, read_structs};
use super::kernels::{CkKernelHooks, add_each};
use super::mirror::AsC;
use crate::kernel::Kernel;
use ck_select_types::field::Record;

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
    // SAFETY: `index` is in the array, which by contract lives for the call; the descriptor's strings are
    // NULL or NUL-terminated.
    let kernel = |index| unsafe { descs.read(index)?.kernel() };
    // SAFETY: by contract, `hooks` is NULL or has `count` structs, each with its size set.
    unsafe { add_each(registry, hooks, count, kernel) }
}

/// Initialises a descriptor with what a kernel's fields usually are.
///
/// # Safety
/// As for [`give`].
pub(super) unsafe fn give_usual<K: Record + AsC>(desc: *mut K::C) -> Result<(), Failure> {
    // SAFETY: by contract.
    unsafe { give(desc, "desc", K::USUAL.to_c()) }
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
