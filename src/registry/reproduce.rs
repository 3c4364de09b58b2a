//! The command that reproduces a decision: `ckselect` with the same model, pool and problem, or with the same
//! store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::index::KernelIndex;
use super::options::Options;
use super::prepared::Prepared;
use super::source::Call;
use super::state::State;
use super::{Entry, ModelKey, Selection, Source};
use crate::environment;
use crate::files;
use crate::kernel::Kernel;
use crate::pool::Pool;
use crate::pool::{ExportOptions, export_json};
use crate::problem::Problem;
use crate::tuning::store::{StableHash, cache_folder};
use crate::vocab::{Arch, Op};

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
    let arch = prepared.estimates.arch_for(state, problem).ok_or("no architecture is known")?;
    let pool = prepared.estimates.pool_file(problem.op())?;
    let (pool, problem, top) = (quoted(pool)?, problem.on(None), selection.rank + 1);
    let hardware = described_by(state, arch)?.map_or_else(String::new, |path| format!(" --hardware {path}"));
    Ok(format!(
        "ckselect rank --estimate --arch {arch}{hardware} --pool {pool} --problem '{problem}' --top {top}"
    ))
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
    let force = if loaded.key == ModelKey::of(loaded.model.spec()) { "" } else { " --force-model" };
    let device = state.described().filter(|_| loaded.model.is_generic());
    let device = device.filter(|device| problem.arch().is_none_or(|arch| arch == device.arch));
    let path = device.map(|device| described_by(state, device.arch)).transpose()?.flatten();
    let device = match (device, path) {
        (Some(device), Some(path)) => format!(" --arch {} --hardware {path}", device.arch),
        _ => String::new(),
    };
    Ok(format!(
        "ckselect rank --model {model} --pool {pool} --problem '{problem}' --top {top}{force}{device}"
    ))
}

/// The winners with the selected kernel, including the problem's.
fn listed(prepared: &Prepared, selection: &Selection<'_>) -> Result<String, String> {
    let winners = prepared.winners.as_ref().map_err(Clone::clone)?;
    let store = winners.store().path().ok_or("the winner is kept in memory only")?;
    let store = std::path::absolute(store).map_err(|error| error.to_string())?;
    let (store, kernel) = (quoted(&store)?, quoted(selection.entry.name().as_ref())?);
    Ok(format!("ckselect store list --store {store} --pool {} --kernel {kernel}", winners.scope().pool))
}

/// A word of a command line, quoted for the shell.
fn quoted(word: &Path) -> Result<String, String> {
    let text = word.to_str().ok_or_else(|| format!("{} is not UTF-8", word.display()))?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Writes kernels, as `ckselect` reads them, into the user's cache folder. The file is named after its
/// contents, so that no other pool ever replaces it.
pub(super) fn write_pool(op: Op, kernels: &[&Kernel]) -> Result<PathBuf, String> {
    let text = export_json(op, kernels.iter().copied(), &ExportOptions::default());
    let text = text.map_err(|error| error.to_string())?;
    // Exports have CK's fields. They lack what only a descriptor says about a kernel with a name of its own.
    let read = Pool::from_bytes("pool", text.as_bytes()).map_err(|error| error.to_string())?;
    if let Some(lost) = kernels.iter().zip(read.iter()).find(|(kernel, read)| *kernel != read) {
        return Err(format!("an export does not contain all fields of {}", lost.0.name));
    }
    let folder = cache_folder(environment::variable);
    let folder =
        folder.ok_or("no folder for the pool: neither XDG_CACHE_HOME nor HOME is set")?.join("pools");
    let path = folder.join(format!("{:032x}.json", StableHash::of(text.as_bytes())));
    write_once(&folder, &path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Writes a file if it does not exist yet, even if others write it at the same time.
fn write_once(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    files::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("/a b/it's".as_ref()).unwrap(), r"'/a b/it'\''s'");
    }

    #[test]
    fn a_file_is_written_once_and_leaves_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("pools");
        let path = folder.join("a.json");
        for text in ["first", "second"] {
            write_once(&folder, &path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write_once(&path, &path.join("inside.json"), "").is_err(), "a file is no folder");
    }
}
