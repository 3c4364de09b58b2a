//! Two sweeps side by side: warm and cold, two drivers, two devices.

use std::collections::HashMap;

use ck_select_types::problem::Problem;

use crate::candidates::{Trial, trials};
use ck_select_data::figures::quantile;
use ck_select_data::measurements::Measurements;

/// What changed on one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemChange {
    /// Indices into the problems of both measurements.
    pub problems: [u32; 2],
    /// The fastest kernels, as indices into the kernels of their own measurements.
    pub winners: [u32; 2],
    /// Speed of the fastest kernel in the second sweep over that of the fastest in the first.
    pub speed: f64,
    /// The first sweep's winner as a share of the fastest in the second; `None` if it did not run there.
    pub kept: Option<f64>,
}

impl ProblemChange {
    /// Whether a different, faster kernel wins.
    pub fn is_won_by_another(&self) -> bool {
        self.kept.is_none_or(|kept| kept < 1.0)
    }
}

/// What changed for one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelChange {
    /// Index into the kernels of the first measurements.
    pub kernel: u32,
    /// Problems on which it ran in both.
    pub pairs: usize,
    /// Its speed in the second sweep over that in the first: tenth percentile, median, ninetieth percentile.
    pub speed: [f64; 3],
}

/// Two sweeps side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Problems that both have, those that lose most with the first sweep's winner first.
    pub problems: Vec<ProblemChange>,
    /// Kernels that both have, those that lost most speed first.
    pub kernels: Vec<KernelChange>,
    /// Speed of a kernel on a problem in the second sweep over that in the first, ascending.
    pub speeds: Vec<f64>,
    /// Problems that only one of them has.
    pub other_problems: [usize; 2],
    /// Kernels that only one of them has.
    pub other_kernels: [usize; 2],
}

impl Change {
    /// Compares two sweeps; problems match regardless of architecture. `None` if no kernel ran on the same
    /// problem in both.
    pub fn of(first: &Measurements, second: &Measurements) -> Option<Self> {
        let sides = [first, second].map(|side| (side, first_trials(side)));
        let [(_, ours), (_, theirs)] = &sides;
        let names: HashMap<&str, u32> =
            (0u32..).zip(second.kernels()).map(|(index, kernel)| (kernel.name.as_str(), index)).collect();
        let known: Vec<Option<u32>> =
            first.kernels().iter().map(|kernel| names.get(kernel.name.as_str()).copied()).collect();
        let by_problem: HashMap<Problem, &Trial> =
            theirs.iter().map(|trial| (second.problems()[trial.problem as usize].on(None), trial)).collect();
        let mut problems = Vec::new();
        let mut by_kernel: Vec<Vec<f64>> = vec![Vec::new(); first.kernels().len()];
        let mut speed_there: Vec<Option<f64>> = vec![None; second.kernels().len()];
        for trial in ours {
            let Some(other) = by_problem.get(&first.problems()[trial.problem as usize].on(None)) else {
                continue;
            };
            speed_there.fill(None);
            for candidate in &other.candidates {
                speed_there[candidate.kernel as usize] = Some(candidate.tflops);
            }
            let there = |kernel: u32| known[kernel as usize].and_then(|kernel| speed_there[kernel as usize]);
            for candidate in &trial.candidates {
                if let Some(speed) = there(candidate.kernel) {
                    by_kernel[candidate.kernel as usize].push(speed / candidate.tflops);
                }
            }
            let winner = trial.candidates[trial.oracle].kernel;
            problems.push(ProblemChange {
                problems: [trial.problem, other.problem],
                winners: [winner, other.candidates[other.oracle].kernel],
                speed: other.oracle_tflops() / trial.oracle_tflops(),
                kept: there(winner).map(|speed| speed / other.oracle_tflops()),
            });
        }
        let mut speeds: Vec<f64> = by_kernel.iter().flatten().copied().collect();
        if speeds.is_empty() {
            return None;
        }
        speeds.sort_by(f64::total_cmp);
        problems.sort_by(|a, b| a.kept.unwrap_or(0.0).total_cmp(&b.kept.unwrap_or(0.0)));
        let both = problems.len();
        let mut kernels: Vec<KernelChange> = (0u32..)
            .zip(by_kernel)
            .filter(|(_, speeds)| !speeds.is_empty())
            .map(|(kernel, mut speeds)| {
                speeds.sort_by(f64::total_cmp);
                let speed = [0.1, 0.5, 0.9].map(|share| quantile(&speeds, share));
                KernelChange { kernel, pairs: speeds.len(), speed }
            })
            .collect();
        kernels.sort_by(|a, b| a.speed[1].total_cmp(&b.speed[1]));
        let shared = known.iter().flatten().count();
        Some(Self {
            other_problems: [ours.len() - both, theirs.len() - both],
            other_kernels: [first, second].map(|side| side.kernels().len() - shared),
            problems,
            kernels,
            speeds,
        })
    }

    /// The mean share of the second sweep's fastest that the first one's winners keep; a winner that did not
    /// run there keeps nothing.
    pub fn kept(&self) -> f64 {
        self.problems.iter().map(|change| change.kept.unwrap_or(0.0)).sum::<f64>()
            / self.problems.len() as f64
    }
}

/// The first trial of each problem.
fn first_trials(measurements: &Measurements) -> Vec<Trial> {
    let mut trials = trials(measurements);
    trials.dedup_by_key(|trial| trial.problem);
    trials
}
