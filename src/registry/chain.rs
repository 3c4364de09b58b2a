//! The chain of sources: override, store, model, search, estimate, priority.

use std::ffi::CStr;

use super::cache::Key;
use super::explain::no_model;
use super::model_name::ModelName;
use super::prepared::{Prepared, PreparedModel};
use super::state::State;
use super::{Mode, Registered, Registry};
use crate::log::{self, Level};
use crate::model::Predictions;
use crate::problem::{Checked, FieldSet, InvalidField, Problem};
use crate::select::{LeftOut, RankError, RankScratch, Ranked, Ranker};
use crate::tuning::store::WinnerSource;

/// Places of a ranking that are tried before the others.
const FIRST: usize = 4;

/// The source of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An override file.
    Override,
    /// A winner that was measured earlier.
    Store,
    /// A model's prediction.
    Model,
    /// Measured during the call.
    Search,
    /// An estimate, without measurements.
    Estimate,
    /// The registered priority.
    Priority,
}

impl Source {
    /// All sources, in the order in which they are tried.
    pub const ALL: [Self; 6] =
        [Self::Override, Self::Store, Self::Model, Self::Search, Self::Estimate, Self::Priority];

    /// The word in logs and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Store => "store",
            Self::Model => "model",
            Self::Search => "search",
            Self::Estimate => "estimate",
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
    pub entry: Registered<'r>,
    /// Its index in the registry at the time of the call.
    pub index: usize,
    /// The source that chose it.
    pub source: Source,
    /// The model's score, or the estimate's microseconds; `None` from other sources.
    pub score: Option<f64>,
    /// Its measured time; `None` if it was not measured.
    pub measured_ms: Option<f64>,
    /// Its rank in the source's order, counted from 0.
    pub rank: usize,
    /// Number of kernels before it in that order that do not support the problem.
    pub unsupported: usize,
    /// The fields that are outside the model's training range.
    pub outside: FieldSet,
    /// Whether no kernel measured for the model had this kernel's pipeline and suffixes.
    pub unmeasured: bool,
    /// Whether the model is for one architecture and neither the problem nor the options name one: the device
    /// may differ.
    pub arch_unknown: bool,
    /// Whether the first kernel by priority was chosen only because no source before had an answer.
    pub no_model: bool,
    /// Whether the model is a universal one, which ranks for any GPU, direction and type.
    pub generic: bool,
    /// The model that chose it; see [`Selection::model_name`].
    pub(super) model: Option<ModelName>,
    /// The generation of the state that answered, see [`Registry::generation`].
    pub generation: u64,
}

impl<'r> Selection<'r> {
    /// A selection with the fields that all sources have.
    pub(super) const fn of(entry: Registered<'r>, index: usize, source: Source, generation: u64) -> Self {
        Self {
            entry,
            index,
            source,
            score: None,
            measured_ms: None,
            rank: 0,
            unsupported: 0,
            outside: FieldSet::NONE,
            unmeasured: false,
            arch_unknown: false,
            no_model: false,
            generic: false,
            model: None,
            generation,
        }
    }

    /// Whether the problem is outside the model's training range.
    pub const fn out_of_range(&self) -> bool {
        !self.outside.is_empty()
    }

    /// The model that chose the kernel: `embedded:universal`, a directory, or the label of a model from memory;
    /// `None` from other sources. The name outlives the model.
    pub fn model_name(&self) -> Option<&'static str> {
        self.c_model_name()?.to_str().ok()
    }

    pub(crate) fn c_model_name(&self) -> Option<&'static CStr> {
        self.model.map(ModelName::as_c_str)
    }
}

/// The kernels that match a problem, ranked by a model.
#[derive(Debug, Clone)]
pub struct Ranking<'r> {
    /// Best first.
    pub places: Vec<Place<'r>>,
    /// Number of kernels that match the problem but that the model cannot describe.
    pub left_out: usize,
    /// The fields that are outside the model's training range.
    pub outside: FieldSet,
}

/// One place of a [`Ranking`].
#[derive(Debug, Clone)]
pub struct Place<'r> {
    /// The kernel's index in the registry at the time of the call.
    pub index: usize,
    /// The kernel.
    pub entry: Registered<'r>,
    /// The model's score.
    pub score: f64,
    /// Whether the previous or next kernel has the same score, so that the model does not distinguish them.
    pub tied: bool,
    /// The parts of its pipeline and suffixes that no kernel measured for the model had, such as `compv5`.
    pub unmeasured: String,
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
        /// Why it cannot be taken.
        reason: &'static str,
    },
    /// No model is loaded for the problem.
    #[error("no model is loaded for the problem{}{why}", if .why.is_empty() { "" } else { ": " })]
    NoModel {
        /// Why none of the loaded models fits.
        why: String,
    },
    /// No kernel at that index that the model can describe.
    #[error("the model can describe no kernel at {index}, the registry has {kernels}")]
    NotThere {
        /// Number of kernels.
        kernels: usize,
        /// The requested index.
        index: usize,
    },
    /// The kernel in question computes something else.
    #[error("kernel '{kernel}' is for another operation, direction, type, layout or architecture")]
    Unfit {
        /// Its name.
        kernel: String,
    },
    /// The model cannot rank the problem.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// No kernel computes the problem, or none of those that do is supported.
    #[error(
        "none of the {kernels} kernels fits the problem: {unfit} are for another operation, direction, \
         type, layout or architecture, {unsupported} do not support it{}",
        .why.as_ref().map_or_else(String::new, |why| format!("; the first, {why}"))
    )]
    NoKernel {
        /// Number of kernels.
        kernels: usize,
        /// Those of another operation, direction, type, layout or architecture.
        unfit: usize,
        /// Those whose owners said no.
        unsupported: usize,
        /// The first kernel, and why it computes something else.
        why: Option<String>,
    },
}

impl Registry {
    /// Chooses a kernel.
    ///
    /// A problem that was decided since the last change is answered from memory. Its kernel's `supports` is
    /// called each time; those of better kernels that returned false are called again only after the next
    /// change. Unless it measures, a call takes no lock, makes no system call, and does not allocate once
    /// warm, unless a kernel's `supports` does. (Working memory grows with the number of simultaneous calls.)
    /// With [`Options::capture`](super::Options::capture), a problem that is new to the file is written by
    /// the call, or by another one that is already writing; calls never wait for each other. The first call
    /// after a change prepares the models; see [`Registry::prepare`].
    pub fn select(&self, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let answer = self.choose(problem);
        if log::enabled(Level::Error) {
            self.report(problem, &answer);
        }
        answer
    }

    fn choose(&self, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let key = Key::of(problem);
        if let Some(key) = &key
            && let Some(selection) = self.remembered(key, problem)
        {
            return Ok(selection);
        }
        let problem = problem.checked()?;
        let state = self.state();
        state.note(problem);
        let selection = self.ask_sources(&state, problem)?;
        if selection.no_model || selection.arch_unknown {
            self.caution(&state, problem, &selection);
        }
        // Not remembered: what was just measured comes from the store next time, and what a callback requests
        // while this thread measures could not be measured yet.
        let options = state.options();
        let lasts =
            selection.source != Source::Search && !(options.measures() && self.labs.is_measuring(options));
        if let (true, Some(key)) = (lasts, &key) {
            self.remember(key, &selection);
            if let Some(asked) = self.asked.get() {
                return Ok(self.note(asked, &state, key, &problem, selection));
            }
        }
        Ok(selection)
    }

    /// Keeps a decision for the next time; false if another thread is writing to the same place.
    pub(super) fn remember(&self, key: &Key, selection: &Selection<'_>) -> bool {
        self.cache.put(key, selection)
    }

    /// The decision for an equal problem since the last change, if its kernel's owner still supports the
    /// problem. An invalid problem was never decided.
    fn remembered(&self, key: &Key, problem: &Problem) -> Option<Selection<'_>> {
        let selection = self.cache.get(key, self.current.settled()?, &self.names)?;
        if selection.entry.may_refuse() && !self.still_supports(&selection, problem) {
            return None;
        }
        if let Some(asked) = self.asked.get() {
            asked.count(key);
        }
        Some(selection)
    }

    /// Whether the kernel of a decision supports the problem now. The state keeps the kernel for the call: without
    /// it, another thread may have removed and dropped it.
    fn still_supports(&self, selection: &Selection<'_>, problem: &Problem) -> bool {
        let state = self.state.load();
        state.generation() == selection.generation
            && state.entry(selection.index).is_some_and(|entry| entry.supports(problem))
    }

    fn ask_sources(&self, state: &State, problem: Checked<'_>) -> Result<Selection<'_>, SelectError> {
        if let Some(name) = state.overrides().get(&problem, state.options().arch) {
            return self.overridden(state, &problem, name);
        }
        if state.options().mode != Mode::Priority {
            let prepared = self.prepared(state);
            if let Some(selection) = self.stored(state, prepared, &problem) {
                return Ok(selection);
            }
            if let Some(selection) = self.by_model_or_search(state, prepared, problem) {
                return Ok(selection);
            }
            if let Some(selection) = self.by_estimate(state, prepared, problem) {
                return Ok(selection);
            }
        }
        self.by_priority(state, &problem)
    }

    fn by_model_or_search(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
    ) -> Option<Selection<'_>> {
        let options = state.options();
        if options.mode == Mode::Search
            && let Some(selection) = self.search_all(state, prepared, problem)
        {
            return Some(selection);
        }
        let best = self.by_model(state, prepared, problem);
        // A universal model's guess does not prevent a search.
        if best.as_ref().is_none_or(|best| best.generic)
            && options.mode == Mode::Model
            && options.search
            && let Some(selection) = self.search_all(state, prepared, problem)
        {
            return Some(selection);
        }
        let best = best?;
        let refined = match options.mode {
            Mode::Refine(count) => count,
            Mode::Model if best.out_of_range() => options.refine_out_of_range,
            _ => 0,
        };
        if refined > 0
            && let Some(selection) = self.refine(state, prepared, problem, refined)
        {
            return Some(Selection { outside: best.outside, ..selection });
        }
        Some(best)
    }

    pub(super) fn overridden(
        &self,
        state: &State,
        problem: &Problem,
        name: &str,
    ) -> Result<Selection<'_>, SelectError> {
        let fault = |reason| SelectError::Override { kernel: name.to_owned(), reason };
        let index = state.position(name).ok_or_else(|| fault("is not registered"))?;
        let entry = state.entry(index).ok_or_else(|| fault("is not registered"))?;
        if !entry.fits(problem, state.options().arch) {
            return Err(fault("computes something else"));
        }
        if !entry.supports(problem) {
            return Err(fault("does not support the problem"));
        }
        Ok(Selection::of(self.registered(entry), index, Source::Override, state.generation()))
    }

    /// The measured winner, if its kernel is still registered and supported.
    pub(super) fn stored(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: &Problem,
    ) -> Option<Selection<'_>> {
        let snapshot = prepared.winners.as_ref().ok()?.snapshot();
        let winner = snapshot.get(problem)?;
        let index = state.position(&winner.kernel)?;
        let entry = state.entry(index)?;
        if !entry.fits(problem, state.options().arch) || !entry.supports(problem) {
            return None;
        }
        let base = Selection::of(self.registered(entry), index, Source::Store, state.generation());
        Some(Selection { measured_ms: Some(winner.median_ms), ..base })
    }

    pub(super) fn by_model(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
    ) -> Option<Selection<'_>> {
        let mut scratch = self.scratches.pop().unwrap_or_default();
        let found = self.best_of_model(state, prepared, problem, &mut scratch);
        // If the queue is full, it is freed: there were more simultaneous calls than scratches to keep.
        let _ = self.scratches.push(scratch);
        found
    }

    /// The model's best kernel that fits and is supported. Usually one of the first can run the problem, and
    /// in a large pool they are found faster than the whole ranking. That begins with the same kernels, so
    /// that none is asked twice.
    fn best_of_model(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
        scratch: &mut RankScratch,
    ) -> Option<Selection<'_>> {
        let arch = state.options().arch;
        let (model, ranker, mut whole) = Self::ask_model(state, prepared, problem, FIRST, scratch).ok()?;
        let (mut next, mut rank, mut unsupported) = (0, 0, 0);
        loop {
            while let Some(&Ranked { index: of_ranker, score }) = scratch.ranking().get(next) {
                next += 1;
                let index = *model.places.get(of_ranker)?;
                let entry = state.entry(index)?;
                if entry.fits(&problem, arch) {
                    if entry.supports(&problem) {
                        return Some(Selection {
                            score: Some(score),
                            rank,
                            unsupported,
                            outside: scratch.outside(),
                            unmeasured: !ranker.unmeasured(of_ranker).is_empty(),
                            arch_unknown: model.is_of_one_arch() && problem.arch().or(arch).is_none(),
                            generic: model.is_generic(),
                            model: Some(model.name),
                            ..Selection::of(self.registered(entry), index, Source::Model, state.generation())
                        });
                    }
                    unsupported += 1;
                    rank += 1;
                }
            }
            if whole {
                return None;
            }
            ranker.follow_with(problem, scratch).ok()?;
            whole = true;
        }
    }

    /// Measures every kernel that fits and is supported.
    pub(super) fn search_all(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
    ) -> Option<Selection<'_>> {
        let places = Self::supported_places(state, prepared, problem);
        self.measure(state, prepared, &problem, &places, WinnerSource::Search)
    }

    /// The places of all kernels that fit and are supported, in the model's order if there is one, the rest
    /// in the estimate's, so that the best are measured before the budget ends.
    pub(super) fn supported_places(state: &State, prepared: &Prepared, problem: Checked<'_>) -> Vec<usize> {
        let mut places = Self::supported_by_model(state, prepared, problem, usize::MAX);
        let mut taken = vec![false; state.len()];
        for &place in &places {
            taken[place] = true;
        }
        for place in Self::places_by_estimate(state, prepared, problem).into_iter().chain(state.by_priority())
        {
            if !std::mem::replace(&mut taken[place], true) && Self::is_candidate(state, place, &problem) {
                places.push(place);
            }
        }
        places
    }

    /// Measures the model's best supported kernels.
    pub(super) fn refine(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
        count: usize,
    ) -> Option<Selection<'_>> {
        let places = Self::supported_by_model(state, prepared, problem, count);
        self.measure(state, prepared, &problem, &places, WinnerSource::Refine)
    }

    /// The places of the model's best supported kernels.
    fn supported_by_model(
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
        count: usize,
    ) -> Vec<usize> {
        let mut scratch = RankScratch::default();
        let Ok((model, ..)) = Self::ask_model(state, prepared, problem, usize::MAX, &mut scratch) else {
            return Vec::new();
        };
        let ranking = scratch.ranking().iter().filter_map(|ranked| model.places.get(ranked.index).copied());
        ranking.filter(|&place| Self::is_candidate(state, place, &problem)).take(count).collect()
    }

    fn is_candidate(state: &State, place: usize, problem: &Problem) -> bool {
        state
            .entry(place)
            .is_some_and(|entry| entry.fits(problem, state.options().arch) && entry.supports(problem))
    }

    /// Ranks the `count` best for a problem into the scratch, or all; returns the model, and whether all are
    /// ranked.
    pub(super) fn ask_model<'p>(
        state: &State,
        prepared: &'p Prepared,
        problem: Checked<'_>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<(&'p PreparedModel, &'p Ranker, bool), SelectError> {
        // The select path does not collect the reasons, because that would allocate.
        let no_model = || SelectError::NoModel { why: String::new() };
        let at = state.model_for(&problem, state.options().arch).ok_or_else(no_model)?;
        let model = prepared.models.get(at).ok_or_else(no_model)?;
        let nothing =
            SelectError::NoKernel { kernels: state.len(), unfit: state.len(), unsupported: 0, why: None };
        let ranker = model.ranker.as_ref().ok_or(nothing)?;
        match ranker.lead_with(problem, state.options().arch, count, scratch) {
            Ok(whole) => Ok((model, ranker, whole)),
            // A universal model only serves the problem if the GPU is known.
            Err(RankError::NoArch | RankError::Device(_)) => Err(no_model()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn by_priority(&self, state: &State, problem: &Problem) -> Result<Selection<'_>, SelectError> {
        let (mut rank, mut unfit, mut unsupported) = (0, 0, 0);
        for index in state.by_priority() {
            let Some(entry) = state.entry(index) else { continue };
            if !entry.fits(problem, state.options().arch) {
                unfit += 1;
                continue;
            }
            if entry.supports(problem) {
                let base = Selection::of(self.registered(entry), index, Source::Priority, state.generation());
                let no_model = state.options().mode != Mode::Priority;
                return Ok(Selection { rank, unsupported, no_model, ..base });
            }
            unsupported += 1;
            rank += 1;
        }
        let first = state.by_priority().find_map(|index| state.entry(index));
        let why = first.and_then(|entry| {
            let reason = entry.kernel().misfit(problem)?;
            Some(format!("'{}': {reason}", entry.name()))
        });
        Err(SelectError::NoKernel { kernels: state.len(), unfit, unsupported, why })
    }

    /// Ranks all matching kernels by the model that serves the problem. `supports` is not called.
    pub fn rank(&self, problem: &Problem) -> Result<Ranking<'_>, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        state.note(problem);
        let mut scratch = RankScratch::default();
        let prepared = self.prepared(&state);
        let (model, ranker, _) = Self::ask_model(&state, prepared, problem, usize::MAX, &mut scratch)
            .map_err(|error| with_reasons(&state, &problem, error))?;
        let arch = state.options().arch;
        let mut places: Vec<Place<'_>> = Vec::with_capacity(scratch.ranking().len());
        for ranked in scratch.ranking() {
            let index = model.places.get(ranked.index).copied();
            let entry = index.and_then(|index| Some((index, state.entry(index)?)));
            let Some((index, entry)) = entry.filter(|(_, entry)| entry.fits(&problem, arch)) else {
                continue;
            };
            let unmeasured = ranker.unmeasured(ranked.index).to_owned();
            let tied = places.last().is_some_and(|before| before.score == ranked.score);
            if let (true, Some(before)) = (tied, places.last_mut()) {
                before.tied = true;
            }
            places.push(Place {
                index,
                entry: self.registered(entry),
                score: ranked.score,
                tied,
                unmeasured,
            });
        }
        let fits = |left_out: &&LeftOut| {
            let place = model.places.get(left_out.index);
            place.and_then(|&place| state.entry(place)).is_some_and(|entry| entry.fits(&problem, arch))
        };
        let left_out = ranker.left_out().iter().filter(fits).count();
        Ok(Ranking { places, left_out, outside: scratch.outside() })
    }

    /// Every target's prediction for the kernel at an index, which must compute the problem.
    pub fn predict(&self, problem: &Problem, index: usize) -> Result<Predictions, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let (ranker, at) = self.ranker_with(&state, &problem, index)?;
        if let Some(entry) = state.entry(index)
            && !entry.fits(&problem, state.options().arch)
        {
            return Err(SelectError::Unfit { kernel: entry.name().to_owned() });
        }
        Ok(ranker.predict(problem, at)?)
    }

    /// The feature row of the kernel at an index.
    pub fn features(&self, problem: &Problem, index: usize) -> Result<Vec<f64>, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let (ranker, at) = self.ranker_with(&state, &problem, index)?;
        Ok(ranker.features(problem, at)?)
    }

    /// The ranker for a problem, and the place of a kernel in it.
    fn ranker_with<'s>(
        &self,
        state: &'s State,
        problem: &Problem,
        index: usize,
    ) -> Result<(&'s Ranker, usize), SelectError> {
        let no_model = || SelectError::NoModel { why: no_model(state, problem) };
        let at = state.model_for(problem, state.options().arch).ok_or_else(no_model)?;
        let model = self.prepared(state).models.get(at).ok_or_else(no_model)?;
        let place = model.places.iter().position(|&place| place == index);
        match (&model.ranker, place) {
            (Some(ranker), Some(place)) => Ok((ranker, place)),
            _ => Err(SelectError::NotThere { kernels: state.len(), index }),
        }
    }
}

/// Adds to an error why no model fits, which the select path leaves out.
fn with_reasons(state: &State, problem: &Problem, error: SelectError) -> SelectError {
    match error {
        SelectError::NoModel { .. } => SelectError::NoModel { why: no_model(state, problem) },
        error => error,
    }
}
