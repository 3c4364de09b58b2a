//! `ckselect rank --format aiter`: the best kernel of each problem as a tuned table of AITER's. Of several
//! tables AITER keeps the row with the least time, so with `inf`, any measured one replaces these.

use ck_select::problem::Problem;
use ck_select::ranking::{RankScratch, Ranker};
use ck_select_enumerate::rules::{AiterRules, Rules};

use super::super::gpu::{expect_units, reason};
use super::super::pools;
use super::super::tuned_table::TunedTable;
use super::{Args, Query, hardware, is_about_the_problem};
use crate::error::CliError;
use crate::output::Output;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let Some(family) = pools::family(&args.ranker.pool) else {
        if super::moe::fmoe::run(args)? {
            return Ok(());
        }
        refuse!("--format aiter: --pool has to be the family whose table it is, or has kernels of moe");
    };
    if Rules::op_of_family(family) != AiterRules::OP {
        refuse!("--format aiter: {family} has Triton's kernels, expected names of CK's two-stage kernels");
    }
    let (ranker, defaults) = super::ranker(args)?;
    let model = ranker.model();
    let arch = args.ranker.arch_of_pool(Some(model))?.ok_or_else(|| pools::without_arch(family))?;
    let kernels = pools::of_family(family, arch)?;
    let is_of_any = model.device().is_some() || model.spec().prior.is_some();
    if is_of_any {
        expect_units("--format aiter", arch, args.ranker.arch.units()?)?;
    }
    let hardware = hardware(&ranker);
    let query = Query::new(args, ranker.pool(), defaults)?;
    let create = || {
        let output = Output::create(args.output.as_deref())?;
        TunedTable::new(family, &kernels, (arch, hardware.num_cus), output)
    };
    let table = query.each(hardware, create, |table, label, problem| {
        match add_best(table, &ranker, &query, problem)? {
            Some(reason) => query.notes.skip(label, reason).map(drop),
            None => Ok(()),
        }
    })?;
    table.finish()
}

/// Adds the best kernel of a problem that a table can name, in the best of the splits if the problem leaves
/// it open; returns why if there is none.
fn add_best(
    table: &mut TunedTable<'_>,
    ranker: &Ranker,
    query: &Query<'_>,
    problem: &Problem,
) -> Result<Option<String>, CliError> {
    let mut scratch = RankScratch::default();
    let problem_and_splits = problem.checked()?.among(query.args.splits.list());
    let ranking = match ranker.ranking(problem_and_splits, None, usize::MAX, &mut scratch) {
        Err(error) if is_about_the_problem(&error) => return Ok(Some(reason(&error))),
        ranked => ranked?,
    };
    let Some(best) = ranking.places().iter().find(|one| table.names(ranker.name(one.index))) else {
        return Ok(Some("no kernel that a table can name".to_owned()));
    };
    let refused = table.push(&problem.with_split(best.split_k), ranker.name(best.index), f64::INFINITY)?;
    if refused.is_none() {
        query.notes.count(ranking.outside());
    }
    Ok(refused)
}
