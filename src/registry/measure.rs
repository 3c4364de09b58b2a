//! Measures kernels of the registry, one search at a time.

use super::bench::Turn;
use super::demand::Timing;
use super::entry::Entry;
use super::index::Choice;
use super::options::Options;
use super::selection::{Selection, Source};
use super::shared::Registry;
use super::source::{Call, store};
use super::state::State;
use crate::log::{self, Level};
use crate::problem::Problem;
use crate::tuning::device::Stream;
use crate::tuning::search::{Candidate, SearchOptions, SearchReport, Verdict, search};
use crate::tuning::store::{StoreError, Winner, WinnerSource, Winners};

impl Registry {
    /// Measures these kernels, best guess first, and keeps the winner. Those without a `run`
    /// callback are left out. If there is no winner, the reason is logged.
    pub(super) fn measure<'r>(
        &self,
        call: Call<'r, '_>,
        choices: &[Choice],
        source: WinnerSource,
    ) -> Option<Selection<'r>> {
        let (state, problem) = (call.state, &*call.problem);
        let bench = match self.slots.bench(state.options()) {
            Ok(bench) => bench,
            Err(reason) => return nothing(problem, &reason),
        };
        // Without a place to keep winners, every selection would measure again.
        let winners = match &call.prepared().winners {
            Ok(winners) => winners,
            Err(reason) => return nothing(problem, &format!("a winner could not be kept: {reason}")),
        };
        if let Err(reason) = winners.takes(problem) {
            return nothing(problem, &format!("a winner could not be kept: {reason}"));
        }
        let attempt = (state.generation(), *problem);
        let turn = match bench.turn(attempt, state.options().measuring.run_timeout, None) {
            Ok(turn) => turn,
            Err(reason) => return nothing(problem, &reason.to_string()),
        };
        winners.load_late();
        // Another thread may have measured it while this one waited.
        if let Some(selection) = store::answer(call) {
            return Some(Selection { source: Source::Search, ..selection });
        }
        let Options { stream, measuring, .. } = state.options();
        let report = try_out(state, &turn, problem, choices, *stream, measuring)?;
        let name = |place: usize| {
            choices.get(place).map_or_else(String::new, |&choice| name(state, problem, choice))
        };
        let winner = report.winner.and_then(|winner| {
            let choice = *choices.get(winner.index)?;
            Some((winner, choice, state.entry(choice.kernel)?))
        });
        let Some((winner, choice, entry)) = winner else {
            bench.fail(attempt);
            return nothing(problem, &report.text(name));
        };
        if log::enabled(Level::Debug) {
            log::line(Level::Debug, "search", format_args!("{problem}: {}", report.text(name).trim_end()));
        }
        let (cv, repeats) = spread(&report, winner.index);
        let timing = Timing { choice, median_ms: winner.median_ms, cv, repeats };
        keep(winners, problem, entry, &timing, report.tried, source);
        let base = call.selection(choice, entry, Source::Search);
        Some(Selection { measured_ms: Some(winner.median_ms), ..base })
    }
}

/// A kernel's name, with the number of parts if the problem left the choice.
pub(super) fn name(state: &State, problem: &Problem, choice: Choice) -> String {
    problem.named(state.entry(choice.kernel).map_or("", Entry::name), choice.split_k)
}

/// Times those of these kernels that can run; a candidate's index is its place.
pub(super) fn try_out(
    state: &State,
    turn: &Turn<'_>,
    problem: &Problem,
    choices: &[Choice],
    stream: Stream,
    measuring: &SearchOptions,
) -> Option<SearchReport> {
    let mut candidates: Vec<Candidate<'_>> = choices
        .iter()
        .enumerate()
        .filter_map(|(place, choice)| Some((place, choice, state.entry(choice.kernel)?.hooks()?)))
        .filter(|(.., hooks)| hooks.can_run())
        .map(|(place, choice, hooks)| {
            let definite = problem.with_split(choice.split_k);
            Candidate::new(place, move |stream| hooks.run(&definite, stream))
        })
        .collect();
    Some(search(turn, turn.device()?, stream, &mut candidates, measuring))
}

/// Keeps a winner. It is in memory even if writing to disk fails, which the store logs once.
pub(super) fn keep(
    winners: &Winners,
    problem: &Problem,
    entry: &Entry,
    timing: &Timing,
    tried: usize,
    source: WinnerSource,
) {
    let record = Winner {
        kernel: entry.name().into(),
        split_k: timing.choice.split_k,
        median_ms: timing.median_ms,
        cv: timing.cv,
        repeats: timing.repeats,
        candidates: u32::try_from(tried).unwrap_or(u32::MAX),
        measured_at: Winner::now(),
        source,
    };
    if let Err(error @ StoreError::Invalid(_)) = winners.put(problem, &record) {
        log::line(Level::Warn, "store", format_args!("{problem}: the winner is not stored: {error}"));
    }
    let (name, ms) = (problem.named(entry.name(), timing.choice.split_k), timing.median_ms);
    log::line(Level::Info, "search", format_args!("{problem}: {name} takes {ms} ms, the fastest of {tried}"));
}

fn nothing(problem: &Problem, reason: &str) -> Option<Selection<'static>> {
    log::line(Level::Warn, "search", format_args!("{problem}: nothing measured: {reason}"));
    None
}

fn spread(report: &SearchReport, index: usize) -> (f64, u32) {
    let entry = report.entries.iter().find(|entry| entry.index == index);
    match entry.map(|entry| &entry.verdict) {
        Some(Verdict::Measured { cv, repeats, .. }) => (cv.unwrap_or(0.0), *repeats),
        _ => (0.0, 1),
    }
}
