//! The order of sources: what somebody stated comes before what was measured, what was measured before what
//! is predicted, and what is predicted before what is only registered. Modes that measure put the measurement
//! before the prediction.

use super::options::Mode;
use super::selection::Source;

impl Mode {
    /// The sources, in the order in which they are consulted.
    pub(super) const fn order(self) -> &'static [Source] {
        use Source::{Estimate, Model, Override, Priority, Search, Store};
        match self {
            Self::Model => Source::ALL,
            Self::Search | Self::Refine(_) | Self::RefineAuto => {
                &[Override, Store, Search, Model, Estimate, Priority]
            }
            Self::Priority => &[Override, Priority],
        }
    }
}
