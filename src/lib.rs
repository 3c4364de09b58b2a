//! Chooses the fastest GPU kernel for a problem without trying them all.

pub mod features;
pub mod forest;
pub mod hardware;
pub mod kernel;
pub mod model;
pub mod problem;
pub mod scoring;
pub mod vocab;
