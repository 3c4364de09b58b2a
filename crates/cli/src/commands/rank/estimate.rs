//! `ckselect rank` without a model: the estimate's order, with the terms of each time.

use std::sync::Arc;

use ck_select::estimate::{EstimateScratch, Estimator, GpuOverride, PoolEstimate, term_names};
use ck_select::pool::Pool;
use ck_select::problem::{FieldSet, Problem, ProblemDefaults};
use ck_select::vocab::Arch;

use super::super::gpu::check_arch;
use super::super::reasons::Reasons;
use super::notes::{say_misfits, tie};
use super::{Args, LabelledProblem, Query, Ranking, TableRows};
use crate::error::CliError;
use crate::table::Cell;

pub(super) fn run(args: &Args, pool: Pool) -> Result<(), CliError> {
    let op = pool.op();
    let mut defaults = ProblemDefaults::new(op);
    pool.set_defaults(&mut defaults, true, true);
    let query = Query::new(args, &pool, defaults)?;
    let GpuOverride { arch, device } = args.ranker.arch.device_for(query.problem.as_ref(), pool.iter())?;
    let estimate = PoolEstimate::new(Estimator::new(device), Arc::new(pool));
    let left_out: Reasons = estimate.kernels().left_out().map(|(_, reason)| reason).collect();
    left_out.say_left_out(estimate.pool().len());
    let mut header = query.columns();
    header.push("time_us");
    header.extend(term_names(op));
    header.push("tie");
    let ranking = EstimateRanking { query: &query, arch, estimate };
    query.write(&ranking, header, device.hardware)
}

struct EstimateRanking<'a> {
    query: &'a Query<'a>,
    arch: Arch,
    estimate: PoolEstimate,
}

impl EstimateRanking<'_> {
    /// Ranks a problem; the error says why that cannot be done.
    fn rank(&self, problem: &Problem, scratch: &mut EstimateScratch) -> Result<(), String> {
        check_arch(self.arch, problem)?;
        let problem = problem.on(Some(self.arch));
        let checked = self.query.checked(&problem).map_err(|error| format!("problem: {error}"))?;
        self.estimate.rank(checked, scratch).map_err(|error| error.to_string())
    }
}

impl Ranking for EstimateRanking<'_> {
    type Memory = EstimateScratch;

    fn say_of(&self, problem: &Problem) -> Result<(), CliError> {
        let mut scratch = EstimateScratch::default();
        self.rank(problem, &mut scratch).map_err(CliError::Failed)?;
        let ranked = scratch.ranking().iter().map(|one| one.index);
        let left_out = self.estimate.kernels().left_out().map(|(index, _)| index);
        say_misfits(self.estimate.pool(), &problem.on(Some(self.arch)), ranked.chain(left_out));
        Ok(())
    }

    fn rows(
        &self,
        problems: &[LabelledProblem],
        scratch: &mut EstimateScratch,
    ) -> Result<TableRows, CliError> {
        let mut rows = Vec::new();
        for (label, problem) in problems {
            if let Err(reason) = self.rank(problem, scratch) {
                rows.extend(self.query.notes.skip(label.as_deref(), reason)?);
                continue;
            }
            self.query.notes.count(FieldSet::NONE);
            let ranking = scratch.ranking();
            for (place, one) in ranking.iter().enumerate().take(self.query.top) {
                let name = self.estimate.pool().get(one.index).map_or("", |kernel| &kernel.name);
                let mut row = self.query.cells(label.as_deref(), place, name, one.split_k);
                row.push(one.score.into());
                let terms = self.estimate.terms(&problem.with_split(one.split_k), one.index);
                row.extend(terms.iter().flat_map(|terms| &terms.named).map(|&(_, term)| Cell::from(term)));
                row.push(tie(ranking, place));
                rows.push(row);
            }
        }
        Ok(rows)
    }
}
