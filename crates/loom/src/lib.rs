//! The lock-free parts of ck-select, compiled with loom's atomics: its tests try the orders in which threads
//! can run, and for each the values that the memory model lets a load see. There is nothing in it but tests.
//!
//! ```text
//! generation (which state of the registry), slot (a remembered decision) ── threads ── every order
//! ```

#![cfg(test)]

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}
#[path = "../../../src/registry/generation.rs"]
mod generation;
#[path = "../../../src/registry/slot.rs"]
mod slot;

use loom::sync::Arc;
use loom::thread;

use atomic::{AtomicU64, Ordering};
use generation::Generation;
use slot::Slot;

/// Every order of the threads with at most two switches in the middle of a thread's work: without a bound,
/// three threads have more orders than can be tried.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// Facts that show whether they belong together.
fn facts(number: u64) -> [u64; 2] {
    [number, number + 100]
}

#[test]
fn a_reader_gets_whole_facts_or_none() {
    model(|| {
        let slot = Arc::new(Slot::<1, 2>::new());
        let writers: Vec<_> = (1..3)
            .map(|number| {
                let slot = slot.clone();
                thread::spawn(move || slot.put(1, &[number], &facts(number)))
            })
            .collect();
        for number in 1..3 {
            if let Some(read) = slot.get(1, &[number]) {
                assert_eq!(read, facts(number));
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
        // One of the two wrote first; the other gave up because the slot was locked, or replaced the entry.
        let kept: Vec<_> = (1..3).filter_map(|number| slot.get(1, &[number])).collect();
        assert_eq!(kept.len(), 1);
    });
}

#[test]
fn facts_are_of_their_generation() {
    model(|| {
        let slot = Arc::new(Slot::<1, 2>::new());
        slot.put(1, &[7], &facts(1));
        let writer = {
            let slot = slot.clone();
            thread::spawn(move || slot.put(2, &[7], &facts(2)))
        };
        for generation in 1..3 {
            if let Some(read) = slot.get(generation, &[7]) {
                assert_eq!(read, facts(generation));
            }
        }
        writer.join().unwrap();
        assert_eq!((slot.get(1, &[7]), slot.get(2, &[7])), (None, Some(facts(2))));
    });
}

#[test]
fn writing_equal_facts_disturbs_no_reader() {
    model(|| {
        let slot = Arc::new(Slot::<1, 2>::new());
        slot.put(1, &[7], &facts(1));
        let writer = {
            let slot = slot.clone();
            thread::spawn(move || slot.put(1, &[7], &facts(1)))
        };
        assert_eq!(slot.get(1, &[7]), Some(facts(1)));
        assert!(writer.join().unwrap());
    });
}

/// The registry in small: a state that is published whole (there by `ArcSwap`), and decisions that are made
/// on it.
#[test]
fn readers_never_get_a_decision_older_than_their_state() {
    struct Small {
        current: Generation,
        state: AtomicU64,
        slot: Slot<1, 1>,
    }

    impl Small {
        /// As `Registry::choose`: remembered, or decided on the state and kept.
        fn choose(&self) -> u64 {
            let settled = self.current.settled();
            if let Some([decided_on]) = settled.and_then(|generation| self.slot.get(generation, &[7])) {
                return decided_on;
            }
            let state = self.state.load(Ordering::Acquire);
            self.slot.put(state, &[7], &[state]);
            state
        }
    }

    model(|| {
        let registry =
            Arc::new(Small { current: Generation::new(), state: AtomicU64::new(0), slot: Slot::new() });
        let other = {
            let registry = registry.clone();
            thread::spawn(move || {
                registry.choose();
            })
        };
        let writer = {
            let registry = registry.clone();
            thread::spawn(move || registry.current.publish(1, || registry.state.store(1, Ordering::Release)))
        };
        let seen = registry.state.load(Ordering::Acquire);
        assert!(registry.choose() >= seen);
        writer.join().unwrap();
        assert_eq!(registry.choose(), 1);
        other.join().unwrap();
    });
}

/// A selection waits for nobody while a change is published.
#[test]
fn there_is_always_a_state_that_may_answer() {
    model(|| {
        let current = Arc::new((Generation::new(), AtomicU64::new(0)));
        let writer = {
            let current = current.clone();
            thread::spawn(move || {
                for generation in 1..3 {
                    current.0.publish(generation, || current.1.store(generation, Ordering::Release));
                }
            })
        };
        for _ in 0..2 {
            let least = current.0.least();
            assert!(current.1.load(Ordering::Acquire) >= least);
        }
        writer.join().unwrap();
        assert_eq!((current.0.get(), current.0.least(), current.0.settled()), (2, 2, Some(2)));
    });
}
