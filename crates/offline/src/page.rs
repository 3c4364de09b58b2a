//! Self-contained pages: one HTML file each, no network, and a script that little depends on.
//!
//! All are made of one shell (`html`: style, script, tables), one module of charts (`chart`) and, for sweeps,
//! one map (`map`).

mod change;
mod chart;
mod curve;
mod evaluation;
mod explanation;
mod html;
mod made;
mod map;
mod progress;
mod sweep;
mod text;
#[cfg(feature = "lightgbm")]
mod training;

pub use curve::{CurvePoint, curve};
pub use evaluation::evaluation;
pub use explanation::{Explanation, explanation};
pub use made::{Made, ModelPlace};
pub use progress::{Clock, Progress, progress};
pub use sweep::{Against, sweep};
#[cfg(feature = "lightgbm")]
pub(crate) use training::training;
