//! `ckselect curve`: how good choices are after a given number of measured problems.

use std::path::PathBuf;

use ck_select::vocab::Arch;

use super::data::RowFilter;
use super::hardware::HardwareOption;
use super::word;
use crate::error::CliError;
use crate::table::Format;

#[cfg(feature = "train")]
mod run;

#[cfg(feature = "train")]
pub(super) use run::table;

const EXAMPLES: &str = "Examples:
  ckselect curve --arch gfx950 --data oracle.csv --html curve.html
  ckselect curve --arch gfx950 --data oracle.csv --counts 0,10,40,all --ways tuned,alone --draws 10

The problems to measure are drawn as by `ckselect tune`; the others are evaluated. `all` holds each problem \
out once, in folds. tuned: a universal model that is continued; alone: a forest that ranks, from these \
problems alone; upstream: upstream's features, parameters and target. Figures are medians of the draws.";

/// Compute the learning curve of a device: the quality of choices by the number of measured problems
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
pub(crate) struct Args {
    /// Measurements of one device
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    data: Vec<PathBuf>,
    /// A file of --data whose problems are evaluated and never measured
    #[arg(long, value_name = "FILE")]
    holdout: Option<PathBuf>,
    /// The architecture that was measured [default: the one that the rows record]
    #[arg(long, value_parser = word::<Arch>)]
    arch: Option<Arch>,
    #[command(flatten)]
    hardware: HardwareOption,
    /// The universal model to continue: a directory, or embedded:NAME
    #[arg(long, value_name = "MODEL", default_value = "embedded:universal")]
    model: PathBuf,
    /// Numbers of measured problems [default: those of 0, 5, 10, 20, 40, 80 that are below the number of
    /// problems, and all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    counts: Vec<String>,
    /// Learn only from the first COUNT kernels of each problem in the order of the universal model, and from
    /// the estimate's fastest, as `ckselect tune` measures them [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    first: Option<u32>,
    /// Ways of learning to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "tuned,alone,upstream")]
    ways: Vec<String>,
    /// Draws for each number
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "5",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    draws: u32,
    /// Folds in which all problems are held out: more folds leave more problems to learn from
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "5",
        conflicts_with = "holdout",
        value_parser = clap::value_parser!(u32).range(2..=1000)
    )]
    folds: u32,
    #[command(flatten)]
    filter: RowFilter,
    /// Seed for the first draw
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Write a plot: one HTML page that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Output format of the table
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[cfg(feature = "train")]
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    run::run(args)
}

#[cfg(not(feature = "train"))]
pub(crate) fn run(_: &Args) -> Result<(), CliError> {
    Err(super::train::without_lightgbm())
}
