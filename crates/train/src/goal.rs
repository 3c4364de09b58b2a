//! One forest of a training.

use ck_select_model::directory::Target;

use super::objective::Objective;
use super::params::Params;

/// One forest to train.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The target that the forest predicts.
    pub target: Target,
    /// The forest's training objective.
    pub objective: Objective,
    /// The forest's parameters.
    pub params: Params,
}
