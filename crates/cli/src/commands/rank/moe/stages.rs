//! The stages of a mixture of experts, ranked apart: tables of engines and of AITER have a kernel of each.

use ck_select::moe::MoeProblem;
use ck_select::problem::Problem;
use ck_select::ranking::{RankError, RankScratch, Ranker};
use ck_select::vocab::{Arch, MoeStage};

use super::super::is_about_the_problem;
use crate::error::CliError;

/// The time of each stage in that of both, apart from the kernels: gate and up weights are twice the down
/// weights.
pub(super) const SHARES: [f64; 2] = [2.0, 1.0];

/// Ranks kernels for one stage.
pub(super) struct StageRanker<'a> {
    pub(super) ranker: &'a Ranker,
    pub(super) arch: Option<Arch>,
}

impl StageRanker<'_> {
    /// The time of each kernel for a problem of one stage, in units of the best one's; infinite of kernels that
    /// cannot run. The inner error says why the problem has no ranking.
    pub(super) fn times(
        &self,
        problem: &MoeProblem,
        scratch: &mut RankScratch,
    ) -> Result<Result<Vec<f64>, RankError>, CliError> {
        let mut times = vec![f64::INFINITY; self.ranker.pool().len()];
        let problem = Problem::Moe(*problem);
        let ranking = match self.ranker.ranking(problem.checked()?, self.arch, usize::MAX, scratch) {
            Err(error) if is_about_the_problem(&error) => return Ok(Err(error)),
            ranked => ranked?,
        };
        let (Some(outlook), Some(first)) = (ranking.outlook(), ranking.places().first()) else {
            return Ok(Ok(times));
        };
        for one in ranking.places() {
            let slower = if outlook.has_unit() {
                outlook.slower(one.score)
            } else {
                // The odds that the first kernel is faster are all that winners of tables teach.
                Some((first.score - one.score).exp()).filter(|odds| !odds.is_nan())
            };
            times[one.index] = slower.unwrap_or(f64::INFINITY);
        }
        Ok(Ok(times))
    }
}

/// The problem of both stages of which a problem is one.
pub(super) fn both_stages(problem: &Problem) -> Option<MoeProblem> {
    let Problem::Moe(problem) = *problem else { return None };
    let MoeProblem { stage, n, k, .. } = problem;
    let [n, k] = if stage == MoeStage::Two { [2 * k, n] } else { [n, k] };
    Some(MoeProblem { stage: MoeStage::Both, n, k, ..problem })
}
