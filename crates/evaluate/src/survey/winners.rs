//! Which kernels win.

use super::NEAR;
use crate::candidates::Trial;
use ck_select_measurements::Measurements;

/// The figures of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KernelFigures {
    /// Rows without a valid time.
    pub failed: usize,
    /// Problems on which it ran.
    pub ran: usize,
    /// Problems on which it is the fastest.
    pub wins: usize,
    /// Problems on which it is the fastest, or nearly as fast.
    pub near: usize,
    /// Mean efficiency on the problems that it ran on; NaN if it never did.
    pub mean: f64,
    /// Milliseconds of one run of each of its rows that has a time.
    pub run_ms: f64,
}

pub(super) fn kernels(measurements: &Measurements, trials: &[Trial]) -> Vec<KernelFigures> {
    let mut kernels = vec![KernelFigures::default(); measurements.kernels().len()];
    for row in measurements.rows() {
        let kernel = &mut kernels[row.kernel as usize];
        if row.is_valid {
            kernel.run_ms += row.latency_ms;
        } else {
            kernel.failed += 1;
        }
    }
    for trial in trials {
        for (index, candidate) in trial.candidates.iter().enumerate() {
            let (kernel, efficiency) = (&mut kernels[candidate.kernel as usize], trial.efficiency(index));
            kernel.ran += 1;
            kernel.wins += usize::from(index == trial.oracle);
            kernel.near += usize::from(efficiency >= NEAR);
            kernel.mean += efficiency;
        }
    }
    for kernel in &mut kernels {
        kernel.mean /= kernel.ran as f64;
    }
    kernels
}
