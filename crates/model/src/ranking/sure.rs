//! How sure the first place of a ranking is.

use std::sync::Arc;

use super::order::Query;
use super::segment::Form;
use super::{Ranked, Ranker, Ranking};
use crate::directory::Target;
use crate::sureness::{LogTime, Signs, Sure, Sureness};

impl Ranking<'_, '_> {
    /// How sure the choice with some signs is; `None` if nothing was learned about choices of this model.
    pub fn sure_by(&self, signs: &Signs) -> Option<Sure> {
        Some(self.sureness()?.judge(signs))
    }

    /// How sure the first place is; `None` if nothing was learned about choices of this model.
    pub fn sure(&self) -> Option<Sure> {
        self.sure_by(&self.signs()?)
    }

    /// What tells how sure the first place is. `None` if nothing is ranked, or if the model's scores have no
    /// unit.
    pub fn signs(&self) -> Option<Signs> {
        self.signs_among(self.ranker.ranked(), self.places().iter())
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
        let (segment, place) = self.ranker.segment_of(first.index)?;
        let estimated = segment.estimated(&problem, arch)?;
        let load = estimated.estimator().load(&problem.with_split(first.split_k));
        Some(signs.with_estimate(estimated.estimator(), &load, estimated.shape(place.get())?))
    }

    /// What was learned about choices such as this one. A universal model, on a GPU that it has not seen,
    /// chooses about as well as the estimate.
    fn sureness(&self) -> Option<&Arc<Sureness>> {
        let model = &self.ranker.model;
        match &self.ranker.first_segment().form {
            Form::Universal(universal) if model.is_universal() => {
                let seen = universal.has_seen(&self.query.problem, self.query.arch)?;
                if seen { model.sureness() } else { Sureness::of_estimate(model.key().op) }
            }
            _ => model.sureness(),
        }
    }

    fn log_time(&self) -> Option<LogTime> {
        let spec = self.ranker.model.spec();
        if let Form::Universal(universal) = &self.ranker.first_segment().form {
            let prior = universal.prior_on(&self.query.problem, self.query.arch)?;
            return Some(LogTime::PerUnit(prior.recip()));
        }
        match spec.rank_by {
            Target::Relative => self.ranker.model.sureness()?.log_time().map(LogTime::PerUnit),
            Target::Latency => Some(LogTime::OfTime),
            Target::Tflops | Target::Bandwidth => Some(LogTime::OfSpeed),
        }
    }
}

impl Ranker {
    /// The number of first places by which [`Ranking::sure`] judges.
    pub const LOOKED_AT: usize = 4;

    /// The number of kernels that are ranked.
    fn ranked(&self) -> usize {
        self.segments.iter().map(|segment| segment.ranked.len()).sum()
    }
}
