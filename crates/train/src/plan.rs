//! Everything that determines a training: one plan and the same data give the same bytes.

use ck_select_model::directory::Target;
use ck_select_model::features::Extractor;
use ck_select_types::vocab::Dtype;
use ck_select_types::vocabulary;

use super::error::TrainError;
use super::folds::GroupBy;
use super::goal::Goal;
use super::holdout::Folds;
use super::mode::Mode;
use super::warm::WarmStart;

vocabulary! {
    /// When a training stops before its maximum number of trees.
    Stop, "stop" {
        /// When a fifth of the training problems, set aside for this, no longer improves.
        Inner = "inner",
        /// When the held-out fold no longer improves: upstream's way, in which the reported fold also chooses
        /// the number of trees.
        HeldOut = "held-out",
        /// Never: the number of trees is fixed.
        Never = "off",
    }
}

/// Everything that determines the training.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Columns, rules, hardware.
    pub extractor: Extractor,
    /// Columns that are categories.
    pub categories: Vec<String>,
    /// The forests, each for a different target; the first ranks.
    pub goals: Vec<Goal>,
    /// The problems that are left out to judge the forests.
    pub folds: Folds,
    /// The kind of data that the forests learn from.
    pub mode: Mode,
    /// Which problems stay together.
    pub group_by: GroupBy,
    /// Shuffles groups of equal size among the folds.
    pub fold_seed: Option<u64>,
    /// When trainings stop.
    pub stop: Stop,
    /// The seed.
    pub seed: u64,
    /// For each file, whether its problems are only trained on, never held out; false beyond the end.
    pub only_trains: Vec<bool>,
    /// The model to continue.
    pub warm_start: Option<WarmStart>,
}

impl Plan {
    /// Refuses columns, categories, constants or objectives that mean something else in the model to continue.
    pub fn check_warm_start(&self, dtype: Option<Dtype>) -> Result<(), TrainError> {
        self.warm_start
            .iter()
            .try_for_each(|warm| warm.check(&self.extractor, &self.categories, &self.goals, dtype))
    }

    /// The target that ranks.
    pub fn rank_by(&self) -> Target {
        self.goals.first().map_or(Target::Relative, |goal| goal.target)
    }

    /// A sentence that says what is not on both sides of a fold.
    pub const fn promise(&self) -> &'static str {
        self.group_by.promise(matches!(self.folds, Folds::Each(_)))
    }

    /// Whether a file is only trained on.
    pub fn only_trains(&self, file: usize) -> bool {
        self.only_trains.get(file).is_some_and(|only| *only)
    }
}
