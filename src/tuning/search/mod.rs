//! Timing candidates one after the other within a budget; the fastest wins.
//!
//! ```text
//! for each candidate, best guess first, until the budget is spent:
//!     warm up; a kernel many times slower than the best so far is cut off
//!     time each of `repeats` runs by events; the median counts
//! finalists = candidates whose spread overlaps with that of the lowest median
//! if several: measure the finalists in turn, again and again; winner = the lowest median of those
//! ```
//!
//! Candidates come in the order of a model, so that what a short budget leaves out is what was expected to
//! lose. Measured one after the other, a clock that rises or falls during the search would decide among
//! nearly equal kernels; measured in turn, all finalists see the same clock.

mod options;
mod report;
mod run_off;
mod statistics;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::problem::SHORTEST_LAUNCH_MS;
use crate::tuning::clock::Clock;
use crate::tuning::device::{Device, DeviceError, Event, Stream};

pub use options::SearchOptions;
pub use report::{End, Entry, Failure, SearchReport, Verdict, Winner};

/// The result of one run, from a candidate's callback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunOutcome {
    /// The kernel ran, finished, and took this many milliseconds by its own timing.
    Milliseconds(f64),
    /// The kernel was launched on the stream and not waited for; the search times it by events.
    Launched,
    /// The kernel could not be run; the code is one of the device's runtime, or the caller's own.
    Failed(i32),
}

/// A kernel to be timed.
pub struct Candidate<'a> {
    index: usize,
    run: Box<dyn FnMut(Stream) -> RunOutcome + 'a>,
}

impl<'a> Candidate<'a> {
    /// A kernel by the caller's index and the callback that runs it once, with all its work on the given
    /// stream.
    pub fn new(index: usize, run: impl FnMut(Stream) -> RunOutcome + 'a) -> Self {
        Self { index, run: Box::new(run) }
    }
}

/// Times candidates in the given order, best guess first, so that a spent budget costs the worst guesses.
/// Candidates within noise of the fastest are then measured again in turn, and the winner is one of them.
///
/// Everything happens on this thread and on `stream`, which belongs to `device`; the stream is polled, never
/// blocked on, so a kernel that hangs does not hang the caller. Earlier work on the stream is finished first.
/// The thread's last runtime error is cleared before each run, to detect whether the run left one.
///
/// If a candidate fails, the stream is tested; the device is lost only if it does not respond. A candidate
/// that hangs is abandoned, and the search ends: its resources must not be freed while it may still run.
///
/// ```
/// use ck_select::tuning::mock::MockDevice;
/// use ck_select::tuning::device::Stream;
/// use ck_select::tuning::search::{Candidate, RunOutcome, SearchOptions, Verdict, search};
///
/// let device = MockDevice::new();
/// let launch = |ms: f64| {
///     let device = &device;
///     move |_stream| {
///         device.launch(ms);
///         RunOutcome::Launched
///     }
/// };
/// let mut candidates =
///     [Candidate::new(7, launch(0.5)), Candidate::new(3, launch(0.25)), Candidate::new(5, launch(4.0))];
///
/// // The mock is its own clock; for a real device there is `SystemClock`.
/// let report = search(&device, &device, Stream::DEFAULT, &mut candidates, &SearchOptions::default());
///
/// assert_eq!(report.winner.map(|winner| (winner.index, winner.median_ms)), Some((3, 0.25)));
/// assert_eq!(report.entries[2].verdict, Verdict::CutOff { fastest_ms: 4.0 });
/// ```
pub fn search(
    clock: &dyn Clock,
    device: &dyn Device,
    stream: Stream,
    candidates: &mut [Candidate<'_>],
    options: &SearchOptions,
) -> SearchReport {
    let began = clock.now();
    let entries =
        candidates.iter().map(|candidate| Entry { index: candidate.index, verdict: Verdict::NotTried });
    let mut report = SearchReport {
        entries: entries.collect(),
        winner: None,
        tried: 0,
        elapsed: Duration::ZERO,
        end: End::Completed,
    };
    let ended = Timer::prepare(clock, began, device, stream, options)
        .and_then(|timer| try_all(&timer, candidates, &mut report));
    if let Err(end) = ended {
        report.end = end;
    }
    if report.end == End::Budget {
        for entry in report.entries.iter_mut().filter(|entry| entry.verdict == Verdict::NotTried) {
            entry.verdict = Verdict::OverBudget;
        }
    }
    report.elapsed = clock.now().saturating_sub(began);
    report
}

/// Gives candidates their verdicts until one of them, or the budget, ends the search.
fn try_all(
    timer: &Timer<'_>,
    candidates: &mut [Candidate<'_>],
    report: &mut SearchReport,
) -> Result<(), End> {
    for (candidate, entry) in candidates.iter_mut().zip(&mut report.entries) {
        if timer.is_over_budget() {
            return Err(End::Budget);
        }
        report.tried += 1;
        let best_ms = report.winner.map(|winner| winner.median_ms);
        let earlier = timer.options.best_ms.into_iter();
        let (verdict, end) = judge(timer, candidate, earlier.chain(best_ms).reduce(f64::min));
        if let Verdict::Measured { median_ms, .. } = verdict
            && best_ms.is_none_or(|best| median_ms < best)
        {
            report.winner = Some(Winner { index: candidate.index, median_ms });
        }
        entry.verdict = verdict;
        end?;
    }
    run_off::hold(timer, candidates, report)
}

/// A candidate's verdict, and whether the search may continue.
fn judge(
    timer: &Timer<'_>,
    candidate: &mut Candidate<'_>,
    best_ms: Option<f64>,
) -> (Verdict, Result<(), End>) {
    let mut times = Vec::new();
    match timer.measure(candidate, best_ms, &mut times) {
        Ok(verdict) => (verdict, Ok(())),
        Err(trouble) => verdict_of(timer, trouble, &times),
    }
}

/// The verdict on a candidate with only these times, and whether the search may continue.
fn verdict_of(timer: &Timer<'_>, trouble: Trouble, times: &[f64]) -> (Verdict, Result<(), End>) {
    match trouble {
        Trouble::OverBudget => (timer.measured(times), Err(End::Budget)),
        Trouble::TimedOut(after) => (Verdict::TimedOut { after }, Err(End::Hung)),
        Trouble::Failed(failure) => match timer.drain() {
            Ok(()) => (Verdict::Failed(failure), Ok(())),
            Err(Drain::Error(error)) => (Verdict::DeviceLost(failure), Err(End::DeviceLost(error))),
            Err(Drain::TimedOut(after)) => (Verdict::TimedOut { after }, Err(End::Hung)),
        },
    }
}

/// Why a run has no time.
enum Trouble {
    OverBudget,
    TimedOut(Duration),
    Failed(Failure),
}

impl From<DeviceError> for Trouble {
    fn from(error: DeviceError) -> Self {
        Self::Failed(Failure::Device(error))
    }
}

/// Why a stream did not reach an event.
enum Drain {
    TimedOut(Duration),
    Error(DeviceError),
}

impl From<Drain> for Trouble {
    fn from(drain: Drain) -> Self {
        match drain {
            Drain::TimedOut(after) => Self::TimedOut(after),
            Drain::Error(error) => error.into(),
        }
    }
}

/// Times runs, with two events on a stream that is known to respond.
struct Timer<'a> {
    clock: &'a dyn Clock,
    /// When the search began.
    began: Duration,
    device: &'a dyn Device,
    stream: Stream,
    options: &'a SearchOptions,
    start: Event<'a>,
    stop: Event<'a>,
}

impl<'a> Timer<'a> {
    /// Makes the events and finishes earlier work on the stream, so that no candidate is blamed for it.
    fn prepare(
        clock: &'a dyn Clock,
        began: Duration,
        device: &'a dyn Device,
        stream: Stream,
        options: &'a SearchOptions,
    ) -> Result<Self, End> {
        if device.is_capturing(stream).map_err(End::Refused)? {
            return Err(End::Capturing);
        }
        let start = Event::new(device).map_err(End::Refused)?;
        let stop = Event::new(device).map_err(End::Refused)?;
        let timer = Self { clock, began, device, stream, options, start, stop };
        timer.drain().map_err(|drain| match drain {
            Drain::TimedOut(_) => End::StreamBusy,
            Drain::Error(error) => End::Refused(error),
        })?;
        Ok(timer)
    }

    fn is_over_budget(&self) -> bool {
        self.clock.now().saturating_sub(self.began) >= self.options.budget
    }

    /// Warms a candidate up and times it. Its times are kept in case this does not complete.
    fn measure(
        &self,
        candidate: &mut Candidate<'_>,
        best_ms: Option<f64>,
        times: &mut Vec<f64>,
    ) -> Result<Verdict, Trouble> {
        let too_slow_ms = best_ms.zip(self.options.cutoff).map(|(best, factor)| best * factor.max(1.0));
        let warmup = u64::from(self.options.warmup);
        let mut fastest_ms = f64::INFINITY;
        for run in 0..warmup + u64::from(self.options.repeats.max(1)) {
            let time = self.run(candidate)?;
            if run >= warmup {
                times.push(time);
            }
            // A first warm-up run may have loaded code, so its time means nothing.
            if run > 0 || warmup == 0 {
                fastest_ms = fastest_ms.min(time);
                if too_slow_ms.is_some_and(|limit| fastest_ms > limit) {
                    return Ok(Verdict::CutOff { fastest_ms });
                }
            }
        }
        Ok(self.measured(times))
    }

    fn measured(&self, times: &[f64]) -> Verdict {
        let Some(median_ms) = statistics::median(times) else { return Verdict::OverBudget };
        let cv = statistics::coefficient_of_variation(times);
        let unstable = cv.is_some_and(|cv| cv > self.options.max_cv);
        Verdict::Measured { median_ms, cv, repeats: times.len() as u32, unstable }
    }

    /// One run, in milliseconds.
    fn run(&self, candidate: &mut Candidate<'_>) -> Result<f64, Trouble> {
        if self.is_over_budget() {
            return Err(Trouble::OverBudget);
        }
        self.device.take_last_error();
        self.start.record(self.stream)?;
        let before = self.clock.now();
        let outcome = (candidate.run)(self.stream);
        let took_ms = self.clock.now().saturating_sub(before).as_secs_f64() * 1e3;
        let milliseconds = match outcome {
            RunOutcome::Milliseconds(milliseconds) => milliseconds,
            RunOutcome::Failed(code) => {
                return Err(Trouble::Failed(Failure::Callback(self.device.error_code(code))));
            }
            RunOutcome::Launched => {
                if let Some(error) = self.device.take_last_error() {
                    return Err(Trouble::Failed(Failure::Launch(error)));
                }
                self.drain()?;
                self.stop.ms_since(&self.start)?
            }
        };
        if !(milliseconds.is_finite() && milliseconds >= SHORTEST_LAUNCH_MS) {
            return Err(Trouble::Failed(Failure::NotATime(milliseconds)));
        }
        // A callback that works on the host cannot be stopped, but it is not called again, regardless of the
        // time it reports.
        let longest_ms = milliseconds.max(took_ms);
        if longest_ms > self.options.run_timeout.as_secs_f64() * 1e3 {
            return Err(Trouble::Failed(Failure::TooLong(longest_ms)));
        }
        Ok(milliseconds)
    }

    /// Waits until the stream has reached a run's stop event, or the time limit of a run is over.
    fn drain(&self) -> Result<(), Drain> {
        self.stop.record(self.stream).map_err(Drain::Error)?;
        let began = self.clock.now();
        for pause in pauses() {
            // The time is read before the query: a thread that was delayed still gets one query after the
            // limit.
            let waited = self.clock.now().saturating_sub(began);
            if self.stop.query().map_err(Drain::Error)? {
                break;
            }
            if waited >= self.options.run_timeout {
                return Err(Drain::TimedOut(waited));
            }
            self.clock.pause(pause.min(self.options.run_timeout.saturating_sub(waited)));
        }
        Ok(())
    }
}

/// Pauses between queries: none at first, because most kernels take microseconds, then longer, up to a
/// millisecond.
fn pauses() -> impl Iterator<Item = Duration> {
    let eager = std::iter::repeat_n(Duration::ZERO, 100);
    let patient = std::iter::successors(Some(Duration::from_micros(10)), |pause| {
        Some((*pause * 2).min(Duration::from_millis(1)))
    });
    eager.chain(patient)
}
