//! A universal model and a pool: each device in use is prepared once.

use std::sync::Arc;

use super::RankError;
use super::gpu::PerGpu;
use crate::estimate::{Described, Device, Estimator, UniversalPool};
use crate::features::{Extractor, KernelSide, Schema, SideError};
use crate::forest::Forest;
use crate::kernel::{Kernel, KernelKind};
use crate::model::{Model, TrainedOn};
use crate::pool::Pool;
use crate::problem::Problem;
use crate::scoring::{CallValues, Column, PoolError, PoolScorer, PoolTable};
use crate::vocab::Arch;

/// What a [`super::Ranker`] has for a universal model.
#[derive(Debug)]
pub(super) struct Universal {
    /// The weight of the estimate, and what the forest was trained on.
    prior: f64,
    trained_on: Option<TrainedOn>,
    /// Columns, with the features that may follow.
    extractor: Extractor,
    /// The ranked kernels, by index, and the inputs of the features that follow for each.
    kernels: Vec<Arc<Kernel>>,
    sides: Vec<KernelSide>,
    devices: PerGpu<OnDevice>,
}

/// What columns need of a GPU.
#[derive(Debug)]
struct OnDevice {
    pool: UniversalPool,
    /// The extractor of the features that follow.
    own: Option<Extractor>,
    /// The weight of the estimate there.
    prior: f64,
}

impl OnDevice {
    fn new<'k>(
        estimator: Estimator,
        extractor: &Extractor,
        prior: f64,
        kernels: impl Iterator<Item = &'k KernelKind>,
    ) -> Self {
        let own = extractor.of_own_features(&estimator.device().hardware);
        Self { pool: UniversalPool::new(estimator, kernels), own, prior }
    }

    /// Fills in all columns of the kernels that `counts`, as [`UniversalPool::fill`] does. `row` is working
    /// memory.
    fn fill(
        &self,
        schema: &Schema,
        sides: &[KernelSide],
        problem: &Problem,
        counts: impl Fn(usize) -> bool,
        (values, log_times): (&mut Vec<f64>, &mut Vec<f64>),
        row: &mut Vec<f64>,
    ) -> Result<(), SideError> {
        let columns = schema.universal_columns().unwrap_or_default();
        self.pool.fill(columns, problem, counts, values, log_times);
        let Some(own) = &self.own else { return Ok(()) };
        let (problem, kernels, before) = (own.problem_side(problem)?, log_times.len(), values.len());
        row.resize(own.schema.len(), 0.0);
        values.resize(before + row.len() * kernels, 0.0);
        for (kernel, (side, time)) in sides.iter().zip(&*log_times).enumerate() {
            if time.is_nan() {
                continue;
            }
            own.fill(&problem, side, row);
            for (cell, value) in values[before + kernel..].iter_mut().step_by(kernels).zip(&*row) {
                *cell = *value;
            }
        }
        Ok(())
    }
}

impl Universal {
    /// `None` for a model that is not universal. `sides` are those of the kernels, if features follow its
    /// columns.
    pub(super) fn new(
        model: &Model,
        described: Option<Described>,
        pool: &Pool,
        places: &[usize],
        sides: Vec<KernelSide>,
    ) -> Option<Self> {
        model.extractor().schema.universal_columns()?;
        let kernels: Vec<Arc<Kernel>> =
            places.iter().filter_map(|&index| pool.kernels().get(index).cloned()).collect();
        let extractor = model.extractor().clone();
        let prior = model.spec().prior.unwrap_or_default();
        let trained_on = model.spec().trained_on.clone();
        let devices = PerGpu::new(model, described, kernels.iter().map(|kernel| kernel.kind.arch()));
        Some(Self { prior, trained_on, extractor, kernels, sides, devices })
    }

    /// The forest's scorer, deferred like others'. Only the estimate distinguishes kernels, so that each is a
    /// class of its own.
    pub(super) fn scorer(&self, forest: &Arc<Forest>) -> Result<PoolScorer, PoolError> {
        let columns = vec![Column::Pair; self.extractor.schema.len()];
        let classes: Vec<u32> = (0..self.kernels.len() as u32).collect();
        PoolScorer::deferred(forest, &PoolTable { columns: &columns, classes: &classes, kernel_values: &[] })
    }

    /// Fills in the columns of the kernels that count for a problem, and returns the weight of the estimate.
    pub(super) fn fill(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        counts: impl Fn(usize) -> bool,
        values: &mut CallValues,
        log_times: &mut Vec<f64>,
    ) -> Result<f64, RankError> {
        let device = self.on(problem, arch)?;
        let CallValues { uniform: row, pair, .. } = values;
        device
            .fill(&self.extractor.schema, &self.sides, problem, counts, (pair, log_times), row)
            .map_err(RankError::ProblemSide)?;
        row.clear();
        Ok(device.prior)
    }

    /// The architecture of the GPU that a problem is ranked for, as far as anything names it.
    pub(super) fn arch_for(&self, problem: &Problem, arch: Option<Arch>) -> Option<Arch> {
        self.devices.arch_for(problem, arch)
    }

    fn on(&self, problem: &Problem, arch: Option<Arch>) -> Result<&OnDevice, RankError> {
        self.devices.get(problem, arch, |device, arch| self.make(device, arch))
    }

    /// Prepares the GPUs that another one was used on.
    pub(super) fn prepare_gpus_of(&self, other: &Self) {
        self.devices.make_those_of(&other.devices, |device, arch| self.make(device, arch));
    }

    fn make(&self, device: Device, arch: Option<Arch>) -> OnDevice {
        let kernels = || self.kernels.iter().map(|kernel| &kernel.kind);
        let estimator = Estimator::new(device);
        let prior = prior_on(self.prior, self.trained_on.as_ref(), arch, &estimator, kernels());
        OnDevice::new(estimator, &self.extractor, prior, kernels())
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
) -> Result<(Vec<f64>, Vec<f64>), SideError> {
    let device = OnDevice::new(estimator, extractor, 0.0, kernels.clone());
    let sides = match &device.own {
        Some(own) => kernels.map(|kernel| own.kernel_side(kernel)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let (mut values, mut log_times) = (Vec::new(), Vec::new());
    device.fill(
        &extractor.schema,
        &sides,
        problem,
        |_| true,
        (&mut values, &mut log_times),
        &mut Vec::new(),
    )?;
    let (height, width) = (log_times.len(), extractor.schema.len());
    let rows = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
    Ok((rows.map(|(row, column)| values[column * height + row]).collect(), log_times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Target;
    use crate::problem::ConvProblem;
    use crate::select::{RankScratch, Ranker};

    const SPEC: &str = r#"{"op_type":"grouped_conv","arch":"gfx950",
        "feature_names":["est_over_least","est_rounds","C","tile_mn"],
        "ck_select":{"prior":10,"rank_by":"relative"}}"#;
    /// Asks for a column of each kind.
    const FOREST: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
        max_feature_idx=3\n\
        objective=none\nfeature_names=est_over_least est_rounds C tile_mn\nfeature_infos=none none none none\n\n\
        Tree=0\nnum_leaves=4\nnum_cat=0\nsplit_feature=2 3 0\nsplit_gain=1 1 1\nthreshold=100 5000 1.5\n\
        decision_type=2 2 2\n\
        left_child=-1 -2 -3\nright_child=1 2 -4\nleaf_value=0.5 1.5 2.5 3.5\nleaf_weight=1 1 1 1\n\
        leaf_count=1 1 1 1\n\
        internal_value=0 0 0\ninternal_weight=0 0 0\ninternal_count=4 3 2\nis_linear=0\nshrinkage=1\n\n\n\
        end of trees\n";

    /// The features that follow are the same as in training, even if kernels are left out.
    #[test]
    fn an_adapted_model_serves_what_it_was_trained_on() {
        let model =
            Model::from_bytes("mine", SPEC.as_bytes(), &[(Target::Relative, FOREST.as_bytes())]).unwrap();
        let names = ["16x64x64_compv3", "128x128x64_compv3", "64x64x64_compv4", "128x64x64_compv4"];
        let names: Vec<String> =
            names.iter().map(|name| format!("grouped_conv_forward_bf16_2d_{name}")).collect();
        let kernels = names.iter().map(|name| crate::kernel::Kernel::from_name(name).unwrap());
        let pool = Pool::new(kernels.collect()).unwrap();
        let device = Device::for_arch("gfx950".parse().unwrap()).unwrap();
        let model = Arc::new(model);
        let ranker = Ranker::new(model.clone(), Arc::new(pool.clone())).unwrap();
        let forest = model.ranking_forest().unwrap();
        let mut scratch = RankScratch::default();
        for (c, k) in [(64, 64), (256, 128), (320, 512)] {
            let problem: Problem =
                ConvProblem { n: 16, c, k, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
            let kinds = pool.iter().map(|kernel| &kernel.kind);
            let (rows, times) =
                universal_rows(model.extractor(), Estimator::new(device), &problem, kinds).unwrap();
            ranker.rank_with(&problem, &mut scratch).unwrap();
            assert_eq!(scratch.ranking().len(), names.len());
            for ranked in scratch.ranking() {
                let row = &rows[4 * ranked.index..][..4];
                assert_eq!(row, ranker.features(problem.checked().unwrap(), ranked.index).unwrap());
                assert_eq!(row[2], c as f64);
                let expected = universal_score(forest.predict(row).unwrap(), 10.0, times[ranked.index]);
                assert_eq!(ranked.score.to_bits(), expected.to_bits());
            }
        }
    }

    /// On a GPU of which no measurement was trained on, the estimate counts twice.
    #[test]
    fn what_was_learned_elsewhere_counts_less() {
        let spec = r#"{"op_type":"grouped_conv","feature_names":["est_over_least","est_rounds","C","tile_mn"],
            "ck_select":{"prior":10,"rank_by":"relative","trained_on":{"archs":["gfx950"]}}}"#;
        let model =
            Model::from_bytes("mine", spec.as_bytes(), &[(Target::Relative, FOREST.as_bytes())]).unwrap();
        let model = Arc::new(model);
        let names =
            b"grouped_conv_forward_bf16_2d_16x64x64_compv3\ngrouped_conv_forward_bf16_2d_128x128x64_compv3\n";
        let pool = Arc::new(Pool::from_bytes("names", names).unwrap());
        let problem: Problem =
            ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
        let kinds = || pool.iter().map(|kernel| &kernel.kind);
        for (arch, prior) in [("gfx950", 10.0), ("gfx942", 20.0)] {
            let arch: Arch = arch.parse().unwrap();
            let device = Device::for_arch(arch).unwrap();
            let (rows, times) =
                universal_rows(model.extractor(), Estimator::new(device), &problem, kinds()).unwrap();
            let forest = model.ranking_forest().unwrap();
            let expected: Vec<f64> = (0..2)
                .map(|kernel| {
                    let raw = forest.predict(&rows[4 * kernel..][..4]).unwrap();
                    universal_score(raw, prior, times[kernel])
                })
                .collect();
            let placed = Model::clone(&model).on_device(device, Some(arch));
            for (model, asked) in [(Arc::clone(&model), Some(arch)), (Arc::new(placed), None)] {
                let ranker = Ranker::new(model, Arc::clone(&pool)).unwrap();
                let mut scratch = RankScratch::default();
                ranker.ranking(problem.checked().unwrap(), asked, usize::MAX, &mut scratch).unwrap();
                for ranked in scratch.ranking() {
                    assert_eq!(ranked.score.to_bits(), expected[ranked.index].to_bits(), "{arch}");
                }
            }
        }
        // A described GPU whose architecture nobody named was not seen either, nor was a library that is not
        // its own.
        let prior_on = |json: &str, arch: Option<&str>, name: &str| {
            let trained_on: TrainedOn = serde_json::from_str(json).unwrap();
            let arch: Option<Arch> = arch.map(|arch| arch.parse().unwrap());
            let device = Device::for_arch(arch.unwrap_or("gfx950".parse().unwrap())).unwrap();
            let kernel = crate::kernel::Kernel::from_name(name).unwrap();
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
