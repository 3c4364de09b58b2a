//! A choice, or why there is none.

use std::ffi::CStr;

use super::entry::Registered;
use super::index::Choice;
use super::model_name::ModelName;
use crate::problem::{FieldSet, InvalidField};
use crate::ranking::RankError;
use crate::sureness::Sure;

ck_select_types::vocabulary! {
    /// The source of a selection, in the order in which they are tried.
    Source, "source" {
        /// An override file.
        Override = "override",
        /// A winner that was measured earlier.
        Store = "store",
        /// A model's prediction.
        Model = "model",
        /// Measured during the call.
        Search = "search",
        /// An estimate, without measurements.
        Estimate = "estimate",
        /// The registered priority.
        Priority = "priority",
    }
}

/// The kernel to run.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'r> {
    /// The kernel.
    pub entry: Registered<'r>,
    /// The kernel's index in the registry at the time of the call.
    pub index: usize,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice. 1 for
    /// attention.
    pub split_k: i32,
    /// The source that chose it.
    pub source: Source,
    /// The model's score, or the estimate's microseconds; `None` from other sources.
    pub score: Option<f64>,
    /// How sure the choice is; `None` if nothing was learned about such choices, and from sources that measure.
    pub sure: Option<Sure>,
    /// The kernel's measured time; `None` if it was not measured.
    pub measured_ms: Option<f64>,
    /// The kernel's rank in the source's order, counted from 0.
    pub rank: usize,
    /// Number of kernels before it in that order that do not support the problem.
    pub unsupported: usize,
    /// The fields that are outside the model's training range.
    pub outside: FieldSet,
    /// Whether no kernel measured for the model had this kernel's pipeline or suffixes, or the library does not know
    /// one of its words.
    pub unmeasured: bool,
    /// Whether the model is for one architecture and neither the problem nor the options name one: the device
    /// may differ.
    pub arch_unknown: bool,
    /// Whether the first kernel by priority was chosen only because no source before had an answer.
    pub no_model: bool,
    /// Whether the model is a universal one, which ranks for any GPU, direction and type.
    pub universal: bool,
    /// The model that chose it; see [`Selection::model_name`].
    pub(super) model: Option<ModelName>,
    /// The generation of the state that answered, see [`super::Registry::generation`].
    pub generation: u64,
}

impl<'r> Selection<'r> {
    /// A selection with the fields that all sources have.
    pub(super) const fn new(entry: Registered<'r>, choice: Choice, source: Source, generation: u64) -> Self {
        Self {
            entry,
            index: choice.kernel.get(),
            split_k: choice.split_k,
            source,
            score: None,
            sure: None,
            measured_ms: None,
            rank: 0,
            unsupported: 0,
            outside: FieldSet::NONE,
            unmeasured: false,
            arch_unknown: false,
            no_model: false,
            universal: false,
            model: None,
            generation,
        }
    }

    /// Whether the problem is outside the model's training range.
    pub const fn out_of_range(&self) -> bool {
        !self.outside.is_empty()
    }

    /// The model that chose the kernel: `embedded:universal`, a directory, or the label of a model from
    /// memory; `None` from other sources. The name outlives the model.
    pub fn model_name(&self) -> Option<&'static str> {
        self.c_model_name()?.to_str().ok()
    }

    pub(crate) fn c_model_name(&self) -> Option<&'static CStr> {
        self.model.map(ModelName::as_c_str)
    }
}

/// Why there is no kernel to run, or no prediction.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// Invalid problem.
    #[error("problem: {0}")]
    Problem(#[from] InvalidField),
    /// A rule for this problem that cannot be followed. It is never skipped: its author wants that kernel.
    #[error("the override names '{kernel}', which {reason}")]
    Override {
        /// The name in the rule.
        kernel: String,
        /// Why the kernel cannot be taken.
        reason: &'static str,
    },
    /// No model is loaded for the problem.
    #[error("no model is loaded for the problem{}{why}", if .why.is_empty() { "" } else { ": " })]
    NoModel {
        /// Why none of the loaded models fits.
        why: String,
    },
    /// No kernel at that index that the model ranks.
    #[error("this model cannot rank kernel {index} (of {kernels})")]
    NotRankable {
        /// Number of kernels.
        kernels: usize,
        /// The requested index.
        index: usize,
    },
    /// The kernel in question computes something else.
    #[error("kernel '{kernel}' is for another operation, direction, type, layout or architecture")]
    Mismatch {
        /// The kernel's name.
        kernel: String,
    },
    /// The model cannot rank the problem.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// No kernel computes the problem, or none of those that do is supported.
    #[error("{}", no_kernel(*kernels, *unfit, *unsupported, why.as_deref()))]
    NoKernel {
        /// Number of kernels.
        kernels: usize,
        /// Kernels of another operation, direction, type, layout or architecture.
        unfit: usize,
        /// Kernels that their owners' callbacks refused.
        unsupported: usize,
        /// The kernel that is closest to the problem, and why it computes something else.
        why: Option<String>,
    },
}

fn no_kernel(kernels: usize, unfit: usize, unsupported: usize, why: Option<&str>) -> String {
    if kernels == 0 {
        return "no kernel is registered".to_owned();
    }
    let why = why.map_or_else(String::new, |why| format!("; the closest, {why}"));
    format!(
        "none of the {kernels} kernels fits the problem: {unfit} are for another operation, direction, type, \
         layout or architecture, {unsupported} do not support it{why}"
    )
}
