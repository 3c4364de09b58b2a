//! Requests and answers: problems and kernels as plain checked values, their names and their files.
//!
//! - [`problem`]: a convolution or a GEMM, from text, tables and lists
//! - [`kernel`]: what can answer a problem: descriptors and their names
//! - [`pool`]: the kernels among which one is chosen
//! - [`hardware`]: the GPU's constants; [`vocab`]: all words; [`cells`]: values by the names of columns
//! - [`files`]: opening, reading and writing files with untrusted names; [`panics`]: panics turned into
//!   values; [`nearest`]: suggestions for mistyped words; [`terminal`]: text from outside, safe to print

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod cells;
pub mod conv;
mod defaults;
pub mod field;
pub mod files;
pub mod fmha;
pub mod gemm;
pub mod hardware;
pub mod inputs;
mod invalid;
pub mod json;
pub mod kernel;
pub mod listing;
pub mod nearest;
pub mod panics;
pub mod pool;
pub mod problem;
mod scan;
pub mod shape;
mod suffixes;
pub mod terminal;
mod valid;
pub mod vocab;
