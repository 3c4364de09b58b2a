//! Chooses the fastest GPU kernel for a problem without trying them all.
//!
//! ```text
//! problem ─┐
//!          ├─ features ── forest ── ranking ── first supported kernel ── selection
//! pool ────┘
//! ```
//!
//! This crate is what a dispatcher links. It stands on two others, whose modules it shows as its own:
//!
//! - `ck-select-types`, plain checked values: [`problem`], [`kernel`], [`pool`], [`hardware`], [`vocab`],
//!   [`cells`], [`files`], [`nearest`]
//! - `ck-select-model`, what a trained model says: [`features`], [`forest`], [`scoring`], [`model`],
//!   [`select`], [`rows`]; and where nothing was measured, the [`estimate`]
//!
//! and adds
//!
//! - [`registry`]: kernels with callbacks, models, and the chain of sources that chooses among them
//! - [`embedded`]: the models inside the library; [`packed`]: the form that they have there
//! - [`tuning`]: measuring on the GPU, and the store of measured winners
//! - [`ffi`]: the C interface, declared in `include/ck_select.h`; [`mod@log`]: off unless asked for

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod capture;
pub mod embedded;
mod environment;
pub mod ffi;
pub mod log;
#[path = "../build/pack.rs"]
pub mod packed;
pub mod registry;
pub mod tuning;

pub use ck_select_model::{estimate, features, forest, model, rows, scoring, select};
pub use ck_select_types::{cells, files, hardware, json, kernel, nearest, pool, problem, vocab};

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
