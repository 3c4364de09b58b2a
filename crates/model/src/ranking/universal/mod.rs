//! A universal model and a pool: each device in use is prepared once.
//!
//! A forest that was trained on one device's measurements knows nothing about another one, unless what it
//! sees does not name the device. A universal model sees only ratios: columns of the estimate, relative to
//! the least time that the device could take for the problem, and its score is the estimate plus what the
//! forest learned about the estimate's errors:
//!
//! ```text
//! score = forest(columns) - prior * ln(estimated microseconds)
//! ```
//!
//! The estimate carries the order between kernels that are far apart, on every device that has a data sheet.
//! The forest of a model that was not adapted to a GPU moves kernels by at most [`MOST`], which has two uses:
//! a mistake on an unseen device stays small, and kernels whose estimate is farther behind need no score at
//! all (`shortlist`). A model of one GPU moves them by at most the sum of its trees' greatest leaves, which serves
//! the second use. On a device, or for a library, that the forest has seen no measurement of, the weight
//! of the estimate doubles ([`universal_prior`]).
//!
//! Columns are relative to the device's least time and not to the pool's fastest estimate, by which one
//! kernel more in a pool would move the scores of all others.

mod columns;
mod shortlist;

use std::sync::Arc;

use super::RankError;
use super::gpu::PerGpu;
use crate::directory::{Model, TrainedOn};
use crate::estimate::{Device, Estimator, GpuOverride, Place, Shape, library_marks};
use crate::features::{Extractor, KernelTerms, TermsError};
use crate::forest::{Forest, Transform, Tree};
use crate::kernel::{Kernel, KernelKind};
use crate::problem::Problem;
use crate::scoring::{PoolScorer, RowMajor, RowScorer, Scratch};
use crate::vocab::Arch;
pub(super) use columns::Values;
use columns::{Columns, Listed};

/// The part of a [`super::Ranker`] that is for a universal model.
#[derive(Debug)]
pub(super) struct Universal {
    /// The weight of the estimate, and what the forest was trained on.
    prior: f64,
    trained_on: Option<TrainedOn>,
    /// The most that the forest adds to a score.
    most: f64,
    /// Whether that is the sum of its leaf values.
    is_sum: bool,
    forest: Arc<Forest>,
    /// The scorer of pools that are too large for a [`PoolScorer`] of few lanes: their classes have nearly nothing in
    /// common.
    rows: Arc<RowScorer>,
    /// Columns, with the features that may follow.
    extractor: Extractor,
    /// The ranked kernels, by index, and the inputs of the features that follow for each.
    kernels: Arc<[Arc<Kernel>]>,
    /// The kernels of the first segment, whose libraries are those of all.
    first: Arc<[Arc<Kernel>]>,
    terms: Vec<KernelTerms>,
    devices: PerGpu<Result<OnDevice, RankError>>,
}

/// A model on a GPU.
#[derive(Debug)]
pub(super) struct OnDevice {
    columns: Columns,
    /// The weight of the estimate there.
    prior: f64,
    /// The scorer for few kernels.
    scorer: Option<PoolScorer>,
}

impl OnDevice {
    /// All columns of a kernel, and what the estimate adds to its score.
    pub(super) fn row(&self, kernel: Place, values: &Values) -> (Vec<f64>, f64) {
        let time = values.log_times.get(kernel.get()).copied().unwrap_or(f64::NAN);
        (self.columns.row(kernel, values), universal_score(0.0, self.prior, time))
    }
}

/// Most classes of kernels that a [`PoolScorer`] scores.
const FEW: usize = 32;

/// How much faster than estimated a forest can make a kernel, so that those with far longer estimates need no
/// score. It changes the choice for 2 of 159 shapes with 546 kernels.
const MOST: f64 = 1.5;

/// More than the sums of a million trees differ by, relative to the size of their leaves, in any order.
const ROUNDING: f64 = 1e-9;

/// The most that the forest of a universal model adds to a score, unless it was adapted to a GPU.
pub fn most_of_forest(prior: f64) -> f64 {
    prior * MOST.ln()
}

/// More than a forest adds to any score: each tree's greatest leaf, and what rounding can move their sum by.
/// Infinite for a score that is no sum of leaves.
fn greatest_sum(forest: &Forest, is_sum: bool) -> f64 {
    if !is_sum {
        return f64::INFINITY;
    }
    let greatest = |tree: &Tree| tree.leaf_values().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (sum, size) = forest
        .trees()
        .iter()
        .map(greatest)
        .fold((0.0, 0.0), |(sum, size), leaf| (sum + leaf, size + leaf.abs()));
    sum + size * ROUNDING
}

impl Universal {
    /// `terms` are those of the kernels, if features follow the model's columns.
    pub(super) fn new(
        model: &Model,
        described: Option<GpuOverride>,
        kernels: &Arc<[Arc<Kernel>]>,
        terms: Vec<KernelTerms>,
    ) -> Result<Self, RankError> {
        let prior = model.spec().prior.unwrap_or_default();
        let forest = model.ranking_forest().map(Arc::clone).ok_or(RankError::NoForest)?;
        let is_sum = model.spec().log_targets.is_empty()
            && forest.objective().transform() == Transform::Identity
            && !forest.averaged();
        Ok(Self {
            prior,
            trained_on: model.spec().trained_on.clone(),
            // What was adapted to a GPU knows more than the estimate: nothing cuts its sums.
            most: if model.is_universal() { most_of_forest(prior) } else { greatest_sum(&forest, is_sum) },
            is_sum,
            rows: Arc::new(RowScorer::new(Arc::clone(&forest))),
            forest,
            extractor: model.extractor().clone(),
            devices: PerGpu::new(model, described, kernels.iter().map(|kernel| kernel.kind.arch())),
            kernels: Arc::clone(kernels),
            first: Arc::clone(kernels),
            terms,
        })
    }

    /// The model for few other kernels, of the same libraries.
    pub(super) fn beside(&self, kernels: &Arc<[Arc<Kernel>]>, terms: Vec<KernelTerms>) -> Self {
        Self {
            trained_on: self.trained_on.clone(),
            rows: Arc::clone(&self.rows),
            forest: Arc::clone(&self.forest),
            extractor: self.extractor.clone(),
            devices: self.devices.emptied(),
            kernels: Arc::clone(kernels),
            first: Arc::clone(&self.first),
            terms,
            ..*self
        }
    }

    /// Whether one of its kernels is of this one's library.
    pub(super) fn has_library_of(&self, kernel: &KernelKind) -> bool {
        self.kernels.iter().any(|own| library_marks(&own.kind) == library_marks(kernel))
    }

    /// Fills in the columns of the kernels that count for a problem.
    pub(super) fn fill(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        counts: impl Fn(Place) -> bool,
        values: &mut Values,
    ) -> Result<(), RankError> {
        let device = self.on(problem, arch)?;
        device.scorer.iter().for_each(PoolScorer::fetch);
        let schema = &self.extractor.schema;
        device.columns.fill(schema, problem, counts, values).map_err(RankError::ProblemTerms)
    }

    /// Scores all kernels from the values that were filled in; `finish` ends the forest's sum. `false` if
    /// none counts.
    pub(super) fn score_all(
        &self,
        device: &OnDevice,
        finish: impl Fn(f64) -> f64,
        values: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<bool, RankError> {
        if values.of_classes.iter().all(|time| time.is_nan()) {
            return Ok(false);
        }
        let mut sums = std::mem::take(&mut values.sums);
        if let Some(scorer) = &device.scorer {
            sums.resize(device.columns.classes.len(), 0.0);
            scorer.score(&values.own.uniform, &values.pair, scratch, &mut sums)?;
            values.scores.resize(values.of_classes.len(), 0.0);
            for (&class, &sum) in device.columns.classes.iter().zip(&sums) {
                values.scores[class.get()] = sum;
            }
        } else {
            sums.resize(values.of_classes.len(), 0.0);
            let rows = Listed { columns: &device.columns, classes: None, values };
            self.rows.score(&rows, 0..usize::MAX, &mut sums);
            values.scores.clone_from(&sums);
        }
        for (score, &time) in values.scores.iter_mut().zip(&values.of_classes) {
            *score = self.score(device, finish(*score), time);
        }
        values.sums = sums;
        Ok(true)
    }

    /// The score of a kernel.
    fn score(&self, device: &OnDevice, raw: f64, log_time: f64) -> f64 {
        let raw = if raw > self.most { self.most } else { raw };
        universal_score(raw, device.prior, log_time)
    }

    /// The computed score of each kernel; `None` for kernels that do not count or have no estimate.
    pub(super) fn scores<'v>(device: &'v OnDevice, values: &'v Values) -> impl Iterator<Item = Option<f64>> {
        let kernels = device.columns.classes.iter().zip(&values.log_times);
        kernels.map(|(class, time)| values.scores.get(class.get()).copied().filter(|_| !time.is_nan()))
    }

    /// The most that the forest adds to a score.
    pub(super) const fn most(&self) -> f64 {
        self.most
    }

    /// The architecture of the GPU that a problem is ranked for, as far as anything names it.
    pub(super) fn arch_for(&self, problem: &Problem, arch: Option<Arch>) -> Option<Arch> {
        self.devices.arch_for(problem, arch)
    }

    /// The model on a problem's GPU.
    pub(super) fn on(&self, problem: &Problem, arch: Option<Arch>) -> Result<&OnDevice, RankError> {
        self.devices
            .get(problem, arch, |device, arch| self.make(device, arch))?
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The weight of the estimate on a problem's GPU.
    pub(super) fn prior_on(&self, problem: &Problem, arch: Option<Arch>) -> Option<f64> {
        Some(self.on(problem, arch).ok()?.prior)
    }

    /// Whether a weight of the estimate is that of a GPU and a library of which the forest has seen measurements.
    pub(super) fn has_seen(&self, prior: f64) -> bool {
        prior <= self.prior
    }

    /// A kernel as the estimate sees it on a problem's GPU; `None` if it has no estimate.
    pub(super) fn shape(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        kernel: Place,
    ) -> Option<(&Estimator, Shape)> {
        let pool = &self.on(problem, arch).ok()?.columns.pool;
        Some((pool.estimator(), pool.shape(kernel)?))
    }

    /// Prepares the GPUs that another one was used on.
    pub(super) fn prepare_gpus_of(&self, other: &Self) {
        self.devices.make_those_of(&other.devices, |device, arch| self.make(device, arch));
    }

    /// Compiles the forest for the GPUs in use, and for the one of problems that name none.
    pub(super) fn prepare(&self) {
        self.devices.each(
            |device, arch| self.make(device, arch),
            |made| made.iter().filter_map(|made| made.scorer.as_ref()).for_each(PoolScorer::prepare),
        );
        if self.kernels.len() > FEW {
            // More rows than a forest is walked for as it was read.
            let width = self.forest.num_features().max(1);
            let rows = RowMajor { values: &vec![0.0; FEW * width], width };
            self.rows.score(&rows, 0..1, &mut [0.0; FEW]);
        }
    }

    fn make(&self, device: Device, arch: Option<Arch>) -> Result<OnDevice, RankError> {
        let kernels = || self.kernels.iter().map(|kernel| &kernel.kind);
        let estimator = Estimator::new(device);
        let libraries = self.first.iter().map(|kernel| &kernel.kind);
        let prior = prior_on(self.prior, self.trained_on.as_ref(), arch, &estimator, libraries);
        let columns = Columns::new(estimator, &self.extractor, kernels(), &self.terms)
            .map_err(RankError::ProblemTerms)?;
        // A forest is not compiled again for kernels that were added.
        let few = (1..=FEW).contains(&columns.pool.distinct()) && Arc::ptr_eq(&self.kernels, &self.first);
        let scorer = few.then(|| columns.compile(&self.forest)).transpose()?;
        Ok(OnDevice { columns, prior, scorer })
    }
}

fn prior_on<'k>(
    prior: f64,
    trained_on: Option<&TrainedOn>,
    arch: Option<Arch>,
    estimator: &Estimator,
    mut kernels: impl ExactSizeIterator<Item = &'k KernelKind>,
) -> f64 {
    let has_seen = |trained_on: &TrainedOn| {
        let knows = |kernel| !estimator.is_foreign(kernel) || trained_on.has_seen_library(kernel);
        trained_on.has_seen(arch) && (kernels.len() == 0 || kernels.any(knows))
    };
    universal_prior(prior, trained_on.is_none_or(has_seen))
}

/// The weight of the estimate beside a forest whose training had this prior. It doubles on a device of
/// which the forest has seen no measurement, and for kernels of a library of which it has seen none: what it
/// learned elsewhere about the estimate's errors holds there only in part (`docs/results.md`).
pub fn universal_prior(prior: f64, has_seen: bool) -> f64 {
    if has_seen { prior } else { 2.0 * prior }
}

/// A universal model's score, from its forest's score and the logarithm of the estimated microseconds.
pub fn universal_score(raw: f64, prior: f64, log_time: f64) -> f64 {
    raw - prior * log_time
}

/// Feature rows of one run of measurements for training a universal model, row after row, and the logarithms
/// of their times.
pub fn universal_rows<'k>(
    extractor: &Extractor,
    estimator: Estimator,
    problem: &Problem,
    kernels: impl Iterator<Item = &'k KernelKind> + Clone,
) -> Result<(Vec<f64>, Vec<f64>), TermsError> {
    let own = extractor.for_own_features(&estimator.device().hardware);
    let terms = own.iter().flat_map(|own| kernels.clone().map(|kernel| own.kernel_terms(kernel)));
    let terms: Vec<KernelTerms> = terms.collect::<Result<_, _>>()?;
    let columns = Columns::new(estimator, extractor, kernels, &terms)?;
    let mut values = Values::default();
    columns.fill(&extractor.schema, problem, |_| true, &mut values)?;
    let rows =
        (0..values.log_times.len()).flat_map(|kernel| columns.row(Place::new(kernel), &values)).collect();
    Ok((rows, values.log_times))
}

#[cfg(test)]
mod tests;
