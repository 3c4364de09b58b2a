//! `ckselect tune --simulate --counts`: how good choices are after a given number of measured problems.

use std::fmt::Display;

use ck_select_train::{CurvePoint, Draw, Method, Simulation};

use super::super::word;
use super::Args;
use super::count::ProblemCount;
use super::recorded::{TuningData, base, medians, point};
use crate::error::CliError;
use crate::table::{Cell, ResultTable};

/// Numbers of measured problems, besides all.
const DEFAULT_COUNTS: [usize; 6] = [0, 5, 10, 20, 40, 80];

pub(super) fn run(args: &Args, counts: &[ProblemCount]) -> Result<(), CliError> {
    refuse_repeats("--params ways", &args.settings.methods)?;
    let methods = args.settings.methods.iter().map(|method| word(method)).collect::<Result<Vec<Method>, _>>();
    let methods = methods.map_err(|error| CliError::usage(format!("--params ways: {error}")))?;
    refuse_repeats("--counts", counts)?;
    let base = base(args)?;
    let recorded = TuningData::in_simulation(args, &base)?;
    let mut points = Vec::new();
    for method in methods {
        let simulation = recorded.simulation(method)?.holding_back(args.settings.holdout.as_deref())?;
        let simulation = simulation.in_folds(args.settings.folds as usize);
        for measured in numbers(counts, &simulation)? {
            // Without measurements there is nothing to learn from except the universal model.
            if measured == 0 && method != Method::Tuned {
                continue;
            }
            let draws = if measured == 0 { 1 } else { u64::from(args.settings.draws.unwrap_or(5)) };
            let draws = (0..draws)
                .map(|draw| simulation.draw(measured, args.settings.seed + draw))
                .collect::<Result<Vec<Draw>, _>>()?;
            let row = medians(&draws).map(|median| point(method.as_str(), measured, &median));
            points.extend(row.map(|point| CurvePoint { draws: draws.len(), ..point }));
        }
    }
    if points.is_empty() {
        refuse!(
            "--counts: found only 0, expected at least one number above 0: without measurements, only \
             `tuned` knows anything"
        );
    }
    table(&points).print(args.format)
}

fn refuse_repeats(option: &str, words: &[impl PartialEq + Display]) -> Result<(), CliError> {
    if let Some((_, word)) = words.iter().enumerate().find(|(at, word)| words[..*at].contains(word)) {
        refuse!("{option}: found '{word}' twice, expected each once");
    }
    Ok(())
}

/// The numbers of problems to measure, of those that there are.
fn numbers(counts: &[ProblemCount], simulation: &Simulation<'_>) -> Result<Vec<usize>, CliError> {
    let available = simulation.problems();
    if counts.is_empty() {
        let all = simulation.can_hold_out().then_some(available);
        return Ok(DEFAULT_COUNTS.into_iter().filter(|count| *count < available).chain(all).collect());
    }
    counts.iter().map(|count| count.number("--counts", available)).collect()
}

/// A row for each point.
pub(super) fn table(points: &[CurvePoint]) -> ResultTable {
    let header = ["way", "measured", "draws", "judged", "mean", "median", "p10", "min", "best_of_top3"];
    let mut table = ResultTable::new(header);
    for point in points {
        let CurvePoint { method, measured, draws, efficiency } = point;
        let mut row =
            vec![Cell::from(*method), (*measured).into(), (*draws).into(), efficiency.problems.into()];
        row.extend(efficiency.shares().map(Cell::from));
        table.push(row);
    }
    table
}
