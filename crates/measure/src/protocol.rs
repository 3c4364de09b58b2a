//! The protocol between the sweep and its worker: JSON, one object per line.
//!
//! The sweep writes one [`Request`] and closes the worker's input. The worker answers [`Answer::Ready`], then
//! [`Answer::Begin`] and [`Answer::End`] for each item in order, and exits. Before an item begins it may
//! answer [`Answer::Preparing`], as often as it likes. If it exits early, the item that it began last is the
//! cause; items without an end are measured again.

use ck_select_measurements::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::DeviceKind;
use crate::job::{Job, Settings};

/// Increased when the meaning of a line changes: sweep and worker are one program, but not always the same
/// build of it.
pub const VERSION: u32 = 3;

/// The whole task of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// Which clock times the kernels.
    pub device: DeviceKind,
    /// How carefully to measure.
    pub settings: Settings,
    /// The items to measure, in order.
    pub items: Vec<Item>,
}

/// A kernel in a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The item's number in answers.
    pub item: usize,
    /// The kernel's name in the library; it need not follow any grammar.
    pub kernel: String,
    /// The operation's word.
    pub op: String,
    /// The problem with this kernel's words, in its printed form.
    pub problem: String,
    /// The problem's index in the plan.
    pub place: u32,
    /// The problem's best time before this request.
    pub best_ms: Option<f64>,
    /// The path of the library; empty for a worker that has its kernels elsewhere.
    pub library: String,
}

impl Item {
    /// The item of a job.
    pub(crate) fn new(item: usize, job: &Job<'_>, library: String) -> Self {
        Self {
            item,
            kernel: job.kernel.name.clone(),
            op: job.kernel.op().as_str().to_owned(),
            problem: job.problem.to_string(),
            place: job.place,
            best_ms: job.best_ms,
            library,
        }
    }
}

/// A line from the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The worker has a device, of which this is known.
    Ready(Value),
    /// The worker makes its kernels ready, and is not stuck: its time limit starts anew.
    Preparing {
        /// The number of kernels that are ready.
        done: usize,
        /// The number of kernels.
        total: usize,
    },
    /// The worker begins an item.
    Begin(usize),
    /// The worker has finished an item.
    End {
        /// The item's number.
        item: usize,
        /// The item's outcome.
        outcome: Outcome,
    },
    /// The worker cannot measure anything.
    Refused(String),
}
