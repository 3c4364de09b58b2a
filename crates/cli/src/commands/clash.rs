//! Refuses command lines whose output would overwrite an input or another output, or cannot be written.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ck_select::directory::FeatureSpec;
use ck_select::files;
use clap::ArgMatches;

use super::Gpu;
use crate::error::CliError;

/// The options that name an output, in any command. All other paths are inputs.
const OUTPUTS: [&str; 2] = ["output", "rejects"];

/// A path on the command line.
pub(crate) struct PathArgument<'a> {
    /// The option, for error messages.
    pub(crate) option: String,
    pub(crate) path: &'a Path,
    pub(crate) is_written: bool,
}

/// Checks all paths of a command line before anything is done.
pub(crate) fn check(command: &clap::Command, matches: &ArgMatches) -> Result<(), CliError> {
    let (mut command, mut matches) = (command, matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(subcommand) = command.find_subcommand(name) else { break };
        (command, matches) = (subcommand, inner);
    }
    let mut named = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        // A warm start is read before its own directory is replaced, which needs --overwrite.
        if id == "warm_start" {
            continue;
        }
        if let Ok(Some(gpu)) = matches.try_get_one::<Gpu>(id) {
            let read = |path| PathArgument { option: "--arch".to_owned(), path, is_written: false };
            named.extend(gpu.file().map(read));
            continue;
        }
        // Values of other types are not paths.
        let Ok(Some(paths)) = matches.try_get_many::<PathBuf>(id) else { continue };
        let option = match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => argument.get_value_names().unwrap_or_default().join(" "),
        };
        let is_written = OUTPUTS.contains(&id);
        named.extend(paths.map(|path| PathArgument { option: option.clone(), path, is_written }));
    }
    refuse_repeats(&named)?;
    refuse(&named)?;
    // The following commands create missing parent folders, and check their output themselves.
    if ["convert", "import", "pack", "train", "tune"].contains(&command.get_name()) {
        named.retain(|one| one.option != "--output");
    }
    // Tables of engines go to a folder, which may be there.
    if command.get_name() == "rank" {
        named.retain(|one| !one.is_written || !one.path.is_dir());
    }
    named.iter().filter(|one| one.is_written).try_for_each(|one| check_writable(one.path))
}

/// Refuses an output that cannot be written, before the work whose result would be lost.
fn check_writable(path: &Path) -> Result<(), CliError> {
    if resolved(path).is_none() {
        return Ok(());
    }
    files::Pending::create(path).map(drop).map_err(CliError::io(path.display()))
}

/// Refuses a file that an option names twice: its rows would count twice. But several tuned tables may have
/// one pool.
fn refuse_repeats(named: &[PathArgument<'_>]) -> Result<(), CliError> {
    let mut seen = HashSet::new();
    let mut of_rows = named.iter().filter(|one| one.option != "--pool");
    let repeated =
        of_rows.find(|one| resolved(one.path).is_some_and(|file| !seen.insert((&one.option, file))));
    if let Some(PathArgument { option, path, .. }) = repeated {
        refuse!("{option} {}: this file is given twice", path.display());
    }
    Ok(())
}

/// Refuses two paths to the same file if at least one of them is written.
pub(crate) fn refuse(named: &[PathArgument<'_>]) -> Result<(), CliError> {
    let places: Vec<Option<PathBuf>> = named.iter().map(|one| resolved(one.path)).collect();
    for (index, output) in named.iter().enumerate().filter(|(_, one)| one.is_written) {
        for (other, file) in named.iter().zip(&places) {
            let (Some(own), Some(other_file)) = (&places[index], file) else { continue };
            if std::ptr::eq(output, other) {
                continue;
            }
            let Some(lost) = lost(own, other_file, other.is_written) else { continue };
            refuse!(
                "{} {}: {lost} {} {}; it would be lost",
                output.option,
                output.path.display(),
                other.option,
                other.path.display()
            );
        }
    }
    Ok(())
}

/// How writing to `output` would destroy `other`, in words.
fn lost(output: &Path, other: &Path, other_is_written: bool) -> Option<&'static str> {
    if output == other {
        let also =
            if other_is_written { "this file is also written, as" } else { "this file is also read, as" };
        return Some(also);
    }
    // What a log of `bench` has beside it, which is written with it.
    let is_beside = |one: &Path, log: &Path| {
        let [one, log] = [one, log].map(|path| path.as_os_str().as_encoded_bytes());
        matches!(one.strip_prefix(log), Some(b".meta.json" | b".details.jsonl"))
    };
    if is_beside(output, other) {
        return Some("this file belongs to");
    }
    if is_beside(other, output) {
        return Some("with this file is written");
    }
    if other_is_written {
        return None;
    }
    // A folder that is written replaces the one that is there.
    if output.is_dir() && other.starts_with(output) {
        return Some("this folder contains");
    }
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_a_model = name == FeatureSpec::FILE || name.starts_with("model_");
    (of_a_model && output.is_file() && output.starts_with(other)).then_some("this file is part of")
}

/// The file that a path leads to, existing or not; `None` if nothing can be overwritten: standard output,
/// pipes, devices.
fn resolved(path: &Path) -> Option<PathBuf> {
    let target = files::target(path).ok().filter(|target| target != Path::new("-"))?;
    let folder = files::folder_of(&target).canonicalize();
    if folder.as_ref().is_ok_and(|folder| folder.starts_with("/proc")) {
        return None;
    }
    match fs::metadata(&target) {
        Ok(there) if there.is_file() || there.is_dir() => target.canonicalize().ok(),
        Ok(_) => None,
        // A folder that does not exist yet is compared by its name.
        Err(_) => Some(match (folder, target.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => target,
        }),
    }
}
