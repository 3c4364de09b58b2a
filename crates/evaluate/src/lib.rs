//! Studies of models and measurements: how well a model chooses, how two compare, what a sweep tells, which
//! kernels are worth keeping.
//!
//! ```text
//! measurements ── candidates ──┬── judge ── evaluation, compare ┐
//!                              └── survey ──────────────────────┴── page
//! ```

pub mod candidates;
pub mod compare;
mod evaluation;
pub mod judge;
pub mod page;
pub mod predictions;
pub mod survey;
pub mod winners;

pub use evaluation::{
    Baselines, Coverage, Evaluation, Expected, FieldCoverage, Losses, Outcome, Refined, Slice, SliceGroup,
};

use std::fmt::Display;

/// Why nothing can be judged, in a sentence that names the file, model or problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EvaluateError(String);

impl EvaluateError {
    pub(crate) fn new(reason: impl Display) -> Self {
        Self(reason.to_string())
    }

    /// An error about one problem.
    pub(crate) fn about(problem: impl Display, reason: impl Display) -> Self {
        Self(format!("{problem}: {reason}"))
    }
}
