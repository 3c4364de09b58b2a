//! What to expect of a ranking's kernels: times, and losses.
//!
//! The order is the model's alone, and nothing here changes it. The first kernel's time is its score, if that is a
//! speed or a time, or else what the estimate says, corrected by what the folds of the training measured (a forest
//! of speeds beside the one that ranks was no better: `docs/decisions.md`). Every other kernel is as much slower as
//! the scores say. So no kernel is expected to be faster than one before it.

use std::sync::Arc;

use super::{Query, Ranked, Ranker, Ranking};
use crate::estimate::Terms;
use crate::problem::Problem;
use crate::sureness::{LogTime, Sure, Sureness, TimeFit};

/// The expected times and losses of the kernels of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// How sure the first kernel is; `None` if nothing was learned about such choices of this model.
    pub sure: Option<Sure>,
    /// The standard deviation of the logarithm of measured over expected times; `None` if no judged choice had a
    /// measured time.
    pub log_spread: Option<f64>,
    /// The first kernel's score, and its expected time in microseconds.
    first: f64,
    first_us: Option<f64>,
    log_time: Option<LogTime>,
}

impl Outlook {
    /// The outlook of a ranking whose first kernel has this score. `learned` judges the choice, and `estimated_us`
    /// gives the first kernel's microseconds by the estimate, if it knows them.
    pub(crate) fn new(
        problem: &Problem,
        first: f64,
        log_time: Option<LogTime>,
        (sure, learned): (Option<Sure>, Option<&Sureness>),
        estimated_us: impl FnOnce() -> Option<f64>,
    ) -> Self {
        let own = log_time.and_then(|unit| unit.time_us(first, problem.flops()));
        let fit = learned.and_then(Sureness::times);
        let fit = match own {
            Some(_) => fit,
            None => fit.or_else(|| Sureness::times_of_estimate(problem.op())),
        };
        let first_us = own.or_else(estimated_us).map(|time| match fit {
            Some(TimeFit { log_bias, .. }) => time * log_bias.exp(),
            None => time,
        });
        let log_spread = fit.map(|fit| fit.log_spread).filter(|_| first_us.is_some());
        Self { sure, log_spread, first, first_us, log_time }
    }

    /// The time of a kernel with this score over that of the first: 1 for an equal one. `None` if the model's scores
    /// have no unit, or the kernel has no score.
    pub fn slower(&self, score: f64) -> Option<f64> {
        if score == self.first {
            return Some(1.0);
        }
        let behind = self.log_time?.behind(self.first, score);
        if behind.is_nan() { None } else { Some(behind.exp()) }
    }

    /// Whether scores say by how much kernels are slower than the first. Those of models that winners of tables
    /// taught do not: nobody knows the times of the losers.
    pub const fn has_unit(&self) -> bool {
        self.log_time.is_some()
    }

    /// The expected time of a kernel with this score in microseconds.
    pub fn time_us(&self, score: f64) -> Option<f64> {
        Some(self.first_us? * self.slower(score)?)
    }

    /// The expected loss of choosing a kernel with this score, as a share of the best one's speed.
    pub fn loss(&self, score: f64) -> Option<f64> {
        Some(self.sure?.loss(self.slower(score)?))
    }
}

impl Ranking<'_, '_> {
    /// The expected times and losses of the kernels; `None` if there are none. Sureness looks at the first
    /// [`LOOKED_AT`](super::Ranker::LOOKED_AT) places.
    pub fn outlook(&self) -> Option<Outlook> {
        let first = self.places().first()?;
        let learned = self.sureness().map(Arc::as_ref);
        let estimated_us = || self.estimated_us(first);
        let problem = &self.query.problem;
        Some(Outlook::new(problem, first.score, self.log_time(), (self.sure(), learned), estimated_us))
    }

    /// The microseconds of a place by the estimate; `None` if the estimate does not know GPU or kernel.
    pub fn estimated_us(&self, ranked: &Ranked) -> Option<f64> {
        let Query { problem, arch } = self.query;
        let (estimator, shape) = self.ranker.estimated(&problem, arch, ranked.index)?;
        let load = estimator.load(&problem.with_split(ranked.split_k));
        Some(estimator.time(&load, &shape)).filter(|time| time.is_finite())
    }
}

impl Ranker {
    /// The terms of the estimate for a kernel and a problem with its number of parts; `None` if the estimate does
    /// not know GPU or kernel.
    pub fn terms(&self, problem: &Problem, index: usize) -> Option<Terms> {
        let (estimator, shape) = self.estimated(problem, None, index)?;
        Some(estimator.terms(&estimator.load(problem), &shape))
    }
}
