//! `ckselect validate`: compares a model's choices from a whole pool with an oracle's, problem by problem.

use std::path::PathBuf;
use std::sync::Arc;

use ck_select::embedded;
use ck_select::pool::Pool;
use ck_select::vocab::Op;
use ck_select_offline::candidates::trials;
use ck_select_offline::figures::Spread;
use ck_select_offline::measurements::Measurements;
use ck_select_offline::predictions::{Labels, Predictions};
use ck_select_offline::validate::Validation;

use super::Force;
use super::data::{Data, as_measured, serving};
use super::estimate::EstimateOption;
use super::hardware::HardwareOption;
use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, Table};

const EXAMPLES: &str = "Examples:
  ckselect validate --model models/M --data oracle.csv
  ckselect validate --model models/M --data oracle.csv --pool configs/forward_bf16.txt \\
      --output verdicts.csv
  ckselect validate --estimate --arch gfx942 --data oracle.csv --pool configs/forward_bf16.txt
  ckselect validate --predictions picks.csv --data oracle.csv --require mean=0.975,p10=0.92

Problems and kernels are joined by their fields, never by number. A choice that was not measured has \
efficiency 0; figures are given with and without such choices. With --require, the exit code is 3 if a \
figure is lower.";

/// Compare a model's choices with an oracle, problem by problem
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("chooser").args(["estimate"]).required(true))]
pub(crate) struct Args {
    /// Model directory, or embedded:NAME
    #[arg(long, value_name = "DIR", group = "chooser")]
    model: Option<PathBuf>,
    /// Choices in a CSV instead of a model: `kernel` (with a column `rank`, only rank 1 counts), and the
    /// problem with all its fields or by its number (`problem_idx`) in the first file of --data
    #[arg(long, value_name = "FILE", group = "chooser")]
    predictions: Option<PathBuf>,
    /// Kernels to choose from; by default the measured ones
    #[arg(long, value_name = "FILE", conflicts_with = "predictions")]
    pool: Option<PathBuf>,
    #[command(flatten)]
    estimate: EstimateOption,
    #[command(flatten)]
    hardware: HardwareOption,
    #[command(flatten)]
    data: Data,
    /// The operation, if no model determines it, or for a universal model [default: the model's, or
    /// grouped_conv]
    #[arg(long, value_name = "OP", value_parser = super::data::op)]
    op: Option<Op>,
    #[command(flatten)]
    force: Force,
    /// Required minimum figures: any of mean, median, p10, min and match
    #[arg(long, value_name = "FIGURE=VALUE,…", value_parser = requirement, value_delimiter = ',')]
    require: Vec<Requirement>,
    /// Write each problem's verdict as CSV
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format of the figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// A figure and its required minimum.
#[derive(Debug, Clone)]
pub(crate) struct Requirement {
    name: String,
    least: f64,
}

const FIGURES: [&str; 5] = ["mean", "median", "p10", "min", "match"];

fn requirement(text: &str) -> Result<Requirement, String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("'{text}' is not of the form figure=value"))?;
    if !FIGURES.contains(&name) {
        return Err(format!("no figure is named '{name}'; there are {}", FIGURES.join(", ")));
    }
    match value.parse::<f64>() {
        Ok(least) if (0.0..=1.0).contains(&least) => Ok(Requirement { name: name.to_owned(), least }),
        _ => Err(format!("{name}: found '{value}', expected a share from 0 to 1")),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let model = match &args.model {
        Some(directory) => {
            let model = serving(args.force.apply(embedded::open(directory)?), args.op)?;
            Some(args.estimate.place(model, &args.hardware)?)
        }
        None if args.estimate.estimate => {
            Some(args.estimate.model(args.op.unwrap_or(Op::GroupedConv), &args.hardware)?)
        }
        None => None,
    };
    let (measurements, validation) = match (model, &args.predictions) {
        (Some(model), _) => {
            let measurements = args.data.read_for(&model, model.device().and_then(|(_, arch)| arch))?;
            let model = Arc::new(as_measured(model, &args.estimate, &args.hardware, &measurements)?);
            let pool = Arc::new(match &args.pool {
                Some(path) => Pool::read(path)?,
                None => Pool::new(measurements.kernels().to_vec())?,
            });
            let trials = trials(&measurements);
            let validation = Validation::of_model(&model, &pool, &measurements, &trials)?;
            (measurements, validation)
        }
        (None, Some(_)) if args.hardware.is_given() || args.estimate.arch.is_some() => {
            let message = "--hardware and --arch are for a model, choices of a file have none";
            return Err(CliError::usage(message));
        }
        (None, Some(path)) => {
            let measurements = args.data.read_all(args.op.unwrap_or(Op::GroupedConv), None)?;
            let predictions = read_predictions(path, &args.data, &measurements)?;
            let trials = trials(&measurements);
            let validation = Validation::of_predictions(&predictions, &measurements, &trials);
            (measurements, validation)
        }
        (None, None) => return Err(CliError::usage("give --model, --estimate or --predictions")),
    };
    if validation.verdicts.is_empty() {
        return Err(CliError::failed("none of the measured problems has a choice"));
    }
    if let Some(path) = &args.output {
        let mut out = Output::create(Some(path))?;
        verdicts(&validation, &measurements)
            .write(Format::Csv, &mut out)
            .map_err(|error| CliError::io(path.display(), &error))?;
        out.finish()?;
    }
    let mut out = Output::create(None)?;
    figures(&validation).write(args.format, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()?;
    check(&args.require, &validation)
}

/// Reads choices; problem numbers refer to the first file of measurements.
pub(super) fn read_predictions(
    path: &std::path::Path,
    data: &Data,
    measurements: &Measurements,
) -> Result<Predictions, CliError> {
    let labels = data.files.first().map(|first| Labels::read(first, measurements));
    // Measurements need numbers only if the predictions use them, and then the reader reports it.
    let labels = labels.and_then(Result::ok);
    let predictions = Predictions::read(path, measurements, labels.as_ref())?;
    if !predictions.unknown().is_empty() {
        let (file, unknown) = (path.display(), predictions.unknown().join(", "));
        say!("ckselect: warning: {file}: ignored columns: {unknown}");
    }
    Ok(predictions)
}

fn verdicts(validation: &Validation, measurements: &Measurements) -> Table {
    let mut table = Table::new([
        "problem_idx",
        "problem",
        "oracle_kernel",
        "oracle_tflops",
        "predicted_kernel",
        "actual_tflops",
        "efficiency",
        "match",
    ]);
    for verdict in &validation.verdicts {
        table.push(vec![
            verdict.number.unwrap_or_else(|| verdict.problem.into()).to_string().into(),
            measurements.problems()[verdict.problem as usize].to_string().into(),
            measurements.kernels()[verdict.oracle as usize].name.as_str().into(),
            verdict.oracle_tflops.into(),
            verdict.chosen.as_str().into(),
            verdict.tflops.into(),
            verdict.efficiency().into(),
            if verdict.is_match { "true" } else { "false" }.into(),
        ]);
    }
    table
}

fn figures(validation: &Validation) -> Table {
    let mut table = Table::new(["figure", "problems", "mean", "median", "p10", "min"]);
    let mut spread = |name: &str, spread: Spread| {
        let Spread { count, mean, p50, p10, min } = spread;
        table.push(vec![name.into(), count.into(), mean.into(), p50.into(), p10.into(), min.into()]);
    };
    spread("efficiency", validation.efficiency());
    if validation.unmeasured() > 0 {
        spread("efficiency of measured choices", validation.measured_efficiency());
    }
    let mut single = |name: &str, problems: usize, value: Cell| {
        table.push(vec![name.into(), problems.into(), value, Cell::Empty, Cell::Empty, Cell::Empty]);
    };
    single("oracle chosen", validation.verdicts.len(), validation.match_rate().into());
    if validation.unmeasured() > 0 {
        single("choices that were not measured", validation.unmeasured(), Cell::Empty);
    }
    if validation.unasked > 0 {
        single("problems without a choice", validation.unasked, Cell::Empty);
    }
    table
}

fn check(required: &[Requirement], validation: &Validation) -> Result<(), CliError> {
    let spread = validation.efficiency();
    // Whoever chooses for the easy problems only would pass.
    if !required.is_empty() && validation.unasked > 0 {
        let all = validation.verdicts.len() + validation.unasked;
        let message = format!("{} of {all} measured problems have no choice", validation.unasked);
        return Err(CliError::Judged(message));
    }
    let missed: Vec<String> = required
        .iter()
        .filter_map(|requirement| {
            let value = match requirement.name.as_str() {
                "mean" => spread.mean,
                "median" => spread.p50,
                "p10" => spread.p10,
                "min" => spread.min,
                _ => validation.match_rate(),
            };
            let reached = value >= requirement.least;
            (!reached).then(|| format!("{} is {value:.4}, required {}", requirement.name, requirement.least))
        })
        .collect();
    if missed.is_empty() { Ok(()) } else { Err(CliError::Judged(missed.join("; "))) }
}
