//! Decisions that a training makes from its own problems alone: parameters by random search, and problems
//! with more weight. Each decision is made by cross-validation within the training problems, so that a
//! held-out problem does not influence how it is predicted.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::fit::{Recipe, Rounds, Task};
use super::folds::group_k_fold;
use super::metrics::Efficiency;
use super::validate::split;
use super::{Params, TrainError, Watcher};

/// The decisions to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Decisions {
    /// Number of parameter sets to try besides the given one.
    pub(super) trials: usize,
    /// Number of rounds of searching for problems with bad choices.
    pub(super) hard_rounds: usize,
    pub(super) seed: u64,
}

/// Folds of the inner cross-validation.
const INNER_FOLDS: usize = 3;

/// Share of the problems, those with the worst choices, that gets more weight after a round.
const HARD_SHARE: f64 = 0.2;

/// Factor of a hard problem's weight in each round, and its maximum weight.
const HARD_FACTOR: f64 = 2.0;
const HARD_LIMIT: f64 = 8.0;

/// The values to try.
const SPACE: &[(&str, &[f64])] = &[
    ("num_leaves", &[7.0, 11.0, 15.0, 23.0, 31.0, 63.0]),
    ("learning_rate", &[0.02, 0.03, 0.05, 0.08]),
    ("min_child_samples", &[5.0, 10.0, 20.0, 40.0]),
    ("colsample_bytree", &[0.4, 0.6, 0.8, 1.0]),
    ("reg_lambda", &[0.0, 0.5, 2.0, 8.0]),
    ("min_split_gain", &[0.0, 0.001, 0.01]),
];

/// The recipe for these problems.
pub(super) fn decide(
    task: &Task<'_>,
    problems: &[usize],
    given: &Recipe,
    decisions: &Decisions,
    watcher: &dyn Watcher,
) -> Result<Recipe, TrainError> {
    let mut recipe = given.clone();
    if problems.len() < INNER_FOLDS {
        return Ok(recipe);
    }
    if decisions.trials > 0 {
        recipe.params = tune(task, problems, &recipe, decisions, watcher)?;
    }
    for _ in 0..decisions.hard_rounds {
        reweigh(task, problems, &mut recipe, decisions, watcher)?;
    }
    Ok(recipe)
}

/// The best of the given parameters and some random ones.
fn tune(
    task: &Task<'_>,
    problems: &[usize],
    given: &Recipe,
    decisions: &Decisions,
    watcher: &dyn Watcher,
) -> Result<Params, TrainError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(decisions.seed);
    let mut best: Option<(f64, Params)> = None;
    for trial in 0..=decisions.trials {
        let mut params = given.params.clone();
        if trial > 0 {
            for (name, values) in SPACE {
                params.put(name, values[random.random_range(0..values.len())]);
            }
        }
        let recipe = Recipe { params, weights: given.weights.clone() };
        let score = inner_score(task, problems, &recipe, decisions, watcher)?;
        if best.as_ref().is_none_or(|best| score > best.0) {
            best = Some((score, recipe.params));
        }
    }
    Ok(best.map_or_else(|| given.params.clone(), |best| best.1))
}

/// How good a recipe is on held-out problems: mean efficiency, or the negative mean squared error if the
/// target does not choose.
fn inner_score(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &Recipe,
    decisions: &Decisions,
    watcher: &dyn Watcher,
) -> Result<f64, TrainError> {
    let inner = inner_choices(task, problems, recipe, decisions, watcher)?;
    if task.chooses() {
        let choices: Vec<(f64, f64)> = inner.into_iter().map(|held| held.choice).collect();
        return Ok(Efficiency::of(&choices).map_or(f64::NEG_INFINITY, |efficiency| efficiency.mean));
    }
    let count = inner.iter().map(|held| held.rows).sum::<usize>().max(1) as f64;
    Ok(-inner.iter().map(|held| held.squares).sum::<f64>() / count)
}

/// A held-out part, and its results.
struct Held {
    problem: usize,
    choice: (f64, f64),
    squares: f64,
    rows: usize,
}

fn inner_choices(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &Recipe,
    decisions: &Decisions,
    watcher: &dyn Watcher,
) -> Result<Vec<Held>, TrainError> {
    let fold_of = inner_folds(task, problems, INNER_FOLDS, decisions.seed);
    let mut all = Vec::new();
    for fold in 0..INNER_FOLDS {
        let (trained, held) = split(&fold_of, fold);
        let trained: Vec<usize> = trained.into_iter().filter(|&place| fold_of[place].is_some()).collect();
        let forest = task.forest(&trained, recipe)?;
        for problem in held {
            let one = [problem];
            let scores = task.predict(&forest, &trained, &one)?;
            let choice = task.choices(&scores, &one).first().copied().unwrap_or((1.0, 1.0));
            let squares = task
                .data
                .rows_of(&one)
                .zip(&scores)
                .map(|(row, score)| (task.labels[row] - score).powi(2))
                .sum();
            all.push(Held { problem, choice, squares, rows: scores.len() });
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
    decisions: &Decisions,
    watcher: &dyn Watcher,
) -> Result<(), TrainError> {
    let mut held = inner_choices(task, problems, recipe, decisions, watcher)?;
    held.sort_by(|a, b| a.choice.0.total_cmp(&b.choice.0).then(a.problem.cmp(&b.problem)));
    let hard = (held.len() as f64 * HARD_SHARE).ceil() as usize;
    for held in held.iter().take(hard).filter(|held| held.choice.0 < 1.0) {
        let weight = &mut recipe.weights[held.problem];
        *weight = (*weight * HARD_FACTOR).min(HARD_LIMIT * task.data.problems[held.problem].weight);
    }
    Ok(())
}

/// The best number of trees for a fifth of the problems, which is set aside for this; `None` if there are too
/// few problems.
pub(super) fn inner_trees(
    task: &Task<'_>,
    problems: &[usize],
    recipe: &Recipe,
    seed: u64,
) -> Result<Option<Rounds>, TrainError> {
    const PARTS: usize = 5;
    if problems.len() < PARTS {
        return Ok(None);
    }
    let fold_of = inner_folds(task, problems, PARTS, seed);
    let (trained, watched) = split(&fold_of, 0);
    let trained: Vec<usize> = trained.into_iter().filter(|&place| fold_of[place].is_some()).collect();
    if watched.is_empty() {
        return Ok(None);
    }
    task.best_trees(&trained, &watched, recipe).map(Some)
}

/// Folds of some of the problems; `None` for the others.
fn inner_folds(task: &Task<'_>, problems: &[usize], folds: usize, seed: u64) -> Vec<Option<usize>> {
    let items: Vec<(String, usize)> = problems
        .iter()
        .map(|&problem| (task.groups[problem].clone(), task.data.problems[problem].span.len()))
        .collect();
    let mut fold_of = vec![None; task.data.problems.len()];
    for (&problem, fold) in problems.iter().zip(group_k_fold(&items, folds, Some(seed))) {
        fold_of[problem] = Some(fold);
    }
    fold_of
}

impl Decisions {
    /// How often these decisions call [`Watcher::trained`], for one set of training problems.
    pub(super) const fn trainings(&self) -> usize {
        let tried = if self.trials > 0 { self.trials + 1 } else { 0 };
        (tried + self.hard_rounds) * INNER_FOLDS
    }
}
