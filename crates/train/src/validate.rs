//! Cross-validation: how a training performs on problems that it has not seen.

use std::collections::BTreeSet;

use rayon::prelude::*;

use ck_select_measurements::figures::Errors;

use super::data::ItemIndex;
use super::decide;
use super::error::TrainError;
use super::fit::{Recipe, Rounds, Task};
use super::folds::group_k_fold;
use super::metrics::{Choice, Efficiency, FoldMetrics};
use super::plan::Stop;
use super::watcher::Watcher;

/// The results of cross-validation.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// One entry per fold; none if there were too few problems to hold any out.
    pub folds: Vec<FoldMetrics>,
    /// How early stopping chose the number of trees, in the order of the folds; `None` if it was fixed.
    pub rounds: Vec<Option<Rounds>>,
    /// Over the problems of all folds; `None` for targets that do not choose.
    pub efficiency: Option<Efficiency>,
    /// Out-of-fold predictions, in the space of the training; `None` for rows that were only trained on.
    pub predictions: Vec<Option<f64>>,
    /// The fold of each row.
    pub fold_of_row: Vec<Option<u32>>,
}

impl Validation {
    /// The validation of a training without folds, on so many rows.
    pub(super) fn none(rows: usize) -> Self {
        Self { predictions: vec![None; rows], fold_of_row: vec![None; rows], ..Self::default() }
    }
}

/// The fold of each problem; `None` if none of its group is judged. Returns `None` if there are fewer than
/// two groups.
pub(super) fn assign(task: &Task<'_>, folds: usize, seed: Option<u64>) -> Option<Vec<Option<usize>>> {
    let data = task.data;
    // Problems that are only trained on follow their group: they are not trained on if the group is held out.
    let is_judged = |problem: &ItemIndex| !data.item(*problem).only_trains;
    let judged: BTreeSet<&String> = data.items().filter(is_judged).map(|item| task.group(item)).collect();
    let held: Vec<ItemIndex> = data.items().filter(|&item| judged.contains(task.group(item))).collect();
    let rows = |problem| if is_judged(&problem) { data.item(problem).span.len() } else { 0 };
    let items: Vec<(String, usize)> =
        held.iter().map(|&problem| (task.group(problem).clone(), rows(problem))).collect();
    let groups: BTreeSet<&String> = items.iter().map(|item| &item.0).collect();
    let folds = folds.min(groups.len());
    if folds < 2 {
        return None;
    }
    let mut fold_of = vec![None; data.problems.len()];
    for (problem, fold) in held.into_iter().zip(group_k_fold(&items, folds, seed)) {
        fold_of[problem.get()] = Some(fold);
    }
    Some(fold_of)
}

struct Fold {
    metrics: FoldMetrics,
    rounds: Option<Rounds>,
    held: Vec<ItemIndex>,
    scores: Vec<f64>,
    choices: Vec<Choice>,
}

/// Trains once for each fold, in parallel on the current rayon pool, and judges each on its held-out
/// problems.
pub(super) fn validate(
    task: &Task<'_>,
    fold_of: &[Option<usize>],
    recipe: &Recipe,
    stop: Stop,
    watcher: &dyn Watcher,
) -> Result<Validation, TrainError> {
    let folds = fold_of.iter().flatten().max().map_or(0, |last| last + 1);
    let run = |fold: usize| -> Result<Fold, TrainError> {
        let is_held = |problem: &ItemIndex| fold_of[problem.get()] == Some(fold);
        let (mut held, trained): (Vec<_>, Vec<_>) = task.data.items().partition(is_held);
        held.retain(|&problem| !task.data.item(problem).only_trains);
        // All decisions here are made without the held-out problems.
        let mut recipe = recipe.clone();
        let rounds = match stop {
            Stop::Never => None,
            Stop::HeldOut => Some(task.best_trees(&trained, &held, &recipe)?),
            Stop::Inner => decide::inner_trees(task, &trained, &recipe)?,
        };
        let trees = rounds.as_ref().map_or(recipe.params.trees_for(trained.len()), |rounds| rounds.best);
        recipe.params = recipe.params.with_trees(trees);
        let forest = task.forest(&trained, &recipe)?;
        let scores = task.predict(&forest, &trained, &held)?;
        let choices = task.choices(&scores, &held);
        watcher.trained();
        Ok(Fold {
            metrics: judge(task, fold, &trained, &held, &scores, &choices, trees),
            rounds,
            held,
            scores,
            choices,
        })
    };
    let folds = (0..folds).into_par_iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let mut validation = Validation::none(task.data.rows.len());
    let mut choices = Vec::new();
    for fold in folds {
        for (row, score) in task.data.rows_of(&fold.held).zip(&fold.scores) {
            validation.predictions[row] = Some(*score);
            validation.fold_of_row[row] = Some(fold.metrics.fold as u32);
        }
        choices.extend(fold.choices);
        validation.folds.push(fold.metrics);
        validation.rounds.push(fold.rounds);
    }
    if task.chooses() {
        validation.efficiency = Efficiency::new(&choices);
    }
    Ok(validation)
}

fn judge(
    task: &Task<'_>,
    fold: usize,
    trained: &[ItemIndex],
    held: &[ItemIndex],
    scores: &[f64],
    choices: &[Choice],
    trees: usize,
) -> FoldMetrics {
    let pairs = task.data.rows_of(held).zip(scores).map(|(row, &score)| (task.labels[row], score));
    let errors = if task.objective.predicts() { Errors::new(&pairs.collect::<Vec<_>>()) } else { None };
    FoldMetrics {
        fold,
        rmse: errors.map(|errors| errors.rmse),
        r2: errors.map(|errors| errors.r2),
        efficiency: if task.chooses() { Efficiency::new(choices) } else { None },
        train_size: task.data.rows_of(trained).count(),
        val_size: scores.len(),
        val_groups: held.iter().map(|&problem| task.group(problem)).collect::<BTreeSet<_>>().len(),
        best_iteration: trees,
        left_out: None,
    }
}
