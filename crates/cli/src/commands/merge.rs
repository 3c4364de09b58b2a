//! `ckselect merge`: merges the logs of shards into one file.

use std::path::PathBuf;

use ck_select_measure::merge::merge;

use crate::error::CliError;

const EXAMPLES: &str = "Examples:
  ckselect merge sweep.shard-*.csv --output sweep.csv

Rows are sorted by problem and kernel. A row that is identical in several files counts once; different \
rows for one kernel and problem are an error. A problem_idx must denote the same problem in all files.";

/// Merge the logs of shards
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Logs of `ckselect bench`
    #[arg(value_name = "LOG.csv", required = true)]
    logs: Vec<PathBuf>,
    /// The merged log; <FILE>.meta.json beside it records its inputs. `-` is standard output
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Fail, and write nothing, unless the logs together contain all rows of their plan
    #[arg(long)]
    complete: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    // A device or a pipe is written to, not overwritten.
    if args.output.is_file() {
        return Err(CliError::failed(format!(
            "{} exists: remove it, or choose another name",
            args.output.display()
        )));
    }
    let merged = merge(&args.logs, &args.output, args.complete);
    let merged = merged.map_err(|error| CliError::of_writer(&error))?;
    for note in &merged.notes {
        say!("ckselect: note: {note}");
    }
    say!(
        "ckselect: {}: {} rows of {} logs, {} overlaps",
        args.output.display(),
        merged.rows,
        args.logs.len(),
        merged.overlaps
    );
    Ok(())
}
