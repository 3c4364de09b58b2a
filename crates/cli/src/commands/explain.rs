//! `ckselect explain`: why a model prefers one kernel to another.

#[cfg(feature = "offline")]
use std::path::PathBuf;

use ck_select::directory::Model;
use ck_select::estimate::{GpuOverride, Terms};
use ck_select::nearest::Hint;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::ranking::{Comparison, RankScratch, Ranked, Ranker};
#[cfg(feature = "offline")]
use ck_select_evaluate::page::{self, Explanation};
#[cfg(feature = "offline")]
use ck_select_measurements::{Measurements, RowScope};

use super::{ModelAndPool, SplitsOption};
use crate::error::CliError;
use crate::table::{Cell, Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect explain --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3'
  ckselect explain --model models/M --pool kernels.txt --problem '…' --first NAME --second NAME
  ckselect explain --model models/M --pool kernels.txt --problem '…' --output choice.html
  ckselect explain --model embedded:universal --arch gfx942 --pool kernels.txt --problem '…'
  ckselect explain --model estimate --arch gfx942 --pool kernels.txt --problem '…'

A feature's contribution is what the splits on it add along the kernel's path through the trees. Bias, \
contributions and rounding add up to the raw score exactly. A universal model's score is the raw score and \
what the estimated time adds to it. A table has the twelve features with the largest difference; --all \
features are in CSV and JSON, too. With --model estimate, the rows are the terms of both times.";

/// Explain which features make a model rank one kernel above another
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    ranker: ModelAndPool,
    /// The problem, as key=value pairs
    #[arg(long, value_name = "PAIRS")]
    problem: String,
    #[command(flatten)]
    splits: SplitsOption,
    /// The kernel to explain; by default the best one
    #[arg(long, value_name = "NAME")]
    first: Option<String>,
    /// The kernel to compare it with; by default the best one with another score
    #[arg(long, value_name = "NAME")]
    second: Option<String>,
    /// All features, not only the twelve most important ones
    #[arg(long)]
    all: bool,
    /// Also write a page, FILE.html: the ranking, why the first kernel ranks above the second, what the
    /// estimate says, and whether the problem is within the training range
    #[cfg(feature = "offline")]
    #[arg(long, value_name = "FILE", value_parser = crate::output::with_suffix(&["html"]))]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// How many features a table for people has.
const SHOWN: usize = 12;

/// Kernels in the order of a model or of the estimate.
struct Choice {
    ranker: Ranker,
    problem: Problem,
    ranking: Vec<Ranked>,
    /// Who ranks, and how sure.
    heading: String,
    is_estimate: bool,
}

/// Why one kernel is before another.
enum Reasons {
    Features(Comparison),
    Terms([Terms; 2]),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let by_estimate = args.ranker.allow.asks_estimate(args.ranker.model.as_deref())?;
    let choice = if by_estimate { Choice::by_estimate(args)? } else { Choice::by_model(args)? };
    let kernels = choice.compared(args)?;
    let reasons = choice.reasons(kernels)?;
    #[cfg(feature = "offline")]
    if let Some(path) = &args.output {
        crate::output::write_file(path, &choice.page(args, kernels, &reasons)?)?;
    }
    if args.format == Format::Table {
        say!("ckselect: {}", choice.heading);
        let [first, second] = kernels.map(|ranked| choice.name(&ranked));
        say!("first:  {first}\nsecond: {second}");
    }
    match &reasons {
        Reasons::Terms(terms) => table_of_terms(terms).print(args.format),
        Reasons::Features(comparison) => {
            let is_for_people = matches!(args.format, Format::Table | Format::Markdown);
            let top = if args.all || !is_for_people { usize::MAX } else { SHOWN };
            table(comparison, top).print(args.format)?;
            if let more @ 1.. = comparison.terms.len().saturating_sub(top) {
                say!("ckselect: {more} further features: --all");
            }
            Ok(())
        }
    }
}

impl Choice {
    fn by_model(args: &Args) -> Result<Self, CliError> {
        let (ranker, defaults) = args.ranker.load(Some(&args.problem))?;
        let problem = super::parse_problem(ranker.model().spec().op(), &args.problem, &defaults)?;
        args.ranker.arch.check_known(ranker.model(), std::iter::once(&problem), ranker.pool().iter())?;
        let choice = Self::new(args, ranker, problem, false)?;
        super::say_out_of_range(&choice.ranker, &problem)?;
        Ok(choice)
    }

    fn by_estimate(args: &Args) -> Result<Self, CliError> {
        let pool = args.ranker.read_pool(None, Some(&args.problem))?;
        let mut defaults = ProblemDefaults::new(pool.op());
        pool.set_defaults(&mut defaults, true, true);
        let problem = super::parse_problem(pool.op(), &args.problem, &defaults)?;
        let GpuOverride { arch, device } = args.ranker.arch.device_for(Some(&problem), pool.iter())?;
        let model = Model::from_estimate(pool.op(), device)?.for_arch(arch);
        Self::new(args, super::ranker(model, pool)?.0, problem.on(Some(arch)), true)
    }

    fn new(args: &Args, ranker: Ranker, problem: Problem, is_estimate: bool) -> Result<Self, CliError> {
        let mut scratch = RankScratch::default();
        let ranked =
            ranker.ranking(problem.checked()?.among(args.splits.list()), None, usize::MAX, &mut scratch)?;
        let heading = ranked.outlook().map_or_else(String::new, |outlook| ranked.heading(&outlook));
        let ranking = ranked.places().to_vec();
        Ok(Self { ranker, problem, ranking, heading, is_estimate })
    }

    fn name(&self, ranked: &Ranked) -> String {
        self.problem.named(self.ranker.name(ranked.index), ranked.split_k)
    }

    /// The two kernels of the options, by default the best one and the best one with another score.
    fn compared(&self, args: &Args) -> Result<[Ranked; 2], CliError> {
        let (ranking, problem) = (&self.ranking, &self.problem);
        let named = |flag, name: &Option<String>| {
            let index = find(&self.ranker, flag, name.as_deref())?;
            Ok::<_, CliError>(index.map(|index| place_of(ranking, problem, index)))
        };
        let best = ranking.first().map_or(0, |ranked| ranked.index);
        let first = named("--first", &args.first)?.unwrap_or_else(|| place_of(ranking, problem, best));
        let second = match named("--second", &args.second)? {
            Some(second) => second,
            None => rival(ranking, &first)
                .ok_or_else(|| CliError::failed("the pool has no second kernel for this problem"))?,
        };
        Ok([first, second])
    }

    fn reasons(&self, kernels: [Ranked; 2]) -> Result<Reasons, CliError> {
        let [of_first, of_second] = kernels.map(|ranked| self.problem.with_split(ranked.split_k));
        let [first, second] = kernels;
        if !self.is_estimate {
            let comparison = self.ranker.compare((&of_first, first.index), (&of_second, second.index))?;
            return Ok(Reasons::Features(comparison));
        }
        let terms = |problem: &Problem, ranked: &Ranked| {
            let unknown = || format!("{}: the estimate does not know such a kernel", self.name(ranked));
            self.ranker.terms(problem, ranked.index).ok_or_else(|| CliError::Failed(unknown()))
        };
        Ok(Reasons::Terms([terms(&of_first, &first)?, terms(&of_second, &second)?]))
    }

    #[cfg(feature = "offline")]
    fn page(&self, args: &Args, kernels: [Ranked; 2], reasons: &Reasons) -> Result<String, CliError> {
        let comparison = match reasons {
            Reasons::Features(comparison) => Some(comparison),
            Reasons::Terms(_) => None,
        };
        let outside = match comparison {
            Some(_) => self.ranker.out_of_range(&self.problem, None)?,
            None => Vec::new(),
        };
        let Self { ranker, problem, ranking, .. } = self;
        let explanation = Explanation { ranker, problem, ranking, kernels, comparison, outside: &outside };
        // The page has no measurements.
        let none = Measurements::new(RowScope::all(problem.op()));
        let made = super::provenance(comparison.and(args.ranker.model.as_deref()), &none)?;
        Ok(page::explanation(&explanation, &made))
    }
}

/// The terms of both times in microseconds, below their sums.
fn table_of_terms([first, second]: &[Terms; 2]) -> ResultTable {
    let mut table = ResultTable::new(["term", "first_us", "second_us", "difference_us"]);
    let mut push = |name: &str, first: f64, second: f64| {
        table.push(vec![name.into(), first.into(), second.into(), (first - second).into()]);
    };
    push("(time)", first.total(), second.total());
    for (&(name, first), &(_, second)) in first.named.iter().zip(&second.named) {
        push(name, first, second);
    }
    table
}

/// The parts of both scores, of which the most important features come first.
fn table(comparison: &Comparison, top: usize) -> ResultTable {
    let mut table =
        ResultTable::new(["feature", "first_value", "second_value", "first", "second", "difference"]);
    let mut push = |name: &str, values: [Option<f64>; 2], parts: [f64; 2]| {
        let [first, second] = parts;
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(values.map(Cell::from));
        row.extend([first, second, first - second].map(Cell::from));
        table.push(row);
    };
    if let Some(estimate) = comparison.estimate {
        push("(score)", [None; 2], comparison.scores());
        push("(estimate)", [None; 2], estimate);
    }
    push("(raw score)", [None; 2], comparison.raw);
    push("(bias)", [None; 2], comparison.parts.each_ref().map(|part| part.bias));
    push("(rounding)", [None; 2], comparison.parts.each_ref().map(|part| part.rounding));
    for term in comparison.terms.iter().take(top) {
        push(term.feature, term.values.map(Some), term.contributions);
    }
    table
}

/// The best kernel with another score than the first: between equal scores there is nothing to explain.
fn rival(ranking: &[Ranked], first: &Ranked) -> Option<Ranked> {
    let is_first = |ranked: &Ranked| (ranked.index, ranked.split_k) == (first.index, first.split_k);
    let others = || ranking.iter().filter(|ranked| !is_first(ranked));
    others().find(|ranked| ranked.score != first.score).or_else(|| others().next()).copied()
}

/// The best place of a kernel; what is not ranked has no score.
fn place_of(ranking: &[Ranked], problem: &Problem, index: usize) -> Ranked {
    let ranked_kernel = ranking.iter().find(|ranked| ranked.index == index).copied();
    ranked_kernel.unwrap_or_else(|| Ranked { index, split_k: problem.split_k().max(1), score: f64::NAN })
}

fn find(ranker: &Ranker, flag: &str, name: Option<&str>) -> Result<Option<usize>, CliError> {
    name.map(|name| {
        ranker.pool().position(name).ok_or_else(|| {
            let hint = Hint::new(name, (0..ranker.pool().len()).map(|index| ranker.name(index)));
            CliError::usage(format!("{flag}: the pool has no kernel '{name}'{hint}"))
        })
    })
    .transpose()
}
