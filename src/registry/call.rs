//! A problem and one state of the registry, as the sources of a selection take them.

use std::fmt::Write;

use crossbeam_queue::ArrayQueue;

use super::index::Choice;
use super::prepared::Prepared;
use super::state::State;
use super::{Entry, Registry, SelectError, Selection, Source};
use crate::problem::Checked;
use crate::ranking::Ranker;
use crate::vocab::Arch;

/// An answer; `None` of a source that leaves the problem to the next one. Errors are final.
pub(super) type Answer<'r> = Option<Result<Selection<'r>, SelectError>>;

/// A call of a source: a problem, and one state of the registry.
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

    /// The data that are prepared for the state; the first use prepares them.
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

    /// Whether a kernel that a ranking for the problem lists is eligible: the ranking has matched request,
    /// extents and split.
    pub(super) fn runs_ranked(self, entry: &Entry, ranker: &Ranker) -> bool {
        entry.runs_on(&self.problem, self.arch())
            && (ranker.matches_types(self.problem.op()) || entry.kernel().matches_types(&self.problem))
    }

    /// Whether an eligible kernel takes the problem in so many parts, and its owner supports it.
    pub(super) fn supports(self, entry: &Entry, split_k: i32) -> bool {
        entry.supports_in(&self.problem, split_k, self.arch())
    }

    /// Whether a kernel computes the problem, and its owner supports it in so many parts.
    pub(super) fn is_usable(self, entry: &Entry, split_k: i32) -> bool {
        self.is_eligible(entry) && self.supports(entry, split_k)
    }

    /// The numbers of parts that may be chosen for a kernel, the smallest first.
    pub(super) fn splits_of<'e>(self, entry: &'e Entry) -> impl Iterator<Item = i32> + use<'s, 'e> {
        let Self { problem, .. } = self;
        let splits = problem.each_split().map(|definite| definite.split_k());
        splits.filter(move |&parts| entry.kernel().kind.admits(problem, parts))
    }

    /// A selection with the fields that all sources have.
    pub(super) fn selection(self, choice: Choice, entry: &Entry, source: Source) -> Selection<'r> {
        let selection =
            Selection::new(self.registry.registered(entry), choice, source, self.state.generation());
        Selection { unmeasured: !entry.is_ranked(), ..selection }
    }
}

/// Does work with memory that calls share one after the other.
#[inline]
pub(super) fn with_scratch<S: Default, T>(scratches: &ArrayQueue<S>, work: impl FnOnce(&mut S) -> T) -> T {
    let mut scratch = scratches.pop().unwrap_or_default();
    let value = work(&mut scratch);
    // If the queue is full, it is freed: there were more simultaneous calls than scratches to keep.
    let _ = scratches.push(scratch);
    value
}

/// A selection in words.
pub(super) fn described(call: Call<'_, '_>, selection: &Selection<'_>) -> String {
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
pub(super) fn outcome(call: Call<'_, '_>, answer: Result<Selection<'_>, SelectError>) -> String {
    answer.map_or_else(|error| error.to_string(), |selection| described(call, &selection))
}
