//! Why nothing was trained.

use std::io;

use ck_select_model::estimate::DeviceError;
use ck_select_model::model::{ModelError, Target};
use ck_select_types::vocab::{Arch, Op};

use crate::lightgbm::LightGbmError;
use ck_select_data::features::FeatureError;

use super::Objective;

/// Why a training failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A parameter that is unknown, out of range, or without effect.
    #[error("{name}: found {found}, expected {expected}")]
    Param {
        /// The parameter.
        name: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A problem with more kernels than an objective can learn from.
    #[error(
        "objective {objective}: found a problem with {found} kernels, expected at most {most}; listwise has no limit"
    )]
    TooManyKernels {
        /// The objective.
        objective: Objective,
        /// How many kernels the problem has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A target without values in the data.
    #[error("target {target}: no valid row of the data has a value of it")]
    NoRows {
        /// The target.
        target: Target,
    },
    /// A kernel or problem that the features cannot describe.
    #[error(transparent)]
    Feature(#[from] Box<FeatureError>),
    /// A problem of a universal training without a GPU.
    #[error("{0}: its rows name no architecture; --arch says what such rows were measured on")]
    NoArch(String),
    /// A GPU that the estimate does not know.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A measured kernel that cannot run according to the estimate.
    #[error("{kernel}: it was measured on {arch}, but {why}")]
    NoEstimate {
        /// The kernel.
        kernel: String,
        /// The architecture.
        arch: Arch,
        /// Why there is no estimate.
        why: String,
    },
    /// A model that cannot be tuned.
    #[error("{0}: not a universal model; `ckselect train --universal` makes one")]
    NotUniversal(String),
    /// A model that cannot be tuned for this operation.
    #[error("{model}: found a model for {own}, expected one that ranks kernels of {op}")]
    NotForOp {
        /// The model.
        model: String,
        /// Its operation.
        own: Op,
        /// The requested one.
        op: Op,
    },
    /// Too few problems to measure some and to judge others.
    #[error(
        "found {found} problems, all of which are measured, expected others or at least {expected} to hold some out"
    )]
    NothingHeldBack {
        /// Number of problems.
        found: usize,
        /// How many could be held out.
        expected: usize,
    },
    /// Not enough to leave out.
    #[error("--folds {what}: found {found}, expected {expected}")]
    Holdout {
        /// What should be left out.
        what: String,
        /// What the data has.
        found: String,
        /// What it needs.
        expected: &'static str,
    },
    /// A model that cannot be continued, because its columns differ.
    #[error("Feature schema mismatch: {0}")]
    Schema(String),
    /// A model that cannot be continued, because its categorical columns differ.
    #[error("Categorical feature mismatch: the model to continue has {old}, this training {new}")]
    Categories {
        /// Those of the model.
        old: String,
        /// Those of this training.
        new: String,
    },
    /// A model that cannot be continued, because it was trained for something else.
    #[error("{file}: {field} {old}, this training has {new}")]
    Other {
        /// The file with the difference.
        file: String,
        /// What differs.
        field: &'static str,
        /// The model's value.
        old: String,
        /// This training's value.
        new: String,
    },
    /// A model that cannot be read, or one of our own that would not be readable.
    #[error(transparent)]
    Model(#[from] Box<ModelError>),
    /// LightGBM refused.
    #[error(transparent)]
    LightGbm(#[from] LightGbmError),
    /// An invalid trained forest.
    #[error("the trained forest of {target}: {message}")]
    Forest {
        /// The target.
        target: Target,
        /// What is wrong.
        message: String,
    },
    /// A file that cannot be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The directory already exists.
    #[error("{0}: already exists; --overwrite replaces it")]
    Exists(String),
    /// Out-of-fold predictions that cannot be written.
    #[error("oof_predictions.parquet: {0}")]
    Parquet(String),
    /// No worker threads.
    #[error("{0}")]
    Threads(String),
}

impl TrainError {
    pub(super) fn param(name: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Param { name: name.to_owned(), found: found.into(), expected: expected.into() }
    }

    pub(super) fn io(file: impl std::fmt::Display, source: io::Error) -> Self {
        Self::Io { file: file.to_string(), source }
    }
}
