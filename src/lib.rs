//! Chooses the fastest GPU kernel for a problem without trying them all.
//!
//! ```text
//! problem ─┐
//!          ├─ features ── forest ── ranking ── first supported kernel ── selection
//! pool ────┘
//! ```
//!
//! This is the crate that a dispatcher links. It is built on two others, whose modules it re-exports:
//!
//! - `ck-select-types`, plain checked values: [`problem`], [`kernel`], [`pool`], [`hardware`], [`vocab`],
//!   [`cells`], [`files`], [`nearest`]
//! - `ck-select-model`, predictions of trained models: [`features`], [`forest`], [`scoring`],
//!   [`directory`], [`ranking`], [`rows`]; and the [`estimate`], which needs no measurements
//!
//! and adds
//!
//! - [`registry`]: kernels with callbacks, models, and the chain of sources that chooses among them
//! - [`embedded`]: the models inside the library; [`packed`]: their format there
//! - [`tuning`]: measuring on the GPU, and the store of measured winners
//! - [`uhd`]: a library that carries a forest, for hipDNN
//! - [`ffi`]: the C interface, declared in `include/ck_select.h`; [`mod@log`]: off by default
//!
//! A ranking needs a model and a pool, a dispatcher a [`registry`]. Models and rankers are immutable: any
//! number of threads may use them, without locks.
//!
//! ```rust
//! use std::sync::Arc;
//! use ck_select::{directory::Model, pool::Pool, problem::ConvProblem, ranking::Ranker};
//!
//! let model = Arc::new(Model::load("tests/golden/models/conv_small")?);
//! let pool = Arc::new(Pool::read("configs/forward_bf16.txt")?);
//! let ranker = Ranker::new(model, pool)?;
//!
//! let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
//! for place in ranker.rank(&problem.into())?.iter().take(3) {
//!     println!("{:9.3}  {}", place.score, ranker.name(place.index));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod capture;
pub mod embedded;
mod environment;
pub mod ffi;
pub mod log;
pub mod packed;
pub mod registry;
mod size_limit;
pub mod tuning;
pub mod uhd;

pub use ck_select_model::{directory, estimate, features, forest, ranking, rows, scoring, sureness, ties};
pub use ck_select_types::{
    cells, files, hardware, inputs, json, kernel, listing, moe, nearest, operation, pool, problem, sheet,
    terminal, vocab,
};
