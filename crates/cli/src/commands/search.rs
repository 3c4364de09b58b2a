//! `ckselect search`: kernels with good predictions, built or not.

use std::path::PathBuf;
use std::sync::Arc;

use ck_select::estimate::{EstimateScratch, Estimated, Estimator, GpuOverride, PoolEstimate};
use ck_select::kernel::Kernel;
use ck_select::model::Model;
use ck_select::nearest::Hint;
use ck_select::pool::Pool;
use ck_select::problem::{Checked, Problem, ProblemDefaults};
use ck_select::select::{Ranked, Ranker};
use ck_select::vocab::Op;
use ck_select_study::surrogate::{By, Constraints, Found, Outcome, Settings, Strategy, search, search_pool};

use super::gpu::Gpu;
use super::rank_notes::Notes;
use super::{AllowOption, Params, SplitsOption, load_model, take_what_is_common, whole};
use crate::error::CliError;
use crate::progress::Progress;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect search --model models/gemm --problem 'M=128,N=1536,K=7168,layout=rcr'
  ckselect search --model models/gemm --problem '…' --strategy de --params budget=2000 seed=7
  ckselect search --model models/gemm --problem 'M=128,N=1536,K=7168,arch=gfx950' \\
      --strategy exhaustive
  ckselect search --model models/gemm --problem '…' --params constraints=memory
  ckselect search --model estimate --arch gfx942 --problem 'M=128,N=1536,K=7168,dtype=fp8'
  ckselect search --model models/conv --problem 'C=64,K=64,Hi=56,Wi=56,Y=3,X=3' --pool kernels.txt

Without a pool, the space is upstream's: 32 million combinations of tile, waves, instruction, pipeline, \
scheduler, epilogue, padding and persistence of GEMM kernels, of which only buildable ones are searched. \
With a pool, of any operation, all its kernels are scored. A model that adds the estimate to its scores, such as \
a universal one, needs one. The estimate's scores are times in microseconds. The columns tie, unmeasured and out_of_range are those of `ckselect rank`.";

/// Search for kernels that a model predicts to be fast
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model directory, embedded:NAME, or `estimate`, which needs no model and no measurements
    /// (docs/estimate.md)
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The GPU, for the estimate and for a universal model: an architecture, or a file of constants
    #[arg(long, value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    arch: Gpu,
    /// The problem, as key=value pairs
    #[arg(long, value_name = "PAIRS")]
    problem: String,
    #[command(flatten)]
    splits: SplitsOption,
    /// Score all kernels of this pool instead of drawing from upstream's space: a list of names, or a CK
    /// export
    #[arg(long, value_name = "FILE", conflicts_with_all = ["strategy", "params"])]
    pool: Option<PathBuf>,
    /// Search strategy: random, de (discrete differential evolution) or exhaustive
    #[arg(long, value_name = "STRATEGY", default_value = "random", value_parser = strategy)]
    strategy: Strategy,
    /// Only the best COUNT kernels
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = count)]
    top: usize,
    /// How to search: budget=500 points to score, at most 100,000,000 (exhaustive scores all); seed=42, which
    /// finds the same kernels again; constraints=buildable on kernels (accepted by the tile engine's
    /// validator for the architecture), memory (fit into shared memory) or upstream (the same with one byte
    /// per element); the last two also find kernels that no compiler accepts
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    #[command(flatten)]
    allow: AllowOption,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

fn one_of<T: Copy>(word: &str, words: &[(&'static str, T)]) -> Result<T, String> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        format!("expected one of {}{}", known.join(", "), Hint::new(word, known.iter().copied()))
    })
}

fn count(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

fn strategy(word: &str) -> Result<Strategy, String> {
    one_of(word, &Strategy::WORDS)
}

fn constraints(word: &str) -> Result<Constraints, String> {
    one_of(word, &Constraints::WORDS)
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let is_estimate = args.allow.asks_estimate(Some(&args.model))?;
    let (outcome, table) = if is_estimate { by_estimate(args)? } else { by_model(args)? };
    table.print(args.format)?;
    if args.format == Format::Table {
        say!("{} {} scored", outcome.scored, if args.pool.is_some() { "kernels" } else { "points" });
    }
    Ok(())
}

fn by_model(args: &Args) -> Result<(Outcome, Table), CliError> {
    let model = args.allow.apply(load_model(&args.model)?);
    let model = model.for_op(Problem::op_of(&args.problem)).unwrap_or(model);
    let model = Arc::new(args.arch.place(model)?);
    let (spec, mut defaults) = (model.spec(), model.spec().problem_defaults());
    let pool = args.pool.as_deref().map(Pool::read).transpose()?;
    if let Some(pool) = &pool {
        take_what_is_common(pool, &mut defaults, spec.direction.is_none(), spec.dtype.is_none());
    }
    let problem = parsed(args, spec.op(), &defaults)?;
    let outcome = if let Some(pool) = pool {
        let ranker = Ranker::new(model.clone(), Arc::new(pool))?;
        super::say_left_out(&ranker);
        search_pool(&ranker, checked(args, &problem)?, one_more(args.top))?
    } else {
        drawn(args, By::Model(&model), &problem)?
    };
    let table = table(&outcome, args.top, &model, &problem)?;
    Ok((outcome, table))
}

fn by_estimate(args: &Args) -> Result<(Outcome, Table), CliError> {
    let pool = args.pool.as_deref().map(Pool::read).transpose()?;
    let op = pool.as_ref().map_or_else(|| Problem::op_of(&args.problem), Pool::op);
    let mut defaults = ProblemDefaults::of(op);
    if let Some(pool) = &pool {
        take_what_is_common(pool, &mut defaults, true, true);
    }
    let problem = parsed(args, op, &defaults)?;
    let GpuOverride { arch, device } = args.arch.device_for(Some(&problem), pool.iter().flatten())?;
    let (estimator, problem) = (Estimator::new(device), problem.on(Some(arch)));
    let outcome = match pool {
        Some(pool) => {
            let pool = PoolEstimate::new(estimator, Arc::new(pool));
            super::rank_estimate::say_left_out(&pool);
            let mut scratch = EstimateScratch::default();
            pool.rank_checked(checked(args, &problem)?, &mut scratch)
                .map_err(|error| CliError::failed(error.to_string()))?;
            let ranking = scratch.ranking();
            super::rank_estimate::say_misfits(&pool, &problem, ranking.iter().map(|one| one.index));
            let found = |&Estimated { index, split_k, time_us }: &Estimated| {
                Some(Found { kernel: pool.pool().get(index)?.clone(), split_k, score: time_us })
            };
            let found = ranking.iter().take(one_more(args.top)).filter_map(found).collect();
            Outcome { found, scored: ranking.len() }
        }
        None => drawn(args, By::Estimate(&estimator, Some(arch)), &problem)?,
    };
    let parts = problem.chooses_split().then_some("split_k");
    let mut table = Table::new(["rank", "time_us", "kernel", "tie"].into_iter().chain(parts));
    for (place, found) in outcome.found.iter().enumerate().take(args.top) {
        let time = |place: usize| outcome.found.get(place).map(|other| other.score);
        let tied = [place.checked_sub(1).and_then(time), time(place + 1)].contains(&Some(found.score));
        let mut row = vec![
            (place + 1).into(),
            found.score.into(),
            found.kernel.name.as_str().into(),
            if tied { "=".into() } else { Cell::Empty },
        ];
        row.extend(parts.map(|_| Cell::from(found.split_k as usize)));
        table.push(row);
    }
    Ok((outcome, table))
}

fn parsed(args: &Args, op: Op, defaults: &ProblemDefaults) -> Result<Problem, CliError> {
    Problem::parse(op, &args.problem, defaults)
        .map_err(|error| CliError::usage(format!("--problem: {error}")))
}

fn checked<'p>(args: &'p Args, problem: &'p Problem) -> Result<Checked<'p>, CliError> {
    let checked = problem.checked().map_err(|error| CliError::usage(format!("--problem: {error}")))?;
    Ok(checked.among(args.splits.list()))
}

/// The last kernel that is shown may tie with one that is not.
const fn one_more(top: usize) -> usize {
    top.saturating_add(1)
}

/// The kernels found, with what `rank` says of them.
fn table(outcome: &Outcome, top: usize, model: &Arc<Model>, problem: &Problem) -> Result<Table, CliError> {
    let parts = problem.chooses_split().then_some("split_k");
    let mut table = Table::new(["rank", "score", "kernel"].into_iter().chain(Notes::COLUMNS).chain(parts));
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut ranking = Vec::new();
    for Found { kernel, split_k, score } in &outcome.found {
        let known = kernels.iter().position(|known| known.name == kernel.name);
        let index = known.unwrap_or(kernels.len());
        if index == kernels.len() {
            kernels.push(kernel.clone());
        }
        ranking.push(Ranked { index, split_k: *split_k, score: *score });
    }
    if kernels.is_empty() {
        return Ok(table);
    }
    let ranker = Ranker::new(model.clone(), Arc::new(Pool::new(kernels)?))?;
    super::say_out_of_range(&ranker, problem)?;
    let outside: Vec<_> = ranker.out_of_range(problem)?.iter().map(|outside| outside.field).collect();
    let out_of_range = if outside.is_empty() { Cell::Empty } else { outside.join(" ").into() };
    let notes = Notes::new(&ranker);
    for (place, found) in outcome.found.iter().enumerate().take(top) {
        let mut row = vec![(place + 1).into(), found.score.into(), found.kernel.name.as_str().into()];
        row.extend(notes.cells(&ranking, place, &out_of_range));
        row.extend(parts.map(|_| Cell::from(found.split_k as usize)));
        table.push(row);
    }
    Ok(table)
}

/// Searches upstream's space.
fn drawn(args: &Args, by: By<'_>, problem: &Problem) -> Result<Outcome, CliError> {
    let (mut budget, mut seed, mut rules) = (500, 42, Constraints::Buildable);
    let params = Params::read(&args.params, &["budget", "seed", "constraints"])?;
    params.set("budget", whole(1..=100_000_000), &mut budget)?;
    params.set("seed", whole(0..=u64::MAX), &mut seed)?;
    params.set("constraints", constraints, &mut rules)?;
    let settings = Settings { strategy: args.strategy, budget, top: one_more(args.top), seed };
    let bar = Progress::new(0, "points");
    let outcome = search(by, checked(args, problem)?, rules, &settings, &|done, all| bar.set_of(done, all));
    bar.end();
    Ok(outcome?)
}
