//! `ckselect rank`: which kernels of a pool are best for a problem.

use std::path::PathBuf;

use ck_select::model::Target;
use ck_select::problem::Problem;
use ck_select::select::RankScratch;
use rayon::prelude::*;

use super::ModelAndPool;
use crate::error::CliError;
use crate::output::Output;
use crate::problems::{LeftOut, Problems};
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect rank --model models/M --pool kernels.txt \\
      --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1' --top 5
  ckselect rank --model models/M --pool sweep.csv --problems shapes.csv --top 1 --format csv

A problem of a grouped convolution needs C, K, Hi, Wi, Y, X; N, G, Di, Z, stride_d/h/w, pad_d/h/w (or
pad_h_left, pad_h_right, …), dilation_d/h/w, direction, dtype, layout, split_k, ndim and arch are optional.
A GEMM needs M, N, K; split_k, dtype, layout and arch are optional. What is not said is taken from the model.";

/// Rank the kernels of a pool for a problem
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("asked").required(true))]
pub(crate) struct Args {
    #[command(flatten)]
    ranker: ModelAndPool,
    /// One problem, as key=value pairs
    #[arg(long, value_name = "PAIRS", group = "asked")]
    problem: Option<String>,
    /// Many problems: a CSV with a column for each field, or a list with one problem a line, with its operation as
    /// `op=…` (what CK_SELECT_CAPTURE writes) or without. Repeated problems of a list and of a benchmark CSV (with a
    /// `kernel` column) count once. Misspelt columns are refused; problems that the pool cannot compute are left out and
    /// counted
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
    let mut table = Table::new(header);
    let rows = |label: Option<&str>, problem: &Problem, scratch: &mut RankScratch| {
        ranker.top_with(problem, top, scratch)?;
        let mut rows = Vec::with_capacity(scratch.ranking().len());
        for (place, ranked) in scratch.ranking().iter().enumerate() {
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
            rows.push(row);
        }
        Ok::<_, CliError>(rows)
    };
    match (&args.problem, &args.problems) {
        (Some(text), _) => {
            let problem = super::parse_problem(&ranker, text, &defaults)?;
            rows(None, &problem, &mut RankScratch::default())?.into_iter().for_each(|row| table.push(row));
        }
        (None, Some(path)) => {
            let problems = all_problems(Problems::open(path, ranker.model().spec().op(), &defaults)?)?;
            let ranked: Vec<_> = problems
                .par_iter()
                .map_init(RankScratch::default, |scratch, (label, problem)| {
                    rows(Some(label), problem, scratch)
                })
                .collect();
            // In the file's order, whichever thread ranked which.
            let mut left_out = LeftOut::default();
            for (ranked, (label, _)) in ranked.into_iter().zip(&problems) {
                let rows = left_out.take(label, ranked)?;
                rows.into_iter().flatten().for_each(|row| table.push(row));
            }
            left_out.finish()?;
        }
        (None, None) => return Err(CliError::usage("give --problem or --problems")),
    }
    let mut out = Output::create(args.output.as_deref())?;
    table.write(args.format, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

fn all_problems(mut problems: Problems) -> Result<Vec<(String, Problem)>, CliError> {
    let mut all = Vec::new();
    while let Some(problem) = problems.next()? {
        all.push(problem);
    }
    problems.finish();
    Ok(all)
}
