//! `ckselect rank`: the best kernels of a pool for a problem.

use std::path::{Path, PathBuf};

use ck_select::directory::{Model, ModelKey};
use ck_select::embedded;
use ck_select::hardware::Hardware;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{Checked, InvalidField, Problem, ProblemDefaults};
use ck_select::ranking::RankError;
use ck_select::vocab::Op;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rayon::prelude::*;

use self::notes::Notes;
use super::{ModelAndPool, SplitsOption, parse_problem};
use crate::error::CliError;
use crate::input::Problems;
use crate::output::Output;
use crate::table::{Cell, Format, StreamedTable};

#[cfg(feature = "offline")]
mod aiter;
mod estimate;
mod model;
mod notes;

const EXAMPLES: &str = "Examples:
  ckselect rank --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 5
  ckselect rank --model models/M --pool sweep.csv --problems shapes.csv --top 1 --format csv
  ckselect rank --arch gfx950 --pool a8w8_bpreshuffle --problems untuned.csv --format aiter
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

Without --model, the built-in model that was trained for the pool's kernels on the GPU ranks, else the \
universal one. With --model estimate, only the estimate ranks \
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

/// The model and the pool. The model is by default the built-in one that was trained for the kernels on the
/// GPU, else the universal model, which supports every GPU that the estimate knows, if it serves the pool's
/// operation. `None` means the estimate.
fn model_and_pool(args: &Args) -> Result<(Option<Model>, Pool), CliError> {
    let is_estimate = args.ranker.allow.asks_estimate(args.ranker.model.as_deref())?;
    let given = args.ranker.model.as_deref().filter(|_| !is_estimate);
    let given = given.map(super::load_model).transpose()?;
    let pool = args.ranker.read_pool(given.as_ref(), args.problem.as_deref())?;
    if is_estimate || given.is_some() {
        return Ok((given, pool));
    }
    if let Some(trained) = trained_for(args, &pool)? {
        return Ok((Some(trained), pool));
    }
    let Some(Ok(universal)) = embedded::named(Path::new(super::UNIVERSAL)) else { return Ok((None, pool)) };
    let serves = universal.spec()?.extractor.schema.for_op(pool.op()).is_some();
    Ok((if serves { Some(universal.load()?) } else { None }, pool))
}

/// The built-in model that was trained for all kernels of the pool on the GPU, and for the problem if there is
/// only one, as a registry with `embedded_models` chooses it.
fn trained_for(args: &Args, pool: &Pool) -> Result<Option<Model>, CliError> {
    let mut defaults = ProblemDefaults::new(pool.op());
    pool.set_defaults(&mut defaults, true, true);
    let problem =
        args.problem.as_deref().map(|text| parse_problem(pool.op(), text, &defaults)).transpose()?;
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
    #[cfg(feature = "offline")]
    if args.format.is_none() {
        return aiter::run(args);
    }
    match model_and_pool(args)? {
        (Some(model), pool) => model::run(args, model, pool),
        (None, pool) => estimate::run(args, pool),
    }
}

/// Whether the model or the pool is not for the problem, so that others of a file may be ranked.
const fn is_about_the_problem(error: &RankError) -> bool {
    use RankError::{Device, NoArch, NoKernel, NotFor, ProblemTerms};
    matches!(error, NotFor { .. } | NoKernel { .. } | ProblemTerms(_) | NoArch | Device(_))
}

/// A problem, with its label if it is one of a file.
type LabelledProblem = (Option<String>, Problem);

/// The rows of the output, by a model or by the estimate.
trait Ranking: Sync {
    /// Buffers that a thread reuses for each problem.
    type Memory: Default;

    /// Prints what the rows of the only problem do not say.
    fn say_of(&self, problem: &Problem) -> Result<(), CliError>;

    /// All rows of some problems. Problems with a label may be skipped.
    fn rows(&self, problems: &[LabelledProblem], memory: &mut Self::Memory) -> Result<TableRows, CliError>;
}

type TableRows = Vec<Vec<Cell>>;

/// What is asked of a ranking.
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

    /// The columns of a place in a ranking.
    fn columns(&self) -> Vec<&'static str> {
        let problem = self.problem.is_none().then_some("problem");
        problem.into_iter().chain(["rank", "kernel"]).chain(self.shows_split.then_some("split_k")).collect()
    }

    /// Their cells.
    fn cells(&self, label: Option<&str>, place: usize, kernel: &str, split_k: i32) -> Vec<Cell> {
        let split_k = self.shows_split.then_some(Cell::from(split_k as usize));
        label.map(Cell::from).into_iter().chain([(place + 1).into(), kernel.into()]).chain(split_k).collect()
    }

    /// Ranks the problem or those of the file, and writes all rows under their header. Rows of a file that
    /// name other constants than those of `hardware` are errors.
    fn write(
        &self,
        ranking: &impl Ranking,
        header: Vec<&'static str>,
        hardware: Hardware,
    ) -> Result<(), CliError> {
        let rows = || {
            let output = Output::create(self.args.output.as_deref())?;
            Ok::<_, CliError>(StreamedTable::new(self.args.format.unwrap_or(Format::Csv), output, header))
        };
        let Some(problem) = self.problem else { return self.write_file(ranking, rows()?, hardware) };
        ranking.say_of(&problem)?;
        let ranked = ranking.rows(&[(None, problem)], &mut Default::default())?;
        let mut rows = rows()?;
        ranked.into_iter().try_for_each(|row| rows.push(row))?;
        rows.finish()
    }

    /// Ranks a block of problems while the next one is read and the previous one's rows are written, in file
    /// order.
    fn write_file(
        &self,
        ranking: &impl Ranking,
        mut rows: StreamedTable,
        hardware: Hardware,
    ) -> Result<(), CliError> {
        let path = self.args.problems.as_deref().ok_or_else(|| CliError::usage(NO_PROBLEM))?;
        let mut problems = Problems::open(path, self.op, &self.defaults, hardware)?;
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
        self.notes.say(&path.display().to_string())?;
        rows.finish()
    }
}

const NO_PROBLEM: &str = "give --problem or --problems";
/// How many rows, and how many problems at most, are ranked in one parallel block.
const BLOCK_ROWS: usize = 1 << 16;
const BLOCK_PROBLEMS: usize = 1 << 12;
/// How many problems a thread takes at a time, at most: as many rows as the forest predicts together.
const TASK_PROBLEMS: usize = 32;
