//! `feature_spec.json`: what a model's columns mean.

use serde_json::Value;

use super::{Substitute, Target, TrainedOn, TrainedRange};
use crate::features::Extractor;
use crate::hardware::Hardware;
use crate::problem::ProblemDefaults;
use crate::vocab::{Arch, Direction, Dtype, GemmLibrary, Op};

/// The checked spec of a model.
#[derive(Debug, Clone)]
pub struct FeatureSpec {
    /// Columns, rules and hardware.
    pub extractor: Extractor,
    /// Columns that were trained as categories.
    pub categorical_features: Vec<String>,
    /// Targets that were trained on `ln(1 + y)`.
    pub log_targets: Vec<Target>,
    /// The target that ranks.
    pub rank_by: Target,
    /// The direction of the convolutions that it was trained on, when recorded.
    pub direction: Option<Direction>,
    /// The element type that it was trained on, when recorded.
    pub dtype: Option<Dtype>,
    /// The architecture that the model was trained on, when recorded.
    pub arch: Option<Arch>,
    /// Whose GEMM kernels it was trained on, if they have names of their own, and all were of one library.
    pub library: Option<GemmLibrary>,
    /// The ranges of the features in training, when recorded.
    pub trained_range: Option<TrainedRange>,
    /// Which problems and kernels it was trained on, when recorded.
    pub trained_on: Option<TrainedOn>,
    /// Weight of the estimate in a universal model: it is multiplied by the logarithm of the estimated time
    /// over that of the pool's fastest kernel, and subtracted from the score.
    pub prior: Option<f64>,
    /// Whether the model was trained to choose the parts into which a reduction is split.
    pub chooses_split: bool,
    /// Training parameters, as the trainer wrote them.
    pub params: Value,
    /// Values that it lacks, or that are ignored, and their substitutes.
    pub filled: Vec<Substitute>,
    /// See [`FeatureSpec::check_hardware`].
    pub(crate) asks_hardware: bool,
    /// The constants of the GPU, if the file has them: an adapted model keeps those that it was trained with.
    pub(super) own_hardware: Option<Hardware>,
    /// See [`FeatureSpec::known_as`].
    pub(super) known_as: Option<&'static str>,
}

impl FeatureSpec {
    /// The name of the spec's file in a model directory.
    pub const FILE: &str = "feature_spec.json";

    /// The operation.
    pub const fn op(&self) -> Op {
        self.extractor.schema.op()
    }

    /// Whether scores of one problem in different numbers of parts compare: predicted speeds do, and a
    /// universal model's, which contain the estimated time; what ranks the kernels of a problem does if it
    /// was trained to.
    pub const fn compares_splits(&self) -> bool {
        self.chooses_split || self.prior.is_some() || !matches!(self.rank_by, Target::Relative)
    }

    /// Defaults for problems: what the model was trained on, otherwise upstream's defaults.
    pub fn problem_defaults(&self) -> ProblemDefaults {
        let base = ProblemDefaults::new(self.op());
        ProblemDefaults {
            direction: self.direction.unwrap_or(base.direction),
            dtype: self.dtype.unwrap_or(base.dtype),
            arch: self.arch,
            ..base
        }
    }
}
