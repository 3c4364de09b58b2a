//! Reading what a caller gives: addresses, texts, structs, words.

use std::ffi::{CStr, c_char};

use super::error::Failure;
use super::{CkRegistry, CkStatus};
use crate::registry::Registry;
use crate::vocab::Arch;

/// A struct that its caller fills, beginning with its size.
///
/// # Safety
/// The type is `repr(C)`, its first field is a `usize`, and every bit pattern is one of its values.
pub(super) unsafe trait Versioned: Copy {
    const NAME: &'static str;
}

/// Copies a struct that the caller filled.
///
/// # Safety
/// `address` is NULL, or points to a `usize` and, when that is the size of `T`, to a whole `T`.
pub(super) unsafe fn read_struct<T: Versioned>(address: *const T) -> Result<T, Failure> {
    if address.is_null() {
        return Err(Failure::null(T::NAME));
    }
    // SAFETY: the caller's contract. Reads are unaligned, so that a misaligned struct is no undefined behaviour here.
    let size = unsafe { address.cast::<usize>().read_unaligned() };
    // There is only one version so far. Later ones accept their predecessors' sizes and fill in the rest.
    if size != size_of::<T>() {
        let message = format!("{}.struct_size is {size}, expected {}", T::NAME, size_of::<T>());
        return Err(Failure::new(CkStatus::InvalidStruct, message));
    }
    // SAFETY: the size says that a whole `T` is there.
    Ok(unsafe { address.read_unaligned() })
}

/// Checks that an output struct has room for what is written.
///
/// # Safety
/// As for [`read_struct`].
pub(super) unsafe fn check_output<T: Versioned>(address: *const T) -> Result<(), Failure> {
    // SAFETY: the caller's contract.
    unsafe { read_struct(address) }.map(|_| ())
}

/// Borrows a text for the call.
///
/// # Safety
/// `text` is NULL, or a NUL-terminated text that lives and does not change as long as the result.
pub(super) unsafe fn read_text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller's contract.
    unsafe { read_optional_text(text, what) }?.ok_or_else(|| Failure::null(what))
}

/// Borrows a text for the call; NULL is none.
///
/// # Safety
/// As for [`read_text`].
pub(super) unsafe fn read_optional_text<'a>(
    text: *const c_char,
    what: &str,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| {
        Failure::new(CkStatus::NotUtf8, format_args!("{what}: not UTF-8 after byte {}", error.valid_up_to()))
    })
}

/// Borrows bytes for the call; NULL is fine when there are none.
///
/// # Safety
/// `bytes` is NULL, or points to `len` bytes that live and do not change as long as the result.
pub(super) unsafe fn read_bytes<'a>(bytes: *const u8, len: usize, what: &str) -> Result<&'a [u8], Failure> {
    // SAFETY: the caller's contract.
    unsafe { read_array(bytes, len, what) }
}

/// Borrows an array for the call; NULL is fine when it is empty.
///
/// # Safety
/// `items` is NULL, or points to `count` items that live and do not change as long as the result.
pub(super) unsafe fn read_array<'a, T>(
    items: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(Failure::null(what));
    }
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if !fits || !items.is_aligned() {
        let message = format!("{what}: {count} items at a misaligned address, or more than memory can hold");
        return Err(Failure::new(CkStatus::InvalidArgument, message));
    }
    // SAFETY: the caller's contract, and the checks above.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// An architecture from text; NULL and the empty text are none.
///
/// # Safety
/// As for [`read_text`].
pub(super) unsafe fn read_arch(text: *const c_char, what: &str) -> Result<Option<Arch>, Failure> {
    // SAFETY: the caller's contract.
    let text = unsafe { read_optional_text(text, what) }?;
    text.filter(|text| !text.is_empty())
        .map(|text| {
            text.parse()
                .map_err(|error| Failure::new(CkStatus::InvalidArgument, format_args!("{what}: {error}")))
        })
        .transpose()
}

/// Borrows a registry for the call.
///
/// # Safety
/// `registry` is NULL, or was made by `ck_registry_create` and is not destroyed as long as the result lives.
pub(super) unsafe fn read_registry<'a>(registry: *const CkRegistry) -> Result<&'a Registry, Failure> {
    // SAFETY: the caller's contract; `CkRegistry` is only ever an address of a `Registry`.
    unsafe { registry.cast::<Registry>().as_ref() }.ok_or_else(|| Failure::null("registry"))
}

/// The address of an output, or an error that names it.
pub(super) fn output<T>(address: *mut T, what: &str) -> Result<*mut T, Failure> {
    if address.is_null() { Err(Failure::null(what)) } else { Ok(address) }
}

/// Writes an output.
///
/// # Safety
/// `address` is valid for writing a `T`; it need not be aligned.
pub(super) unsafe fn write_output<T>(address: *mut T, value: T) {
    // SAFETY: the caller's contract.
    unsafe { address.write_unaligned(value) };
}
