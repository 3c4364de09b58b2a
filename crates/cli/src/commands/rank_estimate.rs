//! `ckselect rank` without a model: the estimate's order, with the terms of each time.

use std::path::Path;
use std::sync::Arc;

use ck_select::estimate::{EstimateScratch, Estimator, GpuOverride, PoolEstimate, term_names};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};

use super::gpu::{Gpu, check_arch};
use super::rank_notes::{self, Skipped};
use super::{SplitsOption, take_what_is_common, with_splits};
use crate::error::CliError;
use crate::output::Output;
use crate::problems::Problems;
use crate::table::{Cell, Format, Rows};

/// The request.
pub(super) struct EstimateRequest<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) splits: SplitsOption,
    pub(super) pool: Pool,
    pub(super) problem: Option<&'a str>,
    pub(super) problems: Option<&'a Path>,
    pub(super) top: usize,
    pub(super) format: Format,
    pub(super) output: Option<&'a Path>,
}

/// Prints which kernels of the pool have no estimate.
pub(super) fn say_left_out(ranked: &PoolEstimate) {
    if let Some((index, reason)) = ranked.left_out().first() {
        let (count, kernels) = (ranked.left_out().len(), ranked.pool().len());
        let name = ranked.pool().get(*index).map_or("", |kernel| kernel.name.as_str());
        say!("ckselect: {count} of {kernels} kernels are left out, the first is {name}: {reason}");
    }
}

/// Prints how many kernels are not ranked for the problem, and why.
pub(super) fn say_misfits(pool: &PoolEstimate, problem: &Problem, ranked: impl Iterator<Item = usize>) {
    let left_out = pool.left_out().iter().map(|(index, _)| *index);
    rank_notes::say_misfits(pool.pool(), problem, ranked, left_out);
}

pub(super) fn run(asked: EstimateRequest<'_>) -> Result<(), CliError> {
    let pool = asked.pool;
    let op = pool.op();
    let mut defaults = ProblemDefaults::of(op);
    take_what_is_common(&pool, &mut defaults, true, true);
    let parse = |text| Problem::parse(op, text, &defaults);
    let one = asked.problem.map(parse).transpose();
    let one = one.map_err(|error| CliError::usage(format!("--problem: {error}")))?;
    let GpuOverride { arch, device } = asked.gpu.device_for(one.as_ref(), pool.iter())?;
    let ranked = PoolEstimate::new(Estimator::new(device), Arc::new(pool));
    say_left_out(&ranked);
    let mut header: Vec<&str> = if asked.problems.is_some() { vec!["problem"] } else { Vec::new() };
    let shows_split = asked.splits.splits.is_some() || one.is_some_and(|problem| problem.chooses_split());
    header.extend(["rank", "kernel"]);
    header.extend(shows_split.then_some("split_k"));
    header.push("time_us");
    header.extend(term_names(op));
    header.push("tie");
    let mut scratch = EstimateScratch::default();
    let mut rows = None;
    let mut skipped = Skipped::default();
    let mut push = |label: Option<&str>, problem: &Problem| -> Result<(), CliError> {
        let refused = check_arch(arch, problem).and_then(|()| {
            let problem = problem.on(Some(arch));
            let checked = with_splits(&problem, asked.splits.list(), shows_split);
            let checked = checked.map_err(|error| format!("problem: {error}"))?;
            ranked.rank_checked(checked, &mut scratch).map_err(|error| error.to_string())
        });
        match refused {
            Ok(()) => {}
            Err(reason) if label.is_some() => {
                skipped.count(reason);
                return Ok(());
            }
            Err(reason) => return Err(CliError::Failed(reason)),
        }
        if rows.is_none() {
            rows = Some(Rows::new(asked.format, Output::create(asked.output)?, header.clone()));
        }
        let Some(rows) = &mut rows else { return Ok(()) };
        let ranking = scratch.ranking();
        for (place, one) in ranking.iter().enumerate().take(asked.top) {
            let time = |place: usize| ranking.get(place).map(|other| other.time_us);
            let tied = [place.checked_sub(1).and_then(time), time(place + 1)].contains(&Some(one.time_us));
            let name = ranked.pool().get(one.index).map_or("", |kernel| kernel.name.as_str());
            let mut row: Vec<Cell> = label.map(Cell::from).into_iter().collect();
            row.extend([(place + 1).into(), name.into()]);
            row.extend(shows_split.then(|| Cell::from(one.split_k as usize)));
            row.push(one.time_us.into());
            let terms = ranked.terms(&problem.with_split(one.split_k), one.index);
            row.extend(terms.iter().flat_map(|terms| terms.values).map(Cell::from));
            row.push(if tied { "=".into() } else { Cell::Empty });
            rows.push(row)?;
        }
        Ok(())
    };
    match (&one, asked.problems) {
        (Some(problem), _) => {
            push(None, problem)?;
            say_misfits(&ranked, &problem.on(Some(arch)), scratch.ranking().iter().map(|one| one.index));
        }
        (None, Some(path)) => {
            let mut problems = Problems::open(path, op, &defaults, Some(device.hardware))?;
            while let Some((label, problem)) = problems.next()? {
                push(Some(&label), &problem)?;
            }
            problems.finish();
        }
        (None, None) => return Err(CliError::usage("give --problem or --problems")),
    }
    let file = asked.problems.map_or_else(String::new, |path| path.display().to_string());
    match rows {
        Some(rows) => {
            skipped.say(&file);
            rows.finish()
        }
        None => Err(skipped.none_ranked(&file)),
    }
}
