//! The command that reproduces a decision: `ckselect` with the same model, pool and problem, or with the same
//! store.

use std::path::Path;

use super::entry::Entry;
use super::index::KernelIndex;
use super::options::Options;
use super::prepared::Prepared;
use super::selection::{Selection, Source};
use super::source::Call;
use super::state::State;
use crate::model::ModelKey;
use crate::problem::{Problem, Splits};
use crate::vocab::Arch;

/// The command, or why there is none.
pub(super) fn command(call: Call<'_, '_>, selection: &Selection<'_>) -> Result<String, String> {
    let Call { state, problem, .. } = call;
    let prepared = call.prepared();
    if selection.generation != state.generation() {
        return Err("the registry has changed since".to_owned());
    }
    match selection.source {
        Source::Override => Err("a rule of the override file decided".to_owned()),
        Source::Priority => Err("the registered priorities decided".to_owned()),
        Source::Store | Source::Search => listed(prepared, selection),
        Source::Model if priority_decided(call, selection) => {
            Err("the registered priorities decided between equal scores".to_owned())
        }
        Source::Model => ranked(state, prepared, &problem, selection),
        Source::Estimate => estimated(state, prepared, &problem, selection),
    }
}

/// The estimate's ranking down to the kernel that was selected, which is the last one.
fn estimated(
    state: &State,
    prepared: &Prepared,
    problem: &Problem,
    selection: &Selection<'_>,
) -> Result<String, String> {
    if prepared.estimates.prefers() {
        return Err("the registered priorities decided, and the estimate among equal ones".to_owned());
    }
    let arch =
        prepared.estimates.arch_for(state.options().arch, problem).ok_or("no architecture is known")?;
    let pool = prepared.estimates.pool_file(problem.op())?;
    let (pool, problem, top) = (quoted(pool)?, problem.on(None), selection.rank + 1);
    let splits = allowed(state, &problem);
    let hardware = described_by(state, arch)?.map_or_else(String::new, |path| format!(":{path}"));
    Ok(format!(
        "ckselect rank --model estimate --arch {arch}{hardware} --pool {pool} --problem '{problem}'{splits} --top {top}"
    ))
}

/// The numbers of parts that the options allow, where they are asked for and are not the usual ones.
fn allowed(state: &State, problem: &Problem) -> String {
    let splits = &state.options().splits;
    if problem.chooses_split() && *splits != Splits::USUAL {
        format!(" --splits {splits}")
    } else {
        String::new()
    }
}

/// The file that describes the GPU of an architecture, quoted; `None` if its profile does.
fn described_by(state: &State, arch: Arch) -> Result<Option<String>, String> {
    match state
        .options()
        .hardware
        .as_deref()
        .filter(|_| state.described().is_some_and(|own| own.arch == arch))
    {
        None => Ok(None),
        Some(path) if Options::is_by_runtime(path) => {
            Err("the runtime described the GPU; `ckselect hardware` writes a file of it".to_owned())
        }
        Some(path) => {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            quoted(&path).map(Some)
        }
    }
}

/// Whether kernels with the selection's score have other priorities, which no pool contains.
fn priority_decided(call: Call<'_, '_>, selection: &Selection<'_>) -> bool {
    let prefers = call.prepared().estimates.prefers();
    let others = prefers.then(|| call.registry.rank(&call.problem).ok()).flatten();
    let priority = |index| call.state.entry(KernelIndex::new(index)).map(Entry::priority);
    others.iter().flat_map(|ranking| &ranking.places).any(|place| {
        Some(place.score) == selection.score && priority(place.index) != priority(selection.index)
    })
}

/// The model's ranking down to the kernel that was selected, which is the last one.
fn ranked(
    state: &State,
    prepared: &Prepared,
    problem: &Problem,
    selection: &Selection<'_>,
) -> Result<String, String> {
    let arch = state.options().arch;
    let chosen = state.model_for(problem, arch);
    let both = chosen.and_then(|index| state.model(index).zip(prepared.model(index)));
    let (loaded, compiled) = both.ok_or("no model fits the problem")?;
    let model = loaded.model.place().ok_or_else(|| {
        format!("{} is from memory, or was changed after it was loaded", loaded.model.name())
    })?;
    let (model, pool) = (quoted(model)?, quoted(compiled.pool_file()?)?);
    let (problem, top) = (problem.on(problem.arch().or(arch)), selection.rank + 1);
    let force = if loaded.key == ModelKey::of(loaded.model.spec()) { "" } else { " --allow untrained" };
    let device = state.described().filter(|_| loaded.model.is_generic());
    let device = device.filter(|device| problem.arch().is_none_or(|arch| arch == device.arch));
    let path = device.map(|device| described_by(state, device.arch)).transpose()?.flatten();
    let device = match (device, path) {
        (Some(device), Some(path)) => format!(" --arch {}:{path}", device.arch),
        _ => String::new(),
    };
    let splits = allowed(state, &problem);
    Ok(format!(
        "ckselect rank --model {model} --pool {pool} --problem '{problem}'{splits} --top {top}{force}{device}"
    ))
}

/// The winners with the selected kernel, including the problem's.
fn listed(prepared: &Prepared, selection: &Selection<'_>) -> Result<String, String> {
    let winners = prepared.winners.as_ref().map_err(Clone::clone)?;
    let store = winners.store().path().ok_or("the winner is kept in memory only")?;
    let store = std::path::absolute(store).map_err(|error| error.to_string())?;
    let (store, kernel) = (quoted(&store)?, quoted(selection.entry.name().as_ref())?);
    Ok(format!(
        "CK_SELECT_STORE={store} ckselect store list --where pool={},kernel={kernel}",
        winners.scope().pool
    ))
}

/// A word of a command line, quoted for the shell.
fn quoted(word: &Path) -> Result<String, String> {
    let text = word.to_str().ok_or_else(|| format!("{} is not UTF-8", word.display()))?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a b/it's".as_ref()).unwrap(), r"'/a b/it'\''s'");
    }
}
