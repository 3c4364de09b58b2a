//! Measures kernels on problems, from one GPU to a cluster.
//!
//! The data flow and its modules:
//!
//! ```text
//! pool ──────┐
//!            ├─ plan ── shard ── sweep ── runner ── process ── kernel
//! problems ──┘                     │
//!                                  └─ log (CSV), details, sidecar
//! ```
//!
//! - [`problems`], [`plan`], [`shard`]: what to measure, and which part of it on this machine
//! - [`sweep`]: scheduling: batches, retries, cut-off, budget, several GPUs at once
//! - [`job`], [`runner`]: a kernel on a problem; executables, a library of kernels, recorded or computed answers
//! - [`worker`], [`protocol`]: the process that loads kernels, and its messages
//! - [`process`], [`guard`]: processes that never outlive the sweep
//! - [`log`](mod@log), [`row`], [`sidecar`]: what is stored, and how it is read back
//!
//! The library prints nothing; it reports events to a [`sweep::Observer`].

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod config;
pub mod error;
pub mod gpu;
pub mod guard;
pub mod job;
pub mod log;
pub mod plan;
pub mod problems;
pub mod process;
pub mod protocol;
pub mod row;
pub mod runner;
pub mod shard;
pub mod sidecar;
pub mod stop;
pub mod sweep;
pub mod worker;
