//! The order of sources.

use super::options::Mode;
use super::selection::Source;

impl Mode {
    /// The sources, in the order in which they are asked.
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
