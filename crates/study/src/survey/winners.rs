//! Which kernels win, and their tiles and pipelines.

use std::collections::{BTreeMap, BTreeSet};

use super::NEAR;
use crate::candidates::Trial;
use ck_select_data::measurements::Measurements;

/// The figures of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
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

/// Kernels of one tile and pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wins {
    /// The tile of a workgroup, such as `64x128x64`.
    pub tile: String,
    /// The pipeline.
    pub pipeline: &'static str,
    /// Kernels.
    pub kernels: usize,
    /// Those that win at least once.
    pub winners: usize,
    /// Problems on which one of them is the fastest.
    pub wins: usize,
}

pub(super) fn kernels(measurements: &Measurements, trials: &[Trial]) -> Vec<KernelFigures> {
    let none = KernelFigures { failed: 0, ran: 0, wins: 0, near: 0, mean: 0.0, run_ms: 0.0 };
    let mut kernels = vec![none; measurements.kernels().len()];
    for row in measurements.rows() {
        let kernel = &mut kernels[row.kernel as usize];
        if row.is_valid {
            kernel.run_ms += row.latency_ms;
        } else {
            kernel.failed += 1;
        }
    }
    for trial in trials {
        for (place, candidate) in trial.candidates.iter().enumerate() {
            let (kernel, efficiency) = (&mut kernels[candidate.kernel as usize], trial.efficiency(place));
            kernel.ran += 1;
            kernel.wins += usize::from(place == trial.oracle);
            kernel.near += usize::from(efficiency >= NEAR);
            kernel.mean += efficiency;
        }
    }
    for kernel in &mut kernels {
        kernel.mean /= kernel.ran as f64;
    }
    kernels
}

pub(super) fn wins(measurements: &Measurements, trials: &[Trial]) -> Vec<Wins> {
    let mut wins_of = vec![0; measurements.kernels().len()];
    for trial in trials {
        wins_of[trial.candidates[trial.oracle].kernel as usize] += 1;
    }
    let ran: BTreeSet<u32> =
        trials.iter().flat_map(|trial| trial.candidates.iter().map(|candidate| candidate.kernel)).collect();
    let mut groups: BTreeMap<([u32; 3], &'static str), Wins> = BTreeMap::new();
    for kernel in ran {
        let kind = &measurements.kernels()[kernel as usize].kind;
        let (tile, pipeline) = (kind.tile(), kind.pipeline());
        let wins = wins_of[kernel as usize];
        let group = groups.entry(([tile.m, tile.n, tile.k], pipeline)).or_insert_with(|| Wins {
            tile: tile.to_string(),
            pipeline,
            kernels: 0,
            winners: 0,
            wins: 0,
        });
        group.kernels += 1;
        group.winners += usize::from(wins > 0);
        group.wins += wins;
    }
    groups.into_values().collect()
}
