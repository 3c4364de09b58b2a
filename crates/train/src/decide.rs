//! The number of trees, which a training decides from its own problems alone, so that a held-out problem does not
//! influence how it is predicted.

use super::data::ItemIndex;
use super::error::TrainError;
use super::fit::{Recipe, Rounds, Task};
use super::folds::in_folds;

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
    let item = |&problem: &ItemIndex| (task.group(problem).clone(), task.data.item(problem).span.len());
    let items: Vec<(String, usize)> = problems.iter().map(item).collect();
    let mut folds = in_folds(problems, &items, PARTS, task.seed).into_iter();
    // None, if all problems are of one group.
    let first = folds.find(|(trained, held)| !trained.is_empty() && !held.is_empty());
    first.map(|(trained, watched)| task.best_trees(&trained, &watched, recipe)).transpose()
}
