//! Decisions that a training makes from its own problems alone: problems with more weight, and the number of
//! trees. Each decision is made by cross-validation within the training problems, so that a held-out problem
//! does not influence how it is predicted.

use super::data::ItemIndex;
use super::error::TrainError;
use super::fit::{Recipe, Rounds, Task};
use super::folds::in_folds;
use super::watcher::Watcher;

/// Folds of the inner cross-validation.
const INNER_FOLDS: usize = 3;

/// Share of the problems, those with the worst choices, that gets more weight after a round.
const HARD_SHARE: f64 = 0.2;

/// Factor of a hard problem's weight in each round, and its maximum weight.
const HARD_FACTOR: f64 = 2.0;
const HARD_LIMIT: f64 = 8.0;

/// The recipe for these problems, after some rounds of searching for those with bad choices.
pub(super) fn decide(
    task: &Task<'_>,
    problems: &[ItemIndex],
    given: &Recipe,
    hard_rounds: usize,
    watcher: &dyn Watcher,
) -> Result<Recipe, TrainError> {
    let mut recipe = given.clone();
    if problems.len() < INNER_FOLDS {
        return Ok(recipe);
    }
    for _ in 0..hard_rounds {
        reweigh(task, problems, &mut recipe, watcher)?;
    }
    Ok(recipe)
}

/// Increases the weight of the problems with the worst choices while they are held out.
fn reweigh(
    task: &Task<'_>,
    problems: &[ItemIndex],
    recipe: &mut Recipe,
    watcher: &dyn Watcher,
) -> Result<(), TrainError> {
    let mut choices = Vec::new();
    for (trained, held) in inner_folds(task, problems, INNER_FOLDS) {
        let forest = task.forest(&trained, recipe)?;
        let scores = task.predict(&forest, &trained, &held)?;
        let first = task.choices(&scores, &held).into_iter().map(|choice| choice.efficiency);
        choices.extend(held.iter().copied().zip(first));
        watcher.trained();
    }
    choices.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let hard = (choices.len() as f64 * HARD_SHARE).ceil() as usize;
    for &(problem, _) in choices.iter().take(hard).filter(|(_, choice)| *choice < 1.0) {
        let weight = &mut recipe.weights[problem.get()];
        *weight = (*weight * HARD_FACTOR).min(HARD_LIMIT);
    }
    Ok(())
}

/// The best number of trees for a fifth of the problems, which is set aside for this; `None` if there are too
/// few problems.
pub(super) fn inner_trees(
    task: &Task<'_>,
    problems: &[ItemIndex],
    recipe: &Recipe,
) -> Result<Option<Rounds>, TrainError> {
    const PARTS: usize = 5;
    if problems.len() < PARTS {
        return Ok(None);
    }
    let first = inner_folds(task, problems, PARTS).next();
    first.map(|(trained, watched)| task.best_trees(&trained, &watched, recipe)).transpose()
}

/// Some problems in folds of about as many rows; none if all are of one group.
fn inner_folds(
    task: &Task<'_>,
    problems: &[ItemIndex],
    folds: usize,
) -> impl Iterator<Item = (Vec<ItemIndex>, Vec<ItemIndex>)> {
    let item = |&problem: &ItemIndex| (task.group(problem).clone(), task.data.item(problem).span.len());
    let items: Vec<(String, usize)> = problems.iter().map(item).collect();
    let folds = in_folds(problems, &items, folds, task.seed);
    folds.into_iter().filter(|(trained, held)| !trained.is_empty() && !held.is_empty())
}

/// How often [`decide`] calls [`Watcher::trained`], for one set of training problems.
pub(super) const fn trainings(hard_rounds: usize) -> usize {
    hard_rounds * INNER_FOLDS
}
