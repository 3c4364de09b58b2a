//! When to stop: a signal, or a spent budget.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Why a sweep stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A signal, by its number.
    Signal(usize),
    /// The budget is spent.
    Budget,
}

/// Polled wherever something may take long.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
    deadline: Option<Instant>,
}

impl Stop {
    /// How often waiting code polls.
    pub const INTERVAL: Duration = Duration::from_millis(20);

    /// Stops when `signal` is no longer 0, and after `budget`, counted from now.
    pub fn new(signal: Arc<AtomicUsize>, budget: Option<Duration>) -> Self {
        Self { signal, deadline: budget.and_then(|budget| Instant::now().checked_add(budget)) }
    }

    /// Why to stop if a process of ours was ended by a signal from outside: batch systems signal a whole job,
    /// and our own signal may arrive a moment after that of our process.
    pub(crate) fn reason_behind(&self, status: ExitStatus) -> Option<StopReason> {
        const SENT_TO_JOBS: [i32; 4] = [1, 2, 9, 15];
        status.signal().filter(|signal| SENT_TO_JOBS.contains(signal))?;
        (0..25).find_map(|_| {
            std::thread::sleep(Self::INTERVAL);
            self.reason()
        })
    }

    /// Why to stop now, if there is a reason.
    pub fn reason(&self) -> Option<StopReason> {
        match self.signal.load(Ordering::Relaxed) {
            0 if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) => Some(StopReason::Budget),
            0 => None,
            signal => Some(StopReason::Signal(signal)),
        }
    }
}
