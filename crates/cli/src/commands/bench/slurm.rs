//! `ckselect bench --slurm`: runs shards as a job array on an existing cluster.

use std::io::Write as _;
use std::path::Path;

use ck_select_measure::plan::{Cost, Plan};
use ck_select_measure::shard::Shard;
use ck_select_measure::slurm::{SlurmJob, is_done, shard_log};
use ck_select_measure::sweep::Retry;

use super::Args;
use crate::error::CliError;
use crate::output::Output;

/// A job array.
#[derive(Debug, Clone)]
pub(super) struct Array {
    shards: u32,
    /// Options of sbatch.
    options: Vec<String>,
}

impl Array {
    /// Reads the number of shards, and the options that follow.
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let shards =
            words.next().and_then(|word| word.parse().ok()).filter(|count| (1..=10_000).contains(count));
        let shards = shards.ok_or("expected a number of shards from 1 to 10000, and options of sbatch")?;
        let options: Vec<String> = words.map(str::to_owned).collect();
        match options.iter().find(|option| !option.starts_with('-')) {
            Some(other) => {
                Err(format!("found '{other}', expected options of sbatch, such as --partition=gpu"))
            }
            None => Ok(Self { shards, options }),
        }
    }
}

/// Arguments that are not passed on to tasks, and whether a value follows.
const OURS: [(&str, bool); 6] = [
    ("--slurm", true),
    ("--output", true),
    ("--shard", true),
    ("--dry-run", false),
    ("--resume", false),
    ("--overwrite", false),
];

/// The words of the command line, which a script of the shell takes up.
fn utf8_words() -> Result<Vec<String>, CliError> {
    let word = |word: std::ffi::OsString| {
        word.into_string()
            .map_err(|word| CliError::usage(format!("--slurm: {} is not UTF-8", word.display())))
    };
    std::env::args_os().map(word).collect()
}

/// The words of this command line that every task gets, too.
fn shared_arguments(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut shared = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (name, has_value) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        match OURS.iter().find(|(ours, _)| *ours == name) {
            Some((_, true)) if !has_value => drop(words.next()),
            Some(_) => {}
            None => shared.push(word),
        }
    }
    shared
}

pub(super) fn run(
    args: &Args,
    output: &Path,
    Array { shards, options }: &Array,
    plan: &Plan,
    cost: Cost,
    batch: usize,
) -> Result<(), CliError> {
    let shards = *shards;
    let retry = args.resume.clone().unwrap_or(Retry::Nothing);
    if args.shard != Shard::WHOLE {
        return Err(CliError::usage("--shard and --slurm exclude each other: every task has its own shard"));
    }
    if args.overwrite {
        return Err(CliError::usage(
            "--overwrite and --slurm exclude each other: tasks resume existing output",
        ));
    }
    let (mut parts, mut open) = (Vec::new(), Vec::new());
    for shard in (1..=shards).filter_map(|index| Shard::new(index, shards)) {
        let log = shard_log(output, shard);
        if log.exists() && args.resume.is_none() {
            let log = log.display();
            return Err(CliError::failed(format!("{log} exists: --resume submits the unfinished shards")));
        }
        if shard.of(plan, cost, batch).is_empty() {
            continue;
        }
        parts.push(shard.index());
        if !is_done(&log, &retry)? {
            open.push(shard.index());
        }
    }
    if open.is_empty() {
        say!("ckselect: all {shards} shards are done: `ckselect merge` combines them");
        return Ok(());
    }
    let (folder, words) = (std::env::current_dir()?, utf8_words()?);
    let job = SlurmJob {
        program: std::env::current_exe()?,
        // The first word is the program, the second the subcommand.
        arguments: shared_arguments(words.iter().skip(2).cloned()),
        output: std::path::absolute(output)?,
        shards,
        parts,
        open,
        options: options.clone(),
        resume: words
            .iter()
            .find(|word| word.starts_with("--resume="))
            .cloned()
            .unwrap_or_else(|| "--resume".to_owned()),
        folder,
    };
    job.check().map_err(CliError::usage)?;
    if args.dry_run {
        return print(&format!(
            "# array\n{}\n# merge, after the array\n{}",
            job.array_script(),
            job.merge_script()
        ));
    }
    let (array, merge) = job.submit()?;
    print(&format!("array {array} of {} shards, merge {merge} after it", job.open.len()))
}

fn print(text: &str) -> Result<(), CliError> {
    Output::report()?.filled(|out| writeln!(out, "{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_get_what_is_not_about_slurm() {
        let line = "--pool p --slurm=4 --output o --resume=load --cutoff=5x";
        let shared = shared_arguments(line.split(' ').map(str::to_owned));
        assert_eq!(shared, ["--pool", "p", "--cutoff=5x"]);
    }
}
