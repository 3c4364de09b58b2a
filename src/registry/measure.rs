//! Measures kernels of the registry, one search at a time.

use std::time::Instant;

use super::bench::{Attempt, Bench, MeasureError, Turn};
use super::call::Call;
use super::demand::Timing;
use super::entry::Entry;
use super::index::Choice;
use super::options::Options;
use super::selection::{Selection, Source};
use super::source::store;
use crate::log::{self, Level};
use crate::problem::Problem;
use crate::tuning::device::Stream;
use crate::tuning::search::{Candidate, SearchOptions, SearchReport, search};
use crate::tuning::store::{StoreError, Winner, WinnerSource, Winners};

/// A problem's turn on the device, and the place for its winner.
pub(super) struct Measurement<'r, 's> {
    pub(super) call: Call<'r, 's>,
    bench: &'r Bench,
    attempt: Attempt,
    turn: Turn<'r>,
    winners: &'s Winners,
}

impl<'r, 's> Measurement<'r, 's> {
    /// Waits for other searches, until `until` at most.
    pub(super) fn begin(call: Call<'r, 's>, until: Option<Instant>) -> Result<Self, MeasureError> {
        let options = call.state.options();
        let bench = call.registry.slots.bench(options).map_err(MeasureError::Device)?;
        // Without a place to keep winners, every selection would measure again.
        let winners = call.prepared().winners.as_ref();
        let winners = winners.map_err(|reason| MeasureError::NoWinners(reason.clone()))?;
        winners.takes(&call.problem)?;
        let attempt = (call.state.generation(), *call.problem);
        let turn = bench.turn(attempt, options.measuring.run_timeout, until)?;
        winners.load_late();
        Ok(Self { call, bench, attempt, turn, winners })
    }

    /// Times those of these kernels that can run; a candidate's index is that of its choice.
    pub(super) fn try_out(
        &self,
        choices: &[Choice],
        stream: Stream,
        measuring: &SearchOptions,
    ) -> Option<SearchReport> {
        let Call { state, problem, .. } = self.call;
        let mut candidates: Vec<Candidate<'_>> = choices
            .iter()
            .enumerate()
            .filter_map(|(index, choice)| Some((index, choice, state.entry(choice.kernel)?.hooks()?)))
            .filter(|(.., hooks)| hooks.can_run())
            .map(|(index, choice, hooks)| {
                let definite = problem.with_split(choice.split_k);
                Candidate::new(index, move |stream| hooks.run(&definite, stream))
            })
            .collect();
        Some(search(&self.turn, self.turn.device()?, stream, &mut candidates, measuring))
    }

    /// The report on these kernels, for people.
    pub(super) fn text(&self, report: &SearchReport, choices: &[Choice]) -> String {
        let Call { state, problem, .. } = self.call;
        let name = |choice: &Choice| {
            problem.named(state.entry(choice.kernel).map_or("", Entry::name), choice.split_k)
        };
        report.text(|index| choices.get(index).map_or_else(String::new, name))
    }

    /// Remembers that the problem cannot be measured.
    pub(super) fn fail(&self) {
        self.bench.fail(self.attempt);
    }

    /// Keeps a winner. It is in memory even if writing to disk fails, which the store logs once.
    pub(super) fn keep(&self, entry: &Entry, timing: &Timing, tried: usize, source: WinnerSource) {
        let problem = self.call.problem;
        let &Timing { choice, median_ms, cv, repeats } = timing;
        let record = Winner {
            kernel: entry.name().into(),
            split_k: choice.split_k,
            median_ms,
            cv,
            repeats,
            candidates: u32::try_from(tried).unwrap_or(u32::MAX),
            measured_at: Winner::now(),
            source,
        };
        if let Err(error @ StoreError::Invalid(_)) = self.winners.put(&problem, &record) {
            log::line(Level::Warn, "store", format_args!("{problem}: the winner is not stored: {error}"));
        }
        let name = problem.named(entry.name(), choice.split_k);
        let text = format_args!("{problem}: {name} takes {median_ms} ms, the fastest of {tried}");
        log::line(Level::Info, "search", text);
    }
}

/// Measures these kernels, best guess first, and keeps the winner. Those without a `run` callback are left
/// out. If there is no winner, the reason is logged.
pub(super) fn measure<'r>(
    call: Call<'r, '_>,
    choices: &[Choice],
    source: WinnerSource,
) -> Option<Selection<'r>> {
    let (state, problem) = (call.state, call.problem);
    let measurement =
        Measurement::begin(call, None).map_err(|reason| log_failure(&problem, &reason.to_string())).ok()?;
    // Another thread may have measured it while this one waited.
    if let Some(selection) = store::answer(call) {
        return Some(Selection { source: Source::Search, ..selection });
    }
    let Options { stream, measuring, .. } = state.options();
    let report = measurement.try_out(choices, *stream, measuring)?;
    let text = || measurement.text(&report, choices);
    let winner = report.winner.and_then(|winner| {
        let verdict = &report.entries.iter().find(|entry| entry.index == winner.index)?.verdict;
        let timing = Timing::new(*choices.get(winner.index)?, verdict)?;
        Some((timing, state.entry(timing.choice.kernel)?))
    });
    let Some((timing, entry)) = winner else {
        measurement.fail();
        log_failure(&problem, &text());
        return None;
    };
    if log::enabled(Level::Debug) {
        log::line(Level::Debug, "search", format_args!("{problem}: {}", text().trim_end()));
    }
    measurement.keep(entry, &timing, report.tried, source);
    let base = call.selection(timing.choice, entry, Source::Search);
    Some(Selection { measured_ms: Some(timing.median_ms), ..base })
}

fn log_failure(problem: &Problem, reason: &str) {
    log::line(Level::Warn, "search", format_args!("{problem}: nothing measured: {reason}"));
}
