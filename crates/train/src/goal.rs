//! One forest of a training.

use ck_select_model::directory::Target;

use super::objective::Objective;
use super::params::Params;

/// One forest to train.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What it predicts.
    pub target: Target,
    /// Its training objective.
    pub objective: Objective,
    /// Its parameters.
    pub params: Params,
}
