//! Measures kernels on problems, from one GPU to a cluster.
//!
//! The way of the data, and the modules along it:
//!
//! ```text
//! pool ──────┐
//!            ├─ plan ── shard ── sweep ── runner ── process ── kernel
//! problems ──┘                     │
//!                                  └─ log (CSV), details, sidecar ── merge
//! ```
//!
//! - [`problems`], [`plan`], [`shard`]: what to measure, and which part of it here
//! - [`sweep`]: the order of things: batches, retries, cut-off, budget, several GPUs at once
//! - [`runner`]: who measures: executables, a library of kernels, recorded or computed answers
//! - [`build`]: kernel libraries built just in time, and the cache of them
//! - [`worker`], [`protocol`]: the process that loads kernels, and what is said to and by it
//! - [`process`], [`guard`]: processes that always end, whatever they or we do
//! - [`log`](mod@log), [`row`], [`sidecar`]: what is kept, and how it is found again
//! - [`merge`], [`slurm`]: beyond one machine
//!
//! The library prints nothing; what happens is told to an [`sweep::Observer`].

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod build;
pub mod config;
pub mod error;
pub mod gpu;
pub mod guard;
pub mod host;
pub mod log;
pub mod merge;
pub mod outcome;
pub mod plan;
pub mod problems;
pub mod process;
pub mod protocol;
pub mod row;
pub mod runner;
pub mod shard;
pub mod sidecar;
pub mod slurm;
pub mod stop;
pub mod sweep;
pub mod template;
pub mod worker;
