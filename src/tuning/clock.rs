//! Time for budgets and time-outs, behind a trait so that tests control it.

use std::time::{Duration, Instant};

/// A monotonic clock, and a way to wait.
pub trait Clock {
    /// Time since an origin that is fixed for the clock's lifetime.
    fn now(&self) -> Duration;

    /// Waits for about this long.
    fn pause(&self, time: Duration);
}

/// The system's monotonic clock; a pause sleeps, a zero pause yields the core.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn pause(&self, time: Duration) {
        if time.is_zero() {
            std::thread::yield_now();
        } else {
            std::thread::sleep(time);
        }
    }
}
