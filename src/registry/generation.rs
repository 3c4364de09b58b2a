//! The number of the current state, which distinguishes outdated decisions from valid ones.

use super::atomic::{AtomicU64, Ordering};

/// The generation of the latest change, twice; one less while its state is being published.
pub(super) struct Generation(AtomicU64);

impl Generation {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The generation of the latest change.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire).div_ceil(2)
    }

    /// The generation whose decisions are valid; none while a state is being published.
    pub(super) fn settled(&self) -> Option<u64> {
        let word = self.0.load(Ordering::Acquire);
        word.is_multiple_of(2).then_some(word / 2)
    }

    /// The generation that a state must have at least to answer now. A change that is being published may still be
    /// left out: its call has not returned, so no caller relies on it and none has to wait for it.
    pub(super) fn least(&self) -> u64 {
        self.0.load(Ordering::Acquire) / 2
    }

    /// Announces a generation whose state is yet to be made.
    pub(super) fn announce(&self, generation: u64) {
        self.0.store(2 * generation, Ordering::Release);
    }

    /// Announces a generation and publishes its state, in this order: first no decision of the old state is
    /// valid any more, so a thread that has seen the new state never gets one of them again.
    pub(super) fn publish<T>(&self, generation: u64, state: impl FnOnce() -> T) -> T {
        self.0.store(2 * generation - 1, Ordering::Release);
        let replaced = state();
        self.announce(generation);
        replaced
    }
}
