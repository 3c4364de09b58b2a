//! Problems and kernels as named cells, as in upstream's Python tools: mappings and tables instead of names.
//!
//! A [`Table`] has columns with types of their own, an [`Object`] is one row as JSON. [`RowModel`] is one
//! forest with the features that upstream's predictor would compute for it; [`RowPool`] prepares it for the
//! kernels of a table.

mod conv;
mod engine;
mod entrance;
mod fmha;
mod gemm;
mod model;
mod moe;
mod name;
mod object;
mod operation;
mod outlook;
mod pool;
mod upstream;

pub use crate::table::{Cells, Column, Row, Table, TableError};
pub use engine::{describe_engine, engine_features};
pub use entrance::Entrance;
pub use model::{EngineChoice, RowModel, RowModelError, RowModelOptions, describe_spec};
pub use name::{NAME_COLUMNS, describe_name};
pub use object::{Object, ObjectError};
pub use pool::RowPool;

use crate::listing::HeaderError;
use crate::problem::InvalidField;
use crate::scoring::SizeError;
use crate::vocab::Op;

/// Why a model cannot be used for rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
    /// A cell of the problem.
    #[error("problem: {0}")]
    Problem(InvalidField),
    /// A cell that is most likely misspelt.
    #[error("{0}")]
    Names(HeaderError),
    /// A cell of the kernel in question.
    #[error("kernel: {0}")]
    Kernel(InvalidField),
    /// A cell of a row.
    #[error("row {row}: {source}")]
    Row {
        /// The row, counted from 0.
        row: usize,
        /// The fault in the row.
        source: InvalidField,
    },
    /// An invalid table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Values that do not fit the compiled pool; excluded because both come from the same features.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Too many rows for the memory that their results need.
    #[error("{rows} rows are more than memory can hold")]
    TooMany {
        /// The number of rows.
        rows: usize,
    },
    /// The system gives no more threads.
    #[error("the system cannot start another thread: set fewer (`threads`)")]
    Threads,
    /// A pool of a different operation than the features; reading excludes it.
    #[error("the rows do not match the forest")]
    Mixed,
}

impl RowsError {
    /// A cell of a row with both problem and kernel; the cell's name tells which of them it belongs to.
    fn from_field(op: Op, error: InvalidField) -> Self {
        // Of several cells, all are of one side.
        let field = error.field.split(", ").next().unwrap_or_default();
        if crate::inputs::of_kernel(op).contains(&field) || NAME_COLUMNS.contains(&field) {
            return Self::Kernel(error);
        }
        Self::Problem(error)
    }
}

/// An empty list with room for this many values per row. The number of rows comes from the caller, and may be
/// anything.
fn with_room<T>(rows: usize, each: usize) -> Result<Vec<T>, RowsError> {
    let mut list = Vec::new();
    let reserved = rows.checked_mul(each).and_then(|count| list.try_reserve_exact(count).ok());
    reserved.map(|()| list).ok_or(RowsError::TooMany { rows })
}
