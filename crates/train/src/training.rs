//! Trains every goal of a plan: cross-validation, then one forest of all problems.

use ck_select_measurements::Measurements;
use ck_select_model::directory::Target;
use ck_select_model::ranking::most_of_forest;

use super::combine;
use super::data::{Item, ItemIndex, TrainingData};
use super::error::TrainError;
use super::fit::{Recipe, Task};
use super::goal::Goal;
use super::holdout::Folds;
use super::mode::Mode;
use super::plan::{Plan, Stop};
use super::text_forest::TextForest;
use super::trained::TrainedForest;
use super::validate::{self, Validation};
use super::warm::WarmStart;
use super::watcher::Watcher;

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
    let data = TrainingData::for_targets(measurements, &plan.extractor, targets, &plan.only_trains)?;
    plan.goals
        .iter()
        .zip(data)
        .map(|(goal, data)| train_goal(measurements, plan, goal, data, watcher))
        .collect()
}

fn train_goal(
    measurements: &Measurements,
    plan: &Plan,
    goal: &Goal,
    data: TrainingData,
    watcher: &dyn Watcher,
) -> Result<TrainedForest, TrainError> {
    let task = first_task(measurements, plan, goal, &data);
    let recipe = first_recipe(plan, goal, &data);
    let (fold_of, names) = match &plan.folds {
        Folds::Each(holdout) => {
            let left_out = holdout.folds(measurements, &data.problems)?;
            (Some(left_out.fold_of), left_out.names)
        }
        &Folds::Count(count) => (validate::assign(&task, count, plan.fold_seed), Vec::new()),
    };
    let folds = fold_of.iter().flatten().flatten().max().map_or(0, |last| last + 1);
    watcher.begins(goal.target, folds + 1);

    // The old forest has seen the problems that are held out here, so it is not continued.
    let validated = || match &fold_of {
        Some(fold_of) => validate::validate(&task, fold_of, &recipe, plan.stop, watcher),
        None => Ok(Validation::none(data.rows.len())),
    };
    let everything: Vec<ItemIndex> = data.items().collect();
    let start = plan.warm_start.as_ref().and_then(|warm| warm.forest(goal.target));
    let seen = plan.warm_start.iter().flat_map(WarmStart::archs).collect();
    let whole = Task { start, seen, adapts: plan.mode.adapts(), ..task.clone() };
    let last = |trees: Option<usize>| -> Result<(Recipe, TextForest), TrainError> {
        let mut recipe = recipe.clone();
        if let Some(trees) = trees {
            recipe.params = recipe.params.with_trees(trees);
        }
        let text = whole.text(&everything, &recipe)?;
        watcher.trained();
        let text = match (plan.mode, goal.target) {
            (Mode::Winners { .. }, Target::Relative) => {
                combine::lean(&text).map_err(|message| TrainError::forest(goal.target, message))?
            }
            _ => text,
        };
        Ok((recipe, whole.parsed(text)?))
    };
    // The folds decide how many trees the last forest has, unless that is fixed: then it need not wait for
    // them.
    let (mut validation, (recipe, forest)) = if plan.stop == Stop::Never {
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
    let continued = whole.start.map_or(0, |start| start.trees().len());
    let goal = Goal { params: recipe.params, ..goal.clone() };
    Ok(TrainedForest { goal, forest, validation, data, prior, continued })
}

/// The training of a goal, from no forest.
fn first_task<'a>(measurements: &Measurements, plan: &Plan, goal: &Goal, data: &'a TrainingData) -> Task<'a> {
    let problem = |item: &Item| plan.group_by.key(&measurements.problems()[item.problem as usize]);
    let groups = data.problems.iter().map(problem).collect();
    let mut task = Task::new(data, goal.target, goal.objective, &plan.categories, groups);
    task.seed = plan.seed;
    // The estimate's order is a prior of ranking; of a value, its columns are.
    if goal.target == Target::Relative {
        task.prior = plan.mode.prior();
        if let Mode::Universal { prior } = plan.mode {
            task.most = most_of_forest(prior);
        }
    }
    task
}

/// A goal's recipe before anything is decided from the data.
fn first_recipe(plan: &Plan, goal: &Goal, data: &TrainingData) -> Recipe {
    let weight = |item: &Item| plan.mode.weight(item.span.len());
    let kernels = data.problems.iter().map(|item| item.span.len()).max().unwrap_or_default();
    let params = goal.params.clone().for_pool(goal.objective, kernels);
    Recipe { params, weights: data.problems.iter().map(weight).collect() }
}

/// The average number of trees of the folds.
fn mean_trees(validation: &Validation) -> Option<usize> {
    let folds = &validation.folds;
    let sum: usize = folds.iter().map(|fold| fold.best_iteration).sum();
    (!folds.is_empty()).then(|| ((sum as f64 / folds.len() as f64).round() as usize).max(1))
}
