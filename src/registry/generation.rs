//! The number of the current state, which distinguishes outdated decisions from valid ones.

use super::atomic::{AtomicU64, Ordering};

/// The generation of the current state.
pub(super) struct Generation(AtomicU64);

impl Generation {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The generation whose decisions are valid.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Announces a generation and publishes its state, in this order: the number invalidates the decisions of
    /// the old state, so a thread that has seen the new state never gets one of them again.
    pub(super) fn publish(&self, generation: u64, state: impl FnOnce()) {
        self.0.store(generation, Ordering::Release);
        state();
    }
}
