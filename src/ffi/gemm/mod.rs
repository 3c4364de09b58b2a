//! GEMMs across the boundary.

mod kernels;
mod problem;
mod request;
mod select;

pub use kernels::*;
pub use problem::*;
pub use request::*;
pub use select::*;
