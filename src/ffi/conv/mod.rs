//! Convolutions across the boundary.

mod kernels;
mod name;
mod problem;
mod select;

pub use kernels::*;
pub use name::*;
pub use problem::*;
pub use select::*;
