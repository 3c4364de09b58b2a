//! Rows on their way from the reader to the writer, column by column.

use ck_select_types::kernel::Kernel;
use ck_select_types::problem::Problem;

use crate::measurements::Figures;

/// Rows of a chunk, which become a row group.
pub(super) const ROWS: usize = 1 << 16;

/// Some rows, and what they refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    /// Every row's index in `kernels`.
    pub(super) kernel: Vec<u32>,
    pub(super) kernels: Vec<Kernel>,
    /// Every row's index in `problems`.
    pub(super) problem: Vec<u32>,
    pub(super) problems: Vec<Problem>,
    /// Every row's index in `runs`.
    pub(super) run: Vec<u32>,
    pub(super) runs: Vec<String>,
    pub(super) problem_idx: Vec<Option<i64>>,
    pub(super) non_zero: Vec<Option<i64>>,
    pub(super) figures: Vec<Figures>,
    /// Hardware constants that the rows' files record.
    pub(super) hardware: Vec<(&'static str, i64)>,
}

impl Chunk {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.kernel.len()
    }
}
