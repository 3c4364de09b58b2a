//! `ckselect bench --slurm`: runs shards as a job array on an existing cluster.

use std::io::Write as _;

use ck_select_measure::plan::{Cost, Plan};
use ck_select_measure::shard::Shard;
use ck_select_measure::slurm::{SlurmJob, is_done, shard_log};
use ck_select_measure::sweep::Retry;

use super::Args;
use crate::error::CliError;
use crate::output::Output;

/// Beyond one machine
#[derive(clap::Args)]
pub(super) struct Options {
    /// Submit a Slurm job array of this many shards, and a job that merges them; with --resume only the
    /// unfinished shards
    #[arg(long, value_name = "SHARDS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slurm: Option<u32>,
    /// Option for sbatch, such as --slurm-option=--partition=gpu; may be given several times
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    slurm_option: Vec<String>,
}

impl Options {
    pub(super) const fn is_asked(&self) -> bool {
        self.slurm.is_some()
    }
}

/// Arguments that are not passed on to tasks, and whether a value follows.
const OURS: [(&str, bool); 7] = [
    ("--slurm", true),
    ("--slurm-option", true),
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

pub(super) fn run(args: &Args, plan: &Plan, cost: Cost, batch: usize, retry: &Retry) -> Result<(), CliError> {
    let options = &args.slurm;
    let shards = options.slurm.unwrap_or(1);
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
        let log = shard_log(&args.output, shard);
        if log.exists() && !args.resume {
            let log = log.display();
            return Err(CliError::failed(format!("{log} exists: --resume submits the unfinished shards")));
        }
        if shard.of(plan, cost, batch).is_empty() {
            continue;
        }
        parts.push(shard.index());
        if !is_done(&log, retry)? {
            open.push(shard.index());
        }
    }
    if open.is_empty() {
        say!("ckselect: all {shards} shards are done: `ckselect merge` combines them");
        return Ok(());
    }
    let folder = std::env::current_dir()?;
    let job = SlurmJob {
        program: std::env::current_exe()?,
        // The first word is the program, the second the subcommand.
        arguments: shared_arguments(utf8_words()?.into_iter().skip(2)),
        output: std::path::absolute(&args.output)?,
        shards,
        parts,
        open,
        options: options.slurm_option.clone(),
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
        let line = "--pool p --slurm 4 --slurm-option=--gpus=1 --slurm-option --time=1 --output o --resume \
                    --cutoff=5x";
        let shared = shared_arguments(line.split(' ').map(str::to_owned));
        assert_eq!(shared, ["--pool", "p", "--cutoff=5x"]);
    }
}
