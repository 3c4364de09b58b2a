//! How sure the first place of a ranking is.

use std::sync::Arc;

use super::order::Query;
use super::segment::CompiledModel;
use super::{Ranked, Ranker, Ranking};
use crate::estimate::{Estimator, Shape};
use crate::problem::Problem;
use crate::sureness::{LogTime, Signs, Sure, Sureness};
use crate::vocab::Arch;

impl Ranking<'_, '_> {
    /// How sure the choice with some signs is; `None` if nothing was learned about choices of this model.
    pub fn sure_by(&self, signs: &Signs) -> Option<Sure> {
        Some(self.sureness()?.judge(signs))
    }

    /// How sure the last place is that the iterator gave, or the first one before it gave any: that of a caller who
    /// takes the first kernel that suits. `None` if nothing was learned about choices of this model.
    pub fn sure(&self) -> Option<Sure> {
        // Signs cost thousands of instructions, for nothing where there is no judge.
        let sureness = self.sureness()?;
        Some(sureness.judge(&self.signs()?))
    }

    /// What tells how sure the choice of [`Ranking::sure`] is, among the places from there on. `None` if nothing is
    /// ranked, or if the model's scores have no unit.
    pub fn signs(&self) -> Option<Signs> {
        let passed = self.next.saturating_sub(1);
        let places = self.places().get(passed..)?;
        self.signs_among(self.ranker.ranked().saturating_sub(passed), places.iter())
    }

    /// What tells how sure the first of some places is, among so many kernels.
    pub fn signs_among<'p>(
        &self,
        kernels: usize,
        mut places: impl Iterator<Item = &'p Ranked>,
    ) -> Option<Signs> {
        let first = places.next()?;
        let log_time = self.log_time()?;
        let signs = Signs::new(kernels, places.map(|one| log_time.behind(first.score, one.score)));
        Some(self.with_estimate(&signs, first).unwrap_or(signs))
    }

    /// Signs with what the estimate says of the first place, if it knows GPU and kernel.
    fn with_estimate(&self, signs: &Signs, first: &Ranked) -> Option<Signs> {
        let Query { problem, arch } = self.query;
        let (estimator, shape) = self.ranker.estimated(&problem, arch, first.index)?;
        Some(signs.with_estimate(estimator, &estimator.load(&problem.with_split(first.split_k)), shape))
    }

    /// What was learned about choices such as this one. A universal model, on a GPU that it has not seen,
    /// chooses about as well as the estimate.
    pub(super) fn sureness(&self) -> Option<&Arc<Sureness>> {
        let model = &self.ranker.model;
        match &self.ranker.first_segment().compiled {
            CompiledModel::Universal(universal) if model.is_universal() => {
                let seen = universal.has_seen(&self.query.problem, self.query.arch)?;
                if seen { model.sureness() } else { Sureness::for_estimate(model.key().op) }
            }
            _ => model.sureness(),
        }
    }

    /// The logarithm of time by which a place is behind the first; where nothing says what a score is in time,
    /// the difference of the scores.
    pub fn behind(&self, place: &Ranked) -> f64 {
        let first = self.places().first().map_or(place.score, |first| first.score);
        self.log_time().unwrap_or(LogTime::PerUnit(1.0)).behind(first, place.score)
    }

    /// The unit of the scores. Those of models that winners of tables taught have none: nobody knows the times of
    /// the losers.
    pub(super) fn log_time(&self) -> Option<LogTime> {
        let model = &self.ranker.model;
        match &self.ranker.first_segment().compiled {
            CompiledModel::Universal(universal) if model.is_universal() || model.sureness().is_some() => {
                let prior = universal.prior_on(&self.query.problem, self.query.arch)?;
                return Some(LogTime::PerUnit(prior.recip()));
            }
            _ => {}
        }
        model.spec().rank_by.log_time().or_else(|| model.sureness()?.log_time().map(LogTime::PerUnit))
    }
}

impl Ranker {
    /// The number of first places by which [`Ranking::sure`] judges.
    pub const LOOKED_AT: usize = 4;

    /// A kernel as the estimate sees it on a problem's GPU; `None` if the estimate does not know one of them.
    pub(super) fn estimated(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        index: usize,
    ) -> Option<(&Estimator, &Shape)> {
        let (segment, at) = self.segment_of(index)?;
        let kernels = segment.estimated(problem, arch)?;
        Some((kernels.estimator(), kernels.shape(at.get())?))
    }

    /// The number of kernels that are ranked.
    fn ranked(&self) -> usize {
        self.segments.iter().map(|segment| segment.ranked.len()).sum()
    }
}
