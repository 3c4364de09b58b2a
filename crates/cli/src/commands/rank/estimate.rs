//! `ckselect rank` without a model: the estimate's order, with the terms of each time.

use std::sync::Arc;

use ck_select::estimate::{EstimateScratch, Estimator, GpuOverride, PoolEstimate, term_names};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};

use super::super::gpu::check_arch;
use super::super::reasons::Reasons;
use super::super::{take_what_is_common, with_splits};
use super::Args;
use super::notes::{self, is_tied};
use crate::error::CliError;
use crate::input::Problems;
use crate::output::Output;
use crate::table::{Cell, Format, Rows};

pub(super) fn run(args: &Args, format: Format, pool: Pool, top: usize) -> Result<(), CliError> {
    let op = pool.op();
    let mut defaults = ProblemDefaults::new(op);
    take_what_is_common(&pool, &mut defaults, true, true);
    let parse = |text| Problem::parse(op, text, &defaults);
    let one = args.problem.as_deref().map(parse).transpose();
    let one = one.map_err(|error| CliError::usage(format!("--problem: {error}")))?;
    let GpuOverride { arch, device } = args.ranker.arch.device_for(one.as_ref(), pool.iter())?;
    let ranked = PoolEstimate::new(Estimator::new(device), Arc::new(pool));
    let left_out: Reasons = ranked.kernels().left_out().map(|(_, reason)| reason).collect();
    left_out.say_left_out(ranked.pool().len());
    let shows_split = args.splits.splits.is_some() || one.is_some_and(|problem| problem.chooses_split());
    let mut header = super::place_columns(args, shows_split);
    header.push("time_us");
    header.extend(term_names(op));
    header.push("tie");
    let mut scratch = EstimateScratch::default();
    let mut rows = None;
    let mut skipped = Reasons::default();
    let mut push = |label: Option<&str>, problem: &Problem| -> Result<(), CliError> {
        let refused = check_arch(arch, problem).and_then(|()| {
            let problem = problem.on(Some(arch));
            let checked = with_splits(&problem, args.splits.list(), shows_split);
            let checked = checked.map_err(|error| format!("problem: {error}"))?;
            ranked.rank(checked, &mut scratch).map_err(|error| error.to_string())
        });
        if let Err(reason) = refused {
            if label.is_none() {
                return Err(CliError::Failed(reason));
            }
            skipped.count(reason);
            return Ok(());
        }
        let rows = match &mut rows {
            Some(rows) => rows,
            None => rows.insert(Rows::new(format, Output::create(args.output.as_deref())?, header.clone())),
        };
        let ranking = scratch.ranking();
        for (place, one) in ranking.iter().enumerate().take(top) {
            let time = |place: usize| ranking.get(place).map(|other| other.score);
            let name = ranked.pool().get(one.index).map_or("", |kernel| kernel.name.as_str());
            let mut row = super::place_cells(label, place, name, shows_split.then_some(one.split_k));
            row.push(one.score.into());
            let terms = ranked.terms(&problem.with_split(one.split_k), one.index);
            row.extend(terms.iter().flat_map(|terms| &terms.named).map(|&(_, term)| Cell::from(term)));
            row.push(is_tied(place, time).then_some("=").into());
            rows.push(row)?;
        }
        Ok(())
    };
    match (&one, &args.problems) {
        (Some(problem), _) => {
            push(None, problem)?;
            let shown = scratch.ranking().iter().map(|one| one.index);
            let left_out = ranked.kernels().left_out().map(|(index, _)| index);
            notes::say_misfits(ranked.pool(), &problem.on(Some(arch)), shown, left_out);
        }
        (None, Some(path)) => {
            let mut problems = Problems::open(path, op, &defaults, device.hardware)?;
            while let Some((label, problem)) = problems.next()? {
                push(Some(&label), &problem)?;
            }
            problems.finish();
        }
        (None, None) => return Err(CliError::usage("give --problem or --problems")),
    }
    let file = args.problems.as_ref().map_or_else(String::new, |path| path.display().to_string());
    match rows {
        Some(rows) => {
            skipped.say_skipped(&file);
            rows.finish()
        }
        None => Err(notes::none_ranked(&skipped, &file)),
    }
}
