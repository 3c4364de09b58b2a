//! The offline half of ck-select: measurements in, models and reports out.
//!
//! Measurements are a [`measurements::Measurements`]: distinct problems, distinct kernels and rows that refer
//! to a pair of them, regardless of the file's format. Everything else (training, evaluation, comparison)
//! works on that type, with features from the library's own engines. [`convert`] converts files of any format
//! into upstream's canonical tables, and [`shapes`] generates problems that are worth measuring.

pub mod candidates;
pub mod compare;
pub mod convert;
pub mod digest;
pub mod evaluate;
pub mod features;
pub mod figures;
mod forest_text;
pub mod judge;
#[cfg(feature = "lightgbm")]
pub mod lightgbm;
pub mod measurements;
pub mod page;
pub mod predictions;
pub mod shapes;
pub mod staged;
pub mod surrogate;
pub mod survey;
#[cfg(feature = "lightgbm")]
pub mod train;
pub mod trained;

pub use forest_text::forest_text;
