//! A universal model and a pool: each device in use is prepared once.

use std::sync::Arc;

use super::RankError;
use super::gpu::PerGpu;
use crate::estimate::{Device, Estimator, GpuOverride, UniversalPool};
use crate::features::{Extractor, KernelTerms, Schema, SideError};
use crate::forest::{Forest, Transform};
use crate::kernel::{Kernel, KernelKind};
use crate::model::{Model, TrainedOn};
use crate::problem::Problem;
use crate::scoring::{
    CallValues, Column, MixedPool, PoolFeatures, PoolScorer, PoolTable, RowMajor, RowScorer, Rows, Scratch,
};
use crate::vocab::{Arch, Epilogue, GemmLibrary};

/// What a [`super::Ranker`] has for a universal model.
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
    /// For pools that are too large for a [`PoolScorer`] of few lanes: their classes have nearly nothing in
    /// common.
    rows: Arc<RowScorer>,
    /// Columns, with the features that may follow.
    extractor: Extractor,
    /// The ranked kernels, by index, and the inputs of the features that follow for each.
    kernels: Arc<[Arc<Kernel>]>,
    /// Those of the first segment, whose libraries are those of all.
    first: Arc<[Arc<Kernel>]>,
    sides: Vec<KernelTerms>,
    devices: PerGpu<Result<OnDevice, RankError>>,
}

/// A model on a GPU.
#[derive(Debug)]
pub(super) struct OnDevice {
    columns: Columns,
    /// The weight of the estimate there.
    prior: f64,
    /// For few kernels.
    scorer: Option<PoolScorer>,
}

/// The columns of some kernels on a GPU.
#[derive(Debug)]
struct Columns {
    pool: UniversalPool,
    own: Option<OwnFeatures>,
    /// What [`PoolTable`] has.
    scopes: Vec<Column>,
    classes: Vec<u32>,
    /// The values of each column of kernels alone, by class.
    class_values: Vec<Vec<f64>>,
    /// The place of each column among those of its scope.
    places: Vec<usize>,
    /// The kernels of each class.
    members: Vec<Vec<u32>>,
}

/// The features that follow. Each kernel is then a class of its own.
#[derive(Debug)]
struct OwnFeatures {
    extractor: Extractor,
    features: PoolFeatures,
    /// The class of the features that each kernel is of.
    class_of: Vec<u32>,
}

/// The values of a problem.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Of the features that follow.
    own: CallValues,
    /// The pair values of both, with a value for each class.
    pair: Vec<f64>,
    /// By kernel: the logarithm of its estimated microseconds, NaN if it does not count.
    pub(super) log_times: Vec<f64>,
    /// The same by class; for a shortlist, the microseconds themselves.
    of_classes: Vec<f64>,
    /// Scores by class; NaN for those that are not among the best.
    scores: Vec<f64>,
    /// Of a shortlist: estimated microseconds by class, classes that are scored together, and scores.
    candidates: Vec<(f64, u32)>,
    listed: Vec<u32>,
    listed_logs: Vec<f64>,
    scored: Vec<(f64, u32)>,
    sums: Vec<f64>,
    best: Vec<f64>,
    bounds: Vec<f64>,
}

impl Columns {
    fn new<'k>(
        estimator: Estimator,
        extractor: &Extractor,
        kernels: impl Iterator<Item = &'k KernelKind> + Clone,
        sides: &[KernelTerms],
    ) -> Result<Self, SideError> {
        let columns = extractor.schema.universal_columns().unwrap_or_default();
        let own = extractor.of_own_features(&estimator.device().hardware);
        let own = own.map(|own| match PoolFeatures::new(&own, sides) {
            Ok(features) => Ok((features, own)),
            Err(MixedPool { kernel }) => {
                let found = kernels.clone().nth(kernel).map_or(own.schema.op(), KernelKind::op);
                Err(SideError::Op { model: own.schema.op(), what: "kernel", found })
            }
        });
        let own = own.transpose()?;
        let none = PoolTable { columns: &[], classes: &[], kernel_values: &[] };
        let table = own.as_ref().map_or(none, |(features, _)| features.table());
        let is_alone = own.is_some();
        let pool = UniversalPool::new(estimator, kernels, |kernel| if is_alone { kernel as u32 } else { 0 });
        let scopes: Vec<Column> =
            columns.iter().map(|column| column.scope).chain(table.columns.iter().copied()).collect();
        let classes: Vec<u32> = pool.classes().collect();
        let members = pool.members();
        let of_classes = pool.of_classes(columns);
        let columns = of_classes.chunks_exact(pool.distinct().max(1));
        let width = table.kernel_values.len() / classes.len().max(1);
        let of_class = |members: &Vec<u32>, place: usize| {
            let kernel = members.first().map_or(0, |&kernel| kernel as usize);
            table.kernel_values[kernel * width + place]
        };
        let own_column = |place| members.iter().map(|members| of_class(members, place)).collect();
        let class_values = columns.map(<[f64]>::to_vec).chain((0..width).map(own_column)).collect();
        let places = Column::places(&scopes);
        let class_of = table.classes.to_vec();
        let own = own.map(|(features, extractor)| OwnFeatures { extractor, features, class_of });
        Ok(Self { pool, own, scopes, classes, class_values, places, members })
    }

    /// Fills in what depends on the problem, for the kernels that `counts` accepts.
    fn fill(
        &self,
        schema: &Schema,
        problem: &Problem,
        counts: impl Fn(usize) -> bool,
        values: &mut Values,
    ) -> Result<(), SideError> {
        let Values { own, pair, log_times, of_classes, .. } = values;
        let columns = schema.universal_columns().unwrap_or_default();
        self.pool.fill(columns, problem, counts, pair, (log_times, of_classes));
        let Some(OwnFeatures { extractor, features, class_of }) = &self.own else {
            own.uniform.clear();
            return Ok(());
        };
        features.fill(&extractor.problem_side(problem)?, own);
        for column in own.pair.chunks_exact(features.classes().max(1)) {
            pair.extend((0..self.members.len()).map(|class| column[class_of[self.first(class)] as usize]));
        }
        Ok(())
    }

    /// A forest for these kernels, compiled when it is first needed.
    fn compile(&self, forest: &Arc<Forest>) -> Result<PoolScorer, RankError> {
        let Self { scopes, classes, class_values, .. } = self;
        let row = |&class: &u32| class_values.iter().map(move |column| column[class as usize]);
        let kernel_values: Vec<f64> = classes.iter().flat_map(row).collect();
        let table = PoolTable { columns: scopes, classes, kernel_values: &kernel_values };
        Ok(PoolScorer::deferred(forest, &table)?)
    }

    /// The first kernel of a class.
    fn first(&self, class: usize) -> usize {
        self.members[class].first().map_or(0, |&kernel| kernel as usize)
    }

    /// All columns of a kernel.
    fn row(&self, kernel: usize, values: &Values) -> Vec<f64> {
        let class = self.classes.get(kernel).copied().unwrap_or_default();
        let rows = Listed { columns: self, classes: None, values };
        let mut row = vec![f64::NAN; self.scopes.len()];
        for (feature, value) in row.iter_mut().enumerate() {
            rows.column(feature, class as usize, std::slice::from_mut(value));
        }
        row
    }
}

/// The rows of some classes, or of all.
struct Listed<'a> {
    columns: &'a Columns,
    classes: Option<&'a [u32]>,
    values: &'a Values,
}

impl Rows for Listed<'_> {
    fn len(&self) -> usize {
        self.classes.map_or(self.columns.pool.distinct(), <[u32]>::len)
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        let Columns { scopes, places, class_values, .. } = self.columns;
        let place = places[feature];
        match scopes[feature] {
            Column::Uniform => values.fill(self.values.own.uniform[place]),
            Column::Pair => {
                values.copy_from_slice(&self.values.pair[place * self.len() + first..][..values.len()]);
            }
            Column::Kernel => match self.classes {
                Some(classes) => {
                    for (value, &class) in values.iter_mut().zip(&classes[first..]) {
                        *value = class_values[place][class as usize];
                    }
                }
                None => values.copy_from_slice(&class_values[place][first..][..values.len()]),
            },
        }
    }
}

impl OnDevice {
    /// All columns of a kernel, and what the estimate adds to its score.
    pub(super) fn row(&self, kernel: usize, values: &Values) -> (Vec<f64>, f64) {
        let time = values.log_times.get(kernel).copied().unwrap_or(f64::NAN);
        (self.columns.row(kernel, values), universal_score(0.0, self.prior, time))
    }
}

/// Most classes of kernels that a [`PoolScorer`] scores.
const FEW: usize = 32;

/// Most places that a shortlist finds.
const MOST_PLACES: usize = FEW;

/// The kernels of a pool from which on a shortlist is worth it.
const SHORTLIST_FROM: usize = 2 * FEW;

/// How many are scored together, the best by the estimate first: as many rows as cost little more than one.
const TOGETHER: usize = 64;

/// By how much a time may be above the limit of those that need a score: more than rounding moves either.
const SLACK: f64 = 1e-9;

/// How much faster than estimated a forest can make a kernel, so that those with far longer estimates need no
/// score. It changes the choice for 2 of 159 shapes with 546 kernels.
const MOST: f64 = 1.5;

/// The most that the forest of a universal model adds to a score, unless it was adapted to a GPU.
pub fn most_of_forest(prior: f64) -> f64 {
    prior * MOST.ln()
}

impl Universal {
    /// `sides` are those of the kernels, if features follow the model's columns.
    pub(super) fn new(
        model: &Model,
        described: Option<GpuOverride>,
        kernels: &Arc<[Arc<Kernel>]>,
        sides: Vec<KernelTerms>,
    ) -> Result<Self, RankError> {
        let prior = model.spec().prior.unwrap_or_default();
        let forest = model.ranking_forest().map(Arc::clone).ok_or(RankError::NoForest)?;
        Ok(Self {
            prior,
            trained_on: model.spec().trained_on.clone(),
            // What was adapted to a GPU knows more than the estimate.
            most: if model.is_universal() { most_of_forest(prior) } else { f64::INFINITY },
            is_sum: model.spec().log_targets.is_empty()
                && forest.objective().transform() == Transform::Identity
                && !forest.averaged(),
            rows: Arc::new(RowScorer::new(Arc::clone(&forest))),
            forest,
            extractor: model.extractor().clone(),
            devices: PerGpu::new(model, described, kernels.iter().map(|kernel| kernel.kind.arch())),
            kernels: Arc::clone(kernels),
            first: Arc::clone(kernels),
            sides,
        })
    }

    /// The same for few other kernels, of the same libraries.
    pub(super) fn beside(&self, kernels: &Arc<[Arc<Kernel>]>, sides: Vec<KernelTerms>) -> Self {
        Self {
            trained_on: self.trained_on.clone(),
            rows: Arc::clone(&self.rows),
            forest: Arc::clone(&self.forest),
            extractor: self.extractor.clone(),
            devices: self.devices.emptied(),
            kernels: Arc::clone(kernels),
            first: Arc::clone(&self.first),
            sides,
            ..*self
        }
    }

    /// Whether one of its kernels is of this one's library.
    pub(super) fn has_library_of(&self, kernel: &KernelKind) -> bool {
        self.kernels.iter().any(|own| library(&own.kind) == library(kernel))
    }

    /// Fills in the columns of the kernels that count for a problem.
    pub(super) fn fill(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        counts: impl Fn(usize) -> bool,
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
                values.scores[class as usize] = sum;
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

    /// Scores the kernels that can be among the `count` best, if these are better than `floor`, and gives
    /// those to `push`, each with its score: others cannot, even if the forest adds the most that it can.
    /// `false` if all kernels have to be scored.
    pub(super) fn shortlist(
        &self,
        (problem, arch): (&Problem, Option<Arch>),
        counts: impl Fn(usize) -> bool,
        (count, floor): (usize, f64),
        finish: impl Fn(f64) -> f64,
        values: &mut Values,
        mut push: impl FnMut(usize, f64),
    ) -> Result<bool, RankError> {
        let device = self.on(problem, arch)?;
        let Columns { pool, members, classes, .. } = &device.columns;
        let is_worth_it = (1..=MOST_PLACES).contains(&count) && pool.distinct() >= SHORTLIST_FROM;
        if !is_worth_it || self.most == f64::INFINITY || device.prior <= 0.0 {
            return Ok(false);
        }
        pool.times(problem, &mut values.of_classes);
        values.log_times.resize(classes.len(), f64::NAN);
        let mut candidates = std::mem::take(&mut values.candidates);
        candidates.clear();
        candidates.extend(values.of_classes.iter().copied().zip(0..).filter(|(time, _)| !time.is_nan()));
        values.scored.clear();
        values.best.clear();
        let (mut last, mut size) = (floor, TOGETHER);
        loop {
            // None of those that take longer is better than `last`.
            let limit = ((self.most - last) / device.prior).exp() * (1.0 + SLACK);
            candidates.retain(|&(time, _)| time <= limit);
            let rest = candidates.len().saturating_sub(size);
            if candidates.is_empty() {
                break;
            }
            if rest > 0 {
                candidates.select_nth_unstable_by(rest, |a, b| b.0.total_cmp(&a.0));
            }
            let has_member =
                |class: &u32| members[*class as usize].iter().any(|&kernel| counts(kernel as usize));
            values.listed.clear();
            values.listed.extend(candidates.drain(rest..).map(|one| one.1).filter(has_member));
            // Of those that compute the problem there can be few.
            if values.listed.is_empty() {
                size *= 2;
                continue;
            }
            size = TOGETHER;
            self.score_listed((device, problem), (count, last), &finish, values);
            last = last.max(last_of(count, &mut values.best));
        }
        values.candidates = candidates;
        for &(score, class) in values.scored.iter().filter(|(score, _)| *score >= last) {
            let own = members[class as usize].iter().map(|&kernel| kernel as usize);
            own.filter(|&kernel| counts(kernel)).for_each(|kernel| push(kernel, score));
        }
        Ok(true)
    }

    /// Scores those of the listed classes, of which the times are known, that can be among the `count` best
    /// and no worse than `last`.
    fn score_listed(
        &self,
        (device, problem): (&OnDevice, &Problem),
        (count, last): (usize, f64),
        finish: impl Fn(f64) -> f64,
        values: &mut Values,
    ) {
        let Columns { pool, members, .. } = &device.columns;
        let columns = self.extractor.schema.universal_columns().unwrap_or_default();
        pool.fill_some(columns, problem, &values.listed, &mut values.pair);
        let (mut sums, mut bounds) = (std::mem::take(&mut values.sums), std::mem::take(&mut values.bounds));
        let mut logs = std::mem::take(&mut values.listed_logs);
        logs.clear();
        logs.extend(values.listed.iter().map(|&class| values.of_classes[class as usize].ln()));
        sums.resize(values.listed.len(), 0.0);
        let rows = Listed { columns: &device.columns, classes: Some(&values.listed), values };
        let pick = |about: &[f64], error: f64| {
            if !self.is_sum {
                return u64::MAX;
            }
            // The least that each one's score can be, and the best so far.
            bounds.clone_from(&values.best);
            bounds.extend(about.iter().zip(&logs).map(|(sum, &log)| self.score(device, sum - error, log)));
            let last = last.max(last_of(count, &mut bounds));
            let can = |(at, (sum, &log))| u64::from(self.score(device, sum + error, log) >= last) << at;
            (0..).zip(about.iter().zip(&logs)).map(can).fold(0, |all, one| all | one)
        };
        self.rows.score_some(&rows, pick, &mut sums);
        for ((&class, &sum), &log_time) in values.listed.iter().zip(&sums).zip(&logs) {
            members[class as usize].iter().for_each(|&kernel| values.log_times[kernel as usize] = log_time);
            if !sum.is_nan() {
                let score = self.score(device, finish(sum), log_time);
                values.scored.push((score, class));
                values.best.push(score);
            }
        }
        (values.sums, values.bounds, values.listed_logs) = (sums, bounds, logs);
    }

    /// The score of a kernel.
    fn score(&self, device: &OnDevice, raw: f64, log_time: f64) -> f64 {
        let raw = if raw > self.most { self.most } else { raw };
        universal_score(raw, device.prior, log_time)
    }

    /// The scores that were found, by kernel; NaN for those that do not count, or were left out.
    pub(super) fn scores<'v>(device: &'v OnDevice, values: &'v Values) -> impl Iterator<Item = f64> + 'v {
        let of_kernel = |(&class, time): (&u32, &f64)| {
            if time.is_nan() {
                f64::NAN
            } else {
                values.scores.get(class as usize).copied().unwrap_or(f64::NAN)
            }
        };
        device.columns.classes.iter().zip(&values.log_times).map(of_kernel)
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
        let columns = Columns::new(estimator, &self.extractor, kernels(), &self.sides)
            .map_err(RankError::ProblemTerms)?;
        // A forest is not compiled again for kernels that were added.
        let few = (1..=FEW).contains(&columns.pool.distinct()) && Arc::ptr_eq(&self.kernels, &self.first);
        let scorer = few.then(|| columns.compile(&self.forest)).transpose()?;
        Ok(OnDevice { columns, prior, scorer })
    }
}

/// What tells the library of a GEMM.
const fn library(kernel: &KernelKind) -> Option<(GemmLibrary, bool)> {
    match kernel {
        KernelKind::Gemm(gemm) => Some((gemm.variant.library, matches!(gemm.epilogue, Epilogue::Default))),
        _ => None,
    }
}

/// The least of the `count` best scores, which alone are kept; minus infinity if there are fewer.
fn last_of(count: usize, scores: &mut Vec<f64>) -> f64 {
    let Some(place) = count.checked_sub(1).filter(|&place| place < scores.len()) else {
        return f64::NEG_INFINITY;
    };
    scores.select_nth_unstable_by(place, |a, b| b.total_cmp(a));
    scores.truncate(count);
    scores[place]
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
) -> Result<(Vec<f64>, Vec<f64>), SideError> {
    let own = extractor.of_own_features(&estimator.device().hardware);
    let sides = own.iter().flat_map(|own| kernels.clone().map(|kernel| own.kernel_side(kernel)));
    let sides: Vec<KernelTerms> = sides.collect::<Result<_, _>>()?;
    let columns = Columns::new(estimator, extractor, kernels, &sides)?;
    let mut values = Values::default();
    columns.fill(&extractor.schema, problem, |_| true, &mut values)?;
    let rows = (0..values.log_times.len()).flat_map(|kernel| columns.row(kernel, &values)).collect();
    Ok((rows, values.log_times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::texts;
    use crate::model::Target;
    use crate::pool::Pool;
    use crate::problem::{ConvProblem, GemmProblem};
    use crate::select::{RankScratch, Ranker};
    use crate::vocab::Dtype;
    use ck_select_testing::{Numbers as _, Random};

    fn named(names: impl IntoIterator<Item = String>) -> Arc<Pool> {
        let kernels = names.into_iter().map(|name| Kernel::from_name(&name).unwrap());
        Arc::new(Pool::new(kernels.collect()).unwrap())
    }

    /// The model that ships.
    fn shipped(pool: Arc<Pool>) -> Ranker {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/universal");
        Ranker::new(Arc::new(Model::load(folder).unwrap()), pool).unwrap()
    }

    /// The first places of a large pool are those of all, to the bit, and the rest follows when it is asked
    /// for: with equal kernels, kernels of other types that would be faster, on a GPU that was seen and on
    /// others, for one number of parts and for several.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn a_shortlist_begins_as_the_whole_ranking() {
        let tiles = [16, 32, 64, 128, 256];
        let shapes = tiles.iter().flat_map(|m| tiles.iter().flat_map(move |n| [32, 64].map(|k| (m, n, k))));
        let kinds = ["fp16", "bf16", "fp8"].iter().flat_map(|dtype| {
            ["compv3_default", "compv4_default", "compv4_cshuffle"].map(|pipeline| (dtype, pipeline))
        });
        let names = shapes.flat_map(|(m, n, k)| {
            kinds.clone().map(move |(dtype, pipeline)| {
                format!(
                    "gemm_universal_{dtype}_rcr_{pipeline}_intrawave_False_False_False_False_{m}x{n}x{k}\
                     _2x2x1_16x16x16"
                )
            })
        });
        let ranker = shipped(named(names));
        let (mut part, mut whole) = (RankScratch::default(), RankScratch::default());
        let bits = |one: &crate::ties::Ranked| (one.index, one.split_k, one.score.to_bits());
        for (m, n, k) in [(1, 4096, 4096), (300, 5000, 700), (4096, 4096, 4096), (64, 64, 65536)] {
            let one: Problem = GemmProblem::new(m, n, k).of(Dtype::Fp16).into();
            for (problem, arch) in [(one, "sm_90"), (one, "gfx942"), (one.leaving_split(), "sm_90")] {
                let arch = Some(arch.parse().unwrap());
                let checked = || problem.checked().unwrap();
                ranker.ranking(checked(), arch, usize::MAX, &mut whole).unwrap();
                let all: Vec<_> = whole.ranking().iter().map(bits).collect();
                for count in [1, 4, 32] {
                    let ranking = ranker.ranking(checked(), arch, count, &mut part).unwrap();
                    assert_eq!(ranking.scratch.ranking().len(), count);
                    let found: Vec<_> = ranking.map(|one| bits(&one)).collect();
                    assert_eq!(found, all, "{problem} {count}");
                }
            }
        }
    }

    /// A forest that asks for the columns of `features`, of leaves that are often equal.
    fn random_forest(random: &mut Random, features: &[&str]) -> String {
        let tree = |_| {
            let leaves = 2 + random.below(12);
            let mut each = |count: usize, one: &mut dyn FnMut(&mut Random, usize) -> String| {
                (0..count).map(|at| one(random, at)).collect::<Vec<_>>().join(" ")
            };
            let nodes = leaves - 1;
            let asked = each(nodes, &mut |random, _| random.below(features.len()).to_string());
            let thresholds = ["0.3", "0.9", "1.5", "3", "20", "40", "100"];
            let thresholds = each(nodes, &mut |random, _| random.pick(&thresholds).to_owned());
            let types = each(nodes, &mut |_, _| "2".to_owned());
            let left = each(nodes, &mut |_, node| format!("-{}", node + 1));
            // A chain, whose last node has a leaf on either side.
            let next = |node: usize| if node < nodes { node.to_string() } else { format!("-{leaves}") };
            let right = each(nodes, &mut |_, node| next(node + 1));
            let values = each(leaves, &mut |random, _| ((random.below(9) as f64 - 4.0) / 16.0).to_string());
            format!(
                "num_leaves={leaves}\nnum_cat=0\nsplit_feature={asked}\nthreshold={thresholds}\n\
                 decision_type={types}\nleft_child={left}\nright_child={right}\nleaf_value={values}\n"
            )
        };
        texts::forest(features, (0..40).map(tree))
    }

    /// The choice equals that of scoring all kernels, to the bit, whatever the forest and the pool.
    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn random_forests_choose_among_random_pools_as_if_all_were_scored() {
        let features = [
            "est_over_least", "est_rounds", "est_waits_share", "est_tile_m", "est_tile_n", "est_filled",
            "est_steps", "est_cache_share",
        ];
        let spec = format!(
            r#"{{"op_type":"grouped_conv","feature_names":{features:?},"ck_select":{{"prior":10,"rank_by":"relative"}}}}"#
        );
        let tiles = [16, 32, 48, 64, 96, 128, 192, 256];
        for seed in 0..12 {
            let random = &mut Random(seed);
            let forest = random_forest(random, &features);
            let model = Model::from_bytes("any", spec.as_bytes(), &[(Target::Relative, forest.as_bytes())]);
            let mut names = std::collections::BTreeSet::new();
            while names.len() < 100 + 40 * seed as usize {
                let (m, n, k) = (random.pick(&tiles), random.pick(&tiles), random.pick(&[16, 32, 64]));
                let pipeline = random.pick(&["compv3_default", "compv4_default", "compv4_cshuffle"]);
                let waves = random.pick(&["1x1x1", "2x2x1", "4x1x1"]);
                names.insert(format!(
                    "gemm_universal_fp16_rcr_{pipeline}_intrawave_False_False_False_False_{m}x{n}x{k}_{waves}_16x16x16"
                ));
            }
            let ranker = Ranker::new(Arc::new(model.unwrap()), named(names)).unwrap();
            let (mut part, mut whole) = (RankScratch::default(), RankScratch::default());
            for _ in 0..8 {
                let [m, n, k] = [0; 3].map(|_| 16 << random.below(9));
                let problem: Problem = GemmProblem::new(m, n, k).of(Dtype::Fp16).into();
                let arch = Some("gfx942".parse().unwrap());
                let bits = |one: &crate::ties::Ranked| (one.index, one.score.to_bits());
                ranker.ranking(problem.checked().unwrap(), arch, usize::MAX, &mut whole).unwrap();
                for count in [1, 3, 20] {
                    ranker.ranking(problem.checked().unwrap(), arch, count, &mut part).unwrap();
                    assert!(part.is_shortlist);
                    let [found, all] = [&part, &whole]
                        .map(|one| one.ranking()[..count].iter().map(bits).collect::<Vec<_>>());
                    assert_eq!(found, all, "forest {seed}, {problem}, {count}");
                }
            }
        }
    }

    /// Few kernels that the GPU cannot compute were refused for the number of their columns.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn kernels_without_an_estimate_are_named() {
        let name =
            "gemm_universal_fp8_rcr_compv4_default_intrawave_False_False_False_False_16x32x32_1x2x1_16x16x16";
        let ranker = shipped(named([name.to_owned()]));
        let problem: Problem = GemmProblem::new(64, 64, 64).into();
        let (arch, mut scratch) = (Some("sm_80".parse().unwrap()), RankScratch::default());
        let error = ranker.ranking(problem.checked().unwrap(), arch, 4, &mut scratch).err().unwrap();
        assert!(error.to_string().ends_with("does not: it has no estimate there"), "{error}");
    }

    /// A score is the forest's, as far as it counts, less the prior, to the bit, on rows as training has them. On
    /// a GPU of which no measurement was trained on, the estimate counts twice.
    #[test]
    fn scores_are_the_forests_and_what_was_learned_elsewhere_counts_less() {
        let spec = r#"{"op_type":"grouped_conv","feature_names":["est_over_least","est_rounds","C","tile_mn"],
            "ck_select":{"prior":10,"rank_by":"relative","trained_on":{"archs":["gfx950"]}}}"#;
        // Asks for a column of each kind.
        let tree = "num_leaves=4\nnum_cat=0\nsplit_feature=2 3 0\nthreshold=100 5000 1.5\ndecision_type=2 2 2\n\
                    left_child=-1 -2 -3\nright_child=1 2 -4\nleaf_value=0.5 1.5 2.5 3.5\n";
        let forest = texts::forest(&["est_over_least", "est_rounds", "C", "tile_mn"], [tree.to_owned()]);
        let load = |spec: &str| {
            let forest = (Target::Relative, forest.as_bytes());
            Arc::new(Model::from_bytes("mine", spec.as_bytes(), &[forest]).unwrap())
        };
        let (model, adapted) = (load(spec), load(&spec.replacen('{', r#"{"arch":"gfx950","#, 1)));
        let tails = ["16x64x64_compv3", "128x128x64_compv3", "64x64x64_compv4", "128x64x64_compv4"];
        let pool = named(tails.map(|tail| format!("grouped_conv_forward_bf16_2d_{tail}")));
        let mut scratch = RankScratch::default();
        for (arch, prior, c) in [("gfx950", 10.0, 64), ("gfx950", 10.0, 320), ("gfx942", 20.0, 256)] {
            let arch: Arch = arch.parse().unwrap();
            let problem: Problem =
                ConvProblem { n: 16, c, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
            let checked = || problem.checked().unwrap();
            let device = Device::for_arch(arch).unwrap();
            let kinds = pool.iter().map(|kernel| &kernel.kind);
            let (rows, times) =
                universal_rows(model.extractor(), Estimator::new(device), &problem, kinds).unwrap();
            let placed = Arc::new(Model::clone(&model).on_device(device, Some(arch)));
            let adapted = (prior == 10.0).then_some((&adapted, None));
            for (model, asked) in [(&model, Some(arch)), (&placed, None)].into_iter().chain(adapted) {
                let ranker = Ranker::new(Arc::clone(model), Arc::clone(&pool)).unwrap();
                ranker.ranking(checked(), asked, usize::MAX, &mut scratch).unwrap();
                assert_eq!(scratch.ranking().len(), pool.len());
                for ranked in scratch.ranking() {
                    let row = &rows[4 * ranked.index..][..4];
                    assert!(asked.is_some() || row == ranker.features(checked(), ranked.index).unwrap());
                    assert_eq!(row[2], c as f64);
                    let raw = model.ranking_forest().unwrap().predict(row).unwrap();
                    let expected = universal_score(raw.min(most_of_forest(10.0)), prior, times[ranked.index]);
                    assert_eq!(ranked.score.to_bits(), expected.to_bits(), "{arch} {c}");
                }
            }
        }
        // A described GPU whose architecture nobody named was not seen either, nor was a library that is not
        // its own.
        let prior_on = |json: &str, arch: Option<&str>, name: &str| {
            let trained_on: TrainedOn = serde_json::from_str(json).unwrap();
            let arch: Option<Arch> = arch.map(|arch| arch.parse().unwrap());
            let device = Device::for_arch(arch.unwrap_or("gfx950".parse().unwrap())).unwrap();
            let kernel = Kernel::from_name(name).unwrap();
            prior_on(10.0, Some(&trained_on), arch, &Estimator::new(device), [&kernel.kind].into_iter())
        };
        let body = "fp16_rcr_compv4_default_intrawave_False_False_False_False_64x64x64_4x1x1_16x16x16";
        let (triton, other) = (format!("triton_gemm_{body}"), format!("gemm_universal_{body}"));
        let seen = r#"{"archs": ["gfx950", "sm_90"]}"#;
        assert_eq!([None, Some("gfx950")].map(|arch| prior_on(seen, arch, &other)), [20.0, 10.0]);
        assert_eq!(prior_on("{}", None, &other), 10.0);
        assert_eq!([Some("sm_90"), Some("gfx950")].map(|arch| prior_on(seen, arch, &triton)), [20.0; 2]);
        assert_eq!(prior_on(seen, Some("sm_90"), &other), 20.0);
        let seen = r#"{"archs": ["sm_90"], "suffixes": ["default"]}"#;
        assert_eq!(prior_on(seen, Some("sm_90"), &other), 10.0);
    }
}
