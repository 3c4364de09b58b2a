//! The real LightGBM behind a few safe calls: it trains, and it is what our own scorer is held to.
//!
//! Only here, behind the cargo feature `lightgbm`; building it needs `CMake` 3.28 and libclang.

mod booster;
mod dataset;

pub use booster::{Booster, Output, Training};
pub use dataset::Matrix;

use std::ffi::{CStr, CString};

/// A call that LightGBM refused, with its own message.
#[derive(Debug, thiserror::Error)]
#[error("LightGBM: {0}")]
pub struct LightGbmError(String);

/// Turns a status into a result. LightGBM keeps the message of the last error for each thread.
fn check(status: std::ffi::c_int) -> Result<(), LightGbmError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the message is a C string in thread-local storage, copied here before another call can change
    // it.
    let message = unsafe { CStr::from_ptr(lightgbm3_sys::LGBM_GetLastError()) };
    Err(LightGbmError(message.to_string_lossy().into_owned()))
}

/// Keeps LightGBM from writing to stdout: its log goes nowhere. The setting is per thread, so whatever makes
/// a handle calls this first.
fn silence() {
    unsafe extern "C" fn nowhere(_: *const std::ffi::c_char) {}
    // SAFETY: a callback that reads nothing is fine with whatever it is given.
    unsafe { lightgbm3_sys::LGBM_RegisterLogCallback(Some(nowhere)) };
}

fn c_text(text: &str) -> Result<CString, LightGbmError> {
    CString::new(text).map_err(|_| LightGbmError("a text with a NUL byte".to_owned()))
}
