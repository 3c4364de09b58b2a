//! The real LightGBM behind a few safe calls: it trains, and our own scorer is checked against it.
//!
//! Used only here, behind the cargo feature `lightgbm`; building it needs `CMake` 3.28 and libclang.

mod booster;
mod dataset;
mod error;

pub use booster::{Booster, Output};
pub use dataset::Matrix;
pub use error::LightGbmError;
