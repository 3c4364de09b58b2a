//! `ckselect tune`: adapts a universal model with a few of the user's own measurements.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "train")]
use ck_select::vocab::Arch;

use super::data::WhereOption;
use super::gpu::Gpu;
#[cfg(feature = "train")]
use super::{Params, whole};
#[cfg(feature = "train")]
use crate::error::CliError;
use crate::table::Format;
use count::{ProblemCount, at_least_one};

mod count;
#[cfg(feature = "train")]
mod curve;
#[cfg(feature = "train")]
mod measure;
#[cfg(feature = "train")]
mod recorded;
#[cfg(feature = "train")]
mod run;
#[cfg(feature = "train")]
mod sweep;
#[cfg(feature = "train")]
mod work;

const EXAMPLES: &str = "Examples:
  ckselect tune --arch gfx942 --pool kernels.txt --problems captured.txt --runner ./libkernels.so \\
      --budget 10m --work tuning --output models/mine
  ckselect tune --simulate oracle.csv --measure 10 --params draws=10
  ckselect tune --simulate oracle.csv --measure 40 --output models/mine
  ckselect tune --simulate oracle.csv --counts
  ckselect tune --simulate oracle.csv --counts 0,10,40,all --params ways=tuned,alone draws=10

Problems far from each other are measured first, in an order that depends on the seed. Of each problem, only \
promising kernels are measured: three problems of which ten kernels are measured teach more than one of \
which thirty are. If all problems are done and there is time left, their other kernels follow, unless \
--first is given. --work keeps the measurements, in the format of `ckselect bench`: the same command \
continues where it was stopped, also with more to measure or a new budget. The folder records --arch and \
--first, and refuses others. Unstable times are measured again, up to three times. Without --measure, it \
ends when the budget is spent, when all problems are measured, or when measuring twice as many has hardly \
changed `expected`.

`expected` is judged on the measured problems, each held out in turn, among the kernels that were measured. \
After measuring, the table has a row of these figures for each number of problems, all judged on every \
measured one. In a simulation it is one column, a mean; the other columns are of problems that were not \
measured, among all recorded kernels.

With --counts, problems are drawn for each number and each way of learning, and the others are evaluated; \
`all` holds each problem out once, in folds. tuned: a universal model that is continued; alone: a forest \
that ranks, from these problems alone; upstream: upstream's features, parameters and target. Figures are \
medians of the draws.";

/// Adapt a universal model to a GPU, a library and problems with a few measurements
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("who").required(true))]
#[command(mut_arg("filter", |filter| filter.conflicts_with("runner")))]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
pub(crate) struct Args {
    /// The universal model to continue: a directory, or embedded:NAME
    #[arg(long, value_name = "MODEL", default_value = "embedded:universal")]
    model: PathBuf,
    /// The GPU that is measured: an architecture, a product or a file of constants [default: with --simulate,
    /// the architecture that the rows record]
    #[arg(long = "arch", value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    gpu: Gpu,
    /// Measure nothing: take the times from recorded sweeps
    #[arg(long, value_name = "FILE", group = "who", num_args = 1..)]
    simulate: Vec<PathBuf>,
    /// Measure as `ckselect bench --runner` does
    #[arg(
        long,
        value_name = "DIR|FILE.so|CONFIG.json",
        group = "who",
        requires_all = ["pool", "problems", "work", "output"]
    )]
    runner: Option<PathBuf>,
    /// Kernels to measure, as for `ckselect rank`
    #[arg(long, value_name = "FILE|FAMILY", conflicts_with = "simulate")]
    pool: Option<PathBuf>,
    /// Keep kernels of a list of names that cannot be built for the architecture, by the rules of enumerate
    /// --valid-only
    #[arg(long, value_name = "WHAT", requires = "pool", value_parser = ["unbuildable"])]
    allow: Vec<String>,
    /// Problems, some of which are measured
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    problems: Option<PathBuf>,
    /// The folder for the measurements, a file per five problems
    #[arg(long, value_name = "DIR", conflicts_with = "simulate")]
    work: Option<PathBuf>,
    /// Measure no longer than this: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = super::duration, conflicts_with = "simulate")]
    budget: Option<Duration>,
    /// Measure this many problems. With a runner, rounded up to a multiple of five [default: 10 in a
    /// simulation, else until more change little]
    #[arg(long, value_name = "COUNT|all", value_parser = at_least_one)]
    measure: Option<ProblemCount>,
    /// Measure only the first COUNT kernels of each problem in the order of the universal model [default: 10,
    /// or a tenth of the pool if that is more, but 30 at most; in a simulation, all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    first: Option<u32>,
    /// Compute the learning curve: the quality of choices by the number of measured problems, for these
    /// numbers [default: those of 0, 5, 10, 20, 40, 80 that are below the number of problems, and all]
    #[arg(
        long,
        value_name = "LIST",
        num_args = 0..=1,
        value_delimiter = ',',
        requires = "simulate",
        conflicts_with_all = ["measure", "output"]
    )]
    counts: Option<Vec<ProblemCount>>,
    #[command(flatten)]
    rows: WhereOption,
    /// seed=1 for the first problem and the training; draws=1 simulations, each with another seed, the last
    /// line of which has the medians (5 with --counts); with --counts, ways=tuned,alone,upstream of learning
    /// to compare, and folds=5 in which all problems are held out (more folds leave more problems to learn
    /// from), or a file of --simulate whose problems are held out and never measured
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    #[arg(skip)]
    settings: Settings,
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

/// The values of `--params`.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "train"), allow(dead_code))]
struct Settings {
    seed: u64,
    draws: Option<u32>,
    methods: Vec<String>,
    folds: u32,
    /// A file that is held out instead.
    holdout: Option<PathBuf>,
}

#[cfg(feature = "train")]
impl Settings {
    fn read(args: &Args) -> Result<Self, CliError> {
        let refused = |error: &str| Err(CliError::usage(format!("--params: {error}")));
        let params = Params::read(&args.params, &["seed", "draws", "ways", "folds"])?;
        let ways = params.get("ways", |value| Ok(value.to_owned()))?;
        let folds = params.get("folds", |value| Ok(value.to_owned()))?;
        let draws = params.get("draws", whole(1..=1000))?;
        if args.counts.is_none() && ways.is_some() {
            return refused("ways is for --counts");
        }
        if args.counts.is_none() && folds.is_some() {
            return refused("folds is for --counts");
        }
        if args.runner.is_some() && draws.is_some() {
            return refused("draws is for --simulate");
        }
        let is_file = |value: &String| !value.bytes().all(|byte| byte.is_ascii_digit());
        let holdout = folds.filter(is_file).map(PathBuf::from);
        let folds = if holdout.is_some() { None } else { params.get("folds", whole(2..=1000))? };
        let methods =
            ways.as_deref().unwrap_or("tuned,alone,upstream").split(',').map(str::to_owned).collect();
        let seed = params.get("seed", whole(0..=u64::MAX))?.unwrap_or(1);
        Ok(Self { seed, draws, methods, folds: folds.unwrap_or(5), holdout })
    }
}

#[cfg(feature = "train")]
impl Args {
    /// How many problems to measure, of those that there are.
    fn at_most(&self, available: usize) -> Result<Option<usize>, CliError> {
        self.measure.map(|count| count.number("--measure", available)).transpose()
    }

    /// The architecture, by default that of the recorded rows.
    fn arch(&self) -> Result<Arch, CliError> {
        if let Some(arch) = self.gpu.arch {
            return Ok(arch);
        }
        if self.simulate.is_empty() {
            return self.gpu.named_arch()?.ok_or_else(|| CliError::usage("--arch is missing"));
        }
        self.rows.filter.first_rows(&self.simulate)?.measured_arch(&self.gpu)
    }
}

#[cfg(feature = "train")]
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    run::run(&Args { settings: Settings::read(args)?, ..args.clone() })
}

#[cfg(not(feature = "train"))]
pub(crate) use super::train::run;
