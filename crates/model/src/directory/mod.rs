//! Models: a feature spec with one forest per target, immutable once loaded.

mod bare;
mod embedded;
mod error;
mod key;
mod known;
mod load;
mod range;
mod spec;
mod spec_file;
mod trained;

pub use embedded::EmbeddedModel;
pub use error::ModelError;
pub use key::listed;
pub use key::{Misfit, ModelKey};
pub use known::Substitute;
pub(crate) use known::names_of;
pub use load::forest_text;
pub(crate) use load::{spec_bytes, sureness};
pub use range::TrainedRange;
pub use spec::FeatureSpec;
pub(crate) use spec_file::SpecFile;
pub(crate) use trained::{TrainedFields, range_text};
pub use trained::{TrainedFile, TrainedOn};

use std::sync::{Arc, OnceLock};

use crate::estimate::Device;
use crate::features::Extractor;
use crate::forest::Forest;
use crate::hardware::Hardware;
use crate::problem::Problem;
use crate::sureness::{LogTime, Sureness};
use crate::vocab::{Arch, Op};

ck_select_types::vocabulary! {
    /// The quantity that a forest predicts.
    Target, "target" {
        /// Trillions of operations per second.
        Tflops = "tflops",
        /// Milliseconds.
        Latency = "latency",
        /// Gigabytes per second.
        Bandwidth = "bandwidth",
        /// A score that only orders the kernels of a problem, such as the logarithm of the speed relative to
        /// the fastest kernel.
        Relative = "relative",
    }
}

impl Target {
    /// The file that holds its forest, without `.gz`.
    pub fn file_name(self) -> String {
        format!("model_{}.lgbm", self.as_str())
    }

    /// Whether a kernel with a higher score is the better one.
    pub const fn higher_is_better(self) -> bool {
        !matches!(self, Self::Latency)
    }

    /// The unit of scores that predict it; `None` if they only order.
    pub const fn log_time(self) -> Option<LogTime> {
        match self {
            Self::Relative => None,
            Self::Latency => Some(LogTime::OfTime),
            Self::Tflops => Some(LogTime::OfTflops),
            Self::Bandwidth => Some(LogTime::OfBandwidth),
        }
    }
}

/// A model: a feature spec and one forest per target.
///
/// A model is immutable, so any number of threads may use it at once, without a lock.
#[derive(Debug, Clone)]
pub struct Model {
    name: String,
    spec: FeatureSpec,
    key: ModelKey,
    forced: bool,
    /// The GPU of a universal model, if it is not the profile of an architecture.
    device: Option<(Device, Option<Arch>)>,
    /// The constants of [`Model::with_hardware`], or of the spec.
    constants: Option<Hardware>,
    forests: [Option<Arc<Forest>>; Target::ALL.len()],
    /// The forests of an embedded model that do not rank, which a selection does not need.
    later: [Option<Later>; Target::ALL.len()],
    /// The sureness learned from the model's choices.
    sureness: Option<Arc<Sureness>>,
}

/// An embedded forest that is read on first use.
#[derive(Debug, Clone)]
struct Later {
    packed: &'static [u8],
    /// `None` if it cannot be read; the tests read all of them.
    forest: OnceLock<Option<Arc<Forest>>>,
}

impl Later {
    fn forest(&self) -> Option<&Arc<Forest>> {
        self.forest.get_or_init(|| Forest::unpack(self.packed).ok().map(Arc::new)).as_ref()
    }
}

/// A model's predictions for one kernel; `None` for targets without a forest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Predictions {
    /// Trillions of operations per second.
    pub tflops: Option<f64>,
    /// Milliseconds.
    pub latency_ms: Option<f64>,
    /// Gigabytes per second.
    pub bandwidth_gb_s: Option<f64>,
}

impl Model {
    /// The model's origin: a directory, a file, or the label of its bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The checked `feature_spec.json`.
    pub const fn spec(&self) -> &FeatureSpec {
        &self.spec
    }

    /// The problems that the model serves: those of its spec, or all of its operation, see [`Model::forced`].
    pub const fn key(&self) -> ModelKey {
        self.key
    }

    /// The model, serving all problems of its operation, whatever its spec says. The quality of its
    /// predictions for other directions, types and architectures is unknown.
    pub fn forced(mut self) -> Self {
        self.key = ModelKey::any(self.spec.op());
        self.forced = true;
        // The model's own choices were for other problems.
        self.sureness = None;
        self
    }

    /// Whether the model serves more than its spec says, see [`Model::forced`].
    pub const fn is_forced(&self) -> bool {
        self.forced
    }

    /// The model, serving only problems and kernels of this architecture, or without one.
    pub const fn for_arch(mut self, arch: Arch) -> Self {
        self.key.arch = Some(arch);
        self
    }

    /// The unit of the scores by which the model ranks: that of its target, else what was learned about it. `None` for
    /// models that winners of tables taught: nobody knows the times of the losers.
    pub(crate) fn log_time(&self) -> Option<LogTime> {
        let learned = || self.sureness.as_ref()?.log_time().map(LogTime::PerUnit);
        self.spec.rank_by.log_time().or_else(learned)
    }

    /// Whether the model ranks kernels of any device, direction and type, based on the estimate. A model that was
    /// trained for specific ones takes precedence.
    pub const fn is_universal(&self) -> bool {
        self.spec.prior.is_some() && self.spec.arch.is_none()
    }

    /// The universal model for another operation that the estimate sees alike: a GEMM is a 1x1 convolution.
    /// `None` for operations with other columns, and for models that are not universal.
    ///
    /// ```
    /// use ck_select_model::directory::Model;
    /// use ck_select_types::vocab::Op;
    ///
    /// let model = Model::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/universal"))?;
    /// assert_eq!(model.for_op(Op::Gemm).map(|model| model.key().op), Some(Op::Gemm));
    /// assert!(model.for_op(Op::Fmha).is_none());
    /// # Ok::<(), ck_select_model::directory::ModelError>(())
    /// ```
    pub fn for_op(&self, op: Op) -> Option<Self> {
        if !self.is_universal() {
            return None;
        }
        if self.spec.op() == op {
            return Some(self.clone());
        }
        let schema = self.spec.extractor.schema.for_op(op)?;
        let mut model = self.clone();
        model.spec.trained_on = model.spec.trained_on.map(|trained| trained.for_op(self.spec.op(), op));
        (model.spec.extractor.schema, model.spec.direction) = (schema, None);
        (model.key.op, model.key.direction) = (op, None);
        Some(model)
    }

    /// The universal model for a GPU, whatever problems and kernels name. The GPU's architecture, if known,
    /// says whether the model has seen the GPU ([`TrainedOn::has_seen`]).
    pub fn on_device(mut self, device: Device, arch: Option<Arch>) -> Self {
        self.device = Some((device, arch));
        self
    }

    /// The GPU given by [`Model::on_device`].
    pub const fn device(&self) -> Option<(Device, Option<Arch>)> {
        self.device
    }

    /// How problems and kernels become rows.
    pub const fn extractor(&self) -> &Extractor {
        &self.spec.extractor
    }

    /// The forest of a target, if the model has one.
    pub fn forest(&self, target: Target) -> Option<&Arc<Forest>> {
        self.forests[target as usize].as_ref().or_else(|| self.later[target as usize].as_ref()?.forest())
    }

    /// The targets that have a forest.
    pub fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        Target::ALL.iter().copied().filter(|&target| self.forest(target).is_some())
    }

    /// The forest that ranks; its target is [`FeatureSpec::rank_by`]; loading ensures that it exists.
    pub fn ranking_forest(&self) -> Option<&Arc<Forest>> {
        self.forest(self.spec.rank_by)
    }

    /// The sureness learned from the model's choices: how much they are expected to lose. `None` for models that do
    /// not record it, and for types and architectures without judged choices.
    pub fn sureness(&self, problem: &Problem, arch: Option<Arch>) -> Option<&Arc<Sureness>> {
        self.sureness.as_ref().filter(|learned| learned.is_valid_for(problem, arch))
    }

    /// Whether the model's choices were judged, on whatever architecture.
    pub(crate) const fn was_judged(&self) -> bool {
        self.sureness.is_some()
    }

    /// This model with another [`Sureness`], or with none: what its choices are expected to lose.
    pub fn with_sureness(mut self, sureness: Option<Arc<Sureness>>) -> Self {
        self.sureness = sureness;
        self
    }

    /// The model, ranking by another of its targets.
    pub fn ranking_by(mut self, target: Target) -> Result<Self, ModelError> {
        let Some(forest) = self.forest(target).cloned() else {
            return Err(ModelError::NoForest { model: self.name, file: target.file_name() });
        };
        self.forests[target as usize] = Some(forest);
        if self.spec.rank_by != target {
            self.sureness = None;
        }
        self.spec.rank_by = target;
        Ok(self)
    }

    /// The model with other feature rules, such as [`crate::features::Uncoded::Upstream`].
    pub fn with_rules(mut self, rules: crate::features::Rules) -> Self {
        self.spec.extractor.rules = rules;
        self
    }

    /// The model with GPU constants other than those of its training: a model of a GPU predicts for another.
    pub fn with_hardware(mut self, hardware: Hardware) -> Self {
        self.spec.extractor.hardware = hardware;
        self.spec.asks_hardware = false;
        self.constants = Some(hardware);
        self
    }

    /// The constants that a universal model takes instead of those of an architecture's profile.
    pub(crate) const fn constants(&self) -> Option<Hardware> {
        self.constants
    }

    /// A forest's output as used in rankings: logarithms undone, not clamped.
    pub fn score(&self, target: Target, raw: f64) -> f64 {
        if self.spec.log_targets.contains(&target) { raw.exp_m1() } else { raw }
    }

    /// A forest's output as a prediction of one kernel: logarithms undone; a target trained without a
    /// logarithm is clamped at 0, as in upstream, a logarithmic one is not.
    pub fn value(&self, target: Target, raw: f64) -> f64 {
        if target == Target::Relative || self.spec.log_targets.contains(&target) {
            self.score(target, raw)
        } else {
            raw.max(0.0)
        }
    }

    /// Predicts every target for one feature row of [`Model::extractor`].
    pub fn predict_row(&self, row: &[f64]) -> Result<Predictions, crate::forest::RowError> {
        let predict = |target: Target| {
            self.forest(target)
                .map(|forest| forest.predict(row).map(|raw| self.value(target, raw)))
                .transpose()
        };
        Ok(Predictions {
            tflops: predict(Target::Tflops)?,
            latency_ms: predict(Target::Latency)?,
            bandwidth_gb_s: predict(Target::Bandwidth)?,
        })
    }
}
