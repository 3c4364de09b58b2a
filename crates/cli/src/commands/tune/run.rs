//! Simulates or measures, and writes the adapted model.

use std::path::Path;
use std::sync::Arc;

use ck_select::directory::Target;
use ck_select::features::Extractor;
use ck_select::pool::Pool;
use ck_select_evaluate::page;
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::Spread;
use ck_select_train::{
    CardInputs, CurvePoint, Directory, Draw, Efficiency, Folds, Goal, GroupBy, Method, Objective, Plan, Stop,
    own_params, train,
};

use super::super::pools;
use super::super::train::card;
use super::recorded::{TuningData, base, medians, point};
use super::{Args, curve, measure};
use crate::error::CliError;
use crate::table::{Cell, ResultTable};

/// How many problems a simulation measures by default.
const DEFAULT_MEASURED: usize = 10;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    if let Some(output) = &args.output {
        Directory::check_free(output, args.overwrite)?;
    }
    if let Some(pool) = &args.pool {
        return from_gpu(args, pool);
    }
    match &args.counts {
        Some(counts) => curve::run(args, counts),
        None => simulate(args, &TuningData::in_simulation(args, &base(args)?)?),
    }
}

fn simulate(args: &Args, recorded: &TuningData<'_>) -> Result<(), CliError> {
    let draws = args.settings.draws.unwrap_or(1);
    if draws > 1 && args.output.is_some() {
        refuse!(
            "--params draws: found {draws}, expected 1 with --output: a model is of one simulation, which \
             --params seed chooses"
        );
    }
    let simulation = recorded.simulation(Method::Tuned)?;
    let available = simulation.problems();
    let count = args.at_most(available)?.unwrap_or(DEFAULT_MEASURED.min(available));
    let draws = (0..u64::from(draws))
        .map(|draw| simulation.draw(count, args.settings.seed + draw))
        .collect::<Result<Vec<Draw>, _>>()?;
    report(args, &draws)?;
    if let (Some(_), Some(first)) = (&args.output, draws.first()) {
        check(first)?;
        let (count, unlearned) = (first.measured.len(), simulation.unlearned(first)?);
        let points = [
            ("expected", 0, first.before.as_ref()),
            ("found", 0, unlearned.as_ref()),
            ("expected", count, first.expected.as_ref()),
            ("found", count, Some(&first.actual)),
        ];
        let curve = points.into_iter().filter_map(|(way, count, of)| Some(point(way, count, of?))).collect();
        let is_kept = |row: usize| recorded.promising.as_ref().is_none_or(|promising| promising.has(row));
        let is_measured = |problem: u32| first.measured.contains(&problem);
        let measured = recorded.measurements.keeping(|index, row| is_measured(row.problem) && is_kept(index));
        write(args, recorded, &measured, curve)?;
    }
    Ok(())
}

/// Measures, says what to expect, and writes the model.
fn from_gpu(args: &Args, pool: &Path) -> Result<(), CliError> {
    let kernels = pools::read(pool, || args.arch().map(Some))?;
    let arch = args.arch().ok();
    let kernels = Arc::new(pools::buildable(pool, kernels, arch, !args.allow.is_empty(), |_| false)?);
    let base = super::super::start_of(&args.model, kernels.op())?;
    check_features(&kernels, base.extractor())?;
    let (measured, decisions) = measure::measure(args, pool, &kernels, &base)?;
    let problems = measured.measurements.problems().len();
    let drawn = measured.draw_all(args)?;
    let expected = drawn.as_ref().and_then(|draw| draw.expected.as_ref());
    if expected.is_none() {
        say!(
            "ckselect: found {problems} measured problems, expected at least 10 to say what to expect of \
             others"
        );
    }
    let mut curve = earlier_points(args, &measured, &decisions)?;
    curve.extend(expected.map(|expected| point("expected", problems, expected)));
    let figures = curve::table(&curve);
    if let Err(misled) = drawn.as_ref().map_or(Ok(()), check) {
        figures.print(args.format)?;
        return Err(misled);
    }
    write(args, &measured, &measured.measurements, curve)?;
    figures.print(args.format)
}

/// Refuses kernels, before they are measured, that the features of the model to be cannot describe.
fn check_features(kernels: &Pool, extractor: &Extractor) -> Result<(), CliError> {
    let Some(features) = extractor.for_own_features(&extractor.hardware) else { return Ok(()) };
    kernels.iter().try_for_each(|kernel| match features.kernel_terms(&kernel.kind) {
        Ok(_) => Ok(()),
        Err(error) => fail!("{}: its features cannot be learned from: {error}", kernel.name),
    })
}

/// Refuses to write a model if holding out what was measured shows that the universal model chooses better.
fn check(draw: &Draw) -> Result<(), CliError> {
    match (draw.misled, &draw.expected, &draw.before) {
        (true, Some(now), Some(before)) => fail!(
            "no model is written: on the {} measured problems, each held out in turn, adapting lowers the \
             mean efficiency from {:.4} (universal model) to {:.4}. The measured times may be wrong (see \
             `ckselect report`), or too few problems were measured",
            draw.measured.len(),
            before.mean,
            now.mean
        ),
        _ => Ok(()),
    }
}

/// The expected quality by the universal model alone, and with the problems that were measured up to each decision.
/// All points are judged on every problem that is measured by now, since other problems may be harder.
fn earlier_points(
    args: &Args,
    measured: &TuningData<'_>,
    decisions: &[usize],
) -> Result<Vec<CurvePoint>, CliError> {
    let (simulation, seed) = (measured.simulation(Method::Tuned)?, args.settings.seed);
    let mut points = vec![point("expected", 0, &simulation.draw(0, seed)?.actual)];
    for &count in decisions.iter().filter(|count| **count < simulation.problems()) {
        points.extend(simulation.after(count, seed)?.map(|expected| point("expected", count, &expected)));
    }
    Ok(points)
}

fn report(args: &Args, draws: &[Draw]) -> Result<(), CliError> {
    let header = ["seed", "measured", "expected", "problems", "mean", "median", "p10", "min", "best_of_top3"];
    let mut table = ResultTable::new(header);
    let mut push = |seed: String, draw: &Draw, expected: Option<f64>, observed: &Efficiency| {
        let mut row =
            vec![seed.into(), draw.measured.len().into(), expected.into(), observed.problems.into()];
        row.extend(observed.shares().map(Cell::from));
        table.push(row);
    };
    let expected = |draw: &Draw| draw.expected.as_ref().map(|expected| expected.mean);
    for draw in draws {
        push(draw.seed.to_string(), draw, expected(draw), &draw.actual);
    }
    if let (Some(median), [first, _, ..]) = (medians(draws), draws) {
        let expected: Vec<f64> = draws.iter().filter_map(expected).collect();
        let expected = (!expected.is_empty()).then(|| Spread::new(expected).p50);
        push("median".to_owned(), first, expected, &median);
    }
    table.print(args.format)
}

/// Trains on everything that was measured, and writes the model.
fn write(
    args: &Args,
    of: &TuningData<'_>,
    measured: &Measurements,
    curve: Vec<CurvePoint>,
) -> Result<(), CliError> {
    let Some(output) = &args.output else { return Ok(()) };
    let base = of.base.clone();
    let params = own_params();
    let plan = Plan {
        extractor: Extractor { schema: base.extractor().schema.clone(), ..of.extractor.clone() },
        categories: Vec::new(),
        goals: vec![Goal { target: Target::Relative, objective: Objective::Listwise, params }],
        folds: Folds::Count(1),
        mode: base.adapted()?,
        group_by: GroupBy::Problem,
        fold_seed: None,
        stop: Stop::Never,
        seed: args.settings.seed,
        only_trains: Vec::new(),
        warm_start: Some(base),
    };
    let trained = train(measured, &plan, &())?;
    let (direction, dtype) = (measured.common_direction()?, measured.common_dtype()?);
    let inputs = CardInputs { curve, ..card(output, measured, direction, dtype)? };
    let mut directory = Directory::new(measured, &plan, &trained, &inputs)?;
    directory.add_page(page::training(measured, &plan, &trained, &inputs));
    directory.write(output, args.overwrite)?;
    Ok(())
}
