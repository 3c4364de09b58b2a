//! What a call of LightGBM answers, and what each call needs.

use std::ffi::{CStr, CString};

/// An error of LightGBM, with its own message.
#[derive(Debug, thiserror::Error)]
#[error("LightGBM: {0}")]
pub struct LightGbmError(pub(super) String);

/// Turns a status into a result. LightGBM keeps the message of the last error for each thread.
pub(super) fn check(status: std::ffi::c_int) -> Result<(), LightGbmError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the message is a C string in thread-local storage, copied here before another call can change
    // it.
    let message = unsafe { CStr::from_ptr(lightgbm3_sys::LGBM_GetLastError()) };
    Err(LightGbmError(message.to_string_lossy().into_owned()))
}

/// Keeps LightGBM from writing to stdout: its log is discarded. The setting is per thread, so every function
/// that creates a handle calls this first.
pub(super) fn silence() {
    unsafe extern "C" fn nowhere(_: *const std::ffi::c_char) {}
    // SAFETY: a callback that reads nothing accepts any argument.
    unsafe { lightgbm3_sys::LGBM_RegisterLogCallback(Some(nowhere)) };
}

pub(super) fn c_text(text: &str) -> Result<CString, LightGbmError> {
    CString::new(text).map_err(|_| LightGbmError("a text with a NUL byte".to_owned()))
}
