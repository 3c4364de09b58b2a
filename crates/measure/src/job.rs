//! What is measured, and how carefully.

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use serde::{Deserialize, Serialize};

/// How carefully to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Warm-up runs of each kernel, which do not count.
    pub warmup: u32,
    /// Timed runs of each kernel. An executable averages over them itself.
    pub repeat: u32,
    /// How many times an executable is run; the median of its averages counts.
    pub samples: u32,
    /// The time limit of one kernel on one problem, in seconds.
    pub timeout_s: f64,
    /// A kernel is given up if it takes more than this many times the problem's best time.
    pub cutoff: Option<f64>,
    /// Coefficient of variation above which a measurement is flagged.
    pub max_cv: f64,
    /// How many times a flagged measurement is repeated; the steadiest one counts.
    pub remeasure: u32,
    /// How many kernels one worker measures.
    pub batch: usize,
}

impl Default for Settings {
    /// Upstream's usual settings: 3 warm-up runs, 10 timed runs, batches of 20, 30 seconds per kernel.
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

/// A kernel to be measured on a problem.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The problem, with the kernel's words where the user specified none.
    pub problem: Problem,
    /// The problem's index in the plan, which is the same for kernels with other words.
    pub place: u32,
    /// The problem's best time before the batch.
    pub best_ms: Option<f64>,
}
