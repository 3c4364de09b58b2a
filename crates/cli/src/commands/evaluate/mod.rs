//! `ckselect evaluate`: how good the choices of a model or of the estimate are.

use std::path::PathBuf;
use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select_evaluate::candidates::Candidate;
use ck_select_evaluate::page;
use ck_select_evaluate::{Baselines, Evaluation, Expected, Slice};
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::Spread;

use self::chooser::{Chooser, read_predictions};
use super::data::{Data, check_choice, say_trained_on};
use super::gpu::Gpu;
use super::{AllowOption, Allowance, pools, share_of};
use crate::error::CliError;
use crate::output;
use crate::table::{Cell, Format, ResultTable};

mod against;
mod chooser;
mod winners;

const EXAMPLES: &str = "Examples:
  ckselect evaluate --model models/M --data oracle.csv
  ckselect evaluate --model models/M --data oracle.parquet --output report.html --output all.json
  ckselect evaluate --model models/M --data oracle.csv --output worst.csv
  ckselect evaluate --model estimate --arch gfx942 --data oracle.csv
  ckselect evaluate --model models/M --data oracle.csv --pool configs/forward_bf16.txt
  ckselect evaluate --model models/new --against models/old --data oracle.csv
  ckselect evaluate --model picks.csv --data oracle.csv --require mean=0.975,p10=0.92
  ckselect evaluate --model embedded:universal --arch gfx942 --data oracle.csv
  ckselect evaluate --model estimate --winners a8w8_tuned_gemm.csv --pool a8w8_rowwise --arch gfx942
  ckselect evaluate --model embedded:universal --arch gfx950 --data gemms.csv
  ckselect evaluate --model estimate --data gemms.parquet gemms_split.parquet --choose split_k

Efficiency is the measured speed of the kernel that the model chooses divided by that of the fastest \
measured one; only valid rows count. A choice from a pool or a file that was not measured has efficiency 0. \
Problems and kernels are joined by their fields, not by number. Rows that the model was trained on say \
little about its quality: hold some back, or use the cross-validation of `ckselect train`. With --require, \
the exit code is 3 if a figure is lower, or if a measured problem has no choice. With --against, it is 3 if \
a figure fell by more than --max-loss allows.";

/// Evaluate choices against measurements: those of a model, of the estimate or of a file
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("files", |files| files.required(false).required_unless_present("winners"))
)]
pub(crate) struct Args {
    /// Model directory, embedded:NAME, or `estimate`, which needs no model (docs/estimate.md); or choices in
    /// a CSV: `kernel`, perhaps with a `rank`, and the problem with all its fields or by its number
    /// (`problem_idx`) in the first file of --data
    #[arg(long, value_name = "DIR|FILE.csv")]
    model: PathBuf,
    /// Instead of --data, tuned tables, AITER's, those of vLLM and SGLang or folders of them (docs/moe.md), or a
    /// CSV of problems and kernels: rows say which kernel of --pool won. Prints the winners' places in its order, by shape and by pair of N and K; with
    /// --choose, also how often a choice among the tables' splits is the winner's, and how often never to split
    /// is (docs/aiter.md)
    #[arg(
        long,
        value_name = "FILE|DIR",
        num_args = 1..,
        conflicts_with_all = ["files", "require"]
    )]
    winners: Vec<PathBuf>,
    /// Kernels to choose from, measured or not, as for `ckselect rank`; by default those that were measured
    /// on the problem
    #[arg(long, value_name = "FILE|FAMILY")]
    pool: Option<PathBuf>,
    /// The GPU, for the estimate and for a universal model: an architecture, a product or a file of
    /// constants, whose num_cus is with --winners that of rows without cu_num [default: what the rows record]
    #[arg(long, value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    arch: Gpu,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    allow: AllowOption,
    /// Required minimum figures: any of mean, median, p10, min and match, the share of problems whose fastest
    /// kernel is chosen
    #[arg(long, value_name = "FIGURE=VALUE,…", value_parser = share_of(&["mean", "median", "p10", "min", "match"]), value_delimiter = ',')]
    require: Vec<(&'static str, f64)>,
    /// Compare with another model: a directory, embedded:NAME, `estimate`, or a CSV of choices
    #[arg(long, value_name = "OLD", conflicts_with_all = ["pool", "require", "winners"])]
    against: Option<PathBuf>,
    /// With --against, how much lower mean, median, p10 and any problem's efficiency may be, each as a share
    /// [default: mean=0.005,median=0.005,p10=0.02,problem=0.1]
    #[arg(
        long,
        value_name = "FIGURE=SHARE,…",
        requires = "against",
        value_parser = share_of(&["mean", "median", "p10", "problem"]),
        value_delimiter = ','
    )]
    max_loss: Vec<(&'static str, f64)>,
    /// Also write a file, by its suffix: .html is a report, one page that needs no network; .json has
    /// everything; .csv each problem's outcome, worst first, or with --against those with another choice, which
    /// --winners does not have. May be given several times
    #[arg(long, value_name = "FILE", value_parser = output::with_suffix(&["html", "json", "csv"]))]
    output: Vec<PathBuf>,
    /// Output format of the figures
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Refuses files that an option does not write, before the work for them.
fn check_suffixes(args: &Args, option: &str, known: &[&str]) -> Result<(), CliError> {
    if let Some(path) = args.output.iter().find(|path| !known.contains(&output::suffix(path))) {
        refuse!("--output {}: {option} writes .{}", path.display(), known.join(" or ."));
    }
    Ok(())
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if !args.winners.is_empty() {
        return winners::run(args);
    }
    if let Some(old) = &args.against {
        return against::run(args, old);
    }
    let (evaluation, measurements, model) = evaluated(args)?;
    write(args, &evaluation, &measurements, model.as_deref())?;
    check(&args.require, &evaluation)
}

/// The evaluation, its measurements, and the model that is judged, if it is one.
fn evaluated(args: &Args) -> Result<(Evaluation, Measurements, Option<Arc<Model>>), CliError> {
    let is_estimate = args.allow.asks_estimate(Some(&args.model))?;
    let chooser = match Chooser::open(&args.model, args, true)? {
        Some(chooser) => chooser,
        None => Chooser::estimate(args, None)?,
    };
    let is_page = |file: &PathBuf| output::suffix(file) == "html";
    if chooser.model().is_none()
        && (args.pool.is_some() || args.arch.is_given() || args.output.iter().any(is_page))
    {
        refuse!("--pool, --arch and pages are for models, not for a file of choices");
    }
    // A family has other kernels on each architecture.
    let own = chooser.model().and_then(|model| model.spec().arch);
    let arch = || Ok(args.arch.named_arch()?.or(own));
    let pool = args.pool.as_ref().map(|path| pools::read(path, arch)).transpose()?;
    let on_gpu = chooser.model().and_then(Model::device).and_then(|(_, arch)| arch);
    let measurements = chooser.read(args, on_gpu)?;
    if is_estimate {
        check_choice(&measurements, args.data.rows.filter.op, args.arch.named_arch()?)?;
    }
    match chooser.on_measured(args, &measurements)? {
        Chooser::File(path) => {
            let predictions = read_predictions(&path, &measurements)?;
            Ok((Evaluation::from_predictions(&predictions, &measurements)?, measurements, None))
        }
        Chooser::Model(model) => {
            let buildable = |(path, pool): (&PathBuf, Pool)| {
                let arch = arch().unwrap_or_default().or(model.device().and_then(|(_, arch)| arch));
                let is_measured =
                    |kernel: &Kernel| measurements.kernels().iter().any(|other| other.kind == kernel.kind);
                pools::buildable(path, pool, arch, args.allow.has(Allowance::Unbuildable), is_measured)
            };
            let pool = args.pool.as_ref().zip(pool).map(buildable).transpose()?.map(Arc::new);
            let evaluation = Evaluation::from_model(&model, &measurements, pool.as_ref())?;
            say_trained_on(measurements.paths(), &evaluation.trained_files);
            Ok((evaluation, measurements, (!is_estimate).then_some(model)))
        }
    }
}

fn check(required: &[(&str, f64)], evaluation: &Evaluation) -> Result<(), CliError> {
    let (judged, without) = (evaluation.outcomes.len(), evaluation.problems_without_choice);
    // Otherwise a model that answers only the easy problems would pass.
    if !required.is_empty() && without > 0 {
        let message = format!("{without} of {} measured problems have no choice", judged + without);
        return Err(CliError::Judged(message));
    }
    let Spread { mean, p50, p10, min, .. } = evaluation.efficiency;
    let missed = required.iter().filter_map(|&(name, least)| {
        let value = match name {
            "mean" => mean,
            "median" => p50,
            "p10" => p10,
            "min" => min,
            _ => evaluation.hit_rate(1),
        };
        let reached = value >= least;
        (!reached).then(|| format!("{name} is {value:.4}, required {least}"))
    });
    let missed: Vec<String> = missed.collect();
    if missed.is_empty() { Ok(()) } else { Err(CliError::Judged(missed.join("; "))) }
}

/// Writes everything that was requested.
fn write(
    args: &Args,
    evaluation: &Evaluation,
    measurements: &Measurements,
    model: Option<&Model>,
) -> Result<(), CliError> {
    for path in &args.output {
        match output::suffix(path) {
            "html" => {
                let made = super::provenance(model.map(|_| &*args.model), measurements)?;
                output::write_file(path, &page::evaluation(evaluation, measurements, model, &made))?;
            }
            "json" => output::write_json(path, &evaluation.to_json(measurements))?,
            _ => outcomes(evaluation, measurements).save(path)?,
        }
    }
    figures(evaluation, measurements).print_beside(args.format, || evaluation.to_json(measurements))
}

/// The figures over all problems, then by kind of problem.
fn figures(evaluation: &Evaluation, measurements: &Measurements) -> ResultTable {
    let mut table = ResultTable::new(["figure", "problems", "mean", "median", "p10", "min"]);
    let mut row = |name: &str, cells: &[Cell]| {
        let mut row = [&[name.into()], cells].concat();
        row.resize(6, Cell::Empty);
        table.push(row);
    };
    let mut spread = |name: &str, of: &Spread| {
        row(name, &[of.count.into(), of.mean.into(), of.p50.into(), of.p10.into(), of.min.into()]);
    };
    spread("efficiency", &evaluation.efficiency);
    if let Some(measured) = evaluation.measured_choices() {
        spread("efficiency of measured choices", &measured);
    }
    for group in &evaluation.slices {
        for Slice { name, efficiency } in &group.slices {
            spread(&format!("efficiency, {} {name}", group.word), efficiency);
        }
    }
    let Baselines { fixed_kernel, fixed_split_k, fixed_mean, random_mean } = evaluation.baselines;
    let always = format!("always {}", measurements.named(fixed_kernel, fixed_split_k));
    let coverage = &evaluation.coverage;
    let outside = coverage.problems_outside as f64 / evaluation.outcomes.len() as f64;
    for (name, value) in [
        ("best of top 3", Some(evaluation.best_of_top(3))),
        ("best of top 5", Some(evaluation.best_of_top(5))),
        ("best of top 10", Some(evaluation.best_of_top(10))),
        ("oracle chosen", Some(evaluation.hit_rate(1))),
        ("oracle in top 3", Some(evaluation.hit_rate(3))),
        ("oracle in top 5", Some(evaluation.hit_rate(5))),
        ("oracle in top 10", Some(evaluation.hit_rate(10))),
        ("r2 of tflops", evaluation.errors.map(|errors| errors.r2)),
        ("rmse of tflops", evaluation.errors.map(|errors| errors.rmse)),
        ("mae of tflops", evaluation.errors.map(|errors| errors.mae)),
        (&always, Some(fixed_mean)),
        ("a random kernel", Some(random_mean)),
        ("problems out of the trained range", Some(outside)),
    ] {
        if value.is_some() {
            row(name, &[Cell::Empty, value.into()]);
        }
    }
    for (name, losses) in evaluation.expected.iter().flat_map(Expected::parts) {
        let cells = [losses.choices.into(), losses.expected.into()];
        row(&format!("expected loss, {name}"), &cells);
        row(&format!("observed loss, {name}"), &[losses.choices.into(), losses.observed.into()]);
    }
    if let Some(Expected { all, refined, .. }) = &evaluation.expected {
        for (name, value) in [
            ("expected within 2 % of the best", all.chance),
            ("within 2 % of the best", all.within),
            ("to measure for 90 % within 2 %", all.sure_within),
            ("within 2 % after measuring as many", all.covered),
            ("measured by refine=auto", refined.measured),
            ("loss after refine=auto", refined.loss),
            ("a fixed number for the same loss", refined.fixed),
        ] {
            row(name, &[all.choices.into(), value.into()]);
        }
    }
    for field in &coverage.fields {
        let name = format!("out of range, {} trained on {}", field.name, field.trained);
        row(&name, &[field.outside.into()]);
    }
    let unmeasured = evaluation.orders.iter().filter(|order| order.unmeasured.is_some()).count();
    for (name, of_problems, of_kernels) in [
        ("choices that were not measured", unmeasured, 0),
        ("choices of unknown expected loss", evaluation.unknown_losses(), 0),
        ("problems without a choice", evaluation.problems_without_choice, 0),
        ("kernels unlike the measured ones", 0, coverage.unmeasured_kernels),
        ("kernels that the model does not rank", 0, coverage.left_out_kernels),
    ] {
        if of_problems + of_kernels > 0 {
            row(name, &[of_problems, of_kernels].map(|count| (count > 0).then_some(count).into()));
        }
    }
    table
}

fn outcomes(evaluation: &Evaluation, measurements: &Measurements) -> ResultTable {
    let mut header = vec![
        "problem", "efficiency", "selected_kernel", "selected_tflops", "oracle_kernel", "oracle_tflops",
        "oracle_rank", "num_kernels", "out_of_range", "problem_idx",
    ];
    if measurements.chooses_split() {
        header.extend(["selected_split_k", "oracle_split_k"]);
    }
    let mut table = ResultTable::new(header);
    let orders = evaluation.orders.iter().zip(&evaluation.trials);
    let mut outcomes: Vec<_> = evaluation.outcomes.iter().zip(orders).collect();
    outcomes.sort_by(|(a, _), (b, _)| a.efficiency.total_cmp(&b.efficiency));
    let name = |kernel: u32| Cell::from(measurements.kernels()[kernel as usize].name.as_str());
    let op = measurements.scope().op;
    for (outcome, (order, trial)) in outcomes {
        let unmeasured = order.unmeasured.as_deref().map(Cell::from);
        let mut row = vec![
            measurements.problems()[outcome.problem as usize].to_string().into(),
            outcome.efficiency.into(),
            unmeasured.or(outcome.selected.map(|chosen| name(chosen.kernel))).into(),
            outcome.selected_tflops().into(),
            name(outcome.oracle.kernel),
            outcome.oracle.tflops.into(),
            outcome.oracle_rank.map(|rank| rank + 1).into(),
            outcome.candidates.into(),
            order.outside.names(op).collect::<Vec<_>>().join(" ").into(),
            trial.number.map(|number| number.to_string()).into(),
        ];
        if measurements.chooses_split() {
            let cell = |one: Candidate| Cell::from(one.split_k as usize);
            row.extend([outcome.selected.map(cell).into(), cell(outcome.oracle)]);
        }
        table.push(row);
    }
    table
}
