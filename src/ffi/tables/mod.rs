//! Tables in the library's memory: rows of Python and of Arrow that are read where they lie.

mod arrow;
mod draft;
mod python;

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use super::CkStatus;
use super::error::{Failure, boundary, boundary_value};
use super::input::{Handle, Versioned, destroy, give_handle, read_array, read_struct};
use super::rows::CkColumn;
use draft::{Drafts, OwnedTable};
use python::{Object, Reader};

/// What is read of Python's rows, and by which functions and types of `CPython`'s stable interface.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkObjects {
    /// `sizeof(ck_objects)`.
    pub struct_size: usize,
    /// `PyList_GetItem`.
    pub list_item: *const c_void,
    /// `PyDict_Next`.
    pub dict_next: *const c_void,
    /// `PyUnicode_AsUTF8AndSize`.
    pub utf8: *const c_void,
    /// `PyLong_AsLongLongAndOverflow`.
    pub whole: *const c_void,
    /// `PyFloat_AsDouble`.
    pub number: *const c_void,
    /// `None`.
    pub none: *const c_void,
    /// The types `dict`, `str`, `int`, `bool` and `float`.
    pub types: [*const c_void; 5],
    /// The names of the columns to read.
    pub names: *const *const c_char,
    /// For each of them 0 for numbers, 1 for words, 2 for kernels' names.
    pub kinds: *const u8,
    /// Number of names.
    pub name_count: usize,
    /// Not 0: keys that are none of the names become columns without cells.
    pub keeps_unknown: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and addresses.
unsafe impl Versioned for CkObjects {
    const NAME: &'static str = "ck_objects";
    const LEAST: usize = offset_of!(Self, reserved);
}

/// A table in the library's memory.
#[repr(C)]
#[derive(Debug)]
pub struct CkTable {
    /// Its columns.
    pub columns: *const CkColumn,
    /// Number of columns.
    pub column_count: usize,
    /// For each name: 0 if there is no column, 1 if cells are absent, else 2.
    pub states: *const u8,
}

// SAFETY: it is only made by `ck_table_read` and its like, and begins what they own.
unsafe impl Handle for CkTable {
    type Owned = OwnedTable;
    const NAME: &'static str = "table";
}

/// Copies the cells of a list of dicts; those of other types are `CK_STATUS_INVALID_ARGUMENT`.
///
/// # Safety
/// `objects` points to a struct with its `struct_size` set and what its fields say; `rows` is a list of at
/// least `count` items, in a `CPython` whose objects begin with a count and a type; the caller holds its
/// lock; `table` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_read(
    objects: *const CkObjects,
    rows: *const c_void,
    count: usize,
    table: *mut *mut CkTable,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `objects` is NULL or a struct with its size set.
        let objects = unsafe { read_struct(objects) }?;
        // SAFETY: by contract, the struct's addresses are what its fields say.
        let mut reader = unsafe { Reader::new(&objects, count) }?;
        if rows.is_null() {
            return Err(Failure::null("rows"));
        }
        for row in 0..count {
            // SAFETY: by contract, `rows` is a list of so many items, and nobody changes it meanwhile.
            unsafe { reader.dict(row, reader.python.item(rows.cast(), row)) }
                .ok_or_else(|| not_plain(row))?;
        }
        // SAFETY: by contract, `table` is NULL or valid for writing.
        unsafe { give_handle(table, reader.drafts.finish()?) }
    })
}

/// The same for a matrix of objects, and a list of their columns' names. `strides` are the bytes from row to
/// row, and from column to column.
///
/// # Safety
/// As for `ck_table_read`; `columns` is a list of at least `column_count` items, `cells` points to the first
/// cell, and `strides` to two numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_read_cells(
    objects: *const CkObjects,
    columns: *const c_void,
    column_count: usize,
    cells: *const c_void,
    strides: *const isize,
    count: usize,
    table: *mut *mut CkTable,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `objects` is NULL or a struct with its size set, `strides` NULL or two
        // numbers.
        let (objects, strides) = unsafe { (read_struct(objects)?, read_array(strides, 2, "strides")?) };
        // SAFETY: by contract, the struct's addresses are what its fields say.
        let mut reader = unsafe { Reader::new(&objects, count) }?;
        let &[of_row, of_column] = strides else { return Err(Failure::null("strides")) };
        if columns.is_null() || cells.is_null() {
            return Err(Failure::null("columns or cells"));
        }
        for place in 0..column_count {
            // SAFETY: by contract, `columns` is a list of so many items.
            let key = unsafe { reader.column(place, reader.python.item(columns.cast(), place)) };
            let Some(column) = key.map_err(|_| not_plain(place))? else { continue };
            for row in 0..count {
                let at = row.cast_signed() * of_row + place.cast_signed() * of_column;
                // SAFETY: by contract, the matrix has such a cell, which is the address of an object.
                let read =
                    unsafe { reader.cell(row, column, cells.byte_offset(at).cast::<*const Object>().read()) };
                read.ok_or_else(|| not_plain(row))?;
            }
        }
        // SAFETY: by contract, `table` is NULL or valid for writing.
        unsafe { give_handle(table, reader.drafts.finish()?) }
    })
}

/// The same for an Arrow stream that has not been read yet. It is not released.
///
/// # Safety
/// As for `ck_table_read`, of whose fields the functions and types are not used; `stream` is an
/// `ArrowArrayStream` of `count` rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_read_arrow(
    objects: *const CkObjects,
    stream: *mut c_void,
    count: usize,
    table: *mut *mut CkTable,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `objects` is NULL or a struct with its size set, whose addresses are what its
        // fields say, and `stream` is NULL or a stream.
        let (mut drafts, stream) =
            unsafe { (Drafts::new(&read_struct(objects)?, count)?, stream.cast::<arrow::Stream>().as_mut()) };
        let stream = stream.ok_or_else(|| Failure::null("stream"))?;
        // SAFETY: by contract.
        if unsafe { arrow::read(stream, &mut drafts) }.is_none() {
            return Err(Failure::new(CkStatus::InvalidArgument, "the table is not plain"));
        }
        // SAFETY: by contract, `table` is NULL or valid for writing.
        unsafe { give_handle(table, drafts.finish()?) }
    })
}

fn not_plain(row: usize) -> Failure {
    Failure::new(CkStatus::InvalidArgument, format_args!("row {row} is not plain"))
}

/// Whether two tables that were read for the same names are equal in every cell: 1 or 0.
///
/// # Safety
/// Both are from `ck_table_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_equals(table: *const CkTable, other: *const CkTable) -> i32 {
    boundary_value(0, || {
        // SAFETY: by contract, each is NULL or a live table.
        let both = unsafe { (table.cast::<OwnedTable>().as_ref(), other.cast::<OwnedTable>().as_ref()) };
        let (Some(table), Some(other)) = both else { return 0 };
        (table.states == other.states && table.names == other.names && table.columns == other.columns).into()
    })
}

/// Destroys a table.
///
/// # Safety
/// `table` is NULL, or from `ck_table_read`, and nobody uses it now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_table_destroy(table: *mut CkTable) {
    // SAFETY: the caller gives NULL or a handle, and gives it up.
    boundary_value((), || unsafe { destroy(table) });
}
