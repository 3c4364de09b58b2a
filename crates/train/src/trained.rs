//! What a training gives for each goal.

use super::data::TrainingData;
use super::goal::Goal;
use super::plan::Plan;
use super::text_forest::TextForest;
use super::validate::Validation;

/// A trained forest.
#[derive(Debug)]
pub struct TrainedForest {
    /// The goal, with the resulting parameters and number of trees.
    pub goal: Goal,
    /// The forest, with LightGBM's text of it.
    pub forest: TextForest,
    /// The results of cross-validation.
    pub validation: Validation,
    /// The rows that the forest was trained on.
    pub data: TrainingData,
    /// The weight of the estimate in selections, for a universal model.
    pub prior: Option<f64>,
    /// Number of trees of the forest that it continues.
    pub continued: usize,
}

impl Plan {
    /// The forest that ranks.
    pub fn ranking<'t>(&self, trained: &'t [TrainedForest]) -> Option<&'t TrainedForest> {
        trained.iter().find(|one| one.goal.target == self.rank_by())
    }
}
