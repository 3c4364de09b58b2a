//! Attention across the boundary.

mod kernels;
mod problem;
mod select;

pub use kernels::*;
pub use problem::*;
pub use select::*;
