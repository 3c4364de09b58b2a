//! `ckselect bench`: measure kernels on problems.

mod progress;
mod records;
mod summary;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ck_select::estimate::{Estimator, GpuOverride};
use ck_select::kernel::Kernel;
use ck_select::nearest::Hint;
use ck_select::pool::{Folder, Pool};
use ck_select_measure::config::RunnerConfig;
use ck_select_measure::gpu::Gpu;
use ck_select_measure::guard::Guard;
use ck_select_measure::outcome::FailureClass;
use ck_select_measure::plan::{Cost, Plan};
use ck_select_measure::problems::ProblemSet;
use ck_select_measure::runner::{
    Analytic, Context, ExecutableRunner, ModelAnswers, OutcomeSource, Runner, Settings, SimulatedRunner,
    WorkerRunner,
};
use ck_select_measure::shard::Shard;
use ck_select_measure::stop::{Stop, StopReason};
use ck_select_measure::sweep::{Start, Summary, Sweep, check_free};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::gpu::{Gpu as NamedGpu, check_arch};
use super::{Params, duration, whole, word};
use crate::error::CliError;
use crate::output::{file_name, suffix};
use crate::table::Format;
use progress::Bar;

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
  ckselect bench --pool kernels.txt --problems shapes.csv --runner ./libkernels.so \\
      --output sweep.csv sweep.html
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
    /// The log of the measurements. A second name, which ends in .html, is a page of the running sweep that
    /// is kept up to date: progress, time left, failures, the best so far
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(super) output: Vec<PathBuf>,
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
    /// 99.8 % of the best speed (docs/results.md) [default: model:30 with --arch, else pool]
    #[arg(long, value_name = "ORDER[:KEEP]", value_parser = order)]
    pub(super) order: Option<Order>,
    /// The model of --order model: a directory, or embedded:NAME [default: embedded:universal]
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<PathBuf>,
    /// The GPU, for the estimate and for a universal model: an architecture, or a file of constants
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

/// An order of a problem's kernels, and what it keeps of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    Pool,
    Estimate(Keep),
    Model(Keep),
}

/// What is kept of the kernels of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Keep {
    All,
    First(usize),
    /// Those whose estimate is at most this many times the fastest one's.
    Within(f64),
}

/// How many kernels of a problem are measured by default where the GPU is known: of 546, they keep 100.00 %
/// of the best speed (docs/results.md).
const PROMISING: usize = 30;

/// Reads `pool`, or `estimate` and `model` with what they keep.
fn order(text: &str) -> Result<Order, String> {
    let (by, keep) = match text.split_once(':') {
        None => (text, Keep::All),
        Some((by, keep)) if keep.ends_with('x') => (by, Keep::Within(factor(keep)?)),
        Some((by, keep)) => {
            let count = keep.parse().ok().filter(|count| *count > 0);
            let count = count.ok_or("expected a number of kernels such as 10, or a factor such as 1.35x")?;
            (by, Keep::First(count))
        }
    };
    match (by, keep) {
        ("pool", Keep::All) => Ok(Order::Pool),
        ("pool", _) => Err("the pool's order says nothing of what to leave out".to_owned()),
        ("estimate", keep) => Ok(Order::Estimate(keep)),
        ("model", Keep::Within(_)) => Err("a factor is for the estimate, whose scores are times".to_owned()),
        ("model", keep) => Ok(Order::Model(keep)),
        (by, _) => {
            Err(format!("expected pool, estimate or model{}", Hint::new(by, ["pool", "estimate", "model"])))
        }
    }
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

/// Reads `5x` or `5`.
fn factor(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|factor| *factor >= 1.0 && factor.is_finite())
        .ok_or_else(|| "expected a factor of 1 or more, such as 5x".to_owned())
}

/// Prints how many kernels the estimate cannot order, and refuses a pool of nothing else.
fn say_without_estimate(estimator: &Estimator, pool: &Pool) -> Result<(), CliError> {
    let faults: Vec<_> = pool.iter().filter_map(|kernel| estimator.shape(&kernel.kind).err()).collect();
    let Some(first) = faults.first() else { return Ok(()) };
    let (count, all) = (faults.len(), pool.len());
    if count == all {
        return Err(CliError::failed(format!(
            "--order estimate: none of the {all} kernels has one: {first}"
        )));
    }
    say!("ckselect: kernels without an estimate come last, {count} of {all}: {first}");
    Ok(())
}

/// The plan in the order that is asked for, without the kernels that it leaves out.
fn in_order(args: &Args, plan: Plan, pool: &Pool, problems: &ProblemSet) -> Result<Plan, CliError> {
    let names_gpu = args.arch.is_given();
    let usual = if names_gpu { Order::Model(Keep::First(PROMISING)) } else { Order::Pool };
    let order = args.order.unwrap_or(usual);
    if args.model.is_some() && !matches!(order, Order::Model(_)) {
        return Err(CliError::usage("--model needs --order model"));
    }
    let (plan, keep) = match order {
        Order::Pool if names_gpu => {
            return Err(CliError::usage("--arch needs --order estimate or --order model"));
        }
        Order::Pool => (plan, Keep::All),
        Order::Estimate(keep) => {
            let GpuOverride { arch, device } = args.arch.device()?;
            for one in &problems.problems {
                check_arch(arch, &one.problem)
                    .map_err(|reason| CliError::failed(format!("{}: {reason}", one.problem)))?;
            }
            let elsewhere = |kernel: &&Kernel| kernel.kind.arch().is_some_and(|named| named != arch);
            if let Some(kernel) = pool.iter().find(elsewhere) {
                let message =
                    format!("{} does not run on {arch}, for which --order wants estimates", kernel.name);
                return Err(CliError::failed(message));
            }
            let estimator = Estimator::new(device);
            say_without_estimate(&estimator, pool)?;
            let plan = match keep {
                Keep::Within(factor) => plan.within(&estimator, factor),
                _ => plan.by_estimate(&estimator),
            };
            (plan, keep)
        }
        Order::Model(keep) => {
            let universal = Path::new(super::UNIVERSAL);
            let model = super::load_model(args.model.as_deref().unwrap_or(universal))?;
            let model = args.arch.model_on(model)?;
            let problems = problems.problems.iter().map(|asked| &asked.problem);
            args.arch.check_known(&model, problems, pool.iter())?;
            (plan.by_model(model)?, keep)
        }
    };
    let plan = match keep {
        Keep::First(count) => plan.first(count),
        _ => plan,
    };
    if plan.left_out_by_order() > 0 {
        let (count, kept) = (plan.left_out_by_order(), plan.len());
        say!("ckselect: {count} pairs are left out as less promising, {kept} are kept");
    }
    Ok(plan)
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let Some(FinishedSweep { ran, plan, signals: _signals }) = sweep(args)? else { return Ok(()) };
    summary::sweep(&ran, &plan, args.format)?;
    if plan.left_out() > 0 {
        let count = plan.left_out();
        say!("ckselect: note: {count} pairs were left out: the kernel computes something else");
    }
    say_how_it_ended(&ran, args.outputs()?.0)
}

/// What the command measures with these arguments, without its report.
#[cfg(feature = "train")]
pub(super) fn measure(args: &Args) -> Result<Summary, CliError> {
    let swept = sweep(args)?.map(|swept| swept.ran);
    swept.ok_or_else(|| CliError::usage("a sweep of this process was expected"))
}

/// A sweep that has ended.
struct FinishedSweep {
    ran: Summary,
    plan: Plan,
    signals: Signals,
}

/// The signals that end a sweep; when it is dropped, they end the process again.
struct Signals(&'static Handlers);

/// What signals do, since they cannot be left to themselves again.
struct Handlers {
    /// Whether they end this process as usual.
    usual: Arc<AtomicBool>,
    /// The last one of a sweep.
    came: Arc<AtomicUsize>,
    /// Whether Ctrl-C was pressed in a sweep. A second one ends this process at once, and the guard ends what
    /// it started. Other signals do not, since programs repeat them.
    interrupted: Arc<AtomicBool>,
}

impl Handlers {
    fn register() -> Result<Self, CliError> {
        let new = Self { usual: Arc::default(), came: Arc::default(), interrupted: Arc::default() };
        for number in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_default(number, Arc::clone(&new.usual))?;
            flag::register_usize(number, Arc::clone(&new.came), usize::try_from(number).unwrap_or_default())?;
        }
        flag::register_conditional_shutdown(SIGINT, 128 + SIGINT, Arc::clone(&new.interrupted))?;
        flag::register(SIGINT, Arc::clone(&new.interrupted))?;
        Ok(new)
    }
}

impl Signals {
    fn new() -> Result<Self, CliError> {
        static HANDLERS: OnceLock<Handlers> = OnceLock::new();
        let handlers = if let Some(handlers) = HANDLERS.get() {
            handlers
        } else {
            let handlers = Handlers::register()?;
            HANDLERS.get_or_init(|| handlers)
        };
        handlers.came.store(0, Ordering::Relaxed);
        handlers.interrupted.store(false, Ordering::Relaxed);
        handlers.usual.store(false, Ordering::Relaxed);
        Ok(Self(handlers))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.usual.store(true, Ordering::Relaxed);
    }
}

/// Measures; `None` for a dry run, which reports itself.
fn sweep(args: &Args) -> Result<Option<FinishedSweep>, CliError> {
    let pool = Arc::new(super::pools::read(&args.pool, || args.arch.named_arch())?);
    let problems = ProblemSet::read(&args.problems, pool.op())?;
    for note in &problems.notes {
        say!("ckselect: note: {note}");
    }
    let settings = args.settings()?;
    let all = Plan::new(&pool, &problems);
    let whole = in_order(args, all.clone(), &pool, &problems)?;
    if whole.is_empty() {
        return Err(CliError::failed(problems.misfit(&pool)));
    }
    let cost =
        Cost { runs: settings.warmup.saturating_add(settings.repeat).saturating_mul(settings.samples) };
    // Errors in these are reported by a dry run, too.
    let mut runner = match answers(args, &pool)? {
        Some(answers) => {
            say_kept(&whole, &all, &*answers);
            Box::new(SimulatedRunner(answers))
        }
        None => runner(args, &pool)?,
    };
    let environment = |name: &str| std::env::var(name).ok();
    let gpus = Gpu::choose(args.gpus.as_deref(), environment).map_err(CliError::usage)?;
    let (log, page) = args.outputs()?;
    if log == Path::new("-") {
        return Err(CliError::usage(
            "--output: found '-', expected a file: a sweep keeps a log that can be resumed",
        ));
    }
    let plan = args.shard.of(&whole, cost, settings.batch);
    let start = match (args.resume.is_some(), args.overwrite) {
        (true, _) => Start::Resume,
        (_, true) => Start::Overwrite,
        _ => Start::Fresh,
    };
    if args.dry_run {
        if start == Start::Fresh {
            check_free(log)?;
        }
        runner.check(&plan.used_kernels())?;
        summary::plan(&plan, args.shard, cost, args.format)?;
        return Ok(None);
    }
    let signals = Signals::new()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench-guard");
    let guard = Guard::start(command)?;
    let stop = Stop::new(Arc::clone(&signals.0.came), args.budget);
    let context = Context { settings: &settings, guard: &guard, stop: &stop };
    let sweep = Sweep {
        plan: &plan,
        shard: args.shard,
        output: log,
        start,
        retry: args.resume.as_deref().unwrap_or_default(),
        gpus: &gpus,
    };
    let watch = watch::start(page, log)?;
    let bar = Bar::new(&plan);
    let ran = sweep.run(&mut *runner, context, &|event| bar.tell(event));
    bar.progress.end();
    if let Some(watch) = watch {
        watch.finish();
    }
    Ok(Some(FinishedSweep { ran: ran?, plan, signals }))
}

impl Args {
    /// The log, and the page of the running sweep.
    fn outputs(&self) -> Result<(&Path, Option<&Path>), CliError> {
        let is_page = |path: &&PathBuf| suffix(path) == "html";
        let (pages, logs): (Vec<_>, Vec<_>) = self.output.iter().partition(is_page);
        match (&logs[..], &pages[..]) {
            ([log], []) => Ok((log, None)),
            ([log], [page]) => Ok((log, Some(page))),
            _ => Err(CliError::usage(
                "--output: expected one log, and at most one page, whose name ends in .html",
            )),
        }
    }
}

/// Says what remains and what failed, which decides about the exit code.
fn say_how_it_ended(ran: &Summary, output: &Path) -> Result<(), CliError> {
    let (output, remaining, tally) = (output.display(), ran.remaining, &ran.tally);
    let remain = format!("{remaining} rows remain: continue with --resume");
    match ran.stopped {
        Some(StopReason::Signal(signal)) => {
            say!("ckselect: {output}: ended by signal {signal}, {remain}");
            return Err(CliError::Reported(u8::try_from(128 + signal).unwrap_or(1)));
        }
        Some(StopReason::Budget) => say!("ckselect: {output}: the budget is spent, {remain}"),
        None => {}
    }
    if tally.rows() == 0 || tally.measured > 0 {
        return Ok(());
    }
    let classes: Vec<String> = tally.failed.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let classes = classes.join(", ");
    Err(CliError::failed(format!(
        "{output}: nothing could be measured ({classes}): --resume=failed tries again"
    )))
}

fn runner(args: &Args, pool: &Pool) -> Result<Box<dyn Runner>, CliError> {
    let Some(path) = &args.runner else { return Err(CliError::usage("give --runner or --simulate")) };
    let is_shared = suffix(path) == "so" || file_name(path).contains(".so.");
    let is_library = is_shared || path.exists() && (!path.is_dir() || Folder::is_at(path));
    let config = if suffix(path) == "json" {
        RunnerConfig::read(path)?
    } else if is_library {
        RunnerConfig::of_library(path)?
    } else {
        return Ok(Box::new(ExecutableRunner::new(path.clone(), pool.op()).map_err(CliError::usage)?));
    };
    let own = vec![std::env::current_exe()?, PathBuf::from("bench-worker")];
    Ok(Box::new(WorkerRunner::new(config, own)))
}

/// The answers of --simulate, in place of a GPU's.
fn answers(args: &Args, pool: &Arc<Pool>) -> Result<Option<Box<dyn OutcomeSource>>, CliError> {
    let Some(from) = &args.simulate else { return Ok(None) };
    let answers: Box<dyn OutcomeSource> = if from == Path::new("analytic") {
        Box::new(Analytic::new()?)
    } else if from.is_dir() {
        Box::new(ModelAnswers::load(from, pool)?)
    } else {
        Box::new(records::read(from, pool)?)
    };
    Ok(Some(answers))
}

/// Says what an order that leaves kernels out costs, which only a simulation knows.
fn say_kept(whole: &Plan, all: &Plan, answers: &dyn OutcomeSource) {
    if whole.left_out_by_order() > 0
        && let Some((speed, problems)) = whole.kept_speed(all, answers)
    {
        let pairs = 100.0 * whole.len() as f64 / all.len() as f64;
        let speed = 100.0 * speed;
        say!(
            "ckselect: {pairs:.1} % of the pairs have {speed:.2} % of the best speed, the mean of {problems} \
             problems"
        );
    }
}

/// `ckselect bench-guard`.
pub(super) mod guard {
    use super::{Arc, CliError, SIGHUP, SIGINT, SIGTERM, flag};

    /// Started by a sweep to kill its remaining processes if it is killed
    #[derive(clap::Args)]
    pub(crate) struct Args {}

    pub(crate) fn run(_: &Args) -> Result<(), CliError> {
        // Batch systems signal every process of a job; the guard must not end before the sweep does.
        for number in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(number, Arc::default())?;
        }
        ck_select_measure::guard::serve(std::io::stdin().lock());
        Ok(())
    }
}

/// `ckselect bench-worker`.
pub(super) mod worker {
    use super::CliError;

    /// Started by a sweep to load and run kernels
    #[derive(clap::Args)]
    pub(crate) struct Args {}

    pub(crate) fn run(_: &Args) -> Result<(), CliError> {
        let answers = ck_select_measure::worker::claim_stdout()?;
        ck_select_measure::worker::serve(std::io::stdin().lock(), answers)?;
        Ok(())
    }
}
