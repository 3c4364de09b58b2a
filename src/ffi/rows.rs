//! Rows: problems and kernels as named cells, for programs with mappings and tables instead of kernel names
//! and structs.

use std::ffi::c_char;
use std::mem::offset_of;
use std::sync::Arc;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{
    Handle, Versioned, destroy, give, give_handle, init_options, output, read_array, read_handle,
    read_optional_struct, read_optional_text, read_structs, read_text, word, write_output, write_values,
};
use super::memory::give_text;
use crate::directory::{ModelError, Target};
use crate::features::{Engine, Uncoded};
use crate::rows::{
    Cells, Column, EngineChoice, Object, RowModel, RowModelError, RowModelOptions, RowPool, RowsError, Table,
    describe_name, describe_spec,
};

/// One forest of a model directory with its features.
pub struct CkModel {
    _opaque: [u8; 0],
}

/// Kernels that a model is prepared for.
pub struct CkPool {
    _opaque: [u8; 0],
}

// SAFETY: it is only made by `ck_model_create`.
unsafe impl Handle for CkModel {
    type Owned = Arc<RowModel>;
    const NAME: &'static str = "model";
}

// SAFETY: it is only made by `ck_pool_create`.
unsafe impl Handle for CkPool {
    type Owned = RowPool;
    const NAME: &'static str = "pool";
}

/// How to treat absent cells, and words without a code in the model's encoding.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkUncoded {
    /// As the model's spec says; if the spec says nothing, absent cells are errors.
    Spec = 0,
    /// Absent cells are errors.
    Error = 1,
    /// Absent cells take the defaults of upstream's feature engines.
    Upstream = 2,
}

/// Which forest of a directory to load, and how.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkRowOptions {
    /// `sizeof(ck_row_options)`.
    pub struct_size: usize,
    /// A `ck_target`: which forest.
    pub target: i32,
    /// A `ck_uncoded`.
    pub uncoded: i32,
    /// Not 0: treats a missing `feature_spec.json` as an empty one, like upstream's predictor.
    pub tolerate_no_spec: i32,
    /// Not 0: the model also answers for directions, types and architectures that its spec excludes and that
    /// it would otherwise refuse. The quality of its predictions there is unknown.
    pub force: i32,
    /// The feature engine, such as "gemm72" or "conv97", or the class passed to upstream's predictor, such as
    /// `GroupedConvFeatureEngine`; NULL for the spec's engine.
    pub engine: *const c_char,
    /// Constants of the GPU that replace the spec's, as a JSON object such as `{"num_cus": 304}`; NULL for
    /// none.
    pub hardware: *const c_char,
    /// How many threads may work on a table of thousands of rows, the caller's among them; the others end
    /// with the call. 0 counts as 1.
    pub threads: usize,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkRowOptions {
    const NAME: &'static str = "ck_row_options";
    const LEAST: usize = offset_of!(Self, engine);
}

/// A named column of a table. Exactly one of `integers`, `numbers` and `codes` is not NULL and has one cell
/// per row.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkColumn {
    /// `sizeof(ck_column)`.
    pub struct_size: usize,
    /// The column's name.
    pub name: *const c_char,
    /// Integer cells.
    pub integers: *const i64,
    /// Floating-point cells; NaN is an absent cell.
    pub numbers: *const f64,
    /// Indices into `words`; a negative index is an absent cell.
    pub codes: *const i32,
    /// The words that `codes` refers to: one text, in which each ends with NUL.
    pub words: *const c_char,
    /// The number of bytes in `words`, with every NUL.
    pub word_bytes: usize,
}

// SAFETY: `repr(C)`, begins with its size, and holds only a number and addresses.
unsafe impl Versioned for CkColumn {
    const NAME: &'static str = "ck_column";
    const LEAST: usize = offset_of!(Self, codes);
}

/// Initialises options with `struct_size` and the defaults.
///
/// # Safety
/// `options` points to a `ck_row_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_row_options_init(options: *mut CkRowOptions) -> CkStatus {
    // SAFETY: by contract, `options` is NULL or has room for a `ck_row_options`.
    boundary(|| unsafe { init_options(options) })
}

/// Loads one forest of a model directory, plain or gzip, with `feature_spec.json`. No file is written. Fails
/// with `CK_STATUS_NOT_FOUND` if the directory has no such forest.
///
/// # Safety
/// `directory` is a NUL-terminated string; `options` is NULL or points to a struct with its `struct_size`
/// set, whose strings are NULL or NUL-terminated; `model` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_create(
    directory: *const c_char,
    options: *const CkRowOptions,
    model: *mut *mut CkModel,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `directory` is NULL or NUL-terminated; `options` is NULL or a struct with
        // its size set and valid strings.
        let (directory, options) =
            unsafe { (read_text(directory, "directory")?, read_row_options(options)?) };
        let made = RowModel::load(directory, &options).map_err(model_failure)?;
        // SAFETY: by contract, `model` is NULL or valid for writing.
        unsafe { give_handle(model, Box::new(Arc::new(made))) }
    })
}

/// Destroys a model. Pools created from it stay valid.
///
/// # Safety
/// `model` is NULL, or from `ck_model_create`, and no thread uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_destroy(model: *mut CkModel) {
    // SAFETY: the caller gives NULL or a handle, and gives it up.
    boundary_value((), || unsafe { destroy(model) });
}

/// Describes a model directory as a JSON object: `op`, `rank_by`, `log_targets`, `feature_names`,
/// `problem_inputs` and `kernel_inputs` (the names of the cells that the features read), `name_inputs` (cells
/// that may contain a kernel's name, or must agree with it), `word_inputs` (those of all these that contain
/// words), `hardware` and more. Reads and checks the spec but no forest; the target in the options is
/// ignored.
///
/// # Safety
/// As for `ck_model_create`; `text` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_spec_describe(
    directory: *const c_char,
    options: *const CkRowOptions,
    text: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `directory` is NULL or NUL-terminated; `options` is NULL or a struct with
        // its size set and valid strings.
        let (directory, options) =
            unsafe { (read_text(directory, "directory")?, read_row_options(options)?) };
        let described = describe_spec(directory, &options).map_err(model_failure)?;
        // SAFETY: by contract, `text` is NULL or valid for writing.
        unsafe { give_text(text, "text", &described.to_string()) }
    })
}

/// Parses a kernel's name into a JSON object of cells, as upstream's converters do: the numbers of a
/// convolution's tile are in the order of the name under `block_size`, `gemm_m_per_block`,
/// `gemm_n_per_block`. The name is among them as `kernel_name`, so that every model gets its own reading.
/// Fails with `CK_STATUS_INVALID_KERNEL` if it is not a kernel's name.
///
/// # Safety
/// `name` is a NUL-terminated string; `text` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_kernel_cells(name: *const c_char, text: *mut *mut c_char) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `name` is NULL or NUL-terminated.
        let name = unsafe { read_text(name, "name") }?;
        let cells = describe_name(name).map_err(Failure::of(CkStatus::InvalidKernel))?;
        // SAFETY: by contract, `text` is NULL or valid for writing.
        unsafe { give_text(text, "text", &cells.to_string()) }
    })
}

/// Predicts for one row, a JSON object with the cells of a problem and of a kernel, such as
/// `{"m": 16, "n": 1536, "k": 7168, "dtype": "fp8", "tile_m": 64}`. Logarithms are undone; targets trained
/// without a logarithm are clamped at 0.
///
/// A row with a kernel's name under `kernel_name` or `kernel` is described by the name, like kernels of a
/// registry. Its other cells may be absent and must not contradict the name; a tile's numbers may be in the
/// order of the name, as in tables of measurements, or by their meaning. Any other string there is a label.
///
/// # Safety
/// `model` is from `ck_model_create`; `row` points to `len` bytes, `value` to a double.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_predict_row(
    model: *const CkModel,
    row: *const u8,
    len: usize,
    value: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `model` is NULL or from `ck_model_create`; `row` has `len` bytes.
        let (model, row) = unsafe { (read_handle(model)?, read_object(row, len, "row")?) };
        model.check_names(&row).map_err(rows_failure)?;
        let predicted = model.predict(&row).map_err(rows_failure)?;
        // SAFETY: by contract, `value` is NULL or valid for writing.
        unsafe { give(value, "value", predicted) }
    })
}

/// Predicts for each row of a table whose columns contain the cells of problems and kernels; see
/// `ck_model_predict_row`. Columns that the features do not read are ignored; where absent cells are errors,
/// names close to those of cells are refused as misspelt.
///
/// # Safety
/// `model` is from `ck_model_create`; `columns` points to `column_count` structs, each with its `struct_size`
/// set and `rows` cells; `values` points to `rows` doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_predict_rows(
    model: *const CkModel,
    columns: *const CkColumn,
    column_count: usize,
    rows: usize,
    values: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `model` is NULL or from `ck_model_create`; `columns` has `column_count`
        // structs with `rows` cells each.
        let (model, table) = unsafe { (read_handle(model)?, read_table(columns, column_count, rows)?) };
        let predicted = model.predict_table(&table).map_err(rows_failure)?;
        // SAFETY: by contract, `values` has room for all values.
        unsafe { write_values(values, "values", &predicted) }
    })
}

/// Writes the features of each row of a table, row by row in the model's order. If they are more than
/// `capacity`, it fails with `CK_STATUS_BUFFER_TOO_SMALL`.
///
/// # Safety
/// As for `ck_model_predict_rows`; `features` points to `capacity` doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_extract_rows(
    model: *const CkModel,
    columns: *const CkColumn,
    column_count: usize,
    rows: usize,
    capacity: usize,
    features: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `model` is NULL or from `ck_model_create`; `columns` has `column_count`
        // structs with `rows` cells each.
        let (model, table) = unsafe { (read_handle(model)?, read_table(columns, column_count, rows)?) };
        let values = model.features(&table).map_err(rows_failure)?;
        // SAFETY: by contract, `features` has room for `capacity` doubles.
        unsafe { write_features(features, capacity, rows, &values) }
    })
}

/// Prepares a model for the kernels of a table, which may be named; see `ck_model_predict_row`. Rows may also
/// have cells of the problem, which then override those of the ranked problem.
///
/// # Safety
/// As for `ck_model_predict_rows`; `pool` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_pool_create(
    model: *const CkModel,
    columns: *const CkColumn,
    column_count: usize,
    rows: usize,
    pool: *mut *mut CkPool,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `model` is NULL or from `ck_model_create`; `columns` has `column_count`
        // structs with `rows` cells each.
        let (model, table) = unsafe { (read_handle(model)?, read_table(columns, column_count, rows)?) };
        let made = RowPool::new(Arc::clone(model), &table).map_err(rows_failure)?;
        // SAFETY: by contract, `pool` is NULL or valid for writing.
        unsafe { give_handle(pool, Box::new(made)) }
    })
}

/// Compiles a pool for many rankings now; otherwise the second ranking does.
///
/// # Safety
/// `pool` is from `ck_pool_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_pool_prepare(pool: *const CkPool) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `pool` is NULL or from `ck_pool_create`.
        unsafe { read_handle(pool) }?.prepare().map_err(rows_failure)
    })
}

/// Destroys a pool.
///
/// # Safety
/// `pool` is NULL, or from `ck_pool_create`, and no thread uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_pool_destroy(pool: *mut CkPool) {
    // SAFETY: the caller gives NULL or a handle, and gives it up.
    boundary_value((), || unsafe { destroy(pool) });
}

/// Ranks the kernels of a pool for a problem as `ck_pool_rank` does, and says what to expect of them, as a JSON object:
/// `heading`, the line above a ranking in the words of every interface; `expected_loss`, `chance`, `sure_within_90` and
/// `sure_within_99` as in `ck_selection`; and `places`, best first, each with its `row`, `time_us`, `slower` and `loss`
/// as in `ck_ranked`, and `text`, which has these in words. What is not known is `null`; all is `null` where the rows
/// are of different problems.
///
/// # Safety
/// `pool` is from `ck_pool_create`; `problem` points to `len` bytes; `text` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_pool_outlook(
    pool: *const CkPool,
    problem: *const u8,
    len: usize,
    text: *mut *mut c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `pool` is NULL or from `ck_pool_create`; `problem` has `len` bytes.
        let (pool, problem) = unsafe { (read_handle(pool)?, read_object(problem, len, "problem")?) };
        pool.model().check_names(&problem).map_err(rows_failure)?;
        let outlook = pool.outlook(&problem).map_err(rows_failure)?;
        // SAFETY: by contract, `text` is NULL or valid for writing.
        unsafe { give_text(text, "text", &outlook.to_string()) }
    })
}

/// Ranks the kernels of a pool for a problem, best first, NaN last: to `rows` each kernel's row, counted from
/// 0, and to `scores` its score, with logarithms undone and not clamped; at most `capacity` of either. Of
/// equal scores, kernels whose pipeline and suffixes were measured for the model come first, then those with
/// the shorter estimated time if all rows name their kernel, then the earlier row.
///
/// `problem` is a JSON object, such as `{"m": 16, "n": 1536, "k": 7168}`. Type, direction, layout and the
/// depth of 2D convolutions may be omitted where the kernels' names determine them; contradicting the names
/// is an error. Where absent cells are errors, the problem is validated, names close to those of its cells
/// are refused as misspelt (other unknown ones are ignored), and named GEMM kernels of another variant than
/// the problem's (batch, list, Stream-K, scales), and attention kernels that do not support it, come last,
/// with NaN; it is an error if all are.
///
/// # Safety
/// `pool` is from `ck_pool_create`; `problem` points to `len` bytes; `rows` and `scores` point to `capacity`
/// items each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_pool_rank(
    pool: *const CkPool,
    problem: *const u8,
    len: usize,
    capacity: usize,
    rows: *mut usize,
    scores: *mut f64,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `pool` is NULL or from `ck_pool_create`; `problem` has `len` bytes.
        let (pool, problem) = unsafe { (read_handle(pool)?, read_object(problem, len, "problem")?) };
        pool.model().check_names(&problem).map_err(rows_failure)?;
        if capacity > 0 {
            output(rows, "rows")?;
            output(scores, "scores")?;
        }
        let mut rank = 0;
        let write = |ranked: crate::ranking::Ranked| {
            if rank < capacity {
                // SAFETY: by contract, both arrays have `capacity` items; `place` is below that.
                unsafe {
                    write_output(rows.wrapping_add(rank), ranked.index);
                    write_output(scores.wrapping_add(rank), ranked.score);
                }
                rank += 1;
            }
        };
        pool.rank(&problem, write).map_err(rows_failure)
    })
}

/// # Safety
/// As for [`read_struct`], with NULL for the defaults; its texts are NULL or NUL-terminated.
pub(super) unsafe fn read_row_options(options: *const CkRowOptions) -> Result<RowModelOptions, Failure> {
    let mut read = RowModelOptions::default();
    // SAFETY: by contract, `options` is NULL or a struct with its size set.
    let Some(raw) = unsafe { read_optional_struct(options) }? else { return Ok(read) };
    (read.force, read.threads) = (raw.force != 0, raw.threads);
    read.target = word("target", raw.target, Target::ALL, Target::WORDS)?;
    let uncoded = [None, Some(Uncoded::Error), Some(Uncoded::Upstream)];
    read.uncoded = word("uncoded", raw.uncoded, &uncoded, &["spec", "error", "upstream"])?;
    read.tolerate_no_spec = raw.tolerate_no_spec != 0;
    // SAFETY: by contract, `raw.engine` is NULL or NUL-terminated; `raw.hardware` is NULL or
    // NUL-terminated.
    let (engine, hardware) =
        unsafe { (read_optional_text(raw.engine, "engine")?, read_optional_text(raw.hardware, "hardware")?) };
    if let Some(engine) = engine {
        read.engine = match Engine::from_class(engine) {
            Some(newest) => EngineChoice::Class(newest),
            None => EngineChoice::Named(engine.parse().map_err(Failure::of(CkStatus::InvalidArgument))?),
        };
    }
    if let Some(hardware) = hardware {
        read.hardware = serde_json::from_str(hardware).map_err(|error| {
            Failure::new(CkStatus::InvalidArgument, format_args!("hardware: not a JSON object: {error}"))
        })?;
    }
    Ok(read)
}

pub(super) fn model_failure(error: RowModelError) -> Failure {
    let status = match error {
        RowModelError::Model(ModelError::NoForest { .. }) => CkStatus::NotFound,
        RowModelError::Hardware(_) => CkStatus::InvalidArgument,
        _ => CkStatus::InvalidModel,
    };
    Failure::new(status, error)
}

pub(super) fn rows_failure(error: RowsError) -> Failure {
    let status = match error {
        RowsError::Problem(_) | RowsError::Names(_) => CkStatus::InvalidProblem,
        RowsError::Row { .. } | RowsError::Kernel(_) => CkStatus::InvalidKernel,
        _ => CkStatus::InvalidArgument,
    };
    Failure::new(status, error)
}

/// # Safety
/// As for [`read_array`].
pub(super) unsafe fn read_object(bytes: *const u8, len: usize, what: &str) -> Result<Object, Failure> {
    // SAFETY: by contract, `bytes` has `len` bytes.
    let bytes = unsafe { read_array(bytes, len, what) }?;
    Object::from_json(bytes)
        .map_err(|error| Failure::new(CkStatus::InvalidArgument, format_args!("{what}: {error}")))
}

/// Writes the features of some rows.
///
/// # Safety
/// `features` is NULL, or has room for `capacity` doubles.
pub(super) unsafe fn write_features(
    features: *mut f64,
    capacity: usize,
    rows: usize,
    values: &[f64],
) -> Result<(), Failure> {
    if capacity < values.len() {
        let message = format!("capacity is {capacity}, {rows} rows have {} features", values.len());
        return Err(Failure::new(CkStatus::BufferTooSmall, message));
    }
    // SAFETY: by contract, and the room is enough.
    unsafe { write_values(features, "features", values) }
}

/// Borrows a table for the call.
///
/// # Safety
/// `columns` is NULL or points to `count` structs, whose texts are NUL-terminated and whose arrays have
/// `rows` items, or `word_bytes` for `words`; all of them live and do not change as long as the result.
pub(super) unsafe fn read_table<'a>(
    columns: *const CkColumn,
    count: usize,
    rows: usize,
) -> Result<Table<'a>, Failure> {
    let mut read = Vec::with_capacity(count.min(1024));
    // SAFETY: by contract, `columns` has `count` structs, each with its size set.
    let columns = unsafe { read_structs(columns, count, "columns") }?;
    for index in 0..columns.len() {
        // SAFETY: `index` is in the array, which by contract lives as long as the result.
        let raw = unsafe { columns.read(index) }?;
        // SAFETY: by contract, `raw.name` is NULL or NUL-terminated.
        let name = unsafe { read_text(raw.name, "name of a column") }?;
        let given = [!raw.integers.is_null(), !raw.numbers.is_null(), !raw.codes.is_null()];
        if rows > 0 && given.iter().filter(|&&given| given).count() != 1 {
            let message = format!("column {name}: not exactly one of integers, numbers and codes is given");
            return Err(Failure::new(CkStatus::InvalidArgument, message));
        }
        // SAFETY: by contract, the array that is given has `rows` cells, and `words` has `word_bytes` bytes.
        let cells = unsafe {
            match given {
                [true, ..] => Cells::Whole(read_array(raw.integers, rows, name)?),
                [_, true, _] => Cells::Numbers(read_array(raw.numbers, rows, name)?),
                _ => Cells::Words {
                    words: read_words(raw.words, raw.word_bytes, name)?,
                    codes: read_array(raw.codes, rows, name)?,
                },
            }
        };
        read.push(Column { name, cells });
    }
    Table::new(read, rows).map_err(Failure::of(CkStatus::InvalidArgument))
}

/// Borrows the words of a column.
///
/// # Safety
/// As for [`read_array`].
unsafe fn read_words<'a>(words: *const c_char, bytes: usize, column: &str) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: by contract, `words` has so many bytes.
    let text =
        str::from_utf8(unsafe { read_array(words.cast::<u8>(), bytes, column) }?).map_err(|error| {
            let at = error.valid_up_to();
            Failure::new(CkStatus::NotUtf8, format_args!("column {column}: words: not UTF-8 after byte {at}"))
        })?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let unended = || {
        Failure::new(
            CkStatus::InvalidArgument,
            format_args!("column {column}: the last word does not end with NUL"),
        )
    };
    Ok(text.strip_suffix('\0').ok_or_else(unended)?.split('\0').collect())
}
