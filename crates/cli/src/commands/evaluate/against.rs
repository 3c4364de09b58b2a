//! `ckselect evaluate --against`: whether a new model may replace the old one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::embedded;
use ck_select::model::Model;
use ck_select_data::measurements::Measurements;
use ck_select_study::candidates::{Trial, trials};
use ck_select_study::compare::{Comparison, Limits};
use ck_select_study::evaluate::Outcome;
use ck_select_study::judge::{Judge, Order};
use serde_json::json;

use super::super::data::{as_measured, serving};
use super::super::{ESTIMATE, is_embedded};
use super::Args;
use crate::error::CliError;
use crate::output::{Output, suffix, write_json};
use crate::table::{Cell, Format, Table};

pub(super) fn loss(text: &str) -> Result<(&'static str, f64), String> {
    super::super::share_of(text, &["mean", "median", "p10", "problem"])
}

fn limits(args: &Args) -> Limits {
    let mut limits = Limits::UPSTREAM;
    for &(figure, share) in &args.max_loss {
        *match figure {
            "mean" => &mut limits.mean,
            "median" => &mut limits.median,
            "p10" => &mut limits.p10,
            _ => &mut limits.worst,
        } = share;
    }
    limits
}

/// One of the two sides of a comparison.
enum Chooser {
    Model(Arc<Model>),
    File(PathBuf),
}

impl Chooser {
    /// Both sides. The estimate takes its operation from the other side.
    fn both(args: &Args, old: &Path) -> Result<(Self, Self), CliError> {
        let named = |path: &Path| -> Result<Option<Self>, CliError> {
            if path == Path::new(ESTIMATE) { Ok(None) } else { Self::open(path, args).map(Some) }
        };
        let (old, new) = (named(old)?, named(&args.model)?);
        let op = [&old, &new].into_iter().find_map(|side| match side {
            Some(Self::Model(model)) => Some(model.spec().op()),
            _ => None,
        });
        let is_on_a_gpu = |side: &Option<Self>| match side {
            Some(Self::Model(model)) => model.spec().prior.is_some(),
            Some(Self::File(_)) => false,
            None => true,
        };
        if args.arch.is_given() && ![&old, &new].into_iter().any(is_on_a_gpu) {
            return Err(CliError::usage("--arch is for the estimate and for universal models"));
        }
        let estimate = || -> Result<Self, CliError> {
            let op = op.map_or_else(|| args.data.op(), Ok)?;
            Ok(Self::Model(Arc::new(args.data.gpu(&args.arch)?.estimate(op)?)))
        };
        Ok((old.map_or_else(estimate, Ok)?, new.map_or_else(estimate, Ok)?))
    }

    fn open(path: &Path, args: &Args) -> Result<Self, CliError> {
        if path.is_dir() || is_embedded(path) {
            let model = serving(args.allow.apply(embedded::open(path)?), &args.data)?;
            // The options' GPU is for the other side; this model has its own.
            if model.spec().prior.is_none() {
                return Ok(Self::Model(Arc::new(model)));
            }
            return Ok(Self::Model(Arc::new(args.arch.place(model)?)));
        }
        if !path.exists() {
            return Err(CliError::failed(format!("{}: no such model directory or file", path.display())));
        }
        Ok(Self::File(path.to_owned()))
    }

    fn on_measured(self, args: &Args, measurements: &Measurements) -> Result<Self, CliError> {
        let Self::Model(model) = self else { return Ok(self) };
        let model = as_measured(Arc::unwrap_or_clone(model), &args.arch, measurements)?;
        Ok(Self::Model(Arc::new(model)))
    }

    fn orders(&self, measurements: &Measurements, trials: &[Trial]) -> Result<Vec<Option<Order>>, CliError> {
        match self {
            Self::Model(model) => Ok(Judge::new(model, measurements)?.orders(measurements, trials)?),
            Self::File(path) => {
                let predictions = super::read_predictions(path, measurements)?;
                // Two rankings are compared by the kernels that were measured.
                let order = |trial| {
                    predictions.order(measurements, trial).map(|order| Order { unmeasured: None, ..order })
                };
                Ok(trials.iter().map(order).collect())
            }
        }
    }
}

pub(super) fn run(args: &Args, old: &Path) -> Result<(), CliError> {
    let (old, new) = Chooser::both(args, old)?;
    let measurements = match (&old, &new) {
        // Problems that one side does not support are not compared.
        (Chooser::Model(old), Chooser::Model(new)) if new.spec().prior.is_some() => {
            args.data.read_for(old, args.arch.named_arch()?)?
        }
        (_, Chooser::Model(model)) | (Chooser::Model(model), _) => {
            args.data.read_for(model, args.arch.named_arch()?)?
        }
        _ => args.data.read_all(args.data.rows.filter.op, None)?,
    };
    let trials = trials(&measurements);
    let (old, new) = (old.on_measured(args, &measurements)?, new.on_measured(args, &measurements)?);
    let (old, new) = (old.orders(&measurements, &trials)?, new.orders(&measurements, &trials)?);
    let lost = old.iter().zip(&new).filter(|(old, new)| old.is_some() && new.is_none()).count();
    let unranked = old.iter().filter(|old| old.is_none()).count();
    if unranked > 0 {
        let all = trials.len();
        say!("ckselect: {unranked} of {all} problems are not compared: the old one has no choice for them");
    }
    let both: Vec<(Outcome, Outcome)> = trials
        .iter()
        .zip(old.iter().zip(&new))
        .filter_map(|(trial, (old, new))| {
            Some((Outcome::new(trial, old.as_ref()?), Outcome::new(trial, new.as_ref()?)))
        })
        .collect();
    let (old, new): (Vec<Outcome>, Vec<Outcome>) = both.into_iter().unzip();
    if old.is_empty() {
        return Err(CliError::failed("none of the measured problems is ranked by both"));
    }
    let comparison = Comparison { lost, ..Comparison::new(&old, &new, &limits(args)) };
    for path in &args.output {
        match suffix(path) {
            "csv" => changes(&comparison, &measurements).save(path)?,
            "json" => write_json(path, &document(&comparison))?,
            _ => {
                let message = format!("--output {}: --against writes .csv or .json", path.display());
                return Err(CliError::usage(message));
            }
        }
    }
    match args.format {
        Format::Table => Output::report()?.filled(|out| write_table(&comparison, out))?,
        format => criteria(&comparison).print_beside(format, || document(&comparison))?,
    }
    if comparison.accepted() {
        return Ok(());
    }
    if lost > 0 {
        let message =
            format!("not accepted: the new one has no choice for {lost} of {} problems", trials.len());
        return Err(CliError::Judged(message));
    }
    let broken: Vec<String> = comparison
        .criteria
        .iter()
        .filter(|criterion| !criterion.holds())
        .map(|one| format!("{} fell by {:.4}, allowed is {}", one.name, -one.delta(), one.limit))
        .collect();
    Err(CliError::Judged(format!("not accepted: {}", broken.join("; "))))
}

fn criteria(comparison: &Comparison) -> Table {
    let mut table = Table::new(["figure", "old", "new", "delta", "allowed_loss", "verdict"]);
    for criterion in &comparison.criteria {
        table.push(vec![
            criterion.name.into(),
            criterion.old.into(),
            criterion.new.into(),
            criterion.delta().into(),
            criterion.limit.into(),
            if criterion.holds() { "ok" } else { "too low" }.into(),
        ]);
    }
    table
}

fn write_table(comparison: &Comparison, out: &mut Output) -> std::io::Result<()> {
    let share = |count: usize| 100.0 * count as f64 / comparison.problems as f64;
    let Comparison { problems, agreements, improved, same, degraded, .. } = comparison;
    writeln!(out, "same kernel chosen   {agreements}/{problems} ({:.1} %)", share(*agreements))?;
    for (name, count) in [("improved", improved), ("same speed", same), ("degraded", degraded)] {
        writeln!(out, "{name:<20} {count} ({:.1} %)", share(*count))?;
    }
    if comparison.lost > 0 {
        writeln!(out, "{:<20} {}", "without a choice", comparison.lost)?;
    }
    writeln!(out)?;
    criteria(comparison).write(Format::Table, out)?;
    writeln!(out, "\n{}", if comparison.accepted() { "accepted" } else { "not accepted" })
}

fn document(comparison: &Comparison) -> serde_json::Value {
    json!({
        "accepted": comparison.accepted(),
        "problems": comparison.problems,
        "agreements": comparison.agreements,
        "improved": comparison.improved,
        "same": comparison.same,
        "degraded": comparison.degraded,
        "lost": comparison.lost,
        "criteria": criteria(comparison).to_json(),
    })
}

fn changes(comparison: &Comparison, measurements: &Measurements) -> Table {
    let mut table =
        Table::new(["problem", "old_kernel", "new_kernel", "old_efficiency", "new_efficiency", "delta"]);
    let name = |kernel: Option<u32>| {
        Cell::from(kernel.map(|kernel| measurements.kernels()[kernel as usize].name.as_str()))
    };
    for change in &comparison.changes {
        table.push(vec![
            measurements.problems()[change.problem as usize].to_string().into(),
            name(change.old_kernel),
            name(change.new_kernel),
            change.old.into(),
            change.new.into(),
            (change.new - change.old).into(),
        ]);
    }
    table
}
