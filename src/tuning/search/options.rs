//! How long and how carefully to measure.

use std::time::Duration;

/// How long and how carefully to measure. Any value is usable: what makes no sense counts as the nearest that does.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Time for the whole search. No run begins once it is spent, so it is exceeded by one run at most, and that by
    /// no more than `run_timeout`.
    pub budget: Duration,
    /// Runs of each candidate before those that count: the first loads code and fills caches.
    pub warmup: u32,
    /// Runs of each candidate that count; 0 counts as 1.
    pub repeats: u32,
    /// A candidate is given up once even its fastest run took more than so many times the best median; less than 1
    /// counts as 1. The first run does not count for that if it is one to warm up. `None` gives no candidate up.
    pub cutoff: Option<f64>,
    /// The best median that an earlier search of the same problem found, for `cutoff`.
    pub best_ms: Option<f64>,
    /// A run that the device has not finished after so long hangs. The search ends there, because nothing can be
    /// timed behind it on the same stream. A candidate with a run that took longer but came to an end, as on the host, whose
    /// callbacks nobody can stop, is given up, and the search goes on.
    pub run_timeout: Duration,
    /// Timings that spread more than this coefficient of variation are flagged as unstable.
    pub max_cv: f64,
}

impl Default for SearchOptions {
    /// A minute; three runs to warm up and ten that count, as upstream's dispatcher; given up at three times the
    /// best; a run hangs after five seconds; unstable above ten percent.
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(60),
            warmup: 3,
            repeats: 10,
            cutoff: Some(3.0),
            best_ms: None,
            run_timeout: Duration::from_secs(5),
            max_cv: 0.1,
        }
    }
}
