//! Measures kernels of the registry, one search at a time.

use super::bench::Turn;
use super::demand::Timing;
use super::entry::Entry;
use super::index::KernelIndex;
use super::options::Options;
use super::selection::{Selection, Source};
use super::shared::Registry;
use super::source::{Call, store};
use super::state::State;
use crate::log::{self, Level};
use crate::problem::Problem;
use crate::tuning::device::Stream;
use crate::tuning::search::{Candidate, SearchOptions, SearchReport, Verdict, search_by};
use crate::tuning::store::{StoreError, Winner, WinnerSource, Winners};

impl Registry {
    /// Measures the kernels at these indices, best guess first, and keeps the winner. Those without a `run`
    /// callback are left out. If there is no winner, the reason is logged.
    pub(super) fn measure<'r>(
        &self,
        call: Call<'r, '_>,
        kernels: &[KernelIndex],
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
        let report = try_out(state, &turn, problem, kernels, *stream, measuring)?;
        let name = |index| {
            state.entry(KernelIndex::new(index)).map_or_else(String::new, |entry| entry.name().to_owned())
        };
        let winner = report.winner.and_then(|winner| {
            let index = KernelIndex::new(winner.index);
            Some((winner, index, state.entry(index)?))
        });
        let Some((winner, index, entry)) = winner else {
            bench.fail(attempt);
            return nothing(problem, &report.text(name));
        };
        if log::enabled(Level::Debug) {
            log::line(Level::Debug, "search", format_args!("{problem}: {}", report.text(name).trim_end()));
        }
        let (cv, repeats) = spread(&report, winner.index);
        let timing = Timing { kernel: index, median_ms: winner.median_ms, cv, repeats };
        keep(winners, problem, entry, &timing, report.tried, source);
        let base = call.selection(index, entry, Source::Search);
        Some(Selection { measured_ms: Some(winner.median_ms), ..base })
    }
}

/// Times those of the kernels at these indices that can run.
pub(super) fn try_out(
    state: &State,
    turn: &Turn<'_>,
    problem: &Problem,
    kernels: &[KernelIndex],
    stream: Stream,
    measuring: &SearchOptions,
) -> Option<SearchReport> {
    let mut candidates: Vec<Candidate<'_>> = kernels
        .iter()
        .filter_map(|&index| Some((index, state.entry(index)?.hooks()?)))
        .filter(|(_, hooks)| hooks.can_run())
        .map(|(index, hooks)| Candidate::new(index.get(), move |stream| hooks.run(problem, stream)))
        .collect();
    Some(search_by(turn, turn.device()?, stream, &mut candidates, measuring))
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
    let (name, ms) = (entry.name(), timing.median_ms);
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
