//! Chooses the fastest GPU kernel for a problem without trying them all.
//!
//! The way of the data, and the modules along it:
//!
//! ```text
//! problem ─┐
//!          ├─ features ── forest ── ranking ── first supported kernel ── selection
//! pool ────┘
//! ```
//!
//! - [`problem`], [`kernel`], [`pool`], [`hardware`], [`vocab`]: plain checked values, their names and files
//! - [`features`]: feature name to value, one table an operation
//! - [`forest`]: LightGBM's text to a checked forest and exact scores; [`scoring`]: the same compiled for a pool
//! - [`estimate`]: how long a kernel takes where nothing was measured
//! - [`model`]: a spec with its forests; [`select`]: rankings, predictions, comparisons
//! - [`rows`]: problems and kernels as tables of named cells, as upstream's Python tools have them
//! - [`registry`]: kernels with callbacks, and the chain of sources that chooses among them
//! - [`tuning`]: measuring on the GPU, and the store of measured winners
//! - [`files`]: what is read and written, whoever names it
//! - [`ffi`]: the C interface, declared in `include/ck_select.h`; [`mod@log`]: off unless asked for

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod capture;
pub mod estimate;
pub mod features;
pub mod ffi;
pub mod files;
pub mod forest;
pub mod hardware;
mod isa;
pub mod kernel;
pub mod log;
pub mod model;
pub mod pool;
pub mod problem;
pub mod registry;
pub mod rows;
pub mod scoring;
pub mod select;
pub mod tuning;
pub mod vocab;

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
