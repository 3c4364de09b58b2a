//! Rankings of all kernels and predictions, for callers who ask for more than a selection.

use std::collections::HashSet;
use std::sync::Arc;

use super::call::{Call, with_scratch};
use super::entry::{Entry, Registered};
use super::index::KernelIndex;
use super::selection::{SelectError, Source};
use super::shared::Registry;
use super::source::{estimate, model};
use super::state::State;
use crate::directory::Predictions;
use crate::problem::{FieldSet, Problem};
use crate::ranking::{LeftOut, Outlook, RankScratch, Ranker};
use crate::sureness::Sure;
use crate::ties::Ranked;

/// The kernels that match a problem, ranked by a model or by the estimate.
#[derive(Debug, Clone)]
pub struct Ranking<'r> {
    /// [`Source::Model`] or [`Source::Estimate`].
    pub source: Source,
    /// Best first.
    pub places: Vec<RankedKernel<'r>>,
    /// Number of kernels that match the problem but that the source cannot describe.
    pub left_out: usize,
    /// The fields that are outside the model's training range.
    pub outside: FieldSet,
    /// How sure the first place is; `None` if nothing was learned about such choices.
    pub sure: Option<Sure>,
}

/// One place of a [`Ranking`].
#[derive(Debug, Clone)]
pub struct RankedKernel<'r> {
    /// The kernel's index in the registry at the time of the call.
    pub index: usize,
    /// The kernel.
    pub entry: Registered<'r>,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice.
    pub split_k: i32,
    /// The model's score, or the estimate's time in microseconds.
    pub score: f64,
    /// The expected time in microseconds, by how much it is slower than the first place's, and the expected loss of
    /// choosing it; `None` where that is not known.
    pub time_us: Option<f64>,
    /// See `time_us`.
    pub slower: Option<f64>,
    /// See `time_us`.
    pub loss: Option<f64>,
    /// Whether the previous or next kernel has the same score, so that the source does not distinguish them.
    pub tied: bool,
    /// The parts of the kernel's pipeline and suffixes that no kernel measured for the model had, such as `compv5`.
    pub unmeasured: String,
}

impl Registry {
    /// Ranks all matching kernels by the model that serves the problem; without one, by the estimate, unless
    /// the options turn it off. `supports` is not called.
    pub fn rank(&self, problem: &Problem) -> Result<Ranking<'_>, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        state.note(problem);
        let call = Call::new(self, &state, problem, false);
        match with_scratch(&self.scratches, |scratch| self.rank_by_model(call, scratch)) {
            Err(SelectError::NoModel { .. }) => {
                self.rank_by_estimate(call).ok_or_else(|| no_model(&state, &problem))
            }
            ranked => ranked,
        }
    }

    /// The order of the model that serves the problem.
    fn rank_by_model<'r>(
        &'r self,
        call: Call<'r, '_>,
        scratch: &mut RankScratch,
    ) -> Result<Ranking<'r>, SelectError> {
        let mut ranked = model::rank_or_why(call, usize::MAX, scratch)?;
        let outside = ranked.ranking.outside();
        let outlook = ranked.ranking.outlook();
        let mut places: Vec<RankedKernel<'_>> = Vec::with_capacity(ranked.ranking.places().len());
        while let Some((choice, entry, listed)) = ranked.next_fitting(call)? {
            let tied = places.last().is_some_and(|before| before.score == listed.score);
            if let (true, Some(before)) = (tied, places.last_mut()) {
                before.tied = true;
            }
            let unmeasured = ranked.ranker.unmeasured(listed.index).to_owned();
            let (index, entry) = (choice.kernel.get(), self.registered(entry));
            let figure = |read: fn(&Outlook, f64) -> Option<f64>| read(outlook.as_ref()?, listed.score);
            places.push(RankedKernel {
                index,
                entry,
                split_k: listed.split_k,
                score: listed.score,
                time_us: figure(Outlook::time_us),
                slower: figure(Outlook::slower),
                loss: figure(Outlook::loss),
                tied,
                unmeasured,
            });
        }
        let is_eligible = |left_out: &&LeftOut| {
            let entry = ranked.model.kernel(left_out.index).and_then(|index| call.state.entry(index));
            entry.is_some_and(|entry| call.is_eligible(entry))
        };
        let unknown = |entry: &&Arc<Entry>| !entry.is_ranked() && call.is_eligible(entry);
        let left_out = ranked.ranker.left_out().iter().filter(is_eligible).count()
            + call.state.kernels().entries().iter().filter(unknown).count();
        let sure = outlook.and_then(|outlook| outlook.sure);
        Ok(Ranking { source: Source::Model, places, left_out, outside, sure })
    }

    /// The order of the estimate, if it has one for the problem.
    fn rank_by_estimate<'r>(&'r self, call: Call<'r, '_>) -> Option<Ranking<'r>> {
        let (ranked, sure) = estimate::scored(call)?;
        let first = ranked.first()?.score;
        let tied = |at: usize| {
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            beside.filter_map(|other| ranked.get(other)).any(|other| other.score == ranked[at].score)
        };
        let place = |(at, one): (usize, &Ranked)| {
            let entry = self.registered(call.state.entry(KernelIndex::new(one.index))?);
            let Ranked { index, split_k, score } = *one;
            Some(RankedKernel {
                index,
                entry,
                split_k,
                score,
                time_us: Some(score),
                slower: Some(score / first),
                loss: sure.map(|sure| sure.loss(score / first)),
                tied: tied(at),
                unmeasured: String::new(),
            })
        };
        let places: Vec<RankedKernel<'_>> = ranked.iter().enumerate().filter_map(place).collect();
        let known: HashSet<usize> = places.iter().map(|ranked| ranked.index).collect();
        let eligible = call.state.kernels().entries().iter().filter(|entry| call.is_eligible(entry)).count();
        let left_out = eligible - known.len();
        Some(Ranking { source: Source::Estimate, places, left_out, outside: call.problem.unknown(), sure })
    }

    /// Every target's prediction for the kernel at an index, which must compute the problem.
    pub fn predict(&self, problem: &Problem, index: usize) -> Result<Predictions, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let (ranker, at) = self.ranker_with(&state, &problem, index)?;
        if let Some(entry) = state.entry(KernelIndex::new(index))
            && !entry.is_eligible(&problem, state.options().arch)
        {
            return Err(SelectError::Mismatch { kernel: entry.name().to_owned() });
        }
        Ok(ranker.predict(problem, at)?)
    }

    /// The feature row of the kernel at an index.
    pub fn features(&self, problem: &Problem, index: usize) -> Result<Vec<f64>, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let (ranker, at) = self.ranker_with(&state, &problem, index)?;
        Ok(ranker.features(problem, at)?)
    }

    /// The ranker for a problem, and the index of a kernel in its pool.
    fn ranker_with<'s>(
        &self,
        state: &'s State,
        problem: &Problem,
        index: usize,
    ) -> Result<(&'s Ranker, usize), SelectError> {
        let no_model = || no_model(state, problem);
        let chosen = state.model_for(problem, state.options().arch).ok_or_else(no_model)?;
        let model = self.prepared(state).model(chosen).ok_or_else(no_model)?;
        let not_rankable = || SelectError::NotRankable { kernels: state.kernels().len(), index };
        model.ranker.as_deref().ok().zip(model.pool_index(KernelIndex::new(index))).ok_or_else(not_rankable)
    }
}

/// Why no model fits, which the select path leaves out.
fn no_model(state: &State, problem: &Problem) -> SelectError {
    SelectError::NoModel { why: model::none_fits(state, problem) }
}
