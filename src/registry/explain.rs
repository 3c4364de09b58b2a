//! Explains choices, as text for people.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use super::prepared::Prepared;
use super::state::{LoadedModel, State};
use super::{Entry, Mode, Registry, SelectError, Selection, Source, reproduce};
use crate::log::{self, Level};
use crate::model::listed;
use crate::problem::{Checked, Problem};
use crate::select::{LeftOutReason, RankScratch};
use crate::vocab::Arch;

/// The warnings of a registry, each given once.
#[derive(Default)]
pub(super) struct Said {
    no_model: AtomicBool,
    arch_unknown: AtomicBool,
}

impl Registry {
    /// Warns of a selection that may be poor, once for each reason.
    #[cold]
    pub(super) fn caution(&self, state: &State, problem: Checked<'_>, selection: &Selection<'_>) {
        let first = |said: &AtomicBool| !said.load(Ordering::Relaxed) && !said.swap(true, Ordering::Relaxed);
        let name = selection.entry.name();
        if selection.no_model && first(&self.said.no_model) {
            let prepared = self.prepared(state);
            let why = self.explain_no_model(state, prepared, problem);
            let no_estimate = Self::explain_no_estimate(state, prepared, problem);
            log::caution(
                "select",
                format_args!(
                    "{problem}: {name}, the first by priority, without a model: {why}; and without an estimate: \
                     {no_estimate}"
                ),
            );
        }
        let embedded = || {
            let at = state.model_for(&problem, None)?;
            state.models().get(at).filter(|loaded| loaded.embedded)
        };
        // Whoever loads a model knows its architecture.
        if selection.arch_unknown
            && let Some(loaded) = embedded()
            && first(&self.said.arch_unknown)
        {
            log::caution(
                "select",
                format_args!(
                    "{problem}: {name}, by a model for {}, which may not be the architecture of this device: \
                     neither the problem nor the options (`arch`) name one",
                    loaded.key
                ),
            );
        }
    }

    /// Explains which sources there are for a problem and what each answers. Nothing is measured.
    pub fn explain(&self, problem: &Problem) -> Result<String, SelectError> {
        let problem = problem.checked()?;
        let state = self.state();
        let prepared = self.prepared(&state);
        let mut text = format!("problem: {problem}\n");
        let mut line = |source: &str, answer: &str| {
            let _ = writeln!(text, "{source}: {answer}");
        };
        let asked = asked(state.options().mode);
        let others = Source::ALL.iter().filter(|source| !asked.contains(source));
        for source in asked.iter().chain(others) {
            let mut answer = match source {
                Source::Override => self.explain_override(&state, &problem),
                Source::Store => self.explain_store(&state, prepared, &problem),
                Source::Model => Self::explain_model(&state, prepared, problem),
                Source::Search => self.explain_search(&state),
                Source::Estimate => Self::explain_estimate(&state, prepared, problem),
                Source::Priority => {
                    self.by_priority(&state, &problem).map_or_else(|e| e.to_string(), |s| described(&s))
                }
            };
            if !asked.contains(source) {
                answer.insert_str(0, "not asked in this mode; ");
            }
            line(source.as_str(), &answer);
        }
        line("selected", &self.without_measuring(&state, prepared, problem));
        Ok(text)
    }

    /// Logs a decision.
    pub(super) fn report(&self, problem: &Problem, answer: &Result<Selection<'_>, SelectError>) {
        let problem = match problem.checked().map_err(SelectError::Problem) {
            Ok(problem) => problem,
            Err(error) => return log::line(Level::Error, "select", format_args!("{error}")),
        };
        match answer {
            Err(error) => log::line(Level::Error, "select", format_args!("{problem}: {error}")),
            Ok(selection) => {
                let (name, source) = (selection.entry.name(), selection.source);
                log::line(Level::Debug, "select", format_args!("{problem}: {name} by {source}"));
                if selection.out_of_range() {
                    let fields: Vec<_> = selection.outside.names(problem.op()).collect();
                    let fields = fields.join(", ");
                    log::line(
                        Level::Warn,
                        "model",
                        format_args!("{problem}: outside the model's training range: {fields}"),
                    );
                }
            }
        }
        if log::enabled(Level::Debug) {
            let state = self.state();
            let skipped = self.passed_over(&state, problem, answer.as_ref().ok().map(|found| found.source));
            if !skipped.is_empty() {
                log::line(
                    Level::Debug,
                    "select",
                    format_args!("{problem}: passed over {}", skipped.join("; ")),
                );
            }
            if let Ok(selection) = answer {
                let text = match reproduce::command(self, &state, &problem, selection) {
                    Ok(command) => format!("reproduce with: {command}"),
                    Err(reason) => format!("no command reproduces it: {reason}"),
                };
                log::line(Level::Debug, "select", format_args!("{problem}: {text}"));
            }
        }
        if log::enabled(Level::Trace) {
            let text = self.explain(&problem).unwrap_or_else(|error| error.to_string());
            log::line(Level::Trace, "select", format_args!("{text}"));
        }
    }

    /// The sources that come before the one that answered, each with its reason; all of them if none did.
    fn passed_over(&self, state: &State, problem: Checked<'_>, chosen: Option<Source>) -> Vec<String> {
        let prepared = self.prepared(state);
        let before = asked(state.options().mode).iter().take_while(|&&source| Some(source) != chosen);
        let reason = |&source: &Source| {
            let reason = match source {
                Source::Override => self.explain_override(state, &problem),
                // By now it contains the winner, which was measured because there was none.
                Source::Store if chosen == Some(Source::Search) => "no usable winner before".to_owned(),
                Source::Store => self.explain_store(state, prepared, &problem),
                Source::Model => self.explain_no_model(state, prepared, problem),
                Source::Search => self.explain_search(state),
                Source::Estimate => Self::explain_no_estimate(state, prepared, problem),
                Source::Priority => "no kernel fits and is supported".to_owned(),
            };
            format!("{source}: {reason}")
        };
        before.map(reason).collect()
    }

    /// Why the model did not choose.
    fn explain_no_model(&self, state: &State, prepared: &Prepared, problem: Checked<'_>) -> String {
        let mut scratch = RankScratch::default();
        match Self::ask_model(state, prepared, problem, 1, &mut scratch) {
            Err(SelectError::NoModel { .. }) => no_model(state, &problem),
            Err(error) => error.to_string(),
            Ok(_) => match self.by_model(state, prepared, problem) {
                None => "no kernel that it ranks fits and is supported".to_owned(),
                Some(best) if best.out_of_range() => format!("{}, out of range", best.entry.name()),
                Some(best) => best.entry.name().to_owned(),
            },
        }
    }

    fn without_measuring(&self, state: &State, prepared: &Prepared, problem: Checked<'_>) -> String {
        let predicts = state.options().mode != Mode::Priority;
        let known = || {
            let stored = self.stored(state, prepared, &problem);
            let predicted = stored.or_else(|| self.by_model(state, prepared, problem));
            predicted.or_else(|| self.by_estimate(state, prepared, problem))
        };
        let answer = match state.overrides().get(&problem, state.options().arch) {
            Some(name) => self.overridden(state, &problem, name),
            None => match predicts.then(known).flatten() {
                Some(selection) => Ok(selection),
                None => self.by_priority(state, &problem),
            },
        };
        match answer {
            Ok(selection) => {
                format!("{} by {}, if nothing is measured", selection.entry.name(), selection.source)
            }
            Err(error) => format!("nothing: {error}"),
        }
    }

    fn explain_override(&self, state: &State, problem: &Problem) -> String {
        match state.overrides().get(problem, state.options().arch) {
            None if state.options().override_file.is_none() => "no file".to_owned(),
            None => "no rule for this problem".to_owned(),
            Some(name) => {
                self.overridden(state, problem, name).map_or_else(|e| e.to_string(), |s| described(&s))
            }
        }
    }

    fn explain_store(&self, state: &State, prepared: &Prepared, problem: &Problem) -> String {
        match &prepared.winners {
            Err(reason) => format!("none: {reason}"),
            Ok(winners) => match (self.stored(state, prepared, problem), winners.snapshot().get(problem)) {
                (Some(selection), _) => described(&selection),
                (None, Some(winner)) => {
                    format!("{}, which is not registered or not supported", winner.kernel)
                }
                (None, None) => match winners.store().status().reason {
                    Some(reason) => format!("no winner is known for this problem: {reason}"),
                    None => "no winner for this problem".to_owned(),
                },
            },
        }
    }

    fn explain_search(&self, state: &State) -> String {
        let options = state.options();
        let what = match options.mode {
            Mode::Search => "all kernels, before the model".to_owned(),
            Mode::Refine(count) => format!("the model's best {count}"),
            Mode::Model if options.search => "all kernels, when no model fits".to_owned(),
            Mode::Model if options.refine_out_of_range > 0 => {
                format!("the model's best {} when the problem is out of range", options.refine_out_of_range)
            }
            Mode::Model | Mode::Priority => return "not allowed".to_owned(),
        };
        match self.labs.facts(options) {
            Ok(facts) => format!("{what}, on {}", facts.name),
            Err(reason) => format!("{what}, but {reason}"),
        }
    }

    fn explain_model(state: &State, prepared: &Prepared, problem: Checked<'_>) -> String {
        let arch = state.options().arch;
        let chosen = state.model_for(&problem, arch);
        let fitting = chosen.and_then(|at| Some((at, state.model(at)?, prepared.models.get(at)?)));
        let Some((chosen, loaded, compiled)) = fitting else { return no_model(state, &problem) };
        let generic = if loaded.model.is_generic() { ", generic" } else { "" };
        let mut text = format!("{} ({}{generic})", loaded.model.name(), loaded.key);
        for (_, other) in state.models().iter().enumerate().filter(|(at, _)| *at != chosen) {
            let _ = write!(text, "\n  not {}", misfit(other, &problem, arch));
        }
        if let Some(fault) = &compiled.fault {
            let _ = write!(text, "\n  {fault}");
        }
        for (place, reason) in compiled.left_out() {
            let name = state.entry(place).map_or("", Entry::name);
            let verb = match reason {
                LeftOutReason::Undescribed(_) => "cannot describe",
                LeftOutReason::NotFor(_) => "does not rank",
            };
            let _ = write!(text, "\n  {verb} {name}: {reason}");
        }
        let mut scratch = RankScratch::default();
        match Self::ask_model(state, prepared, problem, usize::MAX, &mut scratch) {
            Err(error) => {
                let _ = write!(text, "\n  {error}");
            }
            Ok((model, ranker, _)) => {
                let outside = ranker.out_of_range_on(&problem, arch).ok();
                let outside: Vec<_> = outside.iter().flatten().map(ToString::to_string).collect();
                if !outside.is_empty() {
                    let _ =
                        write!(text, "\n  the problem is outside its training range: {}", outside.join("; "));
                }
                for (rank, ranked) in scratch.ranking().iter().enumerate() {
                    let entry = model.places.get(ranked.index).and_then(|&place| state.entry(place));
                    let Some(entry) = entry else { continue };
                    let note = if !entry.fits(&problem, arch) {
                        ", computes something else"
                    } else if entry.supports(&problem) {
                        ""
                    } else {
                        ", unsupported"
                    };
                    let (place, name, score) = (rank + 1, entry.name(), ranked.score);
                    let _ = write!(text, "\n  {place:>4}. {name} score {score}{note}");
                    let unmeasured = ranker.unmeasured(ranked.index);
                    if !unmeasured.is_empty() {
                        let _ = write!(text, ", {unmeasured} was never measured for the model");
                    }
                }
            }
        }
        text
    }
}

/// The sources of a mode, in the order in which they are tried.
const fn asked(mode: Mode) -> &'static [Source] {
    match mode {
        Mode::Model => &Source::ALL,
        Mode::Search | Mode::Refine(_) => &[
            Source::Override,
            Source::Store,
            Source::Search,
            Source::Model,
            Source::Estimate,
            Source::Priority,
        ],
        Mode::Priority => &[Source::Override, Source::Priority],
    }
}

fn described(selection: &Selection<'_>) -> String {
    let mut text = selection.entry.name().to_owned();
    if let Some(ms) = selection.measured_ms {
        let _ = write!(text, ", measured {ms} ms");
    }
    if selection.unsupported > 0 {
        let _ = write!(text, ", after {} unsupported ones", selection.unsupported);
    }
    text
}

/// Why no model serves a problem, model by model, and what can be done.
pub(super) fn no_model(state: &State, problem: &Problem) -> String {
    // That built-in models are for other operations tells nothing.
    let told = state.models().iter().filter(|loaded| !loaded.embedded || loaded.key.op == problem.op());
    let misfits: Vec<String> = told.map(|loaded| misfit(loaded, problem, state.options().arch)).collect();
    if misfits.is_empty() {
        return "none is loaded".to_owned();
    }
    format!("none fits: {}; load a model for it, allow a search, or force one", misfits.join("; "))
}

/// Why a model is not used.
fn misfit(loaded: &LoadedModel, problem: &Problem, arch: Option<Arch>) -> String {
    let misfits = loaded.key.misfits(problem, arch);
    let reason = if misfits.is_empty() && loaded.model.is_generic() {
        "it goes after one that was trained for the problem, and ranks only for a GPU that the estimate knows"
            .to_owned()
    } else if misfits.is_empty() {
        "it also fits, but another one fits better or was loaded later".to_owned()
    } else {
        listed(&misfits)
    };
    format!("{} ({}): {reason}", loaded.model.name(), loaded.key)
}
