//! Registering kernels by descriptor.

use std::cell::RefCell;
use std::ffi::c_char;

use super::error::Failure;
use super::input::{Versioned, give, read_handle, read_optional_text, read_structs};
use super::kernels::{CkKernelHooks, add_each};
use super::mirror::{AsC, FromC, Member};
use super::{CkRegistry, CkStatus};
use crate::kernel::{Kernel, KernelKind};
use crate::registry::NewKernel;
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
    /// The descriptor's texts are NULL or NUL-terminated.
    unsafe fn kernel(&self) -> Result<NewKernel, Failure>;
}

/// The kernel of a descriptor's fields; without a name, under that which its fields make. One with a name may have
/// words that this library does not know: CK adds some with each version.
///
/// # Safety
/// `name` and the texts of `fields` are NULL or NUL-terminated.
pub(super) unsafe fn described<K: FromC>(
    fields: K::C,
    name: *const c_char,
    usual_name: impl FnOnce(&K) -> String,
    kind: impl FnOnce(K, &str) -> KernelKind,
) -> Result<NewKernel, Failure> {
    let unknown = RefCell::default();
    let noted = (!name.is_null()).then_some(&unknown);
    let member = Member { unknown: noted, ..Member::whole(CkStatus::InvalidKernel) };
    // SAFETY: by contract.
    let (fields, name) = unsafe { (K::from_c(fields, member)?, read_optional_text(name, "name")?) };
    let name = name.map_or_else(|| usual_name(&fields), str::to_owned);
    let kernel = Kernel { kind: kind(fields, &name), name };
    let unknown = unknown.into_inner();
    let unknown = (!unknown.is_empty()).then(|| unknown.join("; "));
    Ok(NewKernel { unknown, ..kernel.into() })
}
