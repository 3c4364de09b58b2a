//! Requests and answers: problems and kernels as plain checked values, their names and their files.
//!
//! ```text
//! vocab ── field ──┬── conv ──┐                   ┌── problem ── listing (text, tables, logs)
//!                  ├── gemm ──┼── operation ──────┤
//!                  ├── fmha ──┤   (a record each) └── kernel ─── pool (names, exports, lists)
//!                  └── moe ───┘
//! ```
//!
//! - [`conv`], [`gemm`], [`fmha`], [`moe`]: an operation's fields, a line each, its names and rules
//! - [`operation`]: what each says about itself; [`problem`], [`kernel`]: values of any
//! - [`given`]: what cells say about a problem or a kernel, before anything is assumed; [`groups`]: lists of GEMMs;
//!   [`routing`]: rows over experts
//! - [`listing`]: problems from text, tables and lists
//! - [`pool`]: the kernels among which one is chosen
//! - [`hardware`]: the GPU's constants; [`vocab`]: all words; [`cells`]: values by the names of columns
//! - [`sheet`]: tables in text; [`files`]: opening, reading and writing files with untrusted names;
//!   [`inflate`]: gzip within a limit; [`panics`]: panics turned into values; [`nearest`]: suggestions for
//!   mistyped words; [`terminal`]: text from outside, safe to print; [`thread_scratch`]: working memory of a
//!   thread

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cell;
pub mod cells;
pub mod conv;
mod defaults;
pub mod ends;
pub mod field;
pub mod files;
pub mod fmha;
pub mod gemm;
pub mod given;
mod grammar;
pub mod groups;
pub mod hardware;
mod index;
pub mod inflate;
pub mod inputs;
mod invalid;
pub mod json;
pub mod kernel;
mod limits;
pub mod listing;
pub mod moe;
pub mod nearest;
pub mod operation;
mod operation_list;
mod operations;
pub mod panics;
pub mod pool;
pub mod problem;
pub mod routing;
mod scan;
pub mod shape;
pub mod sheet;
pub mod table;
pub mod terminal;
pub mod thread_scratch;
mod valid;
pub mod vocab;
