//! Rows on their way from the reader to the writer, column by column.

use ck_select_types::kernel::Kernel;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

use crate::measurements::Figures;

/// Rows of a chunk, which become a row group. A code of 16 bits can distinguish them all.
pub(super) const ROWS: usize = 1 << 16;

/// Values of rows, run-length encoded because neighbours are mostly equal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretches<T>(Vec<(T, u32)>);

impl<T: Copy + PartialEq> Stretches<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The next row's value.
    pub(super) fn push(&mut self, value: T) {
        match self.0.last_mut() {
            Some((last, rows)) if *last == value => *rows += 1,
            _ => self.0.push((value, 1)),
        }
    }

    /// Values with their numbers of rows.
    pub(super) fn as_slice(&self) -> &[(T, u32)] {
        &self.0
    }

    /// Every row's value.
    pub(super) fn rows(&self) -> impl Iterator<Item = T> {
        self.0.iter().flat_map(|&(value, rows)| std::iter::repeat_n(value, rows as usize))
    }
}

/// Some rows, and what they refer to.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) op: Op,
    /// Every row's index in `kernels`.
    pub(super) kernel: Vec<u32>,
    pub(super) kernels: Vec<Kernel>,
    /// Every row's index in `problems`.
    pub(super) problem: Stretches<u32>,
    pub(super) problems: Vec<Problem>,
    /// Every row's index in `runs`.
    pub(super) run: Stretches<u32>,
    pub(super) runs: Vec<String>,
    pub(super) problem_idx: Stretches<Option<i64>>,
    pub(super) non_zero: Stretches<Option<i64>>,
    pub(super) tflops: Vec<f64>,
    pub(super) latency_ms: Vec<f64>,
    pub(super) bandwidth_gb_s: Vec<f64>,
    pub(super) is_valid: Vec<bool>,
    /// Hardware constants that the rows' files record.
    pub(super) hardware: Vec<(&'static str, i64)>,
}

impl Chunk {
    pub(super) fn new(op: Op, hardware: Vec<(&'static str, i64)>) -> Self {
        Self {
            op,
            kernel: Vec::new(),
            kernels: Vec::new(),
            problem: Stretches::new(),
            problems: Vec::new(),
            run: Stretches::new(),
            runs: Vec::new(),
            problem_idx: Stretches::new(),
            non_zero: Stretches::new(),
            tflops: Vec::new(),
            latency_ms: Vec::new(),
            bandwidth_gb_s: Vec::new(),
            is_valid: Vec::new(),
            hardware,
        }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.kernel.len()
    }

    pub(super) fn push_figures(&mut self, figures: &Figures) {
        self.tflops.push(figures.tflops);
        self.latency_ms.push(figures.latency_ms);
        self.bandwidth_gb_s.push(figures.bandwidth_gb_s);
        self.is_valid.push(figures.is_valid);
    }

    /// The measured figures of a row.
    pub(super) fn figures(&self, row: usize) -> Figures {
        Figures {
            tflops: self.tflops[row],
            latency_ms: self.latency_ms[row],
            bandwidth_gb_s: self.bandwidth_gb_s[row],
            is_valid: self.is_valid[row],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_stretch() {
        let mut stretches = Stretches::new();
        for value in [Some(3), Some(3), None, Some(3)] {
            stretches.push(value);
        }
        assert_eq!(stretches.as_slice(), [(Some(3), 2), (None, 1), (Some(3), 1)]);
        assert_eq!(stretches.rows().collect::<Vec<_>>(), [Some(3), Some(3), None, Some(3)]);
    }
}
