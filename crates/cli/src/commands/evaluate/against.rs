//! `ckselect evaluate --against`: whether a new model may replace the old one.

use std::io::Write;
use std::path::Path;

use ck_select_evaluate::Outcome;
use ck_select_evaluate::candidates::trials;
use ck_select_evaluate::compare::{Comparison, Limits};
use ck_select_evaluate::judge::Order;
use ck_select_evaluate::page::{self, Side};
use ck_select_measurements::Measurements;
use serde_json::json;

use super::super::{is_embedded, provenance};
use super::Args;
use super::chooser::Chooser;
use crate::error::CliError;
use crate::output::{Output, file_name, suffix, write_file, write_json};
use crate::table::{Cell, Format, ResultTable};

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

/// Both sides. The estimate takes its operation from the other side.
fn sides(args: &Args, old: &Path) -> Result<[Chooser; 2], CliError> {
    let sides = [Chooser::open(old, args, false)?, Chooser::open(&args.model, args, false)?];
    let op = sides.iter().flatten().find_map(Chooser::model).map(|model| model.spec().op());
    let takes_gpu = |side: &Option<Chooser>| side.as_ref().is_none_or(Chooser::is_universal);
    if args.arch.is_given() && !sides.iter().any(takes_gpu) {
        refuse!("--arch is for the estimate and for universal models");
    }
    let [old, new] = sides.map(|side| side.map_or_else(|| Chooser::estimate(args, op), Ok));
    Ok([old?, new?])
}

/// The rows that both sides are compared by; problems that one of them does not support are not compared.
fn read(args: &Args, [old, new]: &[Chooser; 2]) -> Result<Measurements, CliError> {
    let by_old = old.model().is_some() && (new.is_universal() || new.model().is_none());
    let side = if by_old { old } else { new };
    side.read(args, args.arch.named_arch()?)
}

pub(super) fn run(args: &Args, old_path: &Path) -> Result<(), CliError> {
    super::check_suffixes(args, "--against", &["html", "csv", "json"])?;
    let sides = sides(args, old_path)?;
    let measurements = read(args, &sides)?;
    let trials = trials(&measurements);
    let orders = |side: Chooser| side.on_measured(args, &measurements)?.orders(&measurements, &trials);
    let [old, new] = sides.map(orders);
    let (old, new) = (old?, new?);
    let lost = old.iter().zip(&new).filter(|(old, new)| old.is_some() && new.is_none()).count();
    let unranked = old.iter().filter(|old| old.is_none()).count();
    if unranked > 0 {
        let all = trials.len();
        say!(
            "ckselect: {unranked} of {all} problems are not compared: the old model ranks none of their \
             kernels"
        );
    }
    // Both are compared by the kernels that were measured.
    let outcome = |trial, order: Option<Order>| {
        order.map(|order| Outcome::new(trial, &Order { unmeasured: None, ..order }))
    };
    let pairs = trials.iter().zip(old.into_iter().zip(new));
    let pairs = pairs.filter_map(|(trial, (old, new))| Some([outcome(trial, old)?, outcome(trial, new)?]));
    let pairs: Vec<[Outcome; 2]> = pairs.collect();
    if pairs.is_empty() {
        fail!("none of the measured problems is ranked by both");
    }
    let comparison = Comparison::new(&pairs, lost, &limits(args));
    for path in &args.output {
        match suffix(path) {
            "html" => write_file(path, &page(args, old_path, &comparison, &measurements)?)?,
            "csv" => changes(&comparison, &measurements).save(path)?,
            _ => write_json(path, &document(&comparison))?,
        }
    }
    match args.format {
        Format::Table => Output::report()?.filled(|out| write_table(&comparison, out))?,
        format => criteria(&comparison).print_beside(format, || document(&comparison))?,
    }
    check(&comparison, trials.len())
}

fn page(
    args: &Args,
    old: &Path,
    comparison: &Comparison,
    measurements: &Measurements,
) -> Result<String, CliError> {
    let made = |path: &Path| {
        let has_files = path.is_dir() || is_embedded(path);
        provenance(has_files.then_some(path), measurements)
    };
    let (of_old, of_new) = (made(old)?, made(&args.model)?);
    let (old, new) = (file_name(old), file_name(&args.model));
    let sides = [Side { name: &old, made: &of_old }, Side { name: &new, made: &of_new }];
    Ok(page::comparison(comparison, measurements, sides))
}

/// Why the new model may not replace the old one.
fn check(comparison: &Comparison, problems: usize) -> Result<(), CliError> {
    if comparison.accepted() {
        return Ok(());
    }
    if comparison.lost > 0 {
        let lost = comparison.lost;
        let message = format!("not accepted: the new model ranks no kernel of {lost} of {problems} problems");
        return Err(CliError::Judged(message));
    }
    let broken: Vec<String> = comparison
        .criteria
        .iter()
        .filter(|criterion| !criterion.holds())
        .map(|one| format!("{} fell by {:.4}, allowed {}", one.name, -one.delta(), one.limit))
        .collect();
    Err(CliError::Judged(format!("not accepted: {}", broken.join("; "))))
}

fn criteria(comparison: &Comparison) -> ResultTable {
    let mut table = ResultTable::new(["figure", "old", "new", "delta", "allowed_loss", "verdict"]);
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

fn changes(comparison: &Comparison, measurements: &Measurements) -> ResultTable {
    let mut table = ResultTable::new([
        "problem", "old_kernel", "new_kernel", "old_efficiency", "new_efficiency", "delta",
    ]);
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
