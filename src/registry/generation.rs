//! The number of the present state, which tells remembered decisions of the past from those of the present.

use super::atomic::{AtomicU64, Ordering};

/// The generation of the present state.
pub(super) struct Generation(AtomicU64);

impl Generation {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The generation whose decisions may be given.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Announces a generation and publishes its state, in this order: the number ends the decisions of the
    /// old state, so a thread that has seen the new state is never again given one of them.
    pub(super) fn publish(&self, generation: u64, state: impl FnOnce()) {
        self.0.store(generation, Ordering::Release);
        state();
    }
}
