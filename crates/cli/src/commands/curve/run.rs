//! Draws, trains and evaluates.

use ck_select::features::{Engine, Extractor};
use ck_select::hardware::Hardware;
use ck_select_data::figures::quantile;
use ck_select_data::gpus::check_one_gpu;
use ck_select_study::page;
use ck_select_train::CurvePoint;
use ck_select_train::{Draw, Simulation, Way};

use super::super::data::{self, say_trained_on};
use super::super::estimate::EstimateOption;
use super::Args;
use crate::error::CliError;
use crate::output::{self, Output};
use crate::table::{Cell, Table};
use crate::timestamp::timestamp;

/// Numbers of measured problems, besides all.
const USUAL: [usize; 6] = [0, 5, 10, 20, 40, 80];

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let ways = args.ways.iter().map(|word| way(word)).collect::<Result<Vec<_>, _>>()?;
    let counts = args.counts.iter().map(|word| count(word)).collect::<Result<Vec<_>, _>>()?;
    for (option, words) in [("--ways", &args.ways), ("--counts", &args.counts)] {
        if let Some((_, word)) = words.iter().enumerate().find(|(at, word)| words[..*at].contains(word)) {
            return Err(CliError::usage(format!("{option}: found '{word}' twice, expected each once")));
        }
    }
    let op = args.filter.op_of(&args.data)?;
    let arch = args.arch.map_or_else(|| args.filter.first_rows(&args.data)?.measured_arch(), Ok)?;
    let base = super::super::to_adapt(&args.model, Some(op))?;
    let wanted = args.filter.wanted(op, Some(arch))?;
    let described = EstimateOption { estimate: false, arch: Some(arch) }.described(&args.hardware)?;
    let mut measurements = args.filter.measurements(wanted).on_gpu(described);
    measurements.add_all(&args.data)?;
    data::check_choice(&measurements, args.filter.op, args.arch)?;
    let gpus = data::look_over(&measurements)?;
    data::check_any(&measurements)?;
    check_one_gpu(&gpus)?;
    measurements.common_direction()?;
    measurements.common_dtype()?;
    say_trained_on(&measurements, &base.were_trained_on(&measurements)?);
    let profile = || Hardware::for_arch(&arch).unwrap_or_default();
    let hardware = described.map_or_else(profile, |described| described.device.hardware);
    let extractor = Extractor { arch: Some(arch), hardware, ..Extractor::of_engine(Engine::of_op(op)) };
    let first = args.first.map(|count| count as usize);
    let promising =
        first.map(|count| Simulation::promising(&measurements, &base, &extractor, count)).transpose()?;
    let mut points = Vec::new();
    for way in ways {
        let mut simulation =
            Simulation::new(&measurements, &base, &extractor, way)?.holding_back(args.holdout.as_deref())?;
        simulation = simulation.in_folds(args.folds as usize);
        if let Some(promising) = &promising {
            simulation = simulation.learning_from(promising);
        }
        let available = simulation.problems();
        let counts = if counts.is_empty() {
            let all = simulation.can_hold_out().then_some(available);
            USUAL.into_iter().filter(|count| *count < available).chain(all).collect()
        } else {
            counts.iter().map(|count| of_available(*count, available)).collect::<Result<Vec<_>, _>>()?
        };
        for measured in counts {
            // Without measurements there is nothing to learn from except the universal model.
            if measured == 0 && way != Way::Tuned {
                continue;
            }
            let draws = if measured == 0 { 1 } else { u64::from(args.draws) };
            let draws = (0..draws)
                .map(|draw| simulation.draw(measured, args.seed + draw))
                .collect::<Result<Vec<Draw>, _>>()?;
            points.push(point(way, measured, &draws));
        }
    }
    if points.is_empty() {
        return Err(CliError::usage(
            "--counts: found only 0, expected at least one number above 0: without measurements, only `tuned` knows anything",
        ));
    }
    if let Some(path) = &args.html {
        output::write_file(path, &page::curve(&points, arch.as_str(), &timestamp()))?;
    }
    let mut out = Output::report()?;
    table(&points).write(args.format, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}

/// A row for each point.
pub(in super::super) fn table(points: &[CurvePoint]) -> Table {
    let header = ["way", "measured", "draws", "judged", "mean", "median", "p10", "min", "best_of_top3"];
    let mut table = Table::new(header);
    for point in points {
        let mut row: Vec<Cell> =
            vec![point.way.into(), point.measured.into(), point.draws.into(), point.judged.into()];
        row.extend([point.mean, point.median, point.p10, point.min, point.best_of_top3].map(Cell::from));
        table.push(row);
    }
    table
}

fn way(word: &str) -> Result<Way, CliError> {
    Way::ALL.into_iter().find(|way| way.as_str() == word).ok_or_else(|| {
        let known = Way::ALL.map(Way::as_str).join(", ");
        CliError::usage(format!("--ways: found '{word}', expected some of {known}"))
    })
}

/// A number, or `None` for `all`.
fn count(word: &str) -> Result<Option<usize>, CliError> {
    if word == "all" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| {
        CliError::usage(format!("--counts: found '{word}', expected numbers of problems, or all"))
    })
}

/// A number of problems to measure, of those that there are.
fn of_available(count: Option<usize>, available: usize) -> Result<usize, CliError> {
    match count {
        Some(count) if count > available => Err(CliError::usage(format!(
            "--counts: found {count}, expected at most {available}, the number of problems that can be measured, or `all`"
        ))),
        Some(count) => Ok(count),
        None => Ok(available),
    }
}

fn point(way: Way, measured: usize, draws: &[Draw]) -> CurvePoint {
    let median = |of: fn(&Draw) -> f64| {
        let mut values: Vec<f64> = draws.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    CurvePoint {
        way: way.as_str(),
        measured,
        draws: draws.len(),
        judged: draws.first().map_or(0, |draw| draw.found.problems),
        mean: median(|draw| draw.found.mean),
        median: median(|draw| draw.found.median),
        p10: median(|draw| draw.found.p10),
        min: median(|draw| draw.found.min),
        best_of_top3: median(|draw| draw.found.best_of_top3),
    }
}
