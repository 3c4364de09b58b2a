//! The chain of sources: override, model, priority.

use std::fmt::Write;

use super::state::State;
use super::{Entry, Mode, Registry};
use crate::problem::{InvalidField, Problem};
use crate::select::{RankError, RankScratch};

/// Where a selection is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An override file.
    Override,
    /// A model's prediction.
    Model,
    /// The registered priority.
    Priority,
}

impl Source {
    /// The word in logs and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Model => "model",
            Self::Priority => "priority",
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The kernel to run.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'r> {
    /// The kernel.
    pub entry: &'r Entry,
    /// Its place in the registry at the time of the call.
    pub index: usize,
    /// Who chose it.
    pub source: Source,
    /// What the model says of it; `None` from other sources.
    pub score: Option<f64>,
    /// Its place in the source's order, counted from 0.
    pub rank: usize,
    /// Kernels that stand before it in that order and whose owners do not support the problem.
    pub unsupported: usize,
    /// Whether the problem lies outside of what the model saw in training.
    pub out_of_range: bool,
    /// The state that was asked, see [`Registry::generation`].
    pub generation: u64,
}

/// Why there is no kernel to run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// The problem is not one.
    #[error("problem: {0}")]
    Problem(#[from] InvalidField),
    /// A rule for this problem that cannot be followed. It is never passed over: whoever wrote it wants that kernel.
    #[error("the override says '{kernel}', which {reason}")]
    Override {
        /// The name in the rule.
        kernel: String,
        /// Why it cannot be taken.
        reason: &'static str,
    },
    /// No kernel computes the problem, or none of those that do is supported.
    #[error(
        "none of the {kernels} kernels fits the problem: {unfit} compute something else, {unsupported} do not support it"
    )]
    NoKernel {
        /// All kernels.
        kernels: usize,
        /// Those of another operation, direction, type, layout or architecture.
        unfit: usize,
        /// Those whose owners said no.
        unsupported: usize,
    },
}

impl Registry {
    /// Chooses a kernel.
    ///
    /// Takes no lock, makes no system call, and does not allocate once as many calls as ever run at a time have run
    /// once, unless a kernel's `supports` does. The first call after a change prepares the models; see
    /// [`Registry::prepare`].
    pub fn select(&self, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        problem.validate()?;
        let state = self.state.load();
        if let Some(name) = state.overrides().get(problem) {
            return self.overridden(&state, problem, name);
        }
        if state.options().mode == Mode::Model
            && let Some(selection) = self.by_model(&state, problem)
        {
            return Ok(selection);
        }
        self.by_priority(&state, problem)
    }

    /// Says which sources were asked for a problem and what each answered, as text for people.
    pub fn explain(&self, problem: &Problem) -> Result<String, SelectError> {
        problem.validate()?;
        let state = self.state.load();
        let mut text = format!("problem: {problem}\n");
        let rule = match state.overrides().get(problem) {
            None if state.options().override_file.is_none() => "no file".to_owned(),
            None => "no rule for this problem".to_owned(),
            Some(name) => {
                self.overridden(&state, problem, name).map_or_else(|e| e.to_string(), |s| described(&s))
            }
        };
        let _ = writeln!(text, "override: {rule}");
        let _ = writeln!(text, "model: {}", self.explain_model(&state, problem));
        let last = self.by_priority(&state, problem).map_or_else(|e| e.to_string(), |s| described(&s));
        let _ = writeln!(text, "priority: {last}");
        match self.select(problem) {
            Ok(selection) => {
                let _ = writeln!(text, "selected: {} by {}", selection.entry.name(), selection.source);
            }
            Err(error) => {
                let _ = writeln!(text, "selected: nothing: {error}");
            }
        }
        Ok(text)
    }

    fn overridden(&self, state: &State, problem: &Problem, name: &str) -> Result<Selection<'_>, SelectError> {
        let fault = |reason| SelectError::Override { kernel: name.to_owned(), reason };
        let index = state.position(name).ok_or_else(|| fault("is not registered"))?;
        let entry = self.entry_at(state, index).ok_or_else(|| fault("is not registered"))?;
        if !entry.fits(problem, state.options().arch) {
            return Err(fault("computes something else"));
        }
        if !entry.supports(problem) {
            return Err(fault("does not support the problem"));
        }
        Ok(Selection { entry, ..selection(entry, index, Source::Override, state) })
    }

    fn by_model(&self, state: &State, problem: &Problem) -> Option<Selection<'_>> {
        let mut scratch = self.scratches.pop().unwrap_or_default();
        let found = self.ask_model(state, problem, &mut scratch).ok().and_then(|places| {
            let mut unsupported = 0;
            for (rank, ranked) in scratch.ranking().iter().enumerate() {
                let index = *places.get(ranked.index)?;
                let entry = self.entry_at(state, index)?;
                if !entry.fits(problem, state.options().arch) {
                    continue;
                }
                if !entry.supports(problem) {
                    unsupported += 1;
                    continue;
                }
                let score = Some(ranked.score);
                let out_of_range = scratch.out_of_range();
                let base = selection(entry, index, Source::Model, state);
                return Some(Selection { score, rank, unsupported, out_of_range, ..base });
            }
            None
        });
        // A full queue frees it: more calls ran at a time than are kept for.
        let _ = self.scratches.push(scratch);
        found
    }

    /// Ranks into the scratch; returns the places of the ranker's kernels.
    fn ask_model<'s>(
        &self,
        state: &'s State,
        problem: &Problem,
        scratch: &mut RankScratch,
    ) -> Result<&'s [usize], Option<RankError>> {
        let at = state.model_for(problem, state.options().arch).ok_or(None)?;
        let prepared = state.prepare(&self.entries).get(at).ok_or(None)?;
        let ranker = prepared.ranker.as_ref().ok_or(None)?;
        ranker.rank_with(problem, scratch)?;
        Ok(&prepared.places)
    }

    fn explain_model(&self, state: &State, problem: &Problem) -> String {
        let arch = state.options().arch;
        let Some((at, (key, model))) =
            state.model_for(problem, arch).and_then(|at| Some((at, state.model(at)?)))
        else {
            return match state.model_keys().len() {
                0 => "none is loaded".to_owned(),
                count => format!("none of the {count} loaded ones fits the problem"),
            };
        };
        let mut text = format!("{} ({key})", model.name());
        if state.options().mode != Mode::Model {
            text += ", not asked in this mode";
        }
        if let Some(prepared) = state.prepare(&self.entries).get(at) {
            for (place, reason) in &prepared.left_out {
                let name = self.entry_at(state, *place).map_or("", Entry::name);
                let _ = write!(text, "\n  cannot describe {name}: {reason}");
            }
        }
        let mut scratch = RankScratch::default();
        match self.ask_model(state, problem, &mut scratch) {
            Err(error) => {
                let reason =
                    error.map_or_else(|| "no kernel that it can rank".to_owned(), |error| error.to_string());
                let _ = write!(text, "\n  {reason}");
            }
            Ok(places) => {
                if scratch.out_of_range() {
                    text += "\n  the problem lies outside of what it saw in training";
                }
                for (rank, ranked) in scratch.ranking().iter().enumerate() {
                    let entry = places.get(ranked.index).and_then(|&place| self.entry_at(state, place));
                    let Some(entry) = entry else { continue };
                    let note = if !entry.fits(problem, arch) {
                        ", computes something else"
                    } else if entry.supports(problem) {
                        ""
                    } else {
                        ", unsupported"
                    };
                    let _ =
                        write!(text, "\n  {:>4}. {} score {}{note}", rank + 1, entry.name(), ranked.score);
                }
            }
        }
        text
    }

    fn by_priority(&self, state: &State, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let (mut rank, mut unfit, mut unsupported) = (0, 0, 0);
        for index in state.by_priority() {
            let Some(entry) = self.entry_at(state, index) else { continue };
            if !entry.fits(problem, state.options().arch) {
                unfit += 1;
                continue;
            }
            if entry.supports(problem) {
                let base = selection(entry, index, Source::Priority, state);
                return Ok(Selection { rank, unsupported, ..base });
            }
            unsupported += 1;
            rank += 1;
        }
        Err(SelectError::NoKernel { kernels: state.len(), unfit, unsupported })
    }
}

/// A selection with what all sources have.
const fn selection<'r>(entry: &'r Entry, index: usize, source: Source, state: &State) -> Selection<'r> {
    Selection {
        entry,
        index,
        source,
        score: None,
        rank: 0,
        unsupported: 0,
        out_of_range: false,
        generation: state.generation(),
    }
}

fn described(selection: &Selection<'_>) -> String {
    let mut text = selection.entry.name().to_owned();
    if selection.unsupported > 0 {
        let _ = write!(text, ", after {} unsupported ones", selection.unsupported);
    }
    text
}
