//! `ckselect explain`: why a model prefers one kernel to another.

#[cfg(feature = "offline")]
use std::path::PathBuf;

use ck_select::nearest::Hint;
use ck_select::problem::Problem;
use ck_select::select::{Comparison, RankScratch, Ranked, Ranker};
#[cfg(feature = "offline")]
use ck_select_data::measurements::{Measurements, RowScope};
#[cfg(feature = "offline")]
use ck_select_study::page::{self, Explanation};

use super::{ModelAndPool, SplitsOption};
use crate::error::CliError;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect explain --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3'
  ckselect explain --model models/M --pool kernels.txt --problem '…' --first NAME --second NAME
  ckselect explain --model models/M --pool kernels.txt --problem '…' --output choice.html
  ckselect explain --model embedded:universal --arch gfx942 --pool kernels.txt --problem '…'

A feature's contribution is what the splits on it add along the kernel's path through the trees. Bias, \
contributions and rounding add up to the raw score exactly. A universal model's score is the raw score and \
what the estimated time adds to it.";

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
    /// Only the COUNT most important features
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,
    /// Also write a page, FILE.html: the ranking, why the first kernel ranks above the second, what the
    /// estimate says, and whether the problem is within the training range
    #[cfg(feature = "offline")]
    #[arg(long, value_name = "FILE", value_parser = crate::output::with_suffix(&["html"]))]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let (ranker, defaults) = args.ranker.load()?;
    let problem = super::parse_problem(ranker.model().spec().op(), &args.problem, &defaults)?;
    let mut scratch = RankScratch::default();
    let ranking =
        ranker.ranking(problem.checked()?.among(args.splits.list()), None, usize::MAX, &mut scratch)?;
    let ranking = ranking.places();
    super::say_out_of_range(&ranker, &problem)?;
    let named = |flag, name: &Option<String>| {
        let index = find(&ranker, flag, name.as_deref())?;
        Ok::<_, CliError>(index.map(|index| place_of(ranking, &problem, index)))
    };
    let best = ranking.first().map_or(0, |ranked| ranked.index);
    let first = named("--first", &args.first)?.unwrap_or_else(|| place_of(ranking, &problem, best));
    let second = match named("--second", &args.second)? {
        Some(second) => second,
        None => rival(ranking, &first)
            .ok_or_else(|| CliError::failed("the pool has no second kernel for this problem"))?,
    };
    let [of_first, of_second] = [first, second].map(|ranked| problem.with_split(ranked.split_k));
    let comparison = ranker.compare((&of_first, first.index), (&of_second, second.index))?;
    #[cfg(feature = "offline")]
    if let Some(path) = &args.output {
        let outside = ranker.out_of_range(&problem, None)?;
        let explanation = Explanation {
            ranker: &ranker,
            problem: &problem,
            ranking,
            kernels: [first, second],
            comparison: &comparison,
            outside: &outside,
        };
        // The page has no measurements.
        let none = Measurements::new(RowScope::all(problem.op()));
        let made = super::provenance(args.ranker.model.as_deref(), &none)?;
        crate::output::write_file(path, &page::explanation(&explanation, &made))?;
    }
    if args.format == Format::Table {
        let [first, second] =
            [first, second].map(|ranked| problem.named(ranker.name(ranked.index), ranked.split_k));
        say!("first:  {first}\nsecond: {second}");
    }
    table(&comparison, args.top.unwrap_or(usize::MAX)).print(args.format)
}

/// The parts of both scores, of which the most important features come first.
fn table(comparison: &Comparison, top: usize) -> Table {
    let mut table = Table::new(["feature", "first_value", "second_value", "first", "second", "difference"]);
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
    let place = ranking.iter().find(|ranked| ranked.index == index).copied();
    place.unwrap_or_else(|| Ranked { index, split_k: problem.split_k().max(1), score: f64::NAN })
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
