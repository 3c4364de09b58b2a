//! Measurements: files of every format become rows of one type, and are written as upstream's tables.
//!
//! ```text
//! CSV, JSON, parquet, logs ─┬─ measurements ──┬── features (columns of a model)
//!          sidecars ────────┘       └── gpus   └── convert (upstream's tables)
//! tuned tables ── winners ──┘ (rows to train on)
//! ```
//!
//! [`Measurements`] has distinct problems, distinct kernels and rows that refer to a pair of
//! them. Training and studies work on that type alone, whatever the format was.

mod conv;
pub mod convert;
pub mod digest;
mod distinct;
mod error;
pub mod features;
pub mod figures;
mod fmha;
mod gemm;
pub mod gpus;
mod moe;
mod operation;
pub mod outcome;
pub mod places;
mod read;
pub mod sidecar;
pub mod staged;
pub mod trained;
mod tuned;

pub use read::{
    Configuration, DataError, Failure, Measurements, ReadOptions, Row, RowScope, Run, SourceFile, Sweep,
    files_of, first_row, problem_of,
};
pub use tuned::{LeftOutFiles, TunedConfig, TunedGpu, TunedShape, WinnerRows, Winners, anywhere};
