//! Why a model cannot rank.

use crate::directory::{Misfit, ModelKey, listed};
use crate::estimate::DeviceError;
use crate::features::TermsError;
use crate::forest::RowError;
use crate::problem::InvalidField;
use crate::scoring::{MixedPool, PoolError, SizeError};

/// Why a model cannot rank a problem or a pool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RankError {
    /// Invalid problem.
    #[error("problem: {0}")]
    Problem(#[from] InvalidField),
    /// The model does not record with which hardware it was trained.
    #[error("{model}: {source}")]
    Hardware {
        /// The model's name.
        model: String,
        /// The missing constant.
        source: InvalidField,
    },
    /// The model's features cannot describe the problem.
    #[error("problem: {0}")]
    ProblemTerms(TermsError),
    /// The model is for other problems.
    #[error(
        "the model is for {}, not for this problem: {}; use a model for it, the universal model or the \
         estimate, or force this one (`--allow untrained` of ckselect, `force` of ck_model_options, \
         `Model::forced`)",
        .key, listed(.misfits)
    )]
    NotFor {
        /// The problems that the model is for.
        key: ModelKey,
        /// The values of the problem that differ.
        misfits: Vec<Misfit>,
    },
    /// A kernel that is left out of the ranking.
    #[error("kernel '{kernel}': {reason}")]
    LeftOut {
        /// The kernel's name.
        kernel: String,
        /// Why.
        reason: Box<LeftOutReason>,
    },
    /// No kernel of the pool is left to rank.
    #[error("the model can rank none of the {kernels} kernels: '{first}': {reason}")]
    NothingToRank {
        /// Kernels in the pool.
        kernels: usize,
        /// The name of the first kernel.
        first: String,
        /// Why the first kernel is left out.
        reason: Box<LeftOutReason>,
    },
    /// No kernel of the pool computes what the problem asks for.
    #[error("none of the {kernels} kernels computes {asked}; the closest, '{closest}', does not: {why}")]
    NoKernel {
        /// Kernels in the pool.
        kernels: usize,
        /// The problem in a few words.
        asked: String,
        /// The name of the kernel that agrees with the problem in most fields.
        closest: String,
        /// Why the closest kernel does not compute what the problem asks for.
        why: String,
    },
    /// An index outside the pool.
    #[error("the pool has {kernels} kernels, none at index {index}")]
    Index {
        /// Kernels in the pool.
        kernels: usize,
        /// The requested index.
        index: usize,
    },
    /// A universal model without a GPU to rank for.
    #[error(
        "a universal model ranks for a GPU: give its architecture, which neither the problem nor all kernels \
         name"
    )]
    NoArch,
    /// A GPU that a universal model does not know.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A model without the forest that ranks; loading excludes it.
    #[error("the model has no forest that ranks kernels")]
    NoForest,
    /// Kernels of a different operation than the model's features.
    #[error(transparent)]
    MixedPool(#[from] MixedPool),
    /// A pool that the forest cannot be compiled for.
    #[error(transparent)]
    Compile(#[from] PoolError),
    /// A forest that does not match the spec; loading excludes it.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Values that do not match the compiled pool; excluded because both come from the same features.
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// A kernel of the pool that is not ranked.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The kernel's index in the pool.
    pub index: usize,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why a model does not rank a kernel.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LeftOutReason {
    /// The model's features cannot describe the kernel.
    #[error(transparent)]
    Undescribed(TermsError),
    /// The model does not serve it.
    #[error("{}", listed(.0))]
    NotFor(Vec<Misfit>),
}
