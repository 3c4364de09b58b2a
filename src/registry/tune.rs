//! Measures between selections, when the caller has time for it.
//!
//! A selection that measures is slow once, at a moment that nobody chose. A program that knows when its
//! device is idle calls [`Registry::tune`] then, and selections stay fast: they answer by a guess, and the
//! guess is put on a list.
//!
//! ```text
//! selection:  count the request; answered by a guess: list the problem, with its time and its expected loss
//! tune:       for problems by requests * time * expected loss, the largest first:
//!                 measure the first kernels that have no verdict yet, as far as the time goes
//!                 winner: into the store and the decision cache; the problem leaves the list
//! ```
//!
//! The order is that of the time that knowing the winner is expected to save. A call ends with its budget and
//! the next one continues, kernel by kernel, so that many short calls get as far as a long one. Tuning is a
//! call and not a thread: a thread would have to survive forks, and would not know when the device is idle.

use std::time::{Duration, Instant};

use super::bench::MeasureError;
use super::cache::Key;
use super::call::Call;
use super::demand::{Claim, Demand, Progress, Timing, Unmeasured};
use super::entry::{Entry, Hooks};
use super::index::Choice;
use super::measure::Measurement;
use super::options::Mode;
use super::selection::{Selection, Source};
use super::shared::Registry;
use super::source::{search, store};
use super::state::State;
use crate::directory::Target;
use crate::log::{self, Level};
use crate::problem::Problem;
use crate::tuning::device::Stream;
use crate::tuning::search::{End, SearchOptions, SearchReport, Verdict};
use crate::tuning::store::WinnerSource;

/// How often to try to put a winner into the decision cache while others write there. They look for it
/// afterwards, too.
const TRIES: usize = 1000;

/// The limits of a call of [`Registry::tune`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuneBudget {
    /// How long it may take. No run begins after it, so it is exceeded by at most one run.
    pub time: Duration,
    /// How many of a problem's best kernels are measured, by the order in which the sources would choose
    /// them; fewer than 2 count as 2, because a single one cannot be compared.
    pub kernels: usize,
    /// The stream to measure on; `None` for that of the options.
    pub stream: Option<Stream>,
}

impl TuneBudget {
    /// The best three kernels of each problem, on the stream of the options.
    pub const fn new(time: Duration) -> Self {
        Self { time, kernels: 3, stream: None }
    }
}

/// The results of a call of [`Registry::tune`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TuneReport {
    /// Problems that have a winner now.
    pub measured: usize,
    /// Measured problems whose winner differs from the kernel that was chosen before.
    pub improved: usize,
    /// Problems without a kernel that could be measured, which are not tried again until kernels, models or
    /// options change.
    pub failed: usize,
    /// Problems that wait to be measured.
    pub waiting: usize,
    /// Milliseconds saved by one run of each improved problem.
    pub saved_ms: f64,
    /// How long the call took.
    pub elapsed: Duration,
}

/// Why nothing can be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing can be measured: {0}")]
pub struct TuneError(String);

impl TuneError {
    fn new(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl Registry {
    /// Measures the most requested of the problems that a model, the estimate or the priority answers, and keeps the
    /// winners: later selections get them, as do later processes through the store.
    ///
    /// The first call starts counting requests, and has nothing to measure yet. From then on each problem
    /// that is answered without a measurement is listed, and each call takes the problems in the order of the
    /// possible gain: the number of requests, times the time of a run, times the expected loss of the answer. A problem is left to a longer call if the time does not suffice for even one of its kernels; a
    /// kernel that takes longer than a whole call loses to the others, or is left to one at least twice as long.
    /// A call continues where the last one stopped, so that short calls get as far as one long one. A list of
    /// GEMMs is not remembered from one selection to the next, so it is not counted either. In
    /// [`Mode::Priority`] nothing is measured.
    ///
    /// Kernels run on this thread and on the stream, with the operands that their [`run`](Hooks::run)
    /// provides. Selections on other threads do not wait: they get the old answer or the winner. Any thread
    /// may tune. Several threads take different problems and measure in turn, and a dedicated thread refines
    /// in the background.
    pub fn tune(&self, budget: &TuneBudget) -> Result<TuneReport, TuneError> {
        let began = Instant::now();
        if self.slots.is_measuring(self.state().options()) {
            return Err(TuneError::new(MeasureError::Reentrant));
        }
        let demand = self.demand();
        if demand.take_in() {
            // Missed problems have been decided since.
            self.forget_decisions();
        }
        let (until, report) = (began.checked_add(budget.time), TuneReport::default());
        let mut tuning = Tuning { registry: self, demand, budget, until, report, settled: Vec::new() };
        let result = tuning.run();
        let Tuning { report, settled, .. } = tuning;
        demand.settle(&settled, || self.generation());
        let waiting = demand.count_waiting(self.generation());
        result.map(|()| TuneReport { waiting, elapsed: began.elapsed(), ..report })
    }

    /// The requests, counted from the first call on.
    fn demand(&self) -> &Demand {
        if let Some(demand) = self.demand.get() {
            return demand;
        }
        let latest = self.turn();
        // The list exists before the decisions that are noted in it.
        let demand = self.demand.get_or_init(|| Box::new(Demand::new()));
        let mut state = self.successor(&latest);
        if !state.tunes() {
            state.set_tunes();
            self.publish(state);
        }
        demand
    }

    /// Notes a problem that was answered by a guess. Returns the winner if one was measured meanwhile: a measuring
    /// thread puts the winner into the decision cache after it is known, and a thread that has put a guess there
    /// looks for the winner afterwards, so that one of the two replaces the guess.
    pub(super) fn note<'r>(
        &'r self,
        demand: &Demand,
        call: Call<'r, '_>,
        key: &Key,
        selection: Selection<'r>,
    ) -> Selection<'r> {
        let Call { state, problem, .. } = call;
        demand.count(key);
        let Some(share) = share_lost(&selection).filter(|_| state.options().mode != Mode::Priority) else {
            return selection;
        };
        let run_ms = milliseconds(state, &problem, &selection);
        demand.note(&Unmeasured { problem: *problem, key: *key, run_ms, share });
        let Some(winner) = store::answer(call) else { return selection };
        self.cache.put(key, &winner);
        winner
    }
}

/// A call of [`Registry::tune`].
struct Tuning<'r> {
    registry: &'r Registry,
    demand: &'r Demand,
    budget: &'r TuneBudget,
    /// When the time is over.
    until: Option<Instant>,
    report: TuneReport,
    /// Problems that have a winner now, each with the generation of that winner.
    settled: Vec<(Unmeasured, u64)>,
}

impl Tuning<'_> {
    fn run(&mut self) -> Result<(), TuneError> {
        for unmeasured in self.demand.waiting(self.registry.generation()) {
            let Some(left) = self.time_left() else { break };
            if left >= one_kernel(&unmeasured, &self.registry.state.load().options().measuring) {
                self.tune_one(&unmeasured)?;
            }
        }
        Ok(())
    }

    /// `None` once it is over.
    fn time_left(&self) -> Option<Duration> {
        self.until.map_or(Some(Duration::MAX), |until| until.checked_duration_since(Instant::now()))
    }

    /// Measures a problem, or continues to.
    fn tune_one(&mut self, unmeasured: &Unmeasured) -> Result<(), TuneError> {
        let problem = unmeasured.problem.checked().map_err(TuneError::new)?;
        let state = self.registry.state();
        if state.options().mode == Mode::Priority {
            return Ok(());
        }
        let call = Call::new(self.registry, &state, problem, false);
        let Some(mut claim) = self.demand.claim(unmeasured, state.generation()) else { return Ok(()) };
        let Some(measurement) = self.reserve(call, &mut claim)? else { return Ok(()) };
        // Another thread or process may have measured it.
        if publish_winner(call, &unmeasured.key) || self.measure(&measurement, &mut claim)? {
            claim.close();
            self.settled.push((*unmeasured, state.generation()));
        }
        Ok(())
    }

    /// Waits for the problem's turn; `None` if it cannot be measured now.
    fn reserve<'r, 's>(
        &mut self,
        call: Call<'r, 's>,
        claim: &mut Claim<'_>,
    ) -> Result<Option<Measurement<'r, 's>>, TuneError> {
        match Measurement::begin(call, self.until) {
            Ok(measurement) => return Ok(Some(measurement)),
            Err(MeasureError::Problem(_)) => claim.close(),
            Err(MeasureError::FailedBefore) => {
                claim.close();
                self.report.failed += 1;
            }
            Err(MeasureError::OutOfTime) => {}
            Err(MeasureError::NoWinners(reason)) => return Err(TuneError::new(reason)),
            Err(reason) => return Err(TuneError::new(reason)),
        }
        Ok(None)
    }

    /// A problem's best kernels that can be run.
    fn kernels(&self, call: Call<'_, '_>) -> Vec<Choice> {
        let can_run = |choice: &Choice| {
            let hooks = call.state.entry(choice.kernel).and_then(Entry::hooks);
            hooks.is_some_and(Hooks::can_run)
        };
        let kernels = search::candidates(call).into_iter().filter(can_run);
        kernels.take(self.budget.kernels.max(2)).collect()
    }

    /// Measures those of a problem's best kernels that have no verdict yet; true once there is a winner.
    fn measure(
        &mut self,
        measurement: &Measurement<'_, '_>,
        claim: &mut Claim<'_>,
    ) -> Result<bool, TuneError> {
        let Call { state, problem, .. } = measurement.call;
        let (kernels, options) = (self.kernels(measurement.call), state.options());
        let [first, _, ..] = kernels[..] else {
            // Nothing to choose from.
            claim.close();
            return Ok(false);
        };
        let (progress, time) = (&mut claim.progress, self.time_left().unwrap_or_default());
        let left: Vec<Choice> =
            kernels.iter().copied().filter(|&kernel| !progress.is_settled(kernel, time)).collect();
        let measuring = SearchOptions {
            budget: time,
            best_ms: progress.timings.iter().map(|timing| timing.median_ms).reduce(f64::min),
            ..options.measuring.clone()
        };
        let report = measurement.try_out(&left, self.budget.stream.unwrap_or(options.stream), &measuring);
        let report = report.ok_or_else(|| TuneError::new("the device is gone"))?;
        let text = || measurement.text(&report, &left);
        if log::enabled(Level::Debug) {
            log::line(Level::Debug, "tune", format_args!("{problem}: {}", text().trim_end()));
        }
        match report.end {
            End::Completed | End::Budget => {}
            End::Hung | End::DeviceLost(_) => {
                claim.close();
                measurement.fail();
                return Err(TuneError::new(format_args!("{problem}: {}", report.end)));
            }
            End::Refused(_) | End::StreamBusy | End::Capturing => return Err(TuneError::new(report.end)),
        }
        take_over(progress, &left, &report, &measuring);
        let runs = measuring.warmup.saturating_add(1);
        if !kernels.iter().all(|&kernel| progress.is_decided(kernel, runs)) {
            return Ok(false);
        }
        claim.close();
        Ok(self.conclude(measurement, claim, first, text))
    }

    /// Keeps the winner; false if no kernel has a time. `first` was chosen before.
    fn conclude(
        &mut self,
        measurement: &Measurement<'_, '_>,
        claim: &Claim<'_>,
        first: Choice,
        text: impl FnOnce() -> String,
    ) -> bool {
        let Call { state, problem, .. } = measurement.call;
        let progress = &claim.progress;
        let best = progress.timings.iter().min_by(|a, b| a.median_ms.total_cmp(&b.median_ms));
        let Some((best, entry)) = best.and_then(|best| Some((best, state.entry(best.choice.kernel)?))) else {
            measurement.fail();
            self.report.failed += 1;
            log::line(Level::Warn, "tune", format_args!("{problem}: nothing measured: {}", text()));
            return false;
        };
        let tried = progress.judged.len() + progress.too_long.len();
        measurement.keep(entry, best, tried, WinnerSource::Refine);
        publish_winner(measurement.call, &claim.unmeasured.key);
        self.report.measured += 1;
        if best.choice != first {
            self.report.improved += 1;
            let before = progress.timings.iter().find(|timing| timing.choice == first);
            self.report.saved_ms += before.map_or(0.0, |before| before.median_ms - best.median_ms);
        }
        true
    }
}

/// Puts a problem's winner into the decision cache, if there is one.
fn publish_winner(call: Call<'_, '_>, key: &Key) -> bool {
    let Some(winner) = store::answer(call) else { return false };
    for _ in 0..TRIES {
        if call.registry.cache.put(key, &winner) {
            break;
        }
        std::hint::spin_loop();
    }
    true
}

/// How long one of a problem's kernels will take. Any shorter time would be wasted.
fn one_kernel(unmeasured: &Unmeasured, measuring: &SearchOptions) -> Duration {
    let runs = f64::from(measuring.warmup) + f64::from(measuring.repeats.max(1));
    Duration::try_from_secs_f64(unmeasured.run_ms * runs / 1e3).unwrap_or(Duration::MAX)
}

/// Adds the results. A kernel whose timing was cut short by the end of the time is measured again, unless
/// this call started with it: a later call would not have more time for it. If such a kernel has no timing at
/// all, later calls go on with the others.
fn take_over(progress: &mut Progress, tried: &[Choice], report: &SearchReport, measuring: &SearchOptions) {
    for (at, entry) in report.entries.iter().enumerate() {
        let Some(&choice) = tried.get(entry.index) else { continue };
        progress.too_long.retain(|(of, _)| *of != choice || at >= report.tried);
        match Timing::new(choice, &entry.verdict) {
            Some(timing) if timing.repeats < measuring.repeats && at > 0 => continue,
            Some(timing) => progress.timings.push(timing),
            None if matches!(entry.verdict, Verdict::OverBudget | Verdict::NotTried) => {
                if at == 0 && report.tried > 0 {
                    progress.too_long.push((choice, measuring.budget));
                }
                continue;
            }
            None => {}
        }
        progress.judged.push(choice);
    }
}

/// The share of a run's time that an answer is expected to lose, or that one of its kind loses on average; `None` if it
/// is not a guess. The averages were measured on problems that the model or the estimate had not seen (README.md, the universal
/// model's card), except for the priority's, which ignores the problem.
fn share_lost(selection: &Selection<'_>) -> Option<f64> {
    if let Some(sure) = selection.sure {
        return Some(sure.expected_loss.into());
    }
    let usual = match selection.source {
        Source::Model if selection.universal => 0.03,
        Source::Model => 0.02,
        Source::Estimate => 0.03,
        Source::Priority => 0.3,
        Source::Override | Source::Store | Source::Search => return None,
    };
    // Guesses outside of the training range lose twice as much.
    Some(if selection.out_of_range() || selection.unmeasured { 2.0 * usual } else { usual })
}

/// How long a run takes according to the source that chose; if it gives no time, at a plausible speed of a
/// GPU.
fn milliseconds(state: &State, problem: &Problem, selection: &Selection<'_>) -> f64 {
    const USUAL_TFLOPS: f64 = 100.0;
    let at = |tflops: f64| problem.flops() / (tflops * 1e9);
    let score = selection.score.filter(|score| score.is_finite() && *score > 0.0);
    let target = || {
        let model = state.model(state.model_for(problem, state.options().arch)?)?;
        Some(model.model.spec().rank_by)
    };
    match (selection.source, score) {
        (Source::Estimate, Some(us)) => us / 1e3,
        (Source::Model, Some(score)) => match target() {
            Some(Target::Tflops) => at(score),
            Some(Target::Latency) => score,
            _ => at(USUAL_TFLOPS),
        },
        _ => at(USUAL_TFLOPS),
    }
}
