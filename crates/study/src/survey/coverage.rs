//! How many of the pairs of a problem and a kernel were measured.

use ck_select_data::measurements::Measurements;

/// How many pairs were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// Rows.
    pub rows: usize,
    /// Pairs of a problem and a kernel that have a valid row.
    pub measured: usize,
    /// All pairs.
    pub possible: usize,
}

impl Coverage {
    pub(super) fn of(measurements: &Measurements) -> Self {
        let valid = measurements.rows().iter().filter(|row| row.is_valid);
        let mut pairs: Vec<(u32, u32)> = valid.map(|row| (row.problem, row.kernel)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self {
            rows: measurements.rows().len(),
            measured: pairs.len(),
            possible: measurements.problems().len() * measurements.kernels().len(),
        }
    }
}
