//! Decisions that a training makes from its own problems alone: problems with more weight, and the number of
//! trees. Each decision is made by cross-validation within the training problems, so that a held-out problem
//! does not influence how it is predicted.

use super::fit::{Recipe, Rounds, Task};
use super::folds::{group_k_fold, split};
use super::{TrainError, Watcher};

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
    problems: &[usize],
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

/// How well each problem's kernel is chosen while it is held out, as [`Task::choices`] has it.
fn inner_choices(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &Recipe,
    watcher: &dyn Watcher,
) -> Result<Vec<(usize, f64)>, TrainError> {
    let fold_of = inner_folds(task, problems, INNER_FOLDS);
    let mut all = Vec::new();
    for fold in 0..INNER_FOLDS {
        let (trained, held) = split(&fold_of, fold);
        let trained: Vec<usize> = trained.into_iter().filter(|&place| fold_of[place].is_some()).collect();
        let forest = task.forest(&trained, recipe)?;
        for problem in held {
            let one = [problem];
            let scores = task.predict(&forest, &trained, &one)?;
            all.push((problem, task.choices(&scores, &one).first().map_or(1.0, |choice| choice.0)));
        }
        watcher.trained();
    }
    Ok(all)
}

/// Increases the weight of the problems with the worst choices.
fn reweigh(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &mut Recipe,
    watcher: &dyn Watcher,
) -> Result<(), TrainError> {
    let mut held = inner_choices(task, problems, recipe, watcher)?;
    held.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let hard = (held.len() as f64 * HARD_SHARE).ceil() as usize;
    for &(problem, _) in held.iter().take(hard).filter(|(_, choice)| *choice < 1.0) {
        let weight = &mut recipe.weights[problem];
        *weight = (*weight * HARD_FACTOR).min(HARD_LIMIT);
    }
    Ok(())
}

/// The best number of trees for a fifth of the problems, which is set aside for this; `None` if there are too
/// few problems.
pub(super) fn inner_trees(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &Recipe,
) -> Result<Option<Rounds>, TrainError> {
    const PARTS: usize = 5;
    if problems.len() < PARTS {
        return Ok(None);
    }
    let fold_of = inner_folds(task, problems, PARTS);
    let (trained, watched) = split(&fold_of, 0);
    let trained: Vec<usize> = trained.into_iter().filter(|&place| fold_of[place].is_some()).collect();
    if watched.is_empty() {
        return Ok(None);
    }
    task.best_trees(&trained, &watched, recipe).map(Some)
}

/// Folds of some of the problems; `None` for the others.
fn inner_folds(task: &Task<'_>, problems: &[usize], folds: usize) -> Vec<Option<usize>> {
    let items: Vec<(String, usize)> = problems
        .iter()
        .map(|&problem| (task.groups[problem].clone(), task.data.problems[problem].span.len()))
        .collect();
    let mut fold_of = vec![None; task.data.problems.len()];
    for (&problem, fold) in problems.iter().zip(group_k_fold(&items, folds, Some(task.seed))) {
        fold_of[problem] = Some(fold);
    }
    fold_of
}

/// How often [`decide`] calls [`Watcher::trained`], for one set of training problems.
pub(super) const fn trainings(hard_rounds: usize) -> usize {
    hard_rounds * INNER_FOLDS
}
