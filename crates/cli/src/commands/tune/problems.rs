//! The problems of `ckselect tune`, as the kernels of its pool run them.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select_measure::problems::ProblemSet;

use super::Args;
use crate::error::CliError;

/// The distinct problems that kernels of the pool compute. What a file leaves open, such as the type, the
/// kernels say.
pub(super) fn read(args: &Args, path: &Path, kernels: &Pool) -> Result<Vec<Problem>, CliError> {
    let set = ProblemSet::read(path, kernels.op())?;
    let (mut all, mut known, mut without) = (Vec::new(), HashSet::new(), Vec::new());
    for asked in &set.problems {
        let mut is_computed = false;
        for problem in kernels.iter().filter_map(|kernel| asked.for_kernel(kernel)) {
            is_computed = true;
            if known.insert(problem) {
                all.push(problem);
            }
        }
        if !is_computed {
            without.push(asked.problem);
        }
    }
    let file = path.display();
    if let Some(first) = without.first() {
        let count = without.len();
        say!(
            "ckselect: {file}: {count} problems are left out, which no kernel computes; the first is {first}"
        );
    }
    if all.is_empty() {
        return Err(CliError::failed(format!("{file}: {}", set.misfit(kernels))));
    }
    let taken = args.arch()?;
    if let Some(other) = all.iter().find(|problem| problem.arch().is_some_and(|arch| arch != taken)) {
        return Err(CliError::failed(format!(
            "{file}: found a problem of another architecture than --arch {taken}: {other}"
        )));
    }
    let kinds: BTreeSet<String> = all.iter().filter_map(kind).collect();
    if kinds.len() > 1 {
        let found = kinds.into_iter().collect::<Vec<_>>().join(", ");
        return Err(CliError::usage(format!(
            "--pool, --problems: found {found}; a model is adapted to one direction and type"
        )));
    }
    Ok(all)
}

/// What a model is for; models of attention are for several types.
fn kind(problem: &Problem) -> Option<String> {
    let direction = problem.direction().map_or_else(String::new, |direction| format!("{direction} "));
    problem.family().is_none().then(|| format!("{direction}{}", problem.dtype()))
}
