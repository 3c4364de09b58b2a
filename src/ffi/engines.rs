//! Feature engines by themselves, for programs that compute features without a model.

use std::ffi::c_char;
use std::iter::once;

use super::error::{Failure, boundary};
use super::memory::give_text;
use super::rows::{model_failure, read_object, read_row_options, read_table, rows_failure, write_features};
use super::{CkColumn, CkRowOptions, CkStatus};
use crate::cells::Fields;
use crate::rows::{EngineChoice, RowModelOptions, describe_engine, engine_features};

/// Writes what `ck_spec_describe` writes, for a feature engine without a model. `options` names the engine
/// and may give constants of the GPU; omitted ones are the defaults of upstream's engines.
///
/// # Safety
/// `options` points to a struct with its `struct_size` set, whose strings are NULL or NUL-terminated; `text`
/// points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_engine_describe(
    options: *const CkRowOptions,
    text: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives NULL or options with their size set and texts that are NULL or
        // NUL-terminated.
        let options = unsafe { read_engine(options) }?;
        let described = describe_engine(&options).map_err(model_failure)?;
        // SAFETY: the caller gives NULL or room for one address.
        unsafe { give_text(text, "text", &described.to_string()) }
    })
}

/// Writes the features that an engine computes for each row of a table, as `ck_model_extract_rows` does.
///
/// # Safety
/// As for `ck_engine_describe`; `columns` points to `column_count` structs, each with its `struct_size` set
/// and `rows` cells; `features` points to `capacity` doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_engine_extract_rows(
    options: *const CkRowOptions,
    columns: *const CkColumn,
    column_count: usize,
    rows: usize,
    capacity: usize,
    features: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives options as above, and `column_count` columns with their sizes set and
        // `rows` cells each.
        let (options, table) = unsafe { (read_engine(options)?, read_table(columns, column_count, rows)?) };
        let rows = (0..rows).map(|row| table.row(row));
        // SAFETY: the caller gives room for `capacity` doubles.
        unsafe { extract(&options, rows, capacity, features) }
    })
}

/// Computes the features of one row, a JSON object as for `ck_model_predict_row`.
///
/// # Safety
/// As for `ck_engine_describe`; `row` points to `len` bytes, `features` to `capacity` doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_engine_extract_row(
    options: *const CkRowOptions,
    row: *const u8,
    len: usize,
    capacity: usize,
    features: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller gives options as above, and `len` bytes.
        let (options, row) = unsafe { (read_engine(options)?, read_object(row, len, "row")?) };
        // SAFETY: the caller gives room for `capacity` doubles.
        unsafe { extract(&options, once(row), capacity, features) }
    })
}

/// # Safety
/// `features` is NULL, or has room for `capacity` doubles.
unsafe fn extract(
    options: &RowModelOptions,
    rows: impl ExactSizeIterator<Item = impl Fields>,
    capacity: usize,
    features: *mut f64,
) -> Result<(), Failure> {
    let count = rows.len();
    let values = engine_features(options, rows).map_err(model_failure)?.map_err(rows_failure)?;
    // SAFETY: the same is asked of this function's caller.
    unsafe { write_features(features, capacity, count, &values) }
}

/// # Safety
/// As for [`read_row_options`].
unsafe fn read_engine(options: *const CkRowOptions) -> Result<RowModelOptions, Failure> {
    // SAFETY: the same is asked of this function's caller.
    let options = unsafe { read_row_options(options) }?;
    // A class is known by its newest engine: there are no names of a spec that could tell its version.
    match options.engine {
        EngineChoice::Spec => {
            Err(Failure::new(CkStatus::InvalidArgument, "options.engine: found none, expected an engine"))
        }
        EngineChoice::Class(engine) => Ok(RowModelOptions { engine: EngineChoice::Named(engine), ..options }),
        EngineChoice::Named(_) => Ok(options),
    }
}
