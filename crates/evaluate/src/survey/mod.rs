//! Summarises a sweep: which problems and kernels were measured, which kernels win where, what a smaller pool
//! would cost, how close the fastest come to the device's peaks, how stable the times are, what failed, and
//! where the time went.

mod noise;
mod pool;
mod roofline;
mod winners;

use std::collections::BTreeMap;

use crate::candidates::{Trial, distinct_problems, random_choice, trials};
use ck_select_measurements::Measurements;
use ck_select_measurements::sidecar::Sidecar;

pub use noise::{Noise, RepeatedPair};
pub use pool::{GreedyPool, Keep, PoolStep};
pub use roofline::{Point, Roof, Roofline};
pub use winners::KernelFigures;

/// Share of the fastest kernel's speed from which another one counts as nearly as good.
pub const NEAR: f64 = 0.95;

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
    fn new(measurements: &Measurements) -> Self {
        let mut pairs: Vec<(u32, u32)> =
            measurements.valid_rows().map(|row| (row.problem, row.kernel)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self {
            rows: measurements.rows().len(),
            measured: pairs.len(),
            possible: measurements.problems().len() * measurements.kernels().len(),
        }
    }
}

/// Rows of one class of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureFigures {
    /// The name of the class.
    pub class: String,
    /// Rows.
    pub rows: usize,
    /// Kernels and problems among them.
    pub kernels: usize,
    /// Problems.
    pub problems: usize,
    /// The last message.
    pub last: String,
}

/// The summary of a sweep.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Problems with the kernels that ran; a problem that was measured again has several.
    pub trials: Vec<Trial>,
    /// Figures of each kernel, in the order of the measurements.
    pub kernels: Vec<KernelFigures>,
    /// Which problems were measured.
    pub coverage: Coverage,
    /// Kernels in greedy order.
    pub pool: GreedyPool,
    /// How close the fastest kernels come to the device's peaks, or why that is unknown.
    pub roofline: Result<Roofline, String>,
    /// How stable the times are.
    pub noise: Noise,
    /// Failed rows by class, the most frequent class first; invalid rows without a recorded reason are `not said`.
    pub failures: Vec<FailureFigures>,
    /// Milliseconds of one run of each row that has a time.
    pub run_ms: f64,
    /// The share of the slowest tenth of these rows.
    pub slowest_tenth: f64,
    /// The sidecars of the files.
    pub sidecars: Vec<Sidecar>,
}

impl Survey {
    /// Summarises measurements and the sidecars of their files; `None` if no row has a time.
    pub fn new(measurements: &Measurements, sidecars: Vec<Sidecar>) -> Option<Self> {
        let trials = trials(measurements);
        if trials.is_empty() {
            return None;
        }
        let kernels = winners::kernels(measurements, &trials);
        Some(Self {
            coverage: Coverage::new(measurements),
            pool: GreedyPool::new(&trials, measurements.kernels().len()),
            roofline: Roofline::new(measurements, &trials),
            noise: Noise::new(measurements),
            failures: failures(measurements),
            run_ms: kernels.iter().map(|kernel| kernel.run_ms).sum(),
            slowest_tenth: slowest_tenth(measurements),
            trials,
            kernels,
            sidecars,
        })
    }

    /// How many kernels are the fastest somewhere.
    pub fn winners(&self) -> usize {
        self.kernels.iter().filter(|kernel| kernel.wins > 0).count()
    }

    /// Problems with at least one trial.
    pub fn problems(&self) -> usize {
        distinct_problems(&self.trials)
    }

    /// Mean efficiency of all kernels on the problems on which they ran: a random choice.
    pub fn random(&self) -> f64 {
        random_choice(&self.trials)
    }
}

fn slowest_tenth(measurements: &Measurements) -> f64 {
    let mut times: Vec<f64> = measurements.valid_rows().map(|row| row.latency_ms).collect();
    times.sort_by(|a, b| b.total_cmp(a));
    let slowest: f64 = times[..times.len().div_ceil(10)].iter().sum();
    slowest / times.iter().sum::<f64>()
}

fn failures(measurements: &Measurements) -> Vec<FailureFigures> {
    let mut classes: BTreeMap<u16, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
    for row in measurements.rows().iter().filter(|row| !row.is_valid) {
        let (kernels, problems) = classes.entry(row.failure).or_default();
        kernels.push(row.kernel);
        problems.push(row.problem);
    }
    let distinct = |mut values: Vec<u32>| {
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let of = |(class, (kernels, problems)): (u16, (Vec<u32>, Vec<u32>))| {
        let known =
            usize::from(class).checked_sub(1).map(|class_index| &measurements.failures()[class_index]);
        let (class, last) = known.map_or(("not said", ""), |known| (&known.class, &known.last));
        let rows = kernels.len();
        let (class, last) = (class.to_owned(), last.to_owned());
        FailureFigures { class, rows, kernels: distinct(kernels), problems: distinct(problems), last }
    };
    let mut failures: Vec<FailureFigures> = classes.into_iter().map(of).collect();
    failures.sort_by(|a, b| b.rows.cmp(&a.rows).then_with(|| a.class.cmp(&b.class)));
    failures
}

#[cfg(test)]
pub(crate) mod tests;
