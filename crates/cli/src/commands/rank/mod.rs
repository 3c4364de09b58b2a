//! `ckselect rank`: the best kernels of a pool for a problem.

use std::path::{Path, PathBuf};

use ck_select::embedded;
use ck_select::model::{Model, Target};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, Splits};
use ck_select::select::{RankError, RankScratch, Ranker, TargetScorer};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rayon::prelude::*;

use self::notes::{Notes, say_misfits};
use super::{ModelAndPool, SplitsOption, with_splits};
use crate::error::CliError;
use crate::input::Problems;
use crate::output::Output;
use crate::table::{Cell, Format, Rows};

#[cfg(feature = "offline")]
mod aiter;
mod estimate;
mod notes;

const EXAMPLES: &str = "Examples:
  ckselect rank --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 5
  ckselect rank --model models/M --pool sweep.csv --problems shapes.csv --top 1 --format csv
  ckselect rank --arch gfx942 --pool a8w8_bpreshuffle --problems untuned.csv --format aiter
  ckselect rank --model estimate --arch gfx942 --pool kernels.txt \\
      --problem 'C=64,K=64,Hi=56,Wi=56,Y=3,X=3,pad_h=1,pad_w=1'

A grouped convolution needs C, K, Hi, Wi, Y, X; N, G, Di, Z, stride_d/h/w, pad_d/h/w (or pad_h_left, \
pad_h_right, …), dilation_d/h/w, direction, dtype, layout, split_k, ndim and arch are optional. A GEMM \
needs M, N, K; split_k, dtype, layout and arch are optional. Attention needs seqlen_q, nhead_q, hdim_q; \
seqlen_k, nhead_k, hdim_v default to the same numbers; batch, dtype, mask, bias, lse and so on are optional \
(docs/fmha.md). Direction, dtype and arch default to the model's.

A model answers only for its own direction, type and architecture: other problems are refused (in a file, \
skipped and counted), and other kernels are left out and counted. Columns: tie is = if the previous or next \
kernel has the same score, so that the model does not distinguish them; unmeasured lists the pipeline and \
suffixes that no kernel measured for the model had; out_of_range lists the fields that are outside the \
model's training range.

Without --model, the library's universal model ranks. With --model estimate, only the estimate ranks \
(docs/estimate.md): the fastest kernel first, with its time and the terms that add up to it, in \
microseconds.

A problem with split_k=auto leaves open into how many parts its reduction is split. Then each kernel is \
ranked in every number of --splits, and a column split_k has it; for problems in a file, give --splits.";

/// Rank the kernels of a pool for a problem
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    group = clap::ArgGroup::new("asked").required(true),
    mut_arg("model", |model| model.required(false))
)]
pub(crate) struct Args {
    #[command(flatten)]
    ranker: ModelAndPool,
    /// One problem, as key=value pairs
    #[arg(long, value_name = "PAIRS", group = "asked")]
    problem: Option<String>,
    /// Many problems: a CSV with a column per field, JSON objects, or a list with one problem per line, with
    /// or without its operation as `op=…` (as CK_SELECT_CAPTURE writes it). Repeated problems in a list, or
    /// in a benchmark CSV (with a `kernel` column), count once. Misspelt columns are refused; problems that
    /// the pool cannot compute are left out and counted. Rows are written while problems are still being read
    #[arg(long, value_name = "FILE", group = "asked")]
    problems: Option<PathBuf>,
    #[command(flatten)]
    splits: SplitsOption,
    /// Only the best COUNT kernels of each problem
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,
    /// Output format
    #[arg(long, default_value = "table", value_parser = formats())]
    format: RankFormat,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How results are written; `None` is the tuned table that AITER reads. By this name, since `clap` takes an
/// `Option` for an argument that may be left out.
type RankFormat = Option<Format>;

fn formats() -> impl TypedValueParser<Value = RankFormat> {
    let of_tables = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let of_aiter = PossibleValue::new("aiter")
        .help("The tuned table that AITER reads, with the best kernel of each problem of a family");
    let known = of_tables.chain(cfg!(feature = "offline").then_some(of_aiter));
    PossibleValuesParser::new(known).map(|word| Format::from_str(&word, false).ok())
}

/// The model and the pool. The model is by default the built-in one of a family, else the universal model,
/// which supports every GPU that the estimate knows, if it serves the pool's operation. `None` means the
/// estimate.
fn model_and_pool(args: &Args) -> Result<(Option<Model>, Pool), CliError> {
    let is_estimate = args.ranker.allow.asks_estimate(args.ranker.model.as_deref())?;
    let given = args.ranker.model.as_deref().filter(|_| !is_estimate);
    let given = given.map(super::load_model).transpose()?;
    let pool = args.ranker.read_pool(given.as_ref())?;
    if is_estimate || given.is_some() {
        return Ok((given, pool));
    }
    #[cfg(feature = "offline")]
    if super::pools::family(&args.ranker.pool).is_some()
        && let Some(own) = aiter::model(&pool)?
    {
        return Ok((Some(own), pool));
    }
    let Some(Ok(universal)) = embedded::named(Path::new(super::UNIVERSAL)) else { return Ok((None, pool)) };
    let serves = universal.spec()?.extractor.schema.for_op(pool.op()).is_some();
    Ok((if serves { Some(universal.load()?) } else { None }, pool))
}

/// How many rows are ranked in one parallel block, and how many problems at most.
const BLOCK: usize = 1 << 16;
const MOST: usize = 1 << 12;
/// How many problems a thread takes at a time, at most: as many rows as the forest predicts together.
const TASK: usize = 32;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let top = args.top.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    #[cfg(feature = "offline")]
    if args.format.is_none() {
        return aiter::run(args);
    }
    let format = args.format.unwrap_or(Format::Csv);
    let (model, pool) = model_and_pool(args)?;
    let Some(model) = model else { return estimate::run(args, format, pool, top) };
    let (ranker, defaults) = args.ranker.ranker(model, pool)?;
    let others = other_targets(&ranker);
    let one =
        args.problem.as_deref().map(|text| super::parse_problem(&ranker, text, &defaults)).transpose()?;
    let shows_split = args.splits.splits.is_some() || one.is_some_and(|problem| problem.chooses_split());
    let (header, before) = header(args, shows_split, &others);
    let splits = args.splits.list();
    let ranking =
        Ranking { ranker: &ranker, splits, shows_split, others, notes: Notes::new(&ranker), top, before };
    let output = || Ok::<_, CliError>(Rows::new(format, Output::create(args.output.as_deref())?, header));
    match (one, &args.problems) {
        (Some(problem), _) => {
            super::say_out_of_range(&ranker, &problem)?;
            let every = ranker.rank(&problem)?;
            let left_out = ranker.left_out().iter().map(|one| one.index);
            let given = ranker.model().device().and_then(|(_, arch)| arch);
            let placed = problem.on(problem.arch().or(given));
            say_misfits(ranker.pool(), &placed, every.iter().map(|one| one.index), left_out);
            let ranked = ranking.rows(&[(None, problem)], &mut Memory::default())?;
            let mut rows = output()?;
            ranked.into_iter().try_for_each(|row| rows.push(row))?;
            rows.finish()
        }
        (None, Some(path)) => {
            let model = ranker.model();
            let hardware = model.device().map_or(model.extractor().hardware, |(device, _)| device.hardware);
            let mut problems = Problems::open(path, model.spec().op(), &defaults, hardware)?;
            let mut rows = output()?;
            let at_once =
                (BLOCK / top.min(ranker.pool().len()).max(1)).min(MOST).max(2 * rayon::current_num_threads());
            let mut read = || -> Result<Vec<_>, CliError> {
                let next = || problems.next().transpose();
                let block = std::iter::from_fn(next).take(at_once);
                block.map(|next| next.map(|(label, problem)| (Some(label), problem))).collect()
            };
            // In file order, regardless of which thread ranked which.
            let mut write = |ranked: Vec<Result<Vec<Vec<Cell>>, CliError>>| {
                ranked
                    .into_iter()
                    .try_for_each(|ranked| ranked?.into_iter().try_for_each(|row| rows.push(row)))
            };
            let mut block = read()?;
            let mut before = Vec::new();
            while !block.is_empty() {
                let task = (block.len() / (4 * rayon::current_num_threads())).clamp(1, TASK);
                let mut ranked = Vec::new();
                let (written, next) = rayon::in_place_scope(|scope| {
                    scope.spawn(|_| {
                        let tasks = block.par_chunks(task);
                        let rank = |memory: &mut _, task| ranking.rows(task, memory);
                        ranked = tasks.map_init(Memory::default, rank).collect();
                    });
                    (write(std::mem::take(&mut before)), read())
                });
                written?;
                before = ranked;
                block = match next {
                    Ok(next) => next,
                    Err(error) => {
                        write(before)?;
                        return Err(error);
                    }
                };
            }
            write(before)?;
            problems.finish();
            ranking.notes.say(&path.display().to_string())?;
            rows.finish()
        }
        (None, None) => Err(CliError::usage("give --problem or --problems")),
    }
}

/// The targets that do not rank.
fn other_targets(ranker: &Ranker) -> Vec<TargetScorer> {
    let others = [Target::Tflops, Target::Latency, Target::Bandwidth].into_iter();
    others
        .filter(|&target| target != ranker.model().spec().rank_by)
        .filter_map(|target| ranker.target(target))
        .collect()
}

/// The columns, and how many are before those of the other targets.
fn header(args: &Args, shows_split: bool, others: &[TargetScorer]) -> (Vec<&'static str>, usize) {
    let mut header = place_columns(args, shows_split);
    header.push("score");
    let before = header.len();
    header.extend(others.iter().map(|scorer| match scorer.target() {
        Target::Latency => "latency_ms",
        Target::Bandwidth => "bandwidth_gb_s",
        other => other.as_str(),
    }));
    header.extend(Notes::COLUMNS);
    (header, before)
}

/// The columns of a place in a ranking.
fn place_columns(args: &Args, shows_split: bool) -> Vec<&'static str> {
    let problem = args.problems.is_some().then_some("problem");
    problem.into_iter().chain(["rank", "kernel"]).chain(shows_split.then_some("split_k")).collect()
}

/// Their cells.
fn place_cells(label: Option<&str>, place: usize, kernel: &str, split_k: Option<i32>) -> Vec<Cell> {
    let split_k = split_k.map(|split_k| Cell::from(split_k as usize));
    label.map(Cell::from).into_iter().chain([(place + 1).into(), kernel.into()]).chain(split_k).collect()
}

/// Turns problems into output rows.
struct Ranking<'a> {
    ranker: &'a Ranker,
    /// The numbers of parts to choose from, and whether a column has the chosen one.
    splits: &'a Splits,
    shows_split: bool,
    /// The targets that do not rank, one column each.
    others: Vec<TargetScorer>,
    notes: Notes<'a>,
    /// How many kernels of a problem are shown at most.
    top: usize,
    /// Number of columns before those of the other targets.
    before: usize,
}

impl Ranking<'_> {
    /// All rows of some problems. Problems with a label may be skipped.
    fn rows(
        &self,
        problems: &[(Option<String>, Problem)],
        memory: &mut Memory,
    ) -> Result<Vec<Vec<Cell>>, CliError> {
        let mut rows = Vec::new();
        memory.asked.clear();
        for (label, problem) in problems {
            rows.extend(self.rank(label.as_deref(), problem, memory)?);
        }
        let Memory { predictions, asked, .. } = memory;
        for (at, scorer) in self.others.iter().enumerate() {
            self.ranker.predict_rows(scorer, asked, predictions)?;
            put(&mut rows, self.before + at, predictions);
        }
        Ok(rows)
    }

    /// The rows of a problem without the other targets, and what to predict of them.
    fn rank(
        &self,
        label: Option<&str>,
        problem: &Problem,
        memory: &mut Memory,
    ) -> Result<Vec<Vec<Cell>>, CliError> {
        let (ranker, Memory { scratch, asked, .. }) = (self.ranker, memory);
        // One more than is shown, since the last one may tie with the next.
        let count = self.top.saturating_add(1);
        let ranked = with_splits(problem, self.splits, self.shows_split)
            .map_err(RankError::from)
            .and_then(|problem| ranker.ranking(problem, None, count, scratch));
        let ranking = match ranked {
            Ok(ranking) => ranking,
            Err(error) if label.is_none() => return Err(error.into()),
            Err(error) => {
                self.notes.pass_over(error)?;
                return Ok(Vec::new());
            }
        };
        let out_of_range = self.notes.problem(ranking.outside());
        let shown = ranking.places().iter().enumerate().take(self.top);
        asked.extend(shown.clone().map(|(_, ranked)| (problem.with_split(ranked.split_k), ranked.index)));
        let rows = shown
            .map(|(place, ranked)| {
                let split_k = self.shows_split.then_some(ranked.split_k);
                let mut row = place_cells(label, place, ranker.name(ranked.index), split_k);
                row.push(ranked.score.into());
                row.extend(self.notes.cells(ranking.places(), place, &out_of_range));
                row
            })
            .collect();
        Ok(rows)
    }
}

/// Inserts a column into the rows.
fn put(rows: &mut [Vec<Cell>], column: usize, values: &[f64]) {
    for (row, &value) in rows.iter_mut().zip(values) {
        row.insert(column, value.into());
    }
}

/// Buffers that a thread reuses for each problem.
#[derive(Default)]
struct Memory {
    scratch: RankScratch,
    /// Predictions of one of the other targets.
    predictions: Vec<f64>,
    /// The pairs of problem and kernel to predict by rows.
    asked: Vec<(Problem, usize)>,
}
