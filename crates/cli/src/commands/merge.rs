//! `ckselect merge`: merges the logs of shards into one file.

use std::path::PathBuf;

use ck_select_measure::merge::{OnConflict, merge};
use clap::ValueEnum;

use crate::error::CliError;

const EXAMPLES: &str = "Examples:
  ckselect merge sweep.shard-*.csv --output sweep.csv
  ckselect merge monday.csv tuesday.csv --output best.csv --on-conflict fastest

Rows are sorted by problem and kernel. A row that is identical in several files counts once; rows with \
different contents are a conflict. A problem_idx must denote the same problem in all files.";

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
    /// How to resolve different rows for one kernel and problem
    #[arg(long, value_enum, default_value = "error")]
    on_conflict: Conflict,
    /// Fail, and write nothing, unless the logs together contain all rows of their plan
    #[arg(long)]
    complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Conflict {
    /// Fail, naming both rows
    Error,
    /// Keep the row of the file that is named first
    First,
    /// Keep the row of the file that is named last
    Last,
    /// Keep the row with the shorter time
    Fastest,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    // A device or a pipe is written to, not overwritten.
    if args.output.is_file() {
        return Err(CliError::failed(format!(
            "{} exists: remove it, or choose another name",
            args.output.display()
        )));
    }
    let rule = match args.on_conflict {
        Conflict::Error => OnConflict::Refuse,
        Conflict::First => OnConflict::First,
        Conflict::Last => OnConflict::Last,
        Conflict::Fastest => OnConflict::Fastest,
    };
    let merged = merge(&args.logs, &args.output, rule, args.complete);
    let merged = merged.map_err(|error| CliError::of_writer(&error))?;
    for note in &merged.notes {
        say!("ckselect: note: {note}");
    }
    say!(
        "ckselect: {}: {} rows of {} logs, {} overlaps, {} conflicts",
        args.output.display(),
        merged.rows,
        args.logs.len(),
        merged.overlaps,
        merged.conflicts
    );
    Ok(())
}
