//! `ckselect evaluate`: how good the choices of a model or of the estimate are.

use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::embedded;
use ck_select::estimate::{Described, Estimator};
use ck_select::model::Model;
use ck_select::vocab::Op;
use ck_select_offline::evaluate::{Evaluation, Slice};
use ck_select_offline::figures::Spread;
use ck_select_offline::measurements::Measurements;
use ck_select_offline::report;
use ck_select_offline::tuned::{Roof, RoofFigures};
use serde_json::{Value, json};

use super::data::{Data, as_measured, say_trained_on, serving};
use super::estimate::EstimateOption;
use super::hardware::HardwareOption;
use super::{Force, Unknown, load_model};
use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, Table};
use crate::timestamp::timestamp;

const EXAMPLES: &str = "Examples:
  ckselect evaluate --model models/M --data oracle.csv
  ckselect evaluate --model models/M --data oracle.parquet --html report.html --json metrics.json
  ckselect evaluate --model models/M --data oracle.csv --problems worst.csv
  ckselect evaluate --estimate --arch gfx942 --data oracle.csv
  ckselect evaluate --model models/M --data oracle.csv --roof roof.txt
  ckselect evaluate --model embedded:universal --arch gfx942 --data oracle.csv
  ckselect evaluate --model embedded:universal --op gemm_universal --arch gfx950 --data gemms.csv

Efficiency is the measured speed of the kernel that the model chooses divided by that of the fastest \
measured one; only valid rows count. Rows that the model was trained on say little about its quality: hold \
some back, or use the cross-validation of `ckselect train`.";

/// Evaluate a model's choices against measurements
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("estimate", |estimate| estimate.conflicts_with_all(["unknown", "rank_by", "force_model"]))
)]
pub(crate) struct Args {
    /// Model directory, or embedded:NAME
    #[arg(long, value_name = "DIR", conflicts_with = "estimate", required_unless_present = "estimate")]
    model: Option<PathBuf>,
    #[command(flatten)]
    estimate: EstimateOption,
    /// The operation on which the estimate or a universal model is evaluated; other models have their own
    /// [default: the model's, or grouped_conv]
    #[arg(long, value_name = "OP", value_parser = super::data::op)]
    op: Option<Op>,
    #[command(flatten)]
    data: Data,
    /// How to treat words without a code in the model's encoding (pipelines, dtypes, layouts); by default the
    /// model's rule
    #[arg(long, value_enum)]
    unknown: Option<Unknown>,
    /// Rank by another of the model's targets
    #[arg(long, value_name = "TARGET", value_parser = super::target)]
    rank_by: Option<ck_select::model::Target>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    hardware: HardwareOption,
    /// Compare the times with the best known ones in these lists, which `ckselect import` writes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    roof: Vec<PathBuf>,
    /// Also write everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report: one HTML page that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each problem's outcome as CSV, worst first
    #[arg(long, value_name = "FILE")]
    problems: Option<PathBuf>,
    /// Output format of the figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let Some(directory) = &args.model else {
        let Described { arch, mut device } = args.estimate.device(&args.hardware)?;
        let op = args.op.unwrap_or(Op::GroupedConv);
        let measurements = args.data.read_all(op, Some(arch))?;
        if !args.hardware.is_given() {
            device = measurements.device(arch)?;
        }
        let evaluation = Evaluation::of_estimate(&Estimator::new(device), &measurements)?;
        return write(args, &evaluation, &measurements, None);
    };
    let mut model = serving(args.force.apply(load_model(directory, args.unknown)?), args.op)?;
    if let Some(target) = args.rank_by {
        model = model.ranking_by(target)?;
    }
    model = args.estimate.place(model, &args.hardware)?;
    let measurements = args.data.read_for(&model, model.device().and_then(|(_, arch)| arch))?;
    let model = Arc::new(as_measured(model, &args.estimate, &args.hardware, &measurements)?);
    let evaluation = Evaluation::of_model(&model, &measurements)?;
    say_trained_on(&measurements, &evaluation.trained_files);
    write(args, &evaluation, &measurements, Some(&model))
}

/// Other commands read the problems of this option, whose file would be lost.
fn refuse_other_table(path: &Path) -> Result<(), CliError> {
    let Ok(mut file) = ck_select::files::open(path) else { return Ok(()) };
    let mut start = [0; OUTCOMES.len()];
    let read = file.read(&mut start).map_err(|error| CliError::io(path.display(), &error))?;
    if read == 0 || start.starts_with(OUTCOMES.as_bytes()) {
        return Ok(());
    }
    let message = "--problems writes outcomes here, but there is another file, which would be lost";
    Err(CliError::failed(format!("{}: {message}", path.display())))
}

/// How a table of outcomes begins.
const OUTCOMES: &str = "problem,efficiency,";

/// Writes everything that was requested.
fn write(
    args: &Args,
    evaluation: &Evaluation,
    measurements: &Measurements,
    model: Option<&Model>,
) -> Result<(), CliError> {
    let roof = roof(args, evaluation, measurements)?;
    if let Some(path) = &args.json {
        write_file(path, &to_json(evaluation, measurements, roof.as_ref()))?;
    }
    if let Some(path) = &args.html {
        let place = args.model.as_deref().map(|path| match embedded::named(path) {
            Some(model) => model.map(report::ModelPlace::Embedded),
            None => Ok(report::ModelPlace::Directory(path)),
        });
        let made = report::Made::of(timestamp(), place.transpose()?, measurements)
            .map_err(|(file, error)| CliError::io(file, &error))?;
        let mut out = Output::create(Some(path))?;
        out.write_all(report::html(evaluation, measurements, model, &made).as_bytes())
            .map_err(|error| CliError::io(path.display(), &error))?;
        out.finish()?;
    }
    if let Some(path) = &args.problems {
        refuse_other_table(path)?;
        let mut out = Output::create(Some(path))?;
        outcomes(evaluation, measurements)
            .write(Format::Csv, &mut out)
            .map_err(|error| CliError::io(path.display(), &error))?;
        out.finish()?;
    }
    let mut out = Output::create(None)?;
    let written = match args.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &to_json(evaluation, measurements, roof.as_ref()))
                .map_err(Into::into)
                .and_then(|()| writeln!(out))
        }
        format => figures(evaluation, measurements, roof.as_ref()).write(format, &mut out),
    };
    written.map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

/// The comparison with --roof, if requested.
fn roof(
    args: &Args,
    evaluation: &Evaluation,
    measurements: &Measurements,
) -> Result<Option<RoofFigures>, CliError> {
    if args.roof.is_empty() {
        return Ok(None);
    }
    let mut roof = Roof::default();
    for path in &args.roof {
        let name = path.display().to_string();
        let text = ck_select::files::read_to_string(path).map_err(|error| CliError::io(&name, &error))?;
        roof.add(&name, &text)?;
    }
    let figures = roof
        .compare(evaluation, measurements)
        .map_err(|reason| CliError::failed(format!("--roof: {reason}")))?;
    if figures.other_devices > 0 {
        say!(
            "ckselect: --roof: {} problems are left out: their times are of devices with other numbers of \
             compute units, or of several while the data does not say its own (hw_num_cus)",
            figures.other_devices
        );
    }
    Ok(Some(figures))
}

fn to_json(evaluation: &Evaluation, measurements: &Measurements, roof: Option<&RoofFigures>) -> Value {
    let mut value = evaluation.to_json(measurements);
    if let Some(RoofFigures { chosen, fastest, other_devices }) = roof {
        let spread = |spread: &Spread| {
            let Spread { count, mean, p50, p10, min } = *spread;
            json!({"problems": count, "mean": mean, "p50": p50, "p10": p10, "min": min})
        };
        value["roof"] = json!({
            "chosen": spread(chosen), "fastest": spread(fastest), "other_devices": other_devices,
        });
    }
    value
}

fn write_file(path: &Path, value: &Value) -> Result<(), CliError> {
    let mut out = Output::create(Some(path))?;
    serde_json::to_writer_pretty(&mut out, value)
        .map_err(Into::into)
        .and_then(|()| writeln!(out))
        .map_err(|error| CliError::io(path.display(), &error))?;
    out.finish()
}

/// The figures over all problems, then by kind of problem.
fn figures(evaluation: &Evaluation, measurements: &Measurements, roof: Option<&RoofFigures>) -> Table {
    let mut table = Table::new(["figure", "problems", "mean", "median", "p10", "min"]);
    let mut spread = |name: String, spread: &Spread| {
        let Spread { count, mean, p50, p10, min } = *spread;
        table.push(vec![name.into(), count.into(), mean.into(), p50.into(), p10.into(), min.into()]);
    };
    let summary = &evaluation.summary;
    spread("efficiency".to_owned(), &summary.efficiency);
    if let Some(RoofFigures { chosen, fastest, .. }) = roof {
        spread("share of the roof, chosen".to_owned(), chosen);
        spread("share of the roof, fastest measured".to_owned(), fastest);
    }
    let slices = &evaluation.slices;
    for (kind, list) in [
        ("family", &slices.shape_family),
        ("depth", &slices.k_regime),
        ("filter", &slices.filter),
        ("groups", &slices.group_kind),
        ("pipeline", &slices.pipeline),
    ] {
        for Slice { name, efficiency } in list {
            spread(format!("efficiency, {kind} {name}"), efficiency);
        }
    }
    let fixed = &measurements.kernels()[evaluation.baselines.fixed_kernel as usize].name;
    let mut single = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            table.push(vec![name.into(), Cell::Empty, value.into(), Cell::Empty, Cell::Empty, Cell::Empty]);
        }
    };
    single("best of top 3", Some(summary.best_of_top3_mean));
    single("best of top 5", Some(summary.best_of_top5_mean));
    single("best of top 10", Some(summary.best_of_top10_mean));
    single("oracle chosen", Some(summary.top1));
    single("oracle in top 3", Some(summary.top3_hit_rate));
    single("oracle in top 5", Some(summary.top5_hit_rate));
    single("oracle in top 10", Some(summary.top10_hit_rate));
    single("r2 of tflops", summary.errors.map(|errors| errors.r2));
    single("rmse of tflops", summary.errors.map(|errors| errors.rmse));
    single("mae of tflops", summary.errors.map(|errors| errors.mae));
    single(&format!("always {fixed}"), Some(evaluation.baselines.fixed_mean));
    single("a random kernel", Some(evaluation.baselines.random_mean));
    let outside = evaluation.coverage.problems_outside as f64 / evaluation.outcomes.len() as f64;
    single("problems out of the trained range", Some(outside));
    let coverage = &evaluation.coverage;
    let mut counted = |name: String, count: usize| {
        table.push(vec![name.into(), count.into(), Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty]);
    };
    for field in &coverage.fields {
        counted(format!("out of range, {} trained on {}", field.name, field.trained), field.outside);
    }
    let kernels = [
        ("kernels unlike the measured ones", coverage.unmeasured_kernels),
        ("kernels that the model does not rank", coverage.left_out_kernels),
    ];
    for (name, count) in kernels.into_iter().filter(|(_, count)| *count > 0) {
        let empty = || Cell::Empty;
        table.push(vec![name.into(), empty(), count.into(), empty(), empty(), empty()]);
    }
    table
}

fn outcomes(evaluation: &Evaluation, measurements: &Measurements) -> Table {
    let mut table = Table::new([
        "problem",
        "efficiency",
        "selected_kernel",
        "selected_tflops",
        "oracle_kernel",
        "oracle_tflops",
        "oracle_rank",
        "num_kernels",
        "out_of_range",
    ]);
    let mut outcomes: Vec<_> = evaluation.outcomes.iter().zip(&evaluation.orders).collect();
    outcomes.sort_by(|(a, _), (b, _)| a.efficiency.total_cmp(&b.efficiency));
    let name = |kernel: u32| Cell::from(measurements.kernels()[kernel as usize].name.as_str());
    let op = measurements.wanted().op;
    for (outcome, order) in outcomes {
        table.push(vec![
            measurements.problems()[outcome.problem as usize].to_string().into(),
            outcome.efficiency.into(),
            outcome.selected.map_or(Cell::Empty, name),
            outcome.selected_tflops.into(),
            name(outcome.oracle),
            outcome.oracle_tflops.into(),
            outcome.oracle_rank.map_or(Cell::Empty, |rank| (rank + 1).into()),
            outcome.candidates.into(),
            order.outside.names(op).collect::<Vec<_>>().join(" ").into(),
        ]);
    }
    table
}
