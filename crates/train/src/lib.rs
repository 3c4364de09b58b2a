//! Trains a model directory from measurements: cross-validation by problem, one forest per target, and the
//! other files of upstream's trainer.
//!
//! ```text
//! measurements ── data ── folds ──┬── fit (a fold each) ── out_of_fold ── card
//!                                 └── fit (all) ── artifacts, the model directory
//! ```
//!
//! Each training runs on one thread with fixed seeds, so the same data and the same [`Plan`] give the same
//! bytes. Folds are trained in parallel, on the rayon pool of the caller. [`lightgbm`] is the real LightGBM
//! behind a safe interface.
#![cfg(feature = "lightgbm")]

mod artifacts;
mod card;
mod combine;
mod data;
mod decide;
mod error;
mod facts;
mod fit;
mod folds;
mod holdout;
mod lambdarank;
pub mod lightgbm;
mod metrics;
mod objective;
mod out_of_fold;
mod params;
mod simulation;
mod tune;
mod validate;
mod warm;

pub use artifacts::Directory;
pub use card::{CardInputs, CurvePoint};
pub use card::{held_out_text, part, purpose, stopping};
pub use data::{Item, TrainingData};
pub use error::TrainError;
pub use fit::Rounds;
pub use folds::{GroupBy, group_k_fold};
pub use holdout::Holdout;
pub use metrics::{Efficiency, FoldMetrics};
pub use objective::Objective;
pub use params::{MAX_TREES, Params};
pub use simulation::{Draw, Method, PromisingRows, Simulation};
pub use tune::{own_params, spread_order};
pub use validate::Validation;
pub use warm::WarmStart;

use ck_select_measurements::Measurements;
use ck_select_model::directory::Target;
use ck_select_model::features::Extractor;
use ck_select_model::forest::Forest;
use ck_select_model::ranking::most_of_forest;
use ck_select_types::vocabulary;

use fit::{Recipe, Task};

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

/// Everything that determines the training.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Columns, rules, hardware.
    pub extractor: Extractor,
    /// Columns that are categories.
    pub categories: Vec<String>,
    /// The forests, each for a different target.
    pub goals: Vec<Goal>,
    /// The target that ranks.
    pub rank_by: Target,
    /// Folds of the cross-validation; fewer than 2 for none.
    pub folds: usize,
    /// What is left out instead of folds: each of its values once, while training on all others.
    pub holdout: Option<Holdout>,
    /// Weight of the estimate in a universal model, in the unit of its objective.
    pub prior: Option<f64>,
    /// Which problems stay together.
    pub group_by: GroupBy,
    /// Shuffles groups of equal size among the folds.
    pub fold_seed: Option<u64>,
    /// When trainings stop.
    pub stop: Stop,
    /// Number of rounds of searching for problems with bad choices.
    pub hard_rounds: usize,
    /// The seed.
    pub seed: u64,
    /// By file, whether its problems are only trained on, never held out; no, beyond the end.
    pub only_trains: Vec<bool>,
    /// The model to continue.
    pub warm_start: Option<WarmStart>,
    /// Whether it is adapted to one GPU, so that a forest of these problems alone is added.
    pub adapts: bool,
}

impl Plan {
    /// The forest that ranks.
    pub fn ranking<'t>(&self, trained: &'t [TrainedForest]) -> Option<&'t TrainedForest> {
        trained.iter().find(|one| one.goal.target == self.rank_by)
    }

    /// Whether a file is only trained on.
    pub fn only_trains(&self, file: usize) -> bool {
        self.only_trains.get(file).is_some_and(|only| *only)
    }
}

/// Receives the progress of a training.
pub trait Watcher: Sync {
    /// A target begins, for which [`Watcher::trained`] will be called this many times.
    fn begins(&self, target: Target, trainings: usize);
    /// One training is done.
    fn trained(&self);
}

/// Ignores the progress.
impl Watcher for () {
    fn begins(&self, _: Target, _: usize) {}
    fn trained(&self) {}
}

/// A trained forest.
#[derive(Debug)]
pub struct TrainedForest {
    /// The goal, with the resulting parameters and number of trees.
    pub goal: Goal,
    /// LightGBM's text.
    pub text: String,
    /// The parsed forest.
    pub forest: Forest,
    /// The results of cross-validation.
    pub validation: Validation,
    /// The rows that it was trained on.
    pub data: TrainingData,
    /// The weight of the estimate in selections, for a universal model.
    pub prior: Option<f64>,
    /// Number of trees of the forest that it continues.
    pub continued: usize,
    /// Number of problems with more weight after the search for hard ones.
    pub hard_problems: usize,
}

/// Trains every goal of a plan.
pub fn train(
    measurements: &Measurements,
    plan: &Plan,
    watcher: &dyn Watcher,
) -> Result<Vec<TrainedForest>, TrainError> {
    for goal in &plan.goals {
        goal.params.validate()?;
    }
    // All targets are checked first: nothing is trained if one of them has no data.
    let targets = plan.goals.iter().map(|goal| goal.target);
    let data = TrainingData::of_targets(measurements, &plan.extractor, targets, &plan.only_trains)?;
    plan.goals.iter().zip(data).map(|(goal, data)| one(measurements, plan, goal, data, watcher)).collect()
}

fn one(
    measurements: &Measurements,
    plan: &Plan,
    goal: &Goal,
    data: TrainingData,
    watcher: &dyn Watcher,
) -> Result<TrainedForest, TrainError> {
    let task = first_task(measurements, plan, goal, &data);
    let given = first_recipe(measurements, plan, goal, &data);
    let (fold_of, names) = match &plan.holdout {
        Some(holdout) => {
            let left_out = holdout.folds(measurements, &data.problems)?;
            (Some(left_out.fold_of), left_out.names)
        }
        None if plan.folds < 2 => (None, Vec::new()),
        None => (validate::assign(&task, plan.folds, plan.fold_seed), Vec::new()),
    };
    let folds = fold_of.iter().flatten().flatten().max().map_or(0, |last| last + 1);
    watcher.begins(goal.target, (folds + 1) * (1 + decide::trainings(plan.hard_rounds)));

    // The old forest has seen the problems that are held out here, so it is not continued.
    let validated = || match &fold_of {
        Some(fold_of) => validate::validate(&task, fold_of, &given, plan.hard_rounds, plan.stop, watcher),
        None => Ok(Validation::none(data.rows.len())),
    };
    let everything: Vec<usize> = (0..data.problems.len()).collect();
    let start = plan.warm_start.as_ref().and_then(|warm| warm.forest(goal.target).map(str::to_owned));
    let seen = plan.warm_start.iter().flat_map(WarmStart::archs).collect();
    let whole = Task { start, seen, adapts: plan.adapts, ..task.clone() };
    let last = |trees: Option<usize>| -> Result<(Recipe, String), TrainError> {
        let mut recipe = decide::decide(&task, &everything, &given, plan.hard_rounds, watcher)?;
        if let Some(trees) = trees {
            recipe.params = recipe.params.with_trees(trees);
        }
        let text = whole.forest(&everything, &recipe)?;
        watcher.trained();
        Ok((recipe, text))
    };
    // The folds decide how many trees the last forest has, unless that is fixed: then it need not wait for
    // them.
    let (mut validation, (recipe, text)) = if plan.stop == Stop::Never {
        let (last, validation) = rayon::join(|| last(None), validated);
        (validation?, last?)
    } else {
        let validation = validated()?;
        let last = last(mean_trees(&validation))?;
        (validation, last)
    };
    for fold in &mut validation.folds {
        fold.left_out = names.get(fold.fold).cloned();
    }
    let prior = whole.prior.map(|prior| whole.adapted_prior(prior, plan.extractor.arch, everything.len()));
    let wrong = |message: String| TrainError::forest(goal.target, message);
    let parsed = |text: &str| Forest::parse(text.as_bytes()).map_err(|error| wrong(error.to_string()));
    let is_tuned = data.problems.iter().any(|item| is_tuned(measurements, &data, item));
    let text =
        if is_tuned && goal.target == Target::Relative { combine::lean(&text).map_err(wrong)? } else { text };
    let forest = parsed(&text)?;
    let continued = whole.start.as_deref().map(parsed).transpose()?.map_or(0, |start| start.trees().len());
    let hard_problems = recipe.weights.iter().zip(&given.weights).filter(|(new, old)| new > old).count();
    let goal = Goal { params: recipe.params, ..goal.clone() };
    Ok(TrainedForest { goal, text, forest, validation, data, prior, continued, hard_problems })
}

/// The training of a goal, from no forest.
fn first_task<'a>(measurements: &Measurements, plan: &Plan, goal: &Goal, data: &'a TrainingData) -> Task<'a> {
    let problem = |item: &Item| plan.group_by.key(&measurements.problems()[item.problem as usize]);
    let groups = data.problems.iter().map(problem).collect();
    let mut task = Task::new(data, goal.target, goal.objective, &plan.categories, groups);
    task.seed = plan.seed;
    // The estimate's order is a prior of ranking; of a value, its columns are.
    task.prior = plan.prior.filter(|_| goal.target == Target::Relative);
    if let (Some(prior), None) = (task.prior, plan.extractor.arch) {
        task.most = most_of_forest(prior);
    }
    task
}

/// A goal's recipe before anything is decided from the data.
fn first_recipe(measurements: &Measurements, plan: &Plan, goal: &Goal, data: &TrainingData) -> Recipe {
    // Shapes of tuned tables count alike: with the weights of universal trainings, a family of hundreds of
    // kernels outweighed the others.
    let weight = |item: &Item| match plan.prior {
        Some(_) if !plan.adapts && !is_tuned(measurements, data, item) => weight_of(item.span.len()),
        _ => 1.0,
    };
    let kernels = data.problems.iter().map(|item| item.span.len()).max().unwrap_or_default();
    let params = goal.params.clone().for_pool(goal.objective, kernels);
    Recipe { params, weights: data.problems.iter().map(weight).collect() }
}

/// Whether a problem is a shape of a tuned table.
fn is_tuned(measurements: &Measurements, data: &TrainingData, item: &Item) -> bool {
    measurements.rows()[data.rows[item.span.start] as usize].share.is_some()
}

/// The weight of a problem in a universal training, where pools of thirty and of hundreds of kernels meet:
/// where there is more to choose from, there is more to learn.
fn weight_of(kernels: usize) -> f64 {
    (kernels as f64 / 30.0).max(1.0).sqrt()
}

/// The average number of trees of the folds.
fn mean_trees(validation: &Validation) -> Option<usize> {
    let folds = &validation.folds;
    let sum: usize = folds.iter().map(|fold| fold.best_iteration).sum();
    (!folds.is_empty()).then(|| ((sum as f64 / folds.len() as f64).round() as usize).max(1))
}
