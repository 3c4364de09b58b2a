//! Chooses the fastest GPU kernel for a problem without trying them all.

pub mod features;
pub mod forest;
pub mod hardware;
pub mod kernel;
pub mod model;
pub mod pool;
pub mod problem;
pub mod registry;
pub mod scoring;
pub mod select;
pub mod vocab;

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
