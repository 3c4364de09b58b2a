//! Strings that the library allocates for the caller.

use std::ffi::{CString, c_char};

use super::error::{Failure, boundary_value, c_text};
use super::input::{output, write_output};

/// Frees a string that the library returned.
///
/// # Safety
/// `text` is NULL, or was written by a function of this library whose documentation names `ck_string_free`,
/// and is not used after this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_string_free(text: *mut c_char) {
    boundary_value((), || {
        if !text.is_null() {
            // SAFETY: by contract, `text` was written by `give_text`, from `CString::into_raw`, and is freed
            // once.
            drop(unsafe { CString::from_raw(text) });
        }
    });
}

/// Hands a newly allocated string to the caller.
///
/// # Safety
/// `address` is NULL or valid for writing an address.
pub(super) unsafe fn give_text(address: *mut *mut c_char, what: &str, text: &str) -> Result<(), Failure> {
    let address = output(address, what)?;
    // SAFETY: by contract, `address` is valid for writing.
    unsafe { write_output(address, c_text(text).into_raw()) };
    Ok(())
}
