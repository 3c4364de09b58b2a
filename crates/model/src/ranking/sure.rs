//! How sure the first place of a ranking is.

use std::sync::Arc;

use super::order::Query;
use super::segment::CompiledModel;
use super::{Ranked, Ranker, Ranking};
use crate::estimate::{Estimator, Shape};
use crate::problem::Problem;
use crate::sureness::{LogTime, Signs, Sure, Sureness};
use crate::vocab::Arch;

/// The basis on which a ranking is judged.
#[derive(Debug, Clone, Copy, Default)]
struct Basis<'r> {
    /// The sureness learned from choices such as the ranking's.
    sureness: Option<&'r Arc<Sureness>>,
    /// The unit of the scores. Those of models that winners of tables taught have none: nobody knows the times of the
    /// losers.
    log_time: Option<LogTime>,
}

impl<'r> Ranking<'r, '_> {
    /// How sure the choice with some signs is; `None` if nothing was learned about such choices of this model.
    pub fn sure_by(&self, signs: &Signs) -> Option<Sure> {
        Some(self.sureness()?.judge(signs))
    }

    /// How sure the last place is that the iterator gave, or the first one before it gave any: that of a caller who
    /// takes the first kernel that suits. `None` if nothing was learned about such choices of this model.
    pub fn sure(&self) -> Option<Sure> {
        let basis = self.basis();
        // Signs cost thousands of instructions, for nothing where there is no judge.
        let sureness = basis.sureness?;
        Some(sureness.judge(&self.signs_by(basis.log_time)?))
    }

    /// The signs of how sure the choice of [`Ranking::sure`] is, among the places from there on. `None` if nothing is
    /// ranked, or if the model's scores have no unit.
    pub fn signs(&self) -> Option<Signs> {
        self.signs_by(self.log_time())
    }

    fn signs_by(&self, log_time: Option<LogTime>) -> Option<Signs> {
        let passed = self.next.saturating_sub(1);
        let places = self.places().get(passed..)?;
        self.signs_of(log_time?, self.ranker.ranked().saturating_sub(passed), places.iter())
    }

    /// The signs of how sure the first of some places is, among so many kernels.
    pub fn signs_among<'p>(&self, kernels: usize, places: impl Iterator<Item = &'p Ranked>) -> Option<Signs> {
        self.signs_of(self.log_time()?, kernels, places)
    }

    fn signs_of<'p>(
        &self,
        log_time: LogTime,
        kernels: usize,
        mut places: impl Iterator<Item = &'p Ranked>,
    ) -> Option<Signs> {
        let first = places.next()?;
        let signs = Signs::new(kernels, places.map(|one| log_time.behind(first.score, one.score)));
        Some(self.with_estimate(&signs, first).unwrap_or(signs))
    }

    /// Signs with what the estimate says of the first place, if it knows GPU and kernel.
    fn with_estimate(&self, signs: &Signs, first: &Ranked) -> Option<Signs> {
        let Query { problem, arch } = self.query;
        let (estimator, shape) = self.ranker.estimated(&problem, arch, first.index)?;
        Some(signs.with_estimate(estimator, &estimator.load(&problem.with_split(first.split_k)), &shape))
    }

    /// The sureness learned from choices such as this one.
    pub(super) fn sureness(&self) -> Option<&'r Arc<Sureness>> {
        self.basis().sureness
    }

    /// The unit of the scores.
    pub(super) fn log_time(&self) -> Option<LogTime> {
        self.basis().log_time
    }

    /// The architecture of the GPU that is ranked for, as far as anything names it.
    pub(super) fn arch(&self) -> Option<Arch> {
        let Query { problem, arch } = self.query;
        let named = match &self.ranker.first_segment().compiled {
            CompiledModel::Universal(universal) => universal.arch_for(&problem, arch),
            CompiledModel::Trained { .. } => problem.arch().or(arch),
        };
        named.or(self.ranker.model.key().arch)
    }

    /// The basis on which the ranking is judged. A universal model, on a GPU that it has not seen, chooses about as
    /// well as the estimate.
    fn basis(&self) -> Basis<'r> {
        let (ranker, problem, arch) = (self.ranker, &self.query.problem, self.arch());
        let model = &ranker.model;
        let own = model.sureness(problem, arch);
        let is_universal = model.is_universal();
        match &ranker.first_segment().compiled {
            CompiledModel::Universal(universal) if is_universal || model.was_judged() => {
                let prior = universal.prior_on(problem, self.query.arch);
                let sureness = match prior {
                    Some(prior) if is_universal && !universal.has_seen(prior) => {
                        Sureness::for_estimate(problem, arch)
                    }
                    Some(_) => own,
                    None => own.filter(|_| !is_universal),
                };
                Basis { sureness, log_time: prior.map(|prior| LogTime::PerUnit(prior.recip())) }
            }
            _ => Basis { sureness: own, log_time: model.log_time() },
        }
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
    ) -> Option<(&Estimator, Shape)> {
        let (segment, at) = self.segment_of(index)?;
        if let CompiledModel::Universal(universal) = &segment.compiled {
            return universal.shape(problem, arch, at);
        }
        let kernels = segment.estimated(problem, arch)?;
        Some((kernels.estimator(), *kernels.shape(at.get())?))
    }

    /// The number of kernels that are ranked.
    fn ranked(&self) -> usize {
        self.segments.iter().map(|segment| segment.ranked.len()).sum()
    }
}
