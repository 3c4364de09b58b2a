//! Turns for measuring. Searches run one at a time, because two would disturb each other's times.
//!
//! No lock is held while callbacks run. A callback that exits by `longjmp`, or never returns, blocks others
//! only for as long as a run may take. Then its turn is over, and the next search starts on a new device.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::options::Options;
use crate::problem::Problem;
use crate::tuning::clock::{Clock, SystemClock};
use crate::tuning::device::{Device, DeviceFacts};
use crate::tuning::hip::Hip;
use crate::tuning::host::HostDevice;
use crate::tuning::store::StoreError;

/// Maximum number of problems that are remembered because they could not be measured, so that not every
/// selection tries again.
const MOST_FAILED: usize = 10_000;
/// Extra time for a run on a busy machine before its search counts as abandoned.
const GRACE: Duration = Duration::from_secs(1);

/// A problem, and the generation of the requesting state.
pub(super) type Attempt = (u64, Problem);
type Owned = Box<dyn Device + Send>;
/// Makes a new device, in case an abandoned search has kept it.
pub(super) type Make = fn() -> Result<Owned, String>;

/// Why a thread cannot measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MeasureError {
    #[error("{0}")]
    Device(String),
    #[error("this thread is already measuring: it is in a callback, or left one without returning")]
    Reentrant,
    #[error("other searches used up the time")]
    OutOfTime,
    #[error("an earlier attempt failed")]
    FailedBefore,
    #[error("a winner could not be kept: {0}")]
    NoWinners(String),
    #[error("a winner could not be kept: {0}")]
    Problem(#[from] StoreError),
}

/// A device that searches use in turn.
pub(super) struct Bench {
    facts: DeviceFacts,
    make: Option<Make>,
    began: Instant,
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Default)]
struct State {
    /// `None` while a turn uses it.
    device: Option<Owned>,
    turn: Option<Holder>,
    turns: u64,
    failed: HashSet<Attempt>,
}

/// The current turn.
struct Holder {
    number: u64,
    thread: ThreadId,
    attempt: Attempt,
    /// Nanoseconds from the bench's creation to the last sign of life.
    alive: Arc<AtomicU64>,
    /// How long it may go without one.
    patience: Duration,
}

impl Holder {
    /// How much longer it may go without a sign of life.
    fn left(&self, now: Duration) -> Duration {
        let silent = now.saturating_sub(Duration::from_nanos(self.alive.load(Ordering::Relaxed)));
        self.patience.saturating_sub(silent)
    }
}

impl Bench {
    /// `make` makes another such device; without it, a device that an abandoned search keeps is lost.
    pub(super) fn new(device: Owned, make: Option<Make>) -> Self {
        let facts = device.facts().clone();
        let state = State { device: Some(device), ..State::default() };
        Self { facts, make, began: Instant::now(), state: Mutex::new(state), free: Condvar::new() }
    }

    pub(super) const fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Waits for other searches, until `until` at most. An error says why this thread cannot measure.
    pub(super) fn turn(
        &self,
        attempt: Attempt,
        run_timeout: Duration,
        until: Option<Instant>,
    ) -> Result<Turn<'_>, MeasureError> {
        let thread = std::thread::current().id();
        let mut state = self.state();
        while let Some(holder) = &state.turn {
            let left = holder.left(self.began.elapsed());
            if left.is_zero() {
                // The holder's kernels are not tried again: the fate of that search is unknown.
                let attempt = holder.attempt;
                state.fail(attempt);
                state.turn = None;
            } else if holder.thread == thread {
                return Err(MeasureError::Reentrant);
            } else {
                let until = until.map(|until| until.saturating_duration_since(Instant::now()));
                if until.is_some_and(|until| until.is_zero()) {
                    return Err(MeasureError::OutOfTime);
                }
                let left = until.map_or(left, |until| until.min(left));
                let waited = self.free.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        if state.failed.contains(&attempt) {
            return Err(MeasureError::FailedBefore);
        }
        let device = match state.device.take() {
            Some(device) => device,
            None => self.make_again().map_err(MeasureError::Device)?,
        };
        state.turns += 1;
        let number = state.turns;
        let alive = Arc::new(AtomicU64::new(nanoseconds(self.began.elapsed())));
        let patience = run_timeout.saturating_add(GRACE);
        state.turn = Some(Holder { number, thread, attempt, alive: alive.clone(), patience });
        Ok(Turn { bench: self, number, device: Some(device), alive })
    }

    /// Whether this thread is measuring, so that a selection now comes from a callback.
    pub(super) fn is_mine(&self) -> bool {
        self.state().turn.as_ref().is_some_and(|holder| holder.thread == std::thread::current().id())
    }

    /// Remembers that a problem cannot be measured.
    pub(super) fn fail(&self, attempt: Attempt) {
        self.state().fail(attempt);
    }

    fn make_again(&self) -> Result<Owned, String> {
        let abandoned = "an abandoned search keeps the device";
        let device = self.make.ok_or(abandoned)?()?;
        if *device.facts() == self.facts {
            return Ok(device);
        }
        Err(format!("{abandoned}, and {} is current in place of {}", device.facts().name, self.facts.name))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, attempt: Attempt) {
        if self.failed.len() < MOST_FAILED {
            self.failed.insert(attempt);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The device, for one search. It is also the search's clock: reading the time is a sign of life.
pub(super) struct Turn<'b> {
    bench: &'b Bench,
    number: u64,
    device: Option<Owned>,
    alive: Arc<AtomicU64>,
}

impl Turn<'_> {
    pub(super) fn device(&self) -> Option<&dyn Device> {
        self.device.as_deref().map(|device| -> &dyn Device { device })
    }
}

impl Clock for Turn<'_> {
    fn now(&self) -> Duration {
        let now = self.bench.began.elapsed();
        self.alive.store(nanoseconds(now), Ordering::Relaxed);
        now
    }

    fn pause(&self, time: Duration) {
        SystemClock::new().pause(time);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.bench.state();
        // A turn that was given up may still end; by then the next one has a device.
        if state.turn.as_ref().is_some_and(|holder| holder.number == self.number) {
            state.turn = None;
        }
        if state.device.is_none() && state.turn.is_none() {
            state.device = self.device.take();
        }
        drop(state);
        self.bench.free.notify_all();
    }
}

/// The devices to measure on, opened on first use.
#[derive(Default)]
pub(super) struct MeasuringSlots {
    gpu: OnceLock<Result<Bench, String>>,
    host: OnceLock<Bench>,
}

impl MeasuringSlots {
    /// The slots with this device as the GPU.
    pub(super) fn new(device: Owned) -> Self {
        Self { gpu: OnceLock::from(Ok(Bench::new(device, None))), host: OnceLock::new() }
    }

    pub(super) fn bench(&self, options: &Options) -> Result<&Bench, String> {
        if options.host_timing {
            return Ok(self.host.get_or_init(|| Bench::new(Box::new(HostDevice::new()), Some(host))));
        }
        self.gpu
            .get_or_init(|| Ok(Bench::new(current_gpu()?, Some(current_gpu))))
            .as_ref()
            .map_err(Clone::clone)
    }

    pub(super) fn facts(&self, options: &Options) -> Result<DeviceFacts, String> {
        self.bench(options).map(|bench| bench.facts().clone())
    }

    /// Whether this thread is measuring now, so that its requests come from a callback.
    pub(super) fn is_measuring(&self, options: &Options) -> bool {
        let bench = if options.host_timing {
            self.host.get()
        } else {
            self.gpu.get().and_then(|gpu| gpu.as_ref().ok())
        };
        bench.is_some_and(Bench::is_mine)
    }
}

#[allow(clippy::unnecessary_wraps, reason = "one form for all devices")]
fn host() -> Result<Owned, String> {
    Ok(Box::new(HostDevice::new()))
}

fn current_gpu() -> Result<Owned, String> {
    let device = Hip::get().and_then(Hip::current_device).map_err(|error| error.to_string())?;
    Ok(Box::new(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::GemmProblem;

    const SHORT: Duration = Duration::from_millis(5);

    fn attempt(m: i64) -> Attempt {
        (1, GemmProblem::new(m, 1, 1).into())
    }

    #[test]
    fn turns_follow_each_other() {
        let bench = Bench::new(host().unwrap(), None);
        let first = bench.turn(attempt(1), SHORT, None).unwrap();
        assert!(bench.is_mine());
        assert!(bench.turn(attempt(2), SHORT, None).err() == Some(MeasureError::Reentrant));
        std::thread::scope(|scope| {
            let late = || bench.turn(attempt(2), SHORT, Some(Instant::now())).map(|_| ());
            assert_eq!(scope.spawn(late).join().unwrap(), Err(MeasureError::OutOfTime));
            let other = scope.spawn(|| {
                assert!(!bench.is_mine());
                bench.turn(attempt(2), SHORT, None).map(|_| ())
            });
            std::thread::sleep(SHORT);
            drop(first);
            assert_eq!(other.join().unwrap(), Ok(()));
        });
        bench.fail(attempt(3));
        assert_eq!(bench.turn(attempt(3), SHORT, None).err(), Some(MeasureError::FailedBefore));
        assert!(bench.turn(attempt(2), SHORT, None).is_ok());
    }

    #[test]
    fn an_abandoned_turn_ends_by_itself() {
        for make in [None, Some(host as Make)] {
            let bench = Bench::new(host().unwrap(), make);
            // Like `longjmp`.
            std::mem::forget(bench.turn(attempt(1), SHORT, None).unwrap());
            let began = Instant::now();
            let next = std::thread::scope(|scope| {
                scope.spawn(|| bench.turn(attempt(2), SHORT, None).map(|_| ())).join()
            });
            assert!(began.elapsed() >= SHORT);
            match make {
                None => {
                    assert_eq!(
                        next.unwrap().unwrap_err().to_string(),
                        "an abandoned search keeps the device"
                    );
                }
                Some(_) => assert_eq!(next.unwrap(), Ok(())),
            }
            assert_eq!(bench.turn(attempt(1), SHORT, None).err(), Some(MeasureError::FailedBefore));
        }
    }

    #[test]
    fn a_late_end_takes_nothing_from_the_next() {
        let bench = Bench::new(host().unwrap(), Some(host));
        let late = bench.turn(attempt(1), Duration::ZERO, None).unwrap();
        std::thread::sleep(GRACE);
        let next = bench.turn(attempt(2), SHORT, None).unwrap();
        drop(late);
        assert!(bench.is_mine(), "the next one's turn goes on");
        drop(next);
        assert!(!bench.is_mine());
    }

    #[test]
    fn looking_at_the_time_is_a_sign_of_life() {
        let bench = Bench::new(host().unwrap(), None);
        let turn = bench.turn(attempt(1), Duration::ZERO, None).unwrap();
        std::thread::sleep(GRACE / 2);
        turn.now();
        std::thread::sleep(GRACE / 2);
        assert!(bench.turn(attempt(2), SHORT, None).is_err(), "it is alive");
    }
}
