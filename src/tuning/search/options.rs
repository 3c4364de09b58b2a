//! How long and how carefully to measure.

use std::time::Duration;

/// How long and how carefully to measure. All values are accepted: invalid ones count as the nearest valid
/// one.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Time limit of the whole search. No run begins after it, so it is exceeded by at most one run, and by
    /// no more than `run_timeout`.
    pub budget: Duration,
    /// Warm-up runs of each candidate: the first loads code and fills caches.
    pub warmup: u32,
    /// Timed runs of each candidate; 0 counts as 1.
    pub repeats: u32,
    /// A candidate is abandoned once even its fastest run took more than this many times the best median;
    /// less than 1 counts as 1. A first run that is a warm-up run is ignored. `None` abandons no candidate.
    pub cutoff: Option<f64>,
    /// The best median that an earlier search of the same problem found, for `cutoff`.
    pub best_ms: Option<f64>,
    /// A run that the device has not finished after this time is considered hung. The search ends there,
    /// because nothing can be timed after it on the same stream. A candidate with a run that took longer but
    /// ended (as on the host, whose callbacks cannot be stopped) is abandoned, and the search continues.
    pub run_timeout: Duration,
    /// Timings with a higher coefficient of variation are flagged as unstable.
    pub max_cv: f64,
}

impl Default for SearchOptions {
    /// A budget of one minute; three warm-up runs and ten timed ones, as in upstream's dispatcher; cutoff at
    /// three times the best; a run counts as hung after five seconds; unstable above ten percent.
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
