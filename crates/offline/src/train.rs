//! From measurements to a model directory: cross-validation by problem, one forest a target, and what
//! upstream's trainer writes beside them.
//!
//! Each training runs on one thread with fixed seeds, so the same data and the same [`Plan`] give the same
//! bytes. Folds are trained in parallel, on the rayon pool of the caller.

mod artifacts;
mod average;
mod card;
mod data;
mod decide;
mod error;
mod facts;
mod fit;
mod folds;
mod held_out;
mod holdout;
mod metrics;
mod objective;
mod out_of_fold;
mod params;
mod residuals;
mod tune;
mod validate;
mod warm;

pub use artifacts::Directory;
pub use card::CardInputs;
pub(crate) use card::{part, purpose, stopping, way};
pub use data::{Item, Role, TrainingData};
pub use error::TrainError;
pub use fit::Rounds;
pub use folds::{GroupBy, group_k_fold};
pub(crate) use held_out::evaluation;
pub use holdout::Holdout;
pub use metrics::{Efficiency, FoldMetrics};
pub use objective::Objective;
pub use params::{MAX_TREES, Params};
pub(crate) use residuals::Residuals;
pub use tune::{Draw, Simulation, Way, own_params, spread_order};
pub use validate::Validation;
pub use warm::WarmStart;

use ck_select_model::features::Extractor;
use ck_select_model::forest::Forest;
use ck_select_model::model::Target;

use crate::measurements::Measurements;

use decide::Decisions;
use fit::{Recipe, Task};

/// When a training ends before its most trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Never: the number of trees is fixed beforehand.
    Never,
    /// When the held-out fold no longer gains: upstream's way, which lets the fold that is reported choose
    /// the number of trees.
    HeldOut,
    /// When a fifth of the problems that are trained on, kept aside for it, no longer gains.
    Inner,
}

/// One forest to train.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// What it predicts.
    pub target: Target,
    /// What it is trained to do.
    pub objective: Objective,
    /// How.
    pub params: Params,
}

/// Everything that decides what is trained.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Columns, rules, hardware.
    pub extractor: Extractor,
    /// Columns that are categories.
    pub categories: Vec<String>,
    /// The forests, each of its own target.
    pub goals: Vec<Goal>,
    /// The target that ranks.
    pub rank_by: Target,
    /// Folds of the cross-validation; fewer than 2 for none.
    pub folds: usize,
    /// What is left out in place of folds: each of its values once, while all others are trained on.
    pub holdout: Option<Holdout>,
    /// Of a universal model, how much the estimate counts; its objective decides in which measure.
    pub prior: Option<f64>,
    /// Which problems stay together.
    pub group_by: GroupBy,
    /// Shuffles groups of equal size among the folds.
    pub fold_seed: Option<u64>,
    /// When trainings end.
    pub stop: Stop,
    /// Sets of random parameters to try.
    pub trials: usize,
    /// Rounds of looking for problems that are chosen badly.
    pub hard_rounds: usize,
    /// The first seed.
    pub seed: u64,
    /// Forests of so many seeds are averaged.
    pub seeds: usize,
    /// What is special about each file.
    pub roles: Vec<Role>,
    /// The model to continue.
    pub warm_start: Option<WarmStart>,
}

/// Is told how far the training is.
pub trait Watcher: Sync {
    /// A target begins, for which [`Watcher::trained`] will be called so often.
    fn begins(&self, target: Target, trainings: usize);
    /// One of them is done.
    fn trained(&self);
}

/// Does not want to know.
impl Watcher for () {
    fn begins(&self, _: Target, _: usize) {}
    fn trained(&self) {}
}

/// A trained forest.
#[derive(Debug)]
pub struct Trained {
    /// What was asked for, with the parameters and the number of trees that came out.
    pub goal: Goal,
    /// LightGBM's text.
    pub text: String,
    /// The same, read.
    pub forest: Forest,
    /// What cross-validation found.
    pub validation: Validation,
    /// The rows that it was trained on.
    pub data: TrainingData,
    /// Trees of the forest that it continues.
    pub continued: usize,
    /// Problems that count more after looking for hard ones.
    pub hard_problems: usize,
}

/// Trains every goal of a plan.
pub fn train(
    measurements: &Measurements,
    plan: &Plan,
    watcher: &dyn Watcher,
) -> Result<Vec<Trained>, TrainError> {
    for goal in &plan.goals {
        goal.params.validate(plan.seeds)?;
    }
    // All targets first: nothing is trained when one of them has no data.
    let targets = plan.goals.iter().map(|goal| goal.target);
    let data = TrainingData::of_targets(measurements, &plan.extractor, targets, &plan.roles)?;
    plan.goals.iter().zip(data).map(|(goal, data)| one(measurements, plan, goal, data, watcher)).collect()
}

fn one(
    measurements: &Measurements,
    plan: &Plan,
    goal: &Goal,
    data: TrainingData,
    watcher: &dyn Watcher,
) -> Result<Trained, TrainError> {
    let problem = |item: &Item| plan.group_by.key(&measurements.problems()[item.problem as usize]);
    let groups = data.problems.iter().map(problem).collect();
    let mut task = Task::new(&data, goal.target, goal.objective, &plan.categories, groups);
    (task.seed, task.seeds) = (plan.seed, plan.seeds);
    let given = Recipe {
        params: goal.params.clone(),
        weights: data.problems.iter().map(|item| item.weight).collect(),
    };
    let decisions = Decisions { trials: plan.trials, hard_rounds: plan.hard_rounds, seed: plan.seed };
    task.prior = plan.prior;
    let fold_of = match &plan.holdout {
        Some(holdout) => Some(holdout.folds(measurements, &data.problems)?),
        None if plan.folds < 2 => None,
        None => validate::assign(&task, plan.folds, plan.fold_seed),
    };
    let folds = fold_of.iter().flatten().flatten().max().map_or(0, |last| last + 1);
    watcher.begins(goal.target, (folds + 1) * (1 + decisions.trainings()));

    // The old forest has seen the problems that are held out here, so it has no part in this.
    let validation = match &fold_of {
        Some(fold_of) => validate::validate(&task, fold_of, &given, &decisions, plan.stop, watcher)?,
        None => Validation {
            predictions: vec![None; data.rows.len()],
            fold_of_row: vec![None; data.rows.len()],
            ..Validation::default()
        },
    };
    let everything: Vec<usize> = (0..data.problems.len()).collect();
    let mut recipe = decide::decide(&task, &everything, &given, &decisions, watcher)?;
    if let (Some(trees), false) = (mean_trees(&validation), plan.stop == Stop::Never) {
        recipe.params = recipe.params.with_trees(trees);
    }
    task.start = plan.warm_start.as_ref().and_then(|warm| warm.forest(goal.target).map(str::to_owned));
    let text = task.forest(&everything, &recipe)?;
    watcher.trained();

    let wrong = |message: String| TrainError::Forest { target: goal.target, message };
    let forest = Forest::parse(text.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let continued = match &task.start {
        Some(start) => Forest::parse(start.as_bytes()).map_err(|e| wrong(e.to_string()))?.trees().len(),
        None => 0,
    };
    let hard_problems = recipe.weights.iter().zip(&given.weights).filter(|(new, old)| new > old).count();
    let goal = Goal { params: recipe.params, ..goal.clone() };
    Ok(Trained { goal, text, forest, validation, data, continued, hard_problems })
}

/// How many trees the folds ended with, on average.
fn mean_trees(validation: &Validation) -> Option<usize> {
    let folds = &validation.folds;
    let sum: usize = folds.iter().map(|fold| fold.best_iteration).sum();
    (!folds.is_empty()).then(|| ((sum as f64 / folds.len() as f64).round() as usize).max(1))
}
