//! A universal model and a pool: each device that is asked for is prepared once.

use std::sync::{Arc, OnceLock};

use super::RankError;
use crate::estimate::{Device, DeviceError, Estimator, UniversalColumn, UniversalPool};
use crate::features::Schema;
use crate::forest::Forest;
use crate::kernel::KernelKind;
use crate::model::Model;
use crate::pool::Pool;
use crate::problem::Problem;
use crate::scoring::{CallValues, Column, PoolError, PoolScorer, PoolTable};
use crate::vocab::Arch;

/// What a [`super::Ranker`] of a universal model has.
#[derive(Debug)]
pub(super) struct Universal {
    columns: Vec<&'static UniversalColumn>,
    /// How much the estimate counts.
    prior: f64,
    /// The kernels that are ranked, by their places.
    kernels: Vec<KernelKind>,
    /// The GPU that the model was put on.
    given: Option<UniversalPool>,
    /// One for each device with a profile.
    profiles: [OnceLock<UniversalPool>; Device::PROFILES.len()],
    /// The architecture where a problem names none and the caller none: the model's, else the one that all kernels name.
    arch: Option<Arch>,
}

impl Universal {
    /// `None` for a model that is not universal.
    pub(super) fn new(model: &Model, pool: &Pool, places: &[usize]) -> Option<Self> {
        let columns = model.extractor().schema.universal_columns()?.to_vec();
        let ranked = || places.iter().filter_map(|&index| pool.get(index));
        let kernels: Vec<KernelKind> = ranked().map(|kernel| kernel.kind.clone()).collect();
        let given = model.device().map(|device| UniversalPool::new(Estimator::new(*device), kernels.iter()));
        let mut named = ranked().map(|kernel| kernel.kind.arch());
        let first = named.next().flatten();
        let common = first.filter(|_| named.all(|arch| arch == first));
        Some(Self {
            columns,
            prior: model.spec().prior.unwrap_or_default(),
            kernels,
            given,
            profiles: [const { OnceLock::new() }; Device::PROFILES.len()],
            arch: model.spec().arch.or(common),
        })
    }

    /// The forest's scorer, deferred like others'. Nothing but the estimate tells kernels apart, so that each is a
    /// class of its own.
    pub(super) fn scorer(&self, forest: &Arc<Forest>) -> Result<PoolScorer, PoolError> {
        let columns = vec![Column::Pair; self.columns.len()];
        let classes: Vec<u32> = (0..self.kernels.len() as u32).collect();
        PoolScorer::deferred(forest, &PoolTable { columns: &columns, classes: &classes, kernel_values: &[] })
    }

    /// Fills in the columns of the kernels that count for a problem.
    pub(super) fn fill(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        counts: impl Fn(usize) -> bool,
        values: &mut CallValues,
        log_times: &mut Vec<f64>,
    ) -> Result<(), RankError> {
        let pool = self.on(problem, arch)?;
        values.uniform.clear();
        pool.fill(&self.columns, problem, counts, &mut values.pair, log_times);
        Ok(())
    }

    fn on(&self, problem: &Problem, arch: Option<Arch>) -> Result<&UniversalPool, RankError> {
        if let Some(given) = &self.given {
            return Ok(given);
        }
        let arch = problem.arch().or(arch).or(self.arch).ok_or(RankError::NoArch)?;
        let device = Device::for_arch(arch)?;
        let place = Device::PROFILES.iter().position(|known| *known == arch.as_str());
        let slot = place.and_then(|place| self.profiles.get(place)).ok_or(DeviceError::NoProfile { arch })?;
        Ok(slot.get_or_init(|| UniversalPool::new(Estimator::new(device), self.kernels.iter())))
    }

    /// The score of a kernel, of the forest's and the logarithm of its time.
    pub(super) fn score(&self, raw: f64, log_time: f64) -> f64 {
        universal_score(raw, self.prior, log_time)
    }
}

/// What a universal model makes of its forest's score and of the logarithm of the estimated time over the pool's shortest.
pub fn universal_score(raw: f64, prior: f64, log_time: f64) -> f64 {
    raw - prior * log_time
}

/// Feature rows of one run of measurements for a universal model, row after row, and the logarithms of their times: what
/// training reads. The kernels are the pool.
pub fn universal_rows<'k>(
    schema: &Schema,
    estimator: Estimator,
    problem: &Problem,
    kernels: impl Iterator<Item = &'k KernelKind>,
) -> (Vec<f64>, Vec<f64>) {
    let columns = schema.universal_columns().unwrap_or_default();
    let pool = UniversalPool::new(estimator, kernels);
    let (mut values, mut log_times) = (Vec::new(), Vec::new());
    pool.fill(columns, problem, |_| true, &mut values, &mut log_times);
    let (height, width) = (log_times.len(), columns.len());
    let rows = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
    (rows.map(|(row, column)| values[column * height + row]).collect(), log_times)
}
