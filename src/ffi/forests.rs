//! Forests by themselves, for programs that compute features of their own.

use std::ffi::c_char;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{Handle, destroy, give, give_handle, read_array, read_handle, read_text, write_values};
use super::rows::model_failure;
use crate::forest::Forest;
use crate::uhd;

/// A forest without a spec.
pub struct CkForest {
    _opaque: [u8; 0],
}

// SAFETY: it is only made by `ck_forest_create`.
unsafe impl Handle for CkForest {
    type Owned = Forest;
    const NAME: &'static str = "forest";
}

/// Loads a forest from a file, plain or gzip.
///
/// # Safety
/// `file` is a NUL-terminated string; `forest` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_forest_create(file: *const c_char, forest: *mut *mut CkForest) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or a NUL-terminated text.
        let file = unsafe { read_text(file, "file") }?;
        let made = Forest::load(file).map_err(|error| model_failure(error.into()))?;
        // SAFETY: the caller gives NULL or room for one address.
        unsafe { give_handle(forest, Box::new(made)) }
    })
}

/// Destroys a forest.
///
/// # Safety
/// `forest` is NULL, or from `ck_forest_create`, and no thread uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_forest_destroy(forest: *mut CkForest) {
    // SAFETY: the caller gives NULL or a handle, and gives it up.
    boundary_value((), || unsafe { destroy(forest) });
}

/// Writes the number of features of a row.
///
/// # Safety
/// `forest` is from `ck_forest_create`; `width` points to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_forest_width(forest: *const CkForest, width: *mut usize) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or a forest that lives for the call.
        let forest = unsafe { read_handle(forest) }?;
        // SAFETY: the caller gives NULL or room for one `size_t`.
        unsafe { give(width, "width", forest.num_features()) }
    })
}

/// Writes what LightGBM would predict for each row of a row-major matrix with `width` features per row: no
/// logarithm is undone, and nothing is clamped.
///
/// # Safety
/// `forest` is from `ck_forest_create`; `features` points to `rows` times `width` doubles, `values` to
/// `rows`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_forest_predict(
    forest: *const CkForest,
    features: *const f64,
    rows: usize,
    width: usize,
    values: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or a forest that lives for the call.
        let forest = unsafe { read_handle(forest) }?;
        let wrong = |message: String| Failure::new(CkStatus::InvalidArgument, message);
        if width != forest.num_features() {
            return Err(wrong(format!(
                "width is {width}, the forest has {} features",
                forest.num_features()
            )));
        }
        let count = rows.checked_mul(width).ok_or_else(|| wrong(format!("{rows} rows are too many")))?;
        // SAFETY: the caller gives `rows` times `width` doubles, and `width` was compared with the forest's.
        let features = unsafe { read_array(features, count, "features") }?;
        let mut predicted = Vec::new();
        predicted
            .try_reserve_exact(rows)
            .map_err(|_| wrong(format!("{rows} rows are more than memory can hold")))?;
        for row in 0..rows {
            let cells = features.get(row * width..(row + 1) * width).unwrap_or_default();
            predicted.push(forest.predict(cells).map_err(Failure::of(CkStatus::InvalidArgument))?);
        }
        // SAFETY: the caller gives room for one double a row.
        unsafe { write_values(values, "values", &predicted) }
    })
}

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
