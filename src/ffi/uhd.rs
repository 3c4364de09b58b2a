//! hipDNN's function of a custom library.

use super::error::boundary_value;
use super::input::read_array;
use crate::uhd;

/// Scores a row with the forest at the end of this library's file, which `ckselect uhd export` writes there:
/// hipDNN's `custom_library` (experimental). NaN if there is none, or the row is of another length.
///
/// # Safety
/// `features` points to `count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_uhd_score(features: *const f64, count: usize) -> f64 {
    boundary_value(f64::NAN, || {
        // SAFETY: the caller gives NULL or an array of this length.
        unsafe { read_array(features, count, "features") }.map_or(f64::NAN, uhd::score)
    })
}
