//! C functions that load, describe and free models.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use ck_select_model::forest::Forest;

use crate::error::{Error, not_null};
use crate::handle;

entry! {
    /// Loads a model file and writes how many iterations it has and its handle.
    ///
    /// Unlike LightGBM's, the file may be compressed with gzip, whatever its name. It must be a forest that
    /// `ck_select` scores: see the README.
    fn LGBM_BoosterCreateFromModelfile(
        filename: *const c_char,
        out_num_iterations: *mut c_int,
        out: *mut *mut c_void,
    ) {
        // SAFETY: a C string or NULL, as the caller promises.
        let path = unsafe { text("filename", filename) }?;
        let outputs = (not_null("out_num_iterations", out_num_iterations)?, not_null("out", out)?);
        let forest = Forest::load(OsStr::from_bytes(path.to_bytes()))?;
        // SAFETY: neither is NULL, so they are an `int` and a handle to write.
        unsafe { hand_out(forest, outputs) }
    }
}

entry! {
    /// Makes a model of a text in memory, and writes how many iterations it has and its handle.
    fn LGBM_BoosterLoadModelFromString(
        model_str: *const c_char,
        out_num_iterations: *mut c_int,
        out: *mut *mut c_void,
    ) {
        // SAFETY: a C string or NULL, as the caller promises.
        let model = unsafe { text("model_str", model_str) }?;
        let outputs = (not_null("out_num_iterations", out_num_iterations)?, not_null("out", out)?);
        let forest = Forest::parse(model.to_bytes())?;
        // SAFETY: neither is NULL, so they are an `int` and a handle to write.
        unsafe { hand_out(forest, outputs) }
    }
}

entry! {
    /// Frees a model; NULL is none. No thread may be using it.
    fn LGBM_BoosterFree(handle: *mut c_void) {
        if !handle.is_null() {
            drop(handle::take(handle)?);
        }
        Ok(())
    }
}

entry! {
    /// Writes how many values a row has.
    fn LGBM_BoosterGetNumFeature(handle: *mut c_void, out_len: *mut c_int) {
        // SAFETY: the caller does not free the handle during the call.
        let features = unsafe { handle::get(handle) }?.forest().num_features();
        let out = not_null("out_len", out_len)?;
        // SAFETY: not NULL, so an `int` to write.
        unsafe { out.write_unaligned(features as c_int) };
        Ok(())
    }
}

entry! {
    /// Writes how many classes there are: 1, as in every forest with one output.
    fn LGBM_BoosterGetNumClasses(handle: *mut c_void, out_len: *mut c_int) {
        // SAFETY: the caller does not free the handle during the call.
        unsafe { handle::get(handle) }?;
        let out = not_null("out_len", out_len)?;
        // SAFETY: not NULL, so an `int` to write.
        unsafe { out.write_unaligned(1) };
        Ok(())
    }
}

/// # Safety
///
/// A C string that outlives the result, or NULL.
pub(crate) unsafe fn text<'a>(name: &'static str, pointer: *const c_char) -> Result<&'a CStr, Error> {
    let pointer = not_null(name, pointer.cast_mut())?;
    // SAFETY: not NULL, so a C string.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// # Safety
///
/// Both outputs may be written, aligned or not.
unsafe fn hand_out(forest: Forest, (iterations, out): (*mut c_int, *mut *mut c_void)) -> Result<(), Error> {
    // With one output there is one tree an iteration; the text is too small for more than an `int` of them.
    let trees = forest.trees().len() as c_int;
    let handle = handle::put(forest)?;
    // SAFETY: by contract, both outputs may be written, aligned or not.
    unsafe {
        iterations.write_unaligned(trees);
        out.write_unaligned(handle);
    }
    Ok(())
}
