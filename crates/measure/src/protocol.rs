//! What the sweep and its worker say to each other: JSON, an object a line.
//!
//! The sweep writes one [`Request`] and closes the worker's input. The worker answers [`Answer::Ready`], then
//! [`Answer::Begin`] and [`Answer::End`] for each item in order, and ends. When it ends early, the item that
//! began last is the one that ended it; items without an end are measured anew.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::DeviceKind;
use crate::outcome::Outcome;
use crate::runner::Settings;

/// Raised when a line changes its meaning: sweep and worker are one program, but not always one build of it.
pub const VERSION: u32 = 3;

/// All that a worker is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// Whose clock times kernels.
    pub device: DeviceKind,
    /// How carefully to measure.
    pub settings: Settings,
    /// What to measure, in order.
    pub items: Vec<Item>,
}

/// A kernel in a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What answers call it.
    pub item: usize,
    /// The kernel's name: what the library calls it, in no grammar.
    pub kernel: String,
    /// The word of the operation of kernel and problem.
    pub op: String,
    /// The problem with this kernel's words, as problems are printed.
    pub problem: String,
    /// The problem's place in the plan.
    pub place: u32,
    /// The problem's best time before this request.
    pub best_ms: Option<f64>,
    /// The library's file.
    pub library: String,
}

/// A line of the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It has a device; what is known of it.
    Ready(Value),
    /// It begins with an item.
    Begin(usize),
    /// It is done with an item.
    End {
        /// Which.
        item: usize,
        /// What became of it.
        outcome: Outcome,
    },
    /// It can measure nothing.
    Refused(String),
}
