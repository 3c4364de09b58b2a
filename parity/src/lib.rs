//! What the parity tests and the benches share: the real LightGBM behind a few safe calls, and data to try it on.
//!
//! This is the only crate that links LightGBM. Building it needs what `make lightgbm-tools` installs.

mod booster;
mod dataset;
pub mod golden;
pub mod synthetic;

pub use booster::{Booster, Output, Training};
pub use dataset::Matrix;

use std::ffi::CStr;

/// A call that LightGBM refused, with its own message.
#[derive(Debug)]
pub struct LightGbmError(String);

impl std::fmt::Display for LightGbmError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LightGBM: {}", self.0)
    }
}

impl std::error::Error for LightGbmError {}

/// Turns a status into a result. LightGBM keeps the message of the last error for each thread.
fn check(status: std::ffi::c_int) -> Result<(), LightGbmError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the message is a C string in thread-local storage, copied here before another call can change it.
    let message = unsafe { CStr::from_ptr(lightgbm3_sys::LGBM_GetLastError()) };
    Err(LightGbmError(message.to_string_lossy().into_owned()))
}

/// Keeps LightGBM from writing to stdout: its log goes nowhere. The setting is per thread, so whatever makes a handle
/// calls this first.
fn silence() {
    unsafe extern "C" fn nowhere(_: *const std::ffi::c_char) {}
    // SAFETY: a callback that reads nothing is fine with whatever it is given.
    unsafe { lightgbm3_sys::LGBM_RegisterLogCallback(Some(nowhere)) };
}
