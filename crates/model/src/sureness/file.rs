//! `sureness.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::loss_forest::LossForest;
use super::{Sureness, column_names};
use crate::forest::Forest;
use crate::vocab::{Arch, Dtype, Op};

/// The types of judged choices, by operation and architecture.
pub type JudgedOn = BTreeMap<Op, BTreeMap<Arch, BTreeSet<Dtype>>>;

/// The content of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurenessFile {
    /// [`SurenessFile::VERSION`].
    pub version: u32,
    /// The operations, architectures and types of judged choices. Empty for a model of one architecture and one type,
    /// which answers for no others, and where the measurements name no architecture.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub judged_on: JudgedOn,
    /// Number of judged choices that it was learned from.
    pub choices: usize,
    /// The mean loss of these choices.
    pub mean_loss: f64,
    /// Logarithm of time per unit of the model's score, if that has no unit of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log_time: Option<f64>,
    /// How far measured times of chosen kernels were from what was expected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub times: Option<TimeFit>,
    /// Chances to be within 2 % of the best.
    pub chances: Vec<Chance>,
    /// LightGBM's text of the forest that expects the loss.
    pub loss: String,
}

/// Measured times of chosen kernels over those that their scores mean, or, where scores are no times or speeds, over
/// those of the estimate: logarithms of the ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeFit {
    /// The mean logarithm, by which expected times are corrected.
    pub log_bias: f64,
    /// The standard deviation of the logarithms.
    pub log_spread: f64,
}

impl TimeFit {
    /// The fit of logarithms of ratios with weights; `None` without any.
    pub fn new(ratios: &[(f64, f64)]) -> Option<Self> {
        let all: f64 = ratios.iter().map(|(_, weight)| weight).sum();
        let mean = |value: &dyn Fn(f64) -> f64| {
            ratios.iter().map(|&(ratio, weight)| weight * value(ratio)).sum::<f64>() / all
        };
        let log_bias = mean(&|ratio| ratio);
        let log_spread = mean(&|ratio| (ratio - log_bias).powi(2)).sqrt();
        (all > 0.0).then_some(Self { log_bias, log_spread })
    }

    /// The fit for times that stay uncorrected: all of the difference counts as spread.
    pub fn uncorrected(self) -> Self {
        Self { log_bias: 0.0, log_spread: self.log_bias.hypot(self.log_spread) }
    }
}

/// The chance that the best of the first kernels is as good as the pool's best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chance {
    /// How many kernels.
    pub first: usize,
    /// The logarithm of the odds where the expected loss is [`WITHIN`](super::WITHIN).
    pub at_within: f64,
    /// The change of the logarithm of the odds for each unit of the loss's logarithm.
    pub slope: f64,
}

impl Chance {
    /// The logarithm of the odds at an expected loss, whose logarithm in units of [`WITHIN`](super::WITHIN) is given.
    pub fn log_odds(&self, log_loss: f64) -> f64 {
        self.at_within + self.slope * log_loss
    }
}

impl SurenessFile {
    /// The version of the format.
    pub const VERSION: u32 = 1;

    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let file: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if file.version != Self::VERSION {
            return Err(format!("version {}, expected {}", file.version, Self::VERSION));
        }
        Ok(file)
    }

    /// The sureness of choices of an operation, checked.
    pub fn read(&self, op: Op) -> Result<Sureness, String> {
        let forest = Forest::parse(self.loss.as_bytes()).map_err(|error| format!("loss: {error}"))?;
        let (names, expected) = (forest.feature_names(), column_names(op));
        if names != expected {
            return Err(format!(
                "loss: found columns {}, expected {}",
                names.join(", "),
                expected.join(", ")
            ));
        }
        if !self.chances.is_sorted_by(|one, next| one.first < next.first) {
            return Err("chances: expected ascending numbers of kernels".to_owned());
        }
        let judged_on = self.judged_on.iter().flat_map(|(&op, archs)| {
            archs.iter().flat_map(move |(&arch, dtypes)| dtypes.iter().map(move |&dtype| (op, dtype, arch)))
        });
        Ok(Sureness {
            losses: LossForest::new(&forest).map_err(|error| format!("loss: {error}"))?,
            chances: self.chances.clone(),
            log_time: self.log_time,
            times: self.times,
            choices: self.choices,
            judged_on: judged_on.collect(),
        })
    }
}
