//! Who measures: executables, libraries of kernels, or recorded and computed answers.

mod analytic;
mod executable;
mod library;
mod recorded;
mod report;
mod simulate;

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use analytic::Analytic;
pub use executable::ExecutableRunner;
pub(crate) use executable::steadier;
pub use library::LibraryRunner;
pub use recorded::Recorded;
pub use simulate::{Answers, ModelAnswers, SimulatedRunner};

use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::guard::Guard;
use crate::outcome::{Failure, Outcome};
use crate::stop::{Stop, StopReason};

/// How carefully to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Runs of each kernel that do not count.
    pub warmup: u32,
    /// Runs of each kernel that count. An executable averages over them itself.
    pub repeat: u32,
    /// Times that an executable is run, for a median of its averages.
    pub samples: u32,
    /// Seconds that one kernel may take on one problem.
    pub timeout_s: f64,
    /// A kernel is given up at so many times the problem's best.
    pub cutoff: Option<f64>,
    /// Coefficient of variation above which a measurement is flagged.
    pub max_cv: f64,
    /// Times that a flagged measurement is repeated; the steadiest counts.
    pub remeasure: u32,
    /// Kernels of one worker.
    pub batch: usize,
}

impl Default for Settings {
    /// Upstream's habits: 3 warm-up runs, 10 timed runs, batches of 20, 30 seconds per kernel.
    fn default() -> Self {
        Self {
            warmup: 3,
            repeat: 10,
            samples: 1,
            timeout_s: 30.0,
            cutoff: None,
            max_cv: 0.1,
            remeasure: 0,
            batch: 20,
        }
    }
}

/// What every runner works with.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// How carefully to measure.
    pub settings: &'a Settings,
    /// What ends our processes if we cannot.
    pub guard: &'a Guard,
    /// When to stop.
    pub stop: &'a Stop,
}

/// A kernel to be measured on a problem.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The problem, with the kernel's words where the user said nothing.
    pub problem: Problem,
    /// The problem's place in the plan, which is the same for kernels of other words.
    pub place: u32,
    /// The problem's best time before the batch.
    pub best_ms: Option<f64>,
}

/// The best time so far of the problem that is being measured.
#[derive(Debug, Default)]
pub(crate) struct Best {
    of: Option<(u32, Option<f64>)>,
}

impl Best {
    /// For a problem, of which `known` is the best time before its batch.
    pub(crate) fn of(&mut self, problem: u32, known: Option<f64>) -> Option<f64> {
        match self.of {
            Some((current, best_ms)) if current == problem => best_ms,
            _ => {
                self.of = Some((problem, known));
                known
            }
        }
    }

    /// Takes a time of the problem that was asked for last.
    pub(crate) fn lower(&mut self, outcome: &Outcome) {
        if let Some((_, best_ms)) = &mut self.of {
            *best_ms = (*best_ms).into_iter().chain(outcome.latency_ms()).reduce(f64::min);
        }
    }
}

/// Kernels to be measured together, problem after problem.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Where.
    pub gpu: &'a Gpu,
    /// What, in order.
    pub jobs: &'a [Job<'a>],
}

/// What a runner tells while it measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// What became of a job, by its place in the batch.
    Outcome(usize, Outcome),
    /// What is known of the device.
    Device(Value),
    /// What was reported is to be on the disk before anything else is waited for.
    Settle,
}

/// How a batch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchEnd {
    /// All that was reported counts. Jobs without a report are to be measured anew.
    Done,
    /// Something broke, and what was not reported yet is to be measured anew.
    Broken {
        /// The job that was running.
        at: Option<usize>,
        /// What happened.
        failure: Failure,
    },
    /// We stop.
    Stopped(StopReason),
}

/// Compiled so far: done, of how many, failed.
pub type Progress<'a> = &'a (dyn Fn(usize, usize, usize) + Sync);

/// Who measures.
pub trait Runner: Sync {
    /// What it is, for the sidecar. Results of runners that describe themselves alike go into one log.
    fn describe(&self) -> Value;

    /// Whether it measures on a GPU, which must then be its own for that time.
    fn uses_gpu(&self) -> bool;

    /// Looks, and does nothing else, whether any of these kernels can be measured. The error says why none
    /// can.
    fn check(&self, _kernels: &[&Kernel]) -> Result<(), MeasureError> {
        Ok(())
    }

    /// Gets ready for these kernels, before anything is measured. A kernel that cannot be got ready fails
    /// when it is measured.
    fn prepare(
        &mut self,
        kernels: &[&Kernel],
        context: Context<'_>,
        progress: Progress<'_>,
    ) -> Result<(), MeasureError>;

    /// Measures a batch and reports each job as soon as it is known, and [`Report::Settle`] before it waits.
    /// An error means that nothing can be measured.
    fn measure(
        &self,
        batch: Batch<'_>,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError>;
}
