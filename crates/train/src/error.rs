//! Why nothing was trained.

use std::fmt::Display;

use ck_select_model::directory::Target;
use ck_select_model::estimate::DeviceError;

use crate::lightgbm::LightGbmError;

/// Why a training failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
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
    /// An input that is refused: the message names the parameter, file or problem, its value, and what is expected.
    #[error("{0}")]
    Refused(String),
    /// A GPU that the estimate does not know.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// LightGBM refused.
    #[error(transparent)]
    LightGbm(#[from] LightGbmError),
}

impl TrainError {
    /// An error with this message.
    pub fn refused(message: impl Display) -> Self {
        Self::Refused(message.to_string())
    }

    /// An error about a file.
    pub(super) fn about(file: impl Display, reason: impl Display) -> Self {
        Self::Refused(format!("{file}: {reason}"))
    }

    /// A parameter that is unknown, out of range, or without effect.
    pub(super) fn param(name: &str, found: impl Display, expected: impl Display) -> Self {
        Self::about(name, format_args!("found {found}, expected {expected}"))
    }

    /// A trained forest that cannot be used.
    pub(super) fn forest(target: Target, message: impl Display) -> Self {
        Self::about(format_args!("the trained forest of {target}"), message)
    }

    /// A model that cannot be tuned.
    pub(super) fn not_universal(model: &str) -> Self {
        Self::about(model, "not a universal model; `ckselect train --universal` makes one")
    }
}
