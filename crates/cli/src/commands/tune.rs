//! `ckselect tune`: adapts a universal model with a few of the user's own measurements.

use std::path::PathBuf;
use std::time::Duration;

use ck_select::vocab::Arch;

use super::data::WhereOption;
use super::hardware_option::HardwareOption;
use super::word;
use crate::error::CliError;
use crate::table::Format;

#[cfg(feature = "train")]
mod curve;
#[cfg(feature = "train")]
mod measure;
#[cfg(feature = "train")]
mod problems;
#[cfg(feature = "train")]
mod recorded;
#[cfg(feature = "train")]
mod run;
#[cfg(feature = "train")]
mod sweep;
#[cfg(any(feature = "train", test))]
mod work;

const EXAMPLES: &str = "Examples:
  ckselect tune --arch gfx942 --pool kernels.txt --problems captured.txt --library ./libkernels.so \\
      --budget 10m --work tuning --output models/mine
  ckselect tune --simulate oracle.csv --measure 10 --draws 10
  ckselect tune --simulate oracle.csv --measure 40 --output models/mine
  ckselect tune --simulate oracle.csv --counts
  ckselect tune --simulate oracle.csv --counts 0,10,40,all --ways tuned,alone --draws 10

Problems far from each other are measured first, in an order that depends on the seed. Of each problem, only \
promising kernels are measured: three problems of which ten kernels are measured teach more than one of which \
thirty are. If all problems are done and there is time left, their other kernels follow, unless --first is given. \
--work keeps the measurements, in the format of `ckselect bench`: the same command continues where \
it was stopped, also with more to measure or a new budget. The folder records --arch and --first, and refuses \
others. Unstable times are measured again, up to three times. \
Without --measure, it ends when the budget is spent, when all problems are measured, or when measuring \
twice as many has hardly changed `expected`.

`expected` is judged on the measured problems, each held out in turn, among the kernels that were measured. After \
measuring, the table has a row of these figures for each number of problems. In a simulation it is one column, a \
mean; the other columns are of problems that were not measured, among all recorded kernels.

With --counts, problems are drawn for each number and each way of learning, and the others are evaluated; `all` holds \
each problem out once, in folds. tuned: a universal model that is continued; alone: a forest that ranks, from these \
problems alone; upstream: upstream's features, parameters and target. Figures are medians of the draws.";

/// Adapt a universal model to a GPU, a library and problems with a few measurements
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("who").required(true))]
#[command(mut_arg("filter", |filter| filter.conflicts_with_all(["library", "runner"])))]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
pub(crate) struct Args {
    /// The universal model to continue: a directory, or embedded:NAME
    #[arg(long, value_name = "MODEL", default_value = "embedded:universal")]
    model: PathBuf,
    /// The architecture that is measured [default: with --simulate, the one that the rows record]
    #[arg(long, value_parser = word::<Arch>, required_unless_present = "simulate")]
    arch: Option<Arch>,
    #[command(flatten)]
    hardware: HardwareOption,
    /// Measure nothing: take the times from recorded sweeps
    #[arg(long, value_name = "FILE", group = "who", num_args = 1..)]
    simulate: Vec<PathBuf>,
    /// Measure with the kernels of a shared library, as `ckselect bench` does
    #[arg(long, value_name = "FILE.so", group = "who", requires_all = ["pool", "problems", "work", "output"])]
    library: Option<PathBuf>,
    /// Measure with what a configuration describes, as `ckselect bench` does
    #[arg(
        long,
        value_name = "CONFIG.json",
        group = "who",
        requires_all = ["pool", "problems", "work", "output"]
    )]
    runner: Option<PathBuf>,
    /// Kernels to measure
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    pool: Option<PathBuf>,
    /// Problems, some of which are measured
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    problems: Option<PathBuf>,
    /// The folder for the measurements, a file per five problems
    #[arg(long, value_name = "DIR", conflicts_with = "simulate")]
    work: Option<PathBuf>,
    /// Measure no longer than this: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = super::bench::duration, conflicts_with = "simulate")]
    budget: Option<Duration>,
    /// Measure this many problems, with a library or a runner rounded up to a multiple of five [default: 10
    /// in a simulation, else until more change little]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    measure: Option<u32>,
    /// Measure only the first COUNT kernels of each problem in the order of the universal model [default: 10,
    /// or a tenth of the pool if that is more, but 30 at most; in a simulation, all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    first: Option<u32>,
    /// Number of simulations, each with another seed; the last line has the medians. 1 with --output [default: 1;
    /// with --counts 5]
    #[arg(
        long,
        value_name = "COUNT",
        conflicts_with_all = ["library", "runner"],
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    draws: Option<u32>,
    /// Compute the learning curve: the quality of choices by the number of measured problems, for these numbers
    /// [default: those of 0, 5, 10, 20, 40, 80 that are below the number of problems, and all]
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        value_delimiter = ',',
        value_parser = count,
        requires = "simulate",
        conflicts_with_all = ["measure", "output"]
    )]
    counts: Option<Vec<Count>>,
    /// Ways of learning to compare: tuned, alone, upstream
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "tuned,alone,upstream",
        requires = "counts"
    )]
    ways: Vec<String>,
    /// A file of --simulate whose problems are evaluated and never measured
    #[arg(long, value_name = "FILE", requires = "counts")]
    holdout: Option<PathBuf>,
    /// Folds in which all problems are held out: more folds leave more problems to learn from
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "5",
        requires = "counts",
        conflicts_with = "holdout",
        value_parser = clap::value_parser!(u32).range(2..=1000)
    )]
    folds: u32,
    #[command(flatten)]
    rows: WhereOption,
    /// The seed for the first problem and for the training
    #[arg(long, default_value = "1")]
    seed: u64,
    /// The model directory to write
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace an existing model directory
    #[arg(long)]
    overwrite: bool,
    /// Output format of the figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// A number of problems to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
enum Count {
    Of(usize),
    All,
}

fn count(word: &str) -> Result<Count, String> {
    match word {
        "all" => Ok(Count::All),
        _ => word.parse().map(Count::Of).map_err(|_| "expected numbers of problems, or all".to_owned()),
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Of(count) => count.fmt(f),
            Self::All => f.write_str("all"),
        }
    }
}

#[cfg(feature = "train")]
impl Args {
    /// The architecture, by default that of the recorded rows.
    fn arch(&self) -> Result<Arch, CliError> {
        self.arch.map_or_else(|| self.rows.filter.first_rows(&self.simulate)?.measured_arch(), Ok)
    }
}

#[cfg(feature = "train")]
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    run::run(args)
}

#[cfg(not(feature = "train"))]
pub(crate) fn run(_: &Args) -> Result<(), CliError> {
    Err(super::train::without_lightgbm())
}
