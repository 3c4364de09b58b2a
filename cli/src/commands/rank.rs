//! `ckselect rank`: which kernels of a pool are best for a problem.

use std::path::{Path, PathBuf};

use ck_select::model::Target;
use ck_select::problem::{Problem, ProblemDefaults, ProblemList};
use ck_select::select::{RankScratch, Ranker};
use csv::StringRecord;
use rayon::prelude::*;

use super::ModelAndPool;
use super::rank_notes::Notes;
use crate::error::CliError;
use crate::input::{self, CsvFile, NamedRow, Text};
use crate::output::Output;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect rank --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 5
  ckselect rank --model models/M --pool sweep.csv --problems shapes.csv --top 1 --format csv

A problem of a grouped convolution needs C, K, Hi, Wi, Y, X; N, G, Di, Z, stride_d/h/w, pad_d/h/w (or
pad_h_left, pad_h_right, …), dilation_d/h/w, direction, dtype, layout, split_k, ndim and arch are optional.
A GEMM needs M, N, K; split_k, dtype, layout and arch are optional. What is not said is taken from the model.

A model ranks only what it is for: problems of another direction, type or architecture are refused (of a file, passed
over and counted), such kernels left out and counted. Columns: tie has = where the kernel before or behind has the same
score, so that the model does not tell them apart; unmeasured has the pipeline and suffixes that no kernel measured for
the model had; out_of_range has the fields in which the problem lies outside of what the model was trained on.";

/// Rank the kernels of a pool for a problem
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("asked").required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    ranker: ModelAndPool,
    /// One problem, as key=value pairs
    #[arg(long, value_name = "PAIRS", group = "asked")]
    problem: Option<String>,
    /// Many problems: a CSV with a column for each field, or a list with one problem a line and its operation as
    /// `op=…` (what CK_SELECT_CAPTURE writes). Repeated problems of a list and of a benchmark CSV (with a `kernel`
    /// column) count once
    #[arg(long, value_name = "FILE", group = "asked")]
    problems: Option<PathBuf>,
    /// Only the best COUNT kernels of each problem
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,
    /// How to write the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Where to write it instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let (ranker, defaults) = args.ranker.load()?;
    let top = args.top.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let others: Vec<Target> = [Target::Tflops, Target::Latency, Target::Bandwidth]
        .into_iter()
        .filter(|&target| target != ranker.model().spec().rank_by && ranker.model().forest(target).is_some())
        .collect();
    let many = args.problems.is_some();
    let mut header: Vec<&str> = if many { vec!["problem"] } else { Vec::new() };
    header.extend(["rank", "kernel", "score"]);
    header.extend(others.iter().map(|target| match target {
        Target::Latency => "latency_ms",
        Target::Bandwidth => "bandwidth_gb_s",
        other => other.as_str(),
    }));
    header.extend(Notes::COLUMNS);
    let mut table = Table::new(header);
    let notes = Notes::new(&ranker);
    let rows = |label: Option<&str>, problem: &Problem, scratch: &mut RankScratch| {
        // One more than is shown: the last one may have a tie that is not.
        if let Err(error) = ranker.top_with(problem, top.saturating_add(1), scratch) {
            if label.is_none() {
                return Err(CliError::from(error));
            }
            notes.pass_over(error)?;
            return Ok(Vec::new());
        }
        let out_of_range = notes.problem(scratch);
        let mut rows = Vec::with_capacity(scratch.ranking().len());
        for (place, ranked) in scratch.ranking().iter().enumerate().take(top) {
            let mut row: Vec<Cell> = label.map(Cell::from).into_iter().collect();
            row.extend([(place + 1).into(), ranker.name(ranked.index).into(), ranked.score.into()]);
            if !others.is_empty() {
                let predictions = ranker.predict(problem, ranked.index)?;
                row.extend(others.iter().map(|target| {
                    Cell::from(match target {
                        Target::Latency => predictions.latency_ms,
                        Target::Bandwidth => predictions.bandwidth_gb_s,
                        _ => predictions.tflops,
                    })
                }));
            }
            row.extend(notes.cells(scratch, place, &out_of_range));
            rows.push(row);
        }
        Ok::<_, CliError>(rows)
    };
    let ranked: Vec<Result<_, CliError>> = match (&args.problem, &args.problems) {
        (Some(text), _) => {
            let problem = super::parse_problem(&ranker, text, &defaults)?;
            super::say_out_of_range(&ranker, &problem)?;
            vec![rows(None, &problem, &mut RankScratch::default())]
        }
        // In the file's order, whichever thread ranked which.
        (None, Some(path)) => read_problems(path, &ranker, &defaults)?
            .par_iter()
            .map_init(RankScratch::default, |scratch, (label, problem)| rows(Some(label), problem, scratch))
            .collect(),
        (None, None) => return Err(CliError::usage("give --problem or --problems")),
    };
    for rows in ranked {
        for row in rows? {
            table.push(row);
        }
    }
    if let Some(path) = &args.problems {
        notes.say(&path.display().to_string())?;
    }
    let mut out = Output::create(args.output.as_deref())?;
    table.write(args.format, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

/// The problems of a list or of a CSV, each with its `problem_idx`, else with its place.
fn read_problems(
    path: &Path,
    ranker: &Ranker,
    defaults: &ProblemDefaults,
) -> Result<Vec<(String, Problem)>, CliError> {
    let text = input::read_text(path)?;
    if ProblemList::recognizes(&text.text) {
        return listed_problems(&text, ranker);
    }
    let mut file = CsvFile::of_text(text, true);
    let columns = file.columns()?;
    // One row a measurement: a problem stands there once for each kernel.
    let measurements = columns.contains_key("kernel") || columns.contains_key("kernel_name");
    let label_column = columns.get("problem_idx").copied();
    let mut seen = std::collections::HashSet::new();
    let mut problems = Vec::new();
    let mut record = StringRecord::new();
    let mut place = 0;
    while file.next(&mut record)? {
        let fields = NamedRow { columns: &columns, record: &record };
        let problem = Problem::from_fields(ranker.model().spec().op(), &fields, defaults)
            .map_err(|error| file.fault(&record, error))?;
        if !measurements || seen.insert(problem) {
            let label = label_column.and_then(|column| record.get(column)).unwrap_or_default();
            problems.push((if label.is_empty() { place.to_string() } else { label.to_owned() }, problem));
            place += 1;
        }
    }
    Ok(problems)
}

/// The problems of a list that are of the model's operation.
fn listed_problems(text: &Text, ranker: &Ranker) -> Result<Vec<(String, Problem)>, CliError> {
    let op = ranker.model().spec().op();
    let ProblemList { problems, incomplete } = ProblemList::parse(&text.name, &text.text)?;
    if let (Some(first), name) = (incomplete.first(), &text.name) {
        let count = incomplete.len();
        say!(
            "ckselect: warning: {name}: {count} incomplete lines are passed over, the first is line {first}: they do not \
             say op={op}"
        );
    }
    let others = problems.iter().filter(|problem| problem.op() != op).count();
    if others > 0 {
        say!("ckselect: {}: {others} problems are passed over: they are not {op}", text.name);
    }
    let mine = problems.into_iter().filter(|problem| problem.op() == op);
    Ok(mine.enumerate().map(|(place, problem)| (place.to_string(), problem)).collect())
}
