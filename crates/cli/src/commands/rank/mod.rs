//! `ckselect rank`: the best kernels of a pool for a problem.

use std::path::{Path, PathBuf};

use ck_select::directory::{Model, ModelKey, Target};
use ck_select::embedded;
use ck_select::estimate::GpuOverride;
use ck_select::hardware::Hardware;
use ck_select::kernel::Kernel;
#[cfg(feature = "offline")]
use ck_select::moe::engine::Engine;
use ck_select::pool::Pool;
use ck_select::problem::{Checked, InvalidField, Problem, ProblemDefaults};
use ck_select::ranking::{RankError, Ranker};
use ck_select::vocab::{Arch, Op};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rayon::prelude::*;

use self::columns::{Column, Columns};
use self::notes::Notes;
use self::rows::{Memory, Rows, hardware};
use super::{ModelAndPool, SplitsOption, parse_problem};
use crate::error::CliError;
use crate::input::Problems;
use crate::output::Output;
use crate::table::{Cell, Format, StreamedTable};

#[cfg(feature = "offline")]
mod aiter;
mod columns;
#[cfg(feature = "offline")]
mod moe;
mod notes;
mod rows;

const EXAMPLES: &str = "Examples:
  ckselect rank --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 5
  ckselect rank --model models/M --pool sweep.csv --problems shapes.csv --top 1 --format csv
  ckselect rank --arch gfx950 --pool a8w8_bpreshuffle --problems untuned.csv --format aiter
  ckselect rank --arch h200 --pool moe --problems config.json --tp 8 --format sglang --output tables
  ckselect rank --model estimate --arch gfx942 --pool kernels.txt \\
      --problem 'C=64,K=64,Hi=56,Wi=56,Y=3,X=3,pad_h=1,pad_w=1'

A grouped convolution needs C, K, Hi, Wi, Y, X; N, G, Di, Z, stride_d/h/w, pad_d/h/w (or pad_h_left, \
pad_h_right, …), dilation_d/h/w, direction, dtype, layout, split_k, ndim and arch are optional. A GEMM \
needs M, N, K; split_k, dtype, layout and arch are optional. Attention needs seqlen_q, nhead_q, hdim_q; \
seqlen_k, nhead_k, hdim_v default to the same numbers; batch, dtype, mask, bias, lse and so on are optional \
(docs/fmha.md). A mixture of experts needs stage, tokens, experts, topk, n, k; skew or a histogram, quant, \
activation and so on are optional (docs/moe.md). Direction, dtype and arch default to the model's.

A model answers only for its own direction, type and architecture: other problems are refused (in a file, \
skipped and counted), and other kernels are left out and counted. Without --model, the built-in model that was \
trained for the pool's kernels on the GPU ranks, else the universal one; with --model estimate, the estimate \
(docs/estimate.md).

A table is for people: expected times in microseconds, how much slower each kernel is than the first, and the \
expected loss of choosing it, as a share of the best kernel's speed (docs/sureness.md). Kernels of equal scores \
share a line. --scores adds what the model predicts, --terms the estimate's terms of the time in microseconds. \
CSV and JSON have a row a kernel and all figures: tie is = if the previous or next kernel has the same score; \
unmeasured lists the pipeline and suffixes that no kernel measured for the model had; out_of_range lists the \
fields that are outside the model's training range; chance is that of the first kernel to be within 2 % of the \
best, sure_within_90 how many of the first have to be measured for a chance of 90 %.

A problem with split_k=auto leaves open into how many parts its reduction is split. Then each kernel is \
ranked in every number of --splits, and a column split_k has it; for problems in a file, give --splits.";

/// Rank the kernels of a pool for a problem
#[derive(Clone, clap::Args)]
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
    /// Only the best COUNT kernels of each problem; in a table, as many lines
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,
    /// Also the scores by which a table's kernels are ordered, and what the model's other forests predict
    #[arg(long)]
    scores: bool,
    /// Also the estimate's terms of each kernel's time, in microseconds
    #[arg(long)]
    terms: bool,
    /// Output format
    #[arg(long, default_value = "table", value_parser = formats())]
    format: RankFormat,
    /// Output file, or the folder of an engine's tables [default: standard output]
    #[arg(long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    #[cfg(feature = "offline")]
    #[command(flatten)]
    engine: moe::engine::EngineOptions,
}

impl Args {
    /// How rows are written.
    const fn row_format(&self) -> Format {
        match self.format {
            RankFormat::Rows(format) => format,
            RankFormat::Loaded(_) => Format::Csv,
        }
    }
}

/// How results are written: as rows of ranked kernels, or as a table that another program loads.
#[derive(Clone, Copy)]
enum RankFormat {
    Rows(Format),
    Loaded(&'static LoadedFormat),
}

/// A table that another program loads.
struct LoadedFormat {
    word: &'static str,
    help: &'static str,
    write: fn(&Args) -> Result<(), CliError>,
}

#[cfg(feature = "offline")]
static LOADED: [LoadedFormat; 3] = [
    LoadedFormat {
        word: "aiter",
        help: "The tuned table that AITER reads, with the best kernel of each problem of a family",
        write: aiter::run,
    },
    LoadedFormat {
        word: "vllm",
        help: "The tables of mixtures of experts that vLLM loads, in the folder of --output",
        write: |args| moe::engine::run(args, Engine::Vllm),
    },
    LoadedFormat {
        word: "sglang",
        help: "Those that SGLang loads, one for each stage",
        write: |args| moe::engine::run(args, Engine::Sglang),
    },
];
#[cfg(not(feature = "offline"))]
static LOADED: [LoadedFormat; 0] = [];

fn formats() -> impl TypedValueParser<Value = RankFormat> {
    let of_rows = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let loaded = LOADED.iter().map(|format| PossibleValue::new(format.word).help(format.help));
    PossibleValuesParser::new(of_rows.chain(loaded)).map(|word| {
        let loaded = LOADED.iter().find(|format| format.word == word).map(RankFormat::Loaded);
        loaded.unwrap_or_else(|| RankFormat::Rows(Format::from_str(&word, false).unwrap_or(Format::Table)))
    })
}

/// The model that ranks, or the estimate as a model, with its pool.
struct PoolModel {
    model: Model,
    pool: Pool,
    /// The architecture of the estimate, if that ranks.
    estimate: Option<Arch>,
}

impl PoolModel {
    /// Prepares the model for the pool, with the defaults for what a problem leaves out.
    fn ranker(self, args: &Args) -> Result<(Ranker, ProblemDefaults), CliError> {
        match self.estimate {
            Some(_) => super::ranker(self.model, self.pool),
            None => args.ranker.ranker(self.model, self.pool),
        }
    }
}

/// The model and the pool. The model is by default the built-in one that was trained for the kernels on the
/// GPU, else the universal model, which supports every GPU that the estimate knows, if it serves the pool's
/// operation, else the estimate.
fn pool_model(args: &Args) -> Result<PoolModel, CliError> {
    let is_estimate = args.ranker.allow.asks_estimate(args.ranker.model.as_deref())?;
    let given = args.ranker.model.as_deref().filter(|_| !is_estimate);
    let given = given.map(super::load_model).transpose()?;
    let pool = args.ranker.read_pool(given.as_ref(), args.problem.as_deref())?;
    if let Some(model) = given {
        return Ok(PoolModel { model, pool, estimate: None });
    }
    if let Some(model) = if is_estimate { None } else { trained_for(args, &pool)? } {
        return Ok(PoolModel { model, pool, estimate: None });
    }
    let universal = embedded::named(Path::new(super::UNIVERSAL)).filter(|_| !is_estimate);
    if let Some(Ok(universal)) = universal
        && universal.spec()?.extractor.schema.for_op(pool.op()).is_some()
    {
        return Ok(PoolModel { model: universal.load()?, pool, estimate: None });
    }
    let problem = only_problem(args, &pool)?;
    let GpuOverride { arch, device } = args.ranker.arch.device_for(problem.as_ref(), pool.iter())?;
    Ok(PoolModel {
        model: Model::from_estimate(pool.op(), device)?.for_arch(arch),
        pool,
        estimate: Some(arch),
    })
}

/// The problem of `--problem`, with what the pool says of it.
fn only_problem(args: &Args, pool: &Pool) -> Result<Option<Problem>, CliError> {
    let mut defaults = ProblemDefaults::new(pool.op());
    pool.set_defaults(&mut defaults, true, true);
    args.problem.as_deref().map(|text| parse_problem(pool.op(), text, &defaults)).transpose()
}

/// The model that ranks, with the pool and the defaults for what a problem leaves out.
#[cfg(feature = "offline")]
fn ranker(args: &Args) -> Result<(Ranker, ProblemDefaults), CliError> {
    pool_model(args)?.ranker(args)
}

/// The built-in model that was trained for all kernels of the pool on the GPU, and for the problem if there is
/// only one, as a registry with `embedded_models` chooses it.
fn trained_for(args: &Args, pool: &Pool) -> Result<Option<Model>, CliError> {
    let problem = only_problem(args, pool)?;
    let named = args.ranker.arch.named_arch()?.or(problem.and_then(|problem| problem.arch()));
    let Some(arch) = named.or_else(|| pool.arch()) else { return Ok(None) };
    for embedded in embedded::all() {
        let key = ModelKey::new(&embedded.spec()?);
        let is_of_library = |kernel: &Kernel| key.library.is_none() || kernel.kind.library() == key.library;
        let ranks = |kernel: &Kernel| key.fits_kernel(kernel) && is_of_library(kernel);
        // Without an architecture, the universal one.
        let is_trained = key.arch == Some(arch) && (key.chooses_split || args.splits.splits.is_none());
        let serves = |problem: &Problem| key.fit(problem, Some(arch)).is_some();
        if is_trained && pool.iter().all(ranks) && problem.as_ref().is_none_or(serves) {
            return Ok(Some(embedded.load()?));
        }
    }
    Ok(None)
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if let RankFormat::Loaded(format) = args.format {
        return (format.write)(args);
    }
    let model = pool_model(args)?;
    let estimate = model.estimate;
    let (ranker, defaults) = model.ranker(args)?;
    let query = Query::new(args, ranker.pool(), defaults)?;
    if query.problem.is_some() {
        args.ranker.arch.check_known(ranker.model(), query.problem.iter(), ranker.pool().iter())?;
    }
    let others: Vec<Target> = ranker.model().targets().filter(|&target| is_other(&ranker, target)).collect();
    let columns = Columns::new(args, query.op, query.shows_split, &others, estimate.is_some());
    let shown = others.into_iter().filter(|&target| columns.any(|column| *column == Column::Other(target)));
    let others = shown.filter_map(|target| ranker.target(target)).collect();
    let rows = Rows { ranker: &ranker, query: &query, columns, others, estimate };
    query.write(&rows)
}

/// Whether the model or the pool is not for the problem, so that others of a file may be ranked.
const fn is_about_the_problem(error: &RankError) -> bool {
    use RankError::{Device, NoArch, NoKernel, NotFor, ProblemTerms};
    matches!(error, NotFor { .. } | NoKernel { .. } | ProblemTerms(_) | NoArch | Device(_))
}

/// A problem, with its label if it is one of a file.
type LabelledProblem = (Option<String>, Problem);

type TableRows = Vec<Vec<Cell>>;

/// Whether a target is one that does not rank and has a column.
fn is_other(ranker: &Ranker, target: Target) -> bool {
    target != ranker.model().spec().rank_by && target != Target::Relative
}

/// Which problems are ranked, and how the rankings are shown.
struct Query<'a> {
    args: &'a Args,
    defaults: ProblemDefaults,
    op: Op,
    /// How many kernels there are.
    kernels: usize,
    notes: Notes,
    /// The only problem; without it, those of a file are ranked.
    problem: Option<Problem>,
    /// Whether a column has the chosen number of parts.
    shows_split: bool,
    /// How many kernels of a problem are shown at most.
    top: usize,
}

impl<'a> Query<'a> {
    fn new(args: &'a Args, pool: &Pool, defaults: ProblemDefaults) -> Result<Self, CliError> {
        let (op, kernels) = (pool.op(), pool.len());
        let problem = args.problem.as_deref().map(|text| parse_problem(op, text, &defaults)).transpose()?;
        let shows_split =
            args.splits.splits.is_some() || problem.is_some_and(|problem| problem.chooses_split());
        let top = args.top.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Self { args, defaults, op, kernels, notes: Notes::new(op), problem, shows_split, top })
    }

    /// A problem with the numbers of parts to choose from; refused if no column would have the chosen one.
    fn checked<'p>(&'p self, problem: &'p Problem) -> Result<Checked<'p>, InvalidField> {
        if problem.chooses_split() && !self.shows_split {
            let expected = "the number of parts, or --splits for a choice";
            return Err(InvalidField::new("split_k", "auto", expected));
        }
        Ok(problem.checked()?.among(self.args.splits.list()))
    }

    /// Calls `take` with the problem, or with those of the file and their labels, and what `begin` made once the head
    /// of the file was read.
    #[cfg(feature = "offline")]
    fn each<T>(
        &self,
        hardware: Hardware,
        begin: impl FnOnce() -> Result<T, CliError>,
        mut take: impl FnMut(&mut T, Option<&str>, &Problem) -> Result<(), CliError>,
    ) -> Result<T, CliError> {
        if let Some(problem) = &self.problem {
            let mut table = begin()?;
            return take(&mut table, None, problem).map(|()| table);
        }
        let (mut problems, file) = self.file(hardware)?;
        let mut table = begin()?;
        while let Some((label, problem)) = problems.next()? {
            take(&mut table, Some(&label), &problem)?;
        }
        problems.finish();
        self.notes.say(&file)?;
        Ok(table)
    }

    /// The file of problems, and its name. Rows that name other constants than those of the GPU are errors.
    fn file(&self, hardware: Hardware) -> Result<(Problems, String), CliError> {
        let path = self.args.problems.as_deref().ok_or_else(|| CliError::usage(NO_PROBLEM))?;
        Ok((Problems::open(path, self.op, &self.defaults, hardware)?, path.display().to_string()))
    }

    /// Ranks the problem or those of the file, and writes all rows under their header.
    fn write(&self, ranking: &Rows<'_>) -> Result<(), CliError> {
        let rows = || {
            let output = Output::create(self.args.output.as_deref())?;
            let format = self.args.row_format();
            Ok::<_, CliError>(StreamedTable::new(format, output, ranking.columns.header()).whole())
        };
        let Some(problem) = self.problem else { return self.write_file(ranking, rows()?) };
        ranking.say_of(&problem)?;
        let ranked = ranking.rows(&[(None, problem)], &mut Memory::default())?;
        let mut rows = rows()?;
        ranked.into_iter().try_for_each(|row| rows.push(row))?;
        rows.finish()
    }

    /// Ranks a block of problems while the next one is read and the previous one's rows are written, in file
    /// order.
    fn write_file(&self, ranking: &Rows<'_>, mut rows: StreamedTable) -> Result<(), CliError> {
        let (mut problems, file) = self.file(hardware(ranking.ranker))?;
        let threads = rayon::current_num_threads();
        let at_once = BLOCK_ROWS / self.top.min(self.kernels).max(1);
        let at_once = at_once.min(BLOCK_PROBLEMS).max(2 * threads);
        let mut read = || -> Result<Vec<LabelledProblem>, CliError> {
            let block = std::iter::from_fn(|| problems.next().transpose()).take(at_once);
            block.map(|next| next.map(|(label, problem)| (Some(label), problem))).collect()
        };
        let mut write = |ranked: Vec<Result<TableRows, CliError>>| {
            ranked.into_iter().try_for_each(|ranked| ranked?.into_iter().try_for_each(|row| rows.push(row)))
        };
        let (mut block, mut ranked) = (read()?, Vec::new());
        while !block.is_empty() {
            let task = (block.len() / (4 * threads)).clamp(1, TASK_PROBLEMS);
            let before = std::mem::take(&mut ranked);
            let (written, next) = rayon::in_place_scope(|scope| {
                scope.spawn(|_| {
                    let rank = |memory: &mut _, task| ranking.rows(task, memory);
                    ranked = block.par_chunks(task).map_init(Default::default, rank).collect();
                });
                (write(before), read())
            });
            written?;
            // What was read before a fault is written.
            block = match next {
                Ok(next) => next,
                Err(fault) => return write(ranked).and(Err(fault)),
            };
        }
        write(ranked)?;
        problems.finish();
        self.notes.say(&file)?;
        rows.finish()
    }
}

const NO_PROBLEM: &str = "give --problem or --problems";
/// How many rows, and how many problems at most, are ranked in one parallel block.
const BLOCK_ROWS: usize = 1 << 16;
const BLOCK_PROBLEMS: usize = 1 << 12;
/// How many problems a thread takes at a time, at most: as many rows as the forest predicts together.
const TASK_PROBLEMS: usize = 32;
