//! A slot that is read by any number of threads while one writes: a seqlock.
//!
//! A writer makes the counter odd, writes, makes it even; a reader takes what it read only if the counter was
//! even and the same before and after. So readers write nothing, never wait, and do not slow each other down,
//! however many there are; a writer that finds the slot taken gives up.
//!
//! A reader that meets a writer finds nothing, decides for itself and becomes a writer. If that writer then
//! wrote what is there already, others would meet it in turn, and with a dozen threads this would never end.
//! So equal contents are not written again.

use super::atomic::{AtomicU64, Ordering, fence};

/// Facts under a key, made for one generation.
#[repr(align(64))]
pub(super) struct Slot<const KEY: usize, const FACTS: usize> {
    counter: AtomicU64,
    generation: AtomicU64,
    key: [AtomicU64; KEY],
    facts: [AtomicU64; FACTS],
}

impl<const KEY: usize, const FACTS: usize> Slot<KEY, FACTS> {
    pub(super) fn new() -> Self {
        Self {
            counter: AtomicU64::new(0),
            // No state has this generation.
            generation: AtomicU64::new(u64::MAX),
            key: std::array::from_fn(|_| AtomicU64::new(0)),
            facts: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// The facts, if they belong to this key and generation.
    pub(super) fn get(&self, generation: u64, key: &[u64; KEY]) -> Option<[u64; FACTS]> {
        let before = self.counter.load(Ordering::Acquire);
        if before % 2 == 1 || self.generation.load(Ordering::Relaxed) != generation {
            return None;
        }
        if !self.key.iter().zip(key).all(|(word, &wanted)| word.load(Ordering::Relaxed) == wanted) {
            return None;
        }
        let facts = self.facts.each_ref().map(|fact| fact.load(Ordering::Relaxed));
        // The reads above stay before the second look at the counter.
        fence(Ordering::Acquire);
        (self.counter.load(Ordering::Relaxed) == before).then_some(facts)
    }

    /// Replaces the contents, unless they are equal; false if another thread is doing so.
    pub(super) fn put(&self, generation: u64, key: &[u64; KEY], facts: &[u64; FACTS]) -> bool {
        if self.get(generation, key).as_ref() == Some(facts) {
            return true;
        }
        let before = self.counter.load(Ordering::Relaxed);
        let taken = before % 2 == 1
            || self
                .counter
                .compare_exchange(before, before + 1, Ordering::Acquire, Ordering::Relaxed)
                .is_err();
        if taken {
            return false;
        }
        // The writes below stay after the odd counter.
        fence(Ordering::Release);
        self.generation.store(generation, Ordering::Relaxed);
        for (word, &value) in self.key.iter().zip(key) {
            word.store(value, Ordering::Relaxed);
        }
        for (fact, &value) in self.facts.iter().zip(facts) {
            fact.store(value, Ordering::Relaxed);
        }
        self.counter.store(before + 2, Ordering::Release);
        true
    }
}
