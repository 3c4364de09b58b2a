//! Why nothing was trained.

use std::io;

use ck_select_model::estimate::DeviceError;
use ck_select_model::model::{ModelError, Target};

use crate::lightgbm::LightGbmError;
use ck_select_data::features::FeatureError;

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
    /// A kernel or problem that the features cannot describe.
    #[error(transparent)]
    Feature(#[from] Box<FeatureError>),
    /// A GPU that the estimate does not know.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Too few problems to measure some and to judge others.
    #[error(
        "found {found} problems, all of which are measured, expected others or at least {expected} to hold \
         some out"
    )]
    NothingHeldBack {
        /// Number of problems.
        found: usize,
        /// How many could be held out.
        expected: usize,
    },
    /// A model that cannot be read, or one of our own that would not be readable.
    #[error(transparent)]
    Model(#[from] Box<ModelError>),
    /// What the message says.
    #[error("{0}")]
    Refused(String),
    /// LightGBM refused.
    #[error(transparent)]
    LightGbm(#[from] LightGbmError),
    /// A file that cannot be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
}

impl TrainError {
    pub(super) fn param(name: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Param { name: name.to_owned(), found: found.into(), expected: expected.into() }
    }

    /// An error whose message names what was found, and what is expected.
    pub fn refused(message: impl std::fmt::Display) -> Self {
        Self::Refused(message.to_string())
    }

    /// A trained forest that cannot be used.
    pub(super) fn forest(target: Target, message: impl std::fmt::Display) -> Self {
        Self::refused(format_args!("the trained forest of {target}: {message}"))
    }

    /// A model that cannot be tuned.
    pub(super) fn not_universal(model: &str) -> Self {
        Self::refused(format_args!("{model}: not a universal model; `ckselect train --universal` makes one"))
    }

    pub(super) fn io(file: impl std::fmt::Display, source: io::Error) -> Self {
        Self::Io { file: file.to_string(), source }
    }
}
