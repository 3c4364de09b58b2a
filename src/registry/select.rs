//! A selection: from memory, else by the first source that has an answer.
//!
//! The key of a problem is its fields; a decision in the cache carries the generation of the registry for which it
//! was made, so that any change makes all earlier decisions invalid without touching them. Memory is consulted first
//! because a program repeats its problems: a repeated selection reads one slot.

use super::cache::Key;
use super::call::Call;
use super::selection::{SelectError, Selection, Source};
use super::shared::Registry;
use crate::log::{self, Level};
use crate::problem::Problem;

impl Registry {
    /// Chooses a kernel.
    ///
    /// A problem that was decided since the last change is answered from memory. Its kernel's `supports` is
    /// called each time; those of better kernels that returned false are called again only after the next
    /// change. Unless it measures, a call takes no lock, makes no system call, and does not allocate once
    /// warm, unless a kernel's `supports` does. (Working memory grows with the number of simultaneous calls.)
    /// With [`Options::capture`](super::Options::capture), a problem that is new to the file is written by
    /// the call, or by another one that is already writing; calls never wait for each other. The first call
    /// prepares the models; see [`Registry::prepare`].
    pub fn select(&self, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let answer = self.choose(problem);
        if log::enabled(Level::Error) {
            self.report(problem, &answer);
        }
        answer
    }

    fn choose(&self, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let key = Key::new(problem);
        if let Some(key) = &key
            && let Some(selection) = self.remembered(key, problem)
        {
            return Ok(selection);
        }
        let problem = problem.checked()?;
        let state = self.state();
        state.note(problem);
        let call = Call::new(self, &state, problem, true);
        let selection = call.decide()?;
        if selection.no_model || selection.arch_unknown {
            self.warn_once(call, &selection);
        }
        // Not remembered: what was just measured comes from the store next time, and what a callback requests
        // while this thread measures could not be measured yet.
        let options = state.options();
        let lasts =
            selection.source != Source::Search && !(options.measures() && self.slots.is_measuring(options));
        if let (true, Some(key)) = (lasts, &key) {
            self.cache.put(key, &selection);
            if let Some(demand) = self.demand.get() {
                return Ok(self.note(demand, call, key, selection));
            }
        }
        Ok(selection)
    }

    /// The decision for an equal problem since the last change, if its kernel's owner still supports the
    /// problem. An invalid problem was never decided.
    fn remembered(&self, key: &Key, problem: &Problem) -> Option<Selection<'_>> {
        let selection = self.cache.get(key, self.current.settled()?, &self.names)?;
        if selection.entry.may_refuse() && !self.still_supports(&selection, problem) {
            return None;
        }
        if let Some(demand) = self.demand.get() {
            demand.count(key);
        }
        Some(selection)
    }

    /// Whether the kernel of a decision supports the problem now. The state keeps the kernel for the call:
    /// without it, another thread may have removed and dropped it.
    fn still_supports(&self, selection: &Selection<'_>, problem: &Problem) -> bool {
        let state = self.state.load();
        let entry = state.kernels().entries().get(selection.index);
        state.generation() == selection.generation
            && entry.is_some_and(|entry| entry.supports_in(problem, selection.split_k, state.options().arch))
    }
}
