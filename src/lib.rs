//! Chooses the fastest GPU kernel for a problem without trying them all.

pub mod features;
pub mod forest;
pub mod hardware;
pub mod kernel;
pub mod model;
pub mod pool;
pub mod problem;
pub mod select;
pub mod tuning;
pub mod vocab;
