//! Many kernels on a device, and those of a pool, ranked by the estimate.

use std::sync::Arc;

use super::{Device, Estimator, Load, Shape, ShapeError, Terms};
use crate::kernel::{KernelKind, Limits, closest};
use crate::pool::Pool;
use crate::problem::{Checked, Definite, Problem};
use crate::ties::{Ranked, Ties};

/// Kernels prepared for a device: what depends on a kernel alone is computed once.
#[derive(Debug)]
pub struct EstimatedKernels {
    estimator: Estimator,
    /// The shape of each kernel, or why the device cannot compute it.
    shapes: Vec<Result<Shape, ShapeError>>,
}

impl EstimatedKernels {
    /// Prepares kernels.
    pub fn new<'k>(device: Device, kernels: impl Iterator<Item = &'k KernelKind>) -> Self {
        let estimator = Estimator::new(device);
        Self { estimator, shapes: kernels.map(|kernel| estimator.shape(kernel)).collect() }
    }

    /// Prepares other kernels for the device, each with its index here if it was prepared before.
    pub fn changed_to<'k>(&self, kernels: impl Iterator<Item = (&'k KernelKind, Option<usize>)>) -> Self {
        let shape = |(kernel, known): (_, Option<usize>)| match known.and_then(|at| self.shapes.get(at)) {
            Some(shape) => *shape,
            None => self.estimator.shape(kernel),
        };
        Self { estimator: self.estimator, shapes: kernels.map(shape).collect() }
    }

    /// The estimator.
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The kernels that have an estimate, each with its index.
    pub fn shapes(&self) -> impl Iterator<Item = (usize, &Shape)> {
        self.shapes.iter().enumerate().filter_map(|(index, shape)| Some((index, shape.as_ref().ok()?)))
    }

    /// The kernels that the device cannot compute, each with its index and the reason.
    pub fn left_out(&self) -> impl Iterator<Item = (usize, &ShapeError)> {
        self.shapes.iter().enumerate().filter_map(|(index, shape)| Some((index, shape.as_ref().err()?)))
    }

    /// One of them.
    pub fn shape(&self, index: usize) -> Option<&Shape> {
        self.shapes.get(index)?.as_ref().ok()
    }

    /// The time of a kernel in microseconds; infinite without an estimate.
    pub fn time(&self, load: &Load, index: usize) -> f64 {
        self.shape(index).map_or(f64::INFINITY, |shape| self.estimator.time(load, shape))
    }
}

/// A pool prepared for a device: what depends on a kernel alone is computed once.
#[derive(Debug)]
pub struct PoolEstimate {
    kernels: EstimatedKernels,
    pool: Arc<Pool>,
    /// Each kernel's limits on extents and splits.
    limits: Vec<Limits>,
    ties: Ties,
}

/// Working memory for one call at a time; calls after the first do not allocate.
#[derive(Debug, Default)]
pub struct EstimateScratch {
    ranking: Vec<Ranked>,
    /// The problem in each number of parts.
    loads: Vec<(Definite, Load)>,
}

impl EstimateScratch {
    /// The ranking of the last call, fastest first; scores are microseconds.
    pub fn ranking(&self) -> &[Ranked] {
        &self.ranking
    }

    /// The problem of the last call in so many parts, if these were admitted.
    pub fn load(&self, split_k: i32) -> Option<&Load> {
        self.loads.iter().find(|(definite, _)| definite.split_k() == split_k).map(|(_, load)| load)
    }

    /// Ranks kernels for a problem, each in every number of parts that may be chosen for it and that it
    /// `takes`, in the order of [`Ties`]: nothing but the time has a score here. The smaller of two numbers
    /// goes first.
    pub fn rank<'s>(
        &mut self,
        estimator: &Estimator,
        problem: Checked<'_>,
        kernels: impl Iterator<Item = (usize, &'s KernelKind, &'s Shape)>,
        takes: impl Fn(usize, &Problem) -> bool,
        ties: &Ties,
    ) {
        let Self { ranking, loads } = self;
        let load = estimator.load(&problem);
        loads.clear();
        loads.extend(problem.each_split().map(|definite| (definite, load.in_parts(definite.split_k()))));
        // A number that the problem gives is part of what fits it.
        let is_open = problem.chooses_split();
        ranking.clear();
        for (index, kernel, shape) in kernels {
            let timed = |(definite, load): &(Definite, Load)| {
                let score = estimator.time(load, shape);
                Ranked { index, split_k: definite.split_k(), score }
            };
            let admitted = loads.iter().filter(|(definite, _)| {
                kernel.admits(problem, definite.split_k()) && (!is_open || takes(index, definite))
            });
            ranking.extend(admitted.map(timed));
        }
        ranking.sort_unstable_by(|one, other| {
            ties.order((one.index, one.score), (other.index, other.score))
                .then_with(|| one.split_k.cmp(&other.split_k))
        });
    }
}

/// No kernel of a pool computes the problem and has an estimate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the estimate can rank none of the {kernels} kernels for the problem{}",
    .why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
)]
pub struct EstimateError {
    /// Kernels in the pool.
    pub kernels: usize,
    /// Why the kernel that is closest to the problem has no time.
    pub why: Option<String>,
}

impl PoolEstimate {
    /// Prepares a pool.
    pub fn new(estimator: Estimator, pool: Arc<Pool>) -> Self {
        let kernels = EstimatedKernels::new(*estimator.device(), pool.iter().map(|kernel| &kernel.kind));
        let ties = Ties::new(0..pool.len(), |_| true, |_| 0);
        let limits = pool.iter().map(|kernel| kernel.kind.limits()).collect();
        Self { kernels, pool, limits, ties }
    }

    /// The pool.
    pub const fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The pool's kernels.
    pub const fn kernels(&self) -> &EstimatedKernels {
        &self.kernels
    }

    /// All kernels that compute the problem, in the numbers of parts that may be chosen, fastest first; equal
    /// ones keep the pool's order.
    pub fn rank(&self, problem: Checked<'_>, scratch: &mut EstimateScratch) -> Result<(), EstimateError> {
        let pair = |index: usize| self.pool.get(index).zip(self.limits.get(index));
        let kernels = self.kernels.shapes().filter_map(|(index, shape)| {
            let (kernel, limits) = pair(index)?;
            let computes = kernel.matches_within(limits, &problem, None) && kernel.runs_on(problem.arch());
            computes.then_some((index, &kernel.kind, shape))
        });
        let takes = |index: usize, definite: &Problem| {
            pair(index).is_some_and(|(kernel, limits)| !kernel.kind.is_refused(limits, definite, None))
        };
        scratch.rank(self.kernels.estimator(), problem, kernels, takes, &self.ties);
        if scratch.ranking.is_empty() {
            return Err(EstimateError { kernels: self.pool.len(), why: self.why_not(&problem) });
        }
        Ok(())
    }

    /// Why the kernel that is closest to the problem has no time for it.
    fn why_not(&self, problem: &Problem) -> Option<String> {
        let closest = closest(self.pool.iter(), problem)?;
        let index = self.pool.iter().position(|kernel| std::ptr::eq(kernel, closest))?;
        Some(format!("the closest, '{}': {}", closest.name, self.reason(problem, index)?))
    }

    /// Why a kernel that is not ranked for a problem is not.
    pub(crate) fn reason(&self, problem: &Problem, index: usize) -> Option<String> {
        let without = self.kernels.shapes.get(index)?.as_ref().err();
        let reason = without.map(ToString::to_string).or_else(|| self.pool.get(index)?.misfit(problem));
        Some(reason.unwrap_or_else(|| "it does not run on the problem's architecture".to_owned()))
    }

    /// The terms of a kernel's time, for a problem with its number of parts; `None` if it has no estimate.
    pub fn terms(&self, problem: &Problem, index: usize) -> Option<Terms> {
        let (estimator, shape) = (self.kernels.estimator(), self.kernels.shape(index)?);
        Some(estimator.terms(&estimator.load(problem), shape))
    }
}
