//! The sources of selections, one a file: each answers, and explains its answer or why it has none.

mod estimate;
pub(super) mod model;
mod r#override;
mod priority;
pub(super) mod search;
pub(super) mod store;

use std::fmt::Write;

use crossbeam_queue::ArrayQueue;

use super::index::Choice;
use super::prepared::Prepared;
use super::state::State;
use super::{Entry, Registry, SelectError, Selection, Source};
use crate::problem::Checked;
use crate::vocab::Arch;

/// What a source works with: a problem, and one state of the registry.
#[derive(Clone, Copy)]
pub(super) struct Call<'r, 's> {
    pub(super) registry: &'r Registry,
    pub(super) state: &'s State,
    pub(super) problem: Checked<'s>,
    /// Whether kernels may be run to measure them.
    pub(super) measures: bool,
}

impl<'r, 's> Call<'r, 's> {
    /// The number of parts, where the problem leaves the choice, is one that the options allow.
    pub(super) fn new(
        registry: &'r Registry,
        state: &'s State,
        problem: Checked<'s>,
        measures: bool,
    ) -> Self {
        Self { registry, state, problem: problem.among(&state.options().splits), measures }
    }

    /// What is prepared for the state; the first use prepares it.
    pub(super) fn prepared(self) -> &'s Prepared {
        self.registry.prepared(self.state)
    }

    /// The architecture of problems that name none.
    pub(super) const fn arch(self) -> Option<Arch> {
        self.state.options().arch
    }

    /// Whether a kernel computes the problem on its architecture; `supports` is not called.
    pub(super) fn is_eligible(self, entry: &Entry) -> bool {
        entry.is_eligible(&self.problem, self.arch())
    }

    /// Whether a kernel's owner supports the problem in so many parts.
    pub(super) fn supports(self, entry: &Entry, split_k: i32) -> bool {
        entry.supports_in(&self.problem, split_k)
    }

    /// Whether a kernel computes the problem, and its owner supports it in so many parts.
    pub(super) fn can_run(self, entry: &Entry, split_k: i32) -> bool {
        self.is_eligible(entry) && self.supports(entry, split_k)
    }

    /// The numbers of parts that may be chosen, the smallest first.
    pub(super) fn splits(self) -> impl Iterator<Item = i32> + use<'s> {
        self.problem.each_split().map(|problem| problem.split_k())
    }

    /// The first answer.
    pub(super) fn decide(self) -> Result<Selection<'r>, SelectError> {
        let sources = self.state.options().mode.order();
        sources.iter().find_map(|source| source.answer(self)).unwrap_or_else(|| priority::answer(self))
    }

    /// A selection with the fields that all sources have.
    pub(super) fn selection(self, choice: Choice, entry: &Entry, source: Source) -> Selection<'r> {
        Selection::new(self.registry.registered(entry), choice, source, self.state.generation())
    }
}

/// An answer; `None` of a source that leaves the problem to the next one. Errors are final.
type Answer<'r> = Option<Result<Selection<'r>, SelectError>>;

impl Source {
    /// Its answer.
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

    /// Its answer in words, or why it has none.
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

    /// Why it left the problem to a later source.
    pub(super) fn why_not(self, call: Call<'_, '_>) -> String {
        match self {
            Self::Override | Self::Store | Self::Search => self.explain(call),
            Self::Model => model::why_not(call),
            Self::Estimate => estimate::why_not(call),
            Self::Priority => "no kernel fits and is supported".to_owned(),
        }
    }
}

/// Does work with memory that calls share one after the other.
#[inline]
fn with_scratch<S: Default, T>(scratches: &ArrayQueue<S>, work: impl FnOnce(&mut S) -> T) -> T {
    let mut scratch = scratches.pop().unwrap_or_default();
    let value = work(&mut scratch);
    // If the queue is full, it is freed: there were more simultaneous calls than scratches to keep.
    let _ = scratches.push(scratch);
    value
}

/// A selection in words.
fn described(call: Call<'_, '_>, selection: &Selection<'_>) -> String {
    let mut text = call.problem.named(selection.entry.name(), selection.split_k);
    if let Some(ms) = selection.measured_ms {
        let _ = write!(text, ", measured {ms} ms");
    }
    if selection.unsupported > 0 {
        let _ = write!(text, ", after {} unsupported ones", selection.unsupported);
    }
    text
}

/// An answer in words.
fn outcome(call: Call<'_, '_>, answer: Result<Selection<'_>, SelectError>) -> String {
    answer.map_or_else(|error| error.to_string(), |selection| described(call, &selection))
}
