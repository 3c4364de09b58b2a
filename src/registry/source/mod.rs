//! The sources of selections, one a file: each answers, and explains its answer or why it has none.

pub(super) mod estimate;
pub(super) mod model;
mod r#override;
mod priority;
pub(super) mod search;
pub(super) mod store;

use super::call::{Answer, Call};
use super::{SelectError, Selection, Source};

impl<'r> Call<'r, '_> {
    /// The first answer.
    pub(super) fn decide(self) -> Result<Selection<'r>, SelectError> {
        let sources = self.state.options().mode.order();
        sources.iter().find_map(|source| source.answer(self)).unwrap_or_else(|| priority::answer(self))
    }
}

impl Source {
    /// The source's answer.
    pub(super) fn answer<'r>(self, call: Call<'r, '_>) -> Answer<'r> {
        match self {
            Self::Override => r#override::answer(call),
            Self::Store => store::answer(call).map(Ok),
            // The search may know better than a guess.
            Self::Model => model::answer(call).map(|best| Ok(search::instead_of(best, call))),
            Self::Search => search::answer(call).map(Ok),
            Self::Estimate => estimate::answer(call).map(Ok),
            Self::Priority => Some(priority::answer(call)),
        }
    }

    /// The source's answer in words, or why it has none.
    pub(super) fn explain(self, call: Call<'_, '_>) -> String {
        match self {
            Self::Override => r#override::explain(call),
            Self::Store => store::explain(call),
            Self::Model => model::explain(call),
            Self::Search => search::explain(call),
            Self::Estimate => estimate::explain(call),
            Self::Priority => priority::explain(call),
        }
    }

    /// Why the source left the problem to a later one.
    pub(super) fn why_not(self, call: Call<'_, '_>) -> String {
        match self {
            Self::Override | Self::Store | Self::Search => self.explain(call),
            Self::Model => model::why_not(call),
            Self::Estimate => estimate::why_not(call),
            Self::Priority => "no kernel fits and is supported".to_owned(),
        }
    }
}
