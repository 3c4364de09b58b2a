//! Rankings and predictions of the model that serves a problem, for callers who ask for more than a
//! selection.

use super::call::Call;
use super::entry::Registered;
use super::index::KernelIndex;
use super::selection::SelectError;
use super::shared::Registry;
use super::source::model;
use super::state::State;
use crate::model::Predictions;
use crate::problem::{FieldSet, Problem};
use crate::select::{LeftOut, RankScratch, Ranker};

/// The kernels that match a problem, ranked by a model.
#[derive(Debug, Clone)]
pub struct Ranking<'r> {
    /// Best first.
    pub places: Vec<Place<'r>>,
    /// Number of kernels that match the problem but that the model cannot describe.
    pub left_out: usize,
    /// The fields that are outside the model's training range.
    pub outside: FieldSet,
}

/// One place of a [`Ranking`].
#[derive(Debug, Clone)]
pub struct Place<'r> {
    /// The kernel's index in the registry at the time of the call.
    pub index: usize,
    /// The kernel.
    pub entry: Registered<'r>,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice.
    pub split_k: i32,
    /// The model's score.
    pub score: f64,
    /// Whether the previous or next kernel has the same score, so that the model does not distinguish them.
    pub tied: bool,
    /// The parts of its pipeline and suffixes that no kernel measured for the model had, such as `compv5`.
    pub unmeasured: String,
}

impl Registry {
    /// Ranks all matching kernels by the model that serves the problem. `supports` is not called.
    pub fn rank(&self, problem: &Problem) -> Result<Ranking<'_>, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        state.note(problem);
        let call = Call::new(self, &state, problem, false);
        let mut scratch = RankScratch::default();
        let mut ranked = model::rank(call, usize::MAX, &mut scratch).map_err(|error| match error {
            SelectError::NoModel { .. } => no_model(&state, &problem),
            error => error,
        })?;
        let outside = ranked.ranking.outside();
        let mut places: Vec<Place<'_>> = Vec::new();
        while let Some((choice, entry, found)) = ranked.next_fitting(call)? {
            let tied = places.last().is_some_and(|before| before.score == found.score);
            if let (true, Some(before)) = (tied, places.last_mut()) {
                before.tied = true;
            }
            let unmeasured = ranked.ranker.unmeasured(found.index).to_owned();
            let (index, entry) = (choice.kernel.get(), self.registered(entry));
            places.push(Place { index, entry, split_k: found.split_k, score: found.score, tied, unmeasured });
        }
        let is_eligible = |left_out: &&LeftOut| {
            let entry = ranked.model.kernel(left_out.index).and_then(|index| state.entry(index));
            entry.is_some_and(|entry| call.is_eligible(entry))
        };
        let left_out = ranked.ranker.left_out().iter().filter(is_eligible).count();
        Ok(Ranking { places, left_out, outside })
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
