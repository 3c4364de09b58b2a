//! Which kernel a trained model predicts to be the fastest: features, exact LightGBM scores, rankings.
//!
//! ```text
//! problem ─┐
//!          ├─ features ── forest ── ranking
//! pool ────┘
//! ```
//!
//! - [`features`]: feature name to value, one table per operation
//! - [`forest`]: LightGBM's text to a checked forest and exact scores; [`scoring`]: the same compiled for a
//!   pool
//! - [`directory`]: a model's spec with its forests; [`ranking`]: rankings, predictions, comparisons
//! - [`estimate`]: how long a kernel takes, without measurements; [`ties`]: the order of equal scores
//! - [`hash`]: a fast one for maps
//! - [`sureness`]: how much a choice is expected to lose, learned from judged choices
//! - [`rows`]: problems and kernels as tables of named cells, as in upstream's Python tools

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod column;
pub mod directory;
pub mod estimate;
pub mod features;
pub mod forest;
pub mod hash;
mod isa;
pub mod ranking;
pub mod rows;
pub mod scoring;
pub mod sureness;
pub mod ties;

use ck_select_types::{
    cells, files, given, hardware, inflate, inputs, json, kernel, listing, nearest, operation, pool, problem,
    table, vocab,
};
