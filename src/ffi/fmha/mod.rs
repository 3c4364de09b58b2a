//! Attention across the boundary.

mod kernels;
mod problem;
mod select;
mod words;

pub use kernels::*;
pub use problem::*;
pub use select::*;
