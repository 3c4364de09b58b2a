//! The four ways to train. Everything that depends on the way is one `match` on [`Mode`], so that nothing infers
//! it from which columns, priors or architectures a plan happens to have.

/// The kind of data that a training learns from, and the GPUs on which its model chooses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// Sweeps of one GPU. With a prior, the estimate takes part in the forest that ranks.
    Sweeps {
        /// Weight of the estimate, in the unit of the objective.
        prior: Option<f64>,
    },
    /// Sweeps of any GPUs: the model chooses on every GPU that the estimate knows.
    Universal {
        /// Weight of the estimate.
        prior: f64,
    },
    /// Winners of tuned tables, of GPUs of one architecture.
    Winners {
        /// Weight of the estimate.
        prior: f64,
    },
    /// A few sweeps of one GPU that adapt a universal model to it: its forest is continued, and a forest of
    /// these sweeps alone is added.
    Adapted {
        /// Weight of the estimate in the universal model.
        prior: f64,
    },
}

impl Mode {
    /// Weight of the estimate; `None` for a forest of features alone.
    pub const fn prior(self) -> Option<f64> {
        match self {
            Self::Sweeps { prior } => prior,
            Self::Universal { prior } | Self::Winners { prior } | Self::Adapted { prior } => Some(prior),
        }
    }

    /// Whether losses are known: tables of winners only say which kernel won.
    pub(super) const fn has_losses(self) -> bool {
        !matches!(self, Self::Winners { .. })
    }

    /// Whether a universal model is adapted to one GPU.
    pub(super) const fn adapts(self) -> bool {
        matches!(self, Self::Adapted { .. })
    }

    /// Weight of a problem with so many kernels. Where pools of thirty and of hundreds of kernels meet, there is
    /// more to learn from the larger ones. Shapes of tuned tables count alike: a family of hundreds of kernels
    /// outweighed the others.
    pub(super) fn weight(self, kernels: usize) -> f64 {
        match self {
            Self::Sweeps { prior: Some(_) } | Self::Universal { .. } => {
                (kernels as f64 / 30.0).max(1.0).sqrt()
            }
            Self::Sweeps { prior: None } | Self::Winners { .. } | Self::Adapted { .. } => 1.0,
        }
    }
}
