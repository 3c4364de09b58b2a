//! `ckselect bench`: measure kernels on problems.

pub(super) mod guard;
pub(super) mod order;
mod progress;
mod records;
mod runner;
mod signals;
mod summary;
pub(super) mod worker;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ck_select::pool::Pool;
use ck_select_measure::gpu::Gpu;
use ck_select_measure::guard::Guard;
use ck_select_measure::plan::{Cost, Plan};
use ck_select_measure::problems::ProblemSet;
use ck_select_measure::runner::{Context, Runner, Settings};
use ck_select_measure::shard::Shard;
use ck_select_measure::stop::Stop;
use ck_select_measure::sweep::{Start, Summary, Sweep, check_free};
use ck_select_measurements::outcome::FailureClass;

use super::gpu::Gpu as NamedGpu;
use super::{Params, duration, whole, word};
use crate::error::CliError;
use crate::table::Format;
use order::{Order, factor};

use progress::Bar;
use signals::Signals;

const EXAMPLES: &str = "Examples:
  ckselect bench --pool kernels.txt --problems shapes.csv --runner build/bin --output sweep.csv
  ckselect bench --pool kernels.txt --problems captured.txt --runner runner.json \\
      --output sweep.csv --resume=load,build
  ckselect bench --pool kernels.txt --problems sweep.csv --simulate sweep.csv \\
      --order estimate:1.35x --arch gfx950 --output part.csv
  ckselect bench --pool kernels.txt --problems shapes.csv --runner ./libkernels.so --gpus 0,1 \\
      --cutoff 5x --budget 30m --output sweep.csv
  ckselect bench --pool kernels.txt --problems shapes.csv --runner ./libkernels.so \\
      --order model:10 --arch gfx942 --cutoff 2x --output sweep.csv
  ckselect bench --pool kernels.txt --problems shapes.csv --runner runner.json \\
      --shard 3/16 --output part3.csv --resume

The output is an append-only CSV. Beside it are <FILE>.meta.json (plan, settings and sessions) and \
<FILE>.details.jsonl (details of each row). After a crash, a kill or a power failure, --resume continues the \
sweep.

Exit codes: 0 done, or the budget is spent; 1 failed, or no row of the output has a time; 2 usage error; \
129, 130 and 143 ended by SIGHUP, Ctrl-C and SIGTERM, with all finished rows kept.";

/// Measure the kernels of a pool on problems
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("who").required(true))]
pub(crate) struct Args {
    /// Kernels to measure, as for `ckselect rank`
    #[arg(long, value_name = "FILE|FAMILY")]
    pub(super) pool: PathBuf,
    /// Problems to measure. A CSV as for `ckselect rank --problems`, or text with one problem per line, as
    /// CK_SELECT_CAPTURE writes it
    #[arg(long, value_name = "FILE")]
    pub(super) problems: PathBuf,
    /// The log of the measurements, which `ckselect report` reads while the sweep runs, too
    #[arg(long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// What runs the kernels: a folder, a shared library or a configuration. The folder has upstream's
    /// executables, benchmark_<kernel>, or a kernels.json and the libraries that it names; the library is one
    /// of include/ck_select_bench.h; the configuration has a library for each kernel, or a program that
    /// measures by itself
    #[arg(long, value_name = "DIR|FILE.so|CONFIG.json", group = "who")]
    pub(super) runner: Option<PathBuf>,
    /// Measure nothing: answer from measurements in any format that `ckselect convert` reads, from a model
    /// directory, or by the formula `analytic`
    #[arg(long, value_name = "FROM", group = "who")]
    pub(super) simulate: Option<PathBuf>,
    /// Continue an existing output, or start a new one if there is none. With =failed, measure failed rows
    /// again, or those of some classes, such as =load,timeout
    #[arg(
        long,
        value_name = "CLASS,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = retry,
        conflicts_with = "overwrite"
    )]
    pub(super) resume: Option<Classes>,
    /// Discard an existing output
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Abandon kernels that are this many times slower than the problem's best: 5x
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(super) cutoff: Option<f64>,
    /// How to measure: warmup=3 runs of each kernel, repeat=10 timed runs, whose median is the result,
    /// samples=1 runs of an executable, which itself averages over repeat, remeasure=0 times if a measurement
    /// varies by more than 10 % (the most stable result counts), timeout=30s for one kernel on one problem,
    /// batch=20 kernels for one worker process
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    pub(super) params: Vec<String>,
    /// The order in which a problem's kernels are measured: `pool`; or, most promising first, `estimate` or
    /// `model`, which need --arch unless the model is for one GPU. `estimate:10` and `model:10` measure only
    /// the first ten; `estimate:1.35x` leaves out kernels that are more than 1.35 times slower than the
    /// fastest by the estimate, but keeps seven, or a quarter of fewer than 28. Of 30 kernels, either has
    /// 99.8 % of the best speed (docs/results.md). `estimate:auto` and `model:auto` measure as many of a
    /// problem's kernels as it takes to be within 2 % of the best with a chance of 90 %, and all where nobody
    /// knows how many that is [default: model:30 with --arch, else pool]
    #[arg(long, value_name = "ORDER[:KEEP]", value_parser = order::read)]
    pub(super) order: Option<Order>,
    /// The model of --order model: a directory, or embedded:NAME [default: embedded:universal]
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<PathBuf>,
    /// The GPU, for the estimate and for a universal model: an architecture, a product or a file of constants
    #[arg(long, value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    pub(super) arch: NamedGpu,
    /// GPUs to measure on, all at once, by their indices among the visible ones; by default all that
    /// HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES name, or the first
    #[arg(long, value_name = "LIST")]
    pub(super) gpus: Option<String>,
    /// Stop after this time: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// Measure only shard I of N; the same N gives the same shards on every machine
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub(super) shard: Shard,
    /// Only print what would be measured
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Output format of the summary
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
}

impl Args {
    /// How carefully to measure.
    fn settings(&self) -> Result<Settings, CliError> {
        let usual = Settings::default();
        let params =
            Params::read(&self.params, &["warmup", "repeat", "samples", "remeasure", "timeout", "batch"])?;
        let count = |name, least, usual| -> Result<u32, CliError> {
            Ok(params.get(name, whole(least..=u32::MAX))?.unwrap_or(usual))
        };
        let timeout = params.get("timeout", duration)?.map(|timeout| timeout.as_secs_f64());
        Ok(Settings {
            cutoff: self.cutoff,
            warmup: count("warmup", 0, usual.warmup)?,
            repeat: count("repeat", 1, usual.repeat)?,
            samples: count("samples", 1, usual.samples)?,
            remeasure: count("remeasure", 0, usual.remeasure)?,
            batch: params.get("batch", whole(1..=usize::MAX))?.unwrap_or(usual.batch),
            timeout_s: timeout.unwrap_or(usual.timeout_s),
            ..usual
        })
    }

    const fn start(&self) -> Start {
        match (&self.resume, self.overwrite) {
            (Some(_), _) => Start::Resume,
            (None, true) => Start::Overwrite,
            (None, false) => Start::Fresh,
        }
    }
}

/// Classes of failures; by this name, since `clap` reads each value of a `Vec` by itself.
type Classes = Vec<FailureClass>;

/// Reads which failed rows are measured again.
fn retry(text: &str) -> Result<Classes, String> {
    match text {
        "" => Ok(Vec::new()),
        "failed" => Ok(FailureClass::ALL.to_vec()),
        _ => text.split(',').map(word).collect(),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let pool = super::pools::read(&args.pool, || args.arch.named_arch())?;
    let sweep = CheckedSweep::new(args, &Arc::new(pool))?;
    if args.dry_run {
        return sweep.print();
    }
    let signals = Signals::new()?;
    let ran = sweep.run(&signals)?;
    summary::sweep(&ran, &sweep.plan, args.format)?;
    let left_out = sweep.plan.left_out();
    if left_out > 0 {
        say!("ckselect: note: {left_out} pairs were left out: the kernel computes something else");
    }
    summary::say_how_it_ended(&ran, sweep.log)
}

/// Measures a pool as the command does with these arguments, without its report.
#[cfg(feature = "train")]
pub(super) fn measure(args: &Args, pool: &Arc<Pool>) -> Result<Summary, CliError> {
    CheckedSweep::new(args, pool)?.run(&Signals::new()?)
}

/// A sweep of which all options are read, so that a dry run reports their errors, too.
struct CheckedSweep<'a> {
    args: &'a Args,
    settings: Settings,
    cost: Cost,
    /// This shard's part.
    plan: Plan,
    runner: Box<dyn Runner>,
    gpus: Vec<Gpu>,
    log: &'a Path,
}

impl<'a> CheckedSweep<'a> {
    fn new(args: &'a Args, pool: &Arc<Pool>) -> Result<Self, CliError> {
        let problems = ProblemSet::read(&args.problems, pool.op())?;
        for note in &problems.notes {
            say!("ckselect: note: {note}");
        }
        let settings = args.settings()?;
        let all = Plan::new(pool, &problems);
        let whole = order::ordered(args, all.clone(), pool, &problems)?;
        if whole.is_empty() {
            return Err(CliError::failed(problems.misfit(pool)));
        }
        let runs = settings.warmup.saturating_add(settings.repeat).saturating_mul(settings.samples);
        let cost = Cost { runs };
        let runner = runner::open(args, pool, |answers| summary::say_kept(&whole, &all, answers))?;
        let environment = |name: &str| std::env::var(name).ok();
        let gpus = Gpu::choose(args.gpus.as_deref(), environment).map_err(CliError::usage)?;
        let log = args.output.as_path();
        if log == Path::new("-") {
            refuse!("--output: found '-', expected a file: a sweep keeps a log that can be resumed");
        }
        let plan = args.shard.part(&whole, cost, settings.batch);
        Ok(Self { args, settings, cost, plan, runner, gpus, log })
    }

    /// Prints what would be measured.
    fn print(&self) -> Result<(), CliError> {
        if self.args.start() == Start::Fresh {
            check_free(self.log)?;
        }
        self.runner.check(&self.plan.used_kernels())?;
        summary::plan(&self.plan, self.args.shard, self.cost, self.args.format)
    }

    fn run(&self, signals: &Signals) -> Result<Summary, CliError> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("bench-guard");
        let guard = Guard::start(command)?;
        let stop = Stop::new(signals.last(), self.args.budget);
        let context = Context { settings: &self.settings, guard: &guard, stop: &stop };
        let sweep = Sweep {
            plan: &self.plan,
            shard: self.args.shard,
            output: self.log,
            start: self.args.start(),
            retry: self.args.resume.as_deref().unwrap_or_default(),
            gpus: &self.gpus,
        };
        let bar = Bar::new(&self.plan);
        let ran = sweep.run(&*self.runner, context, &|event| bar.tell(event));
        bar.progress.end();
        Ok(ran?)
    }
}
