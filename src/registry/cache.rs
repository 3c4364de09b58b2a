//! The decision cache: a repeated problem is answered from memory.
//!
//! A fixed number of slots that readers share without writing. Each decision carries the generation that it
//! was made for, so that a change of the registry invalidates all of them at once.

use super::model_name::ModelName;
use super::slot::Slot;
use super::{Entry, Selection, Source};
use crate::problem::{FieldSet, Problem, WORDS};

/// Number of decisions; problems with the same place replace each other.
pub(super) const SLOTS: usize = 1024;

/// Words of a selection, after those of the problem.
const FACTS: usize = 7;

/// Recent decisions of a registry.
pub(super) struct Cache {
    slots: Box<[Slot<WORDS, FACTS>]>,
}

/// A problem's words and its place among the slots, computed once per call for reading and writing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    words: [u64; WORDS],
    place: usize,
}

impl Key {
    /// `None` if the problem cannot be valid.
    pub(super) fn of(problem: &Problem) -> Option<Self> {
        let words = problem.words()?;
        // Two chains, because each multiplication waits for the one before it.
        let (mut a, mut b) = (0x9e37_79b9_7f4a_7c15u64, 0xc2b2_ae3d_27d4_eb4fu64);
        for pair in words.chunks_exact(2) {
            a = (a ^ pair[0]).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
            b = (b ^ pair[1]).wrapping_mul(0xc4ce_b9fe_1a85_ec53).rotate_left(31);
        }
        let hash = (a ^ b).wrapping_mul(0x9fb2_1c65_1e98_df25);
        Some(Self { words, place: (hash >> 48) as usize % SLOTS })
    }

    /// Its place among [`SLOTS`].
    pub(super) const fn place(&self) -> usize {
        self.place
    }
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { slots: std::iter::repeat_with(Slot::new).take(SLOTS).collect() }
    }

    /// The selection that was kept for an equal problem; `entry` gives a kernel by its number in the arena.
    pub(super) fn get<'r>(
        &self,
        key: &Key,
        generation: u64,
        entry: impl FnOnce(usize) -> Option<&'r Entry>,
    ) -> Option<Selection<'r>> {
        let facts = self.slots.get(key.place)?.get(generation, &key.words)?;
        Selection::of_facts(facts, generation, entry)
    }

    /// Keeps a selection, whose kernel has this number in the arena; false if another thread is writing to
    /// the same place.
    pub(super) fn put(&self, key: &Key, id: usize, selection: &Selection<'_>) -> bool {
        self.slots
            .get(key.place)
            .is_some_and(|slot| slot.put(selection.generation, &key.words, &selection.facts(id)))
    }
}

const SCORED: u64 = 1 << 8;
const MEASURED: u64 = 1 << 9;
const UNMEASURED: u64 = 1 << 10;
const ARCH_UNKNOWN: u64 = 1 << 11;
const NO_MODEL: u64 = 1 << 12;
const GENERIC: u64 = 1 << 13;
/// From this bit on: the fields that are out of range, fewer than 48.
const OUTSIDE: u32 = 16;

impl<'r> Selection<'r> {
    fn facts(&self, id: usize) -> [u64; FACTS] {
        let mut flags = self.source as u64 | self.outside.bits() << OUTSIDE;
        for (bit, set) in [
            (SCORED, self.score.is_some()),
            (MEASURED, self.measured_ms.is_some()),
            (UNMEASURED, self.unmeasured),
            (ARCH_UNKNOWN, self.arch_unknown),
            (NO_MODEL, self.no_model),
            (GENERIC, self.generic),
        ] {
            flags |= if set { bit } else { 0 };
        }
        [
            flags,
            id as u64,
            self.index as u64,
            // Both are below the number of kernels, of which 32 bits are enough.
            self.rank as u64 | (self.unsupported as u64) << 32,
            ModelName::number(self.model).into(),
            self.score.unwrap_or(0.0).to_bits(),
            self.measured_ms.unwrap_or(0.0).to_bits(),
        ]
    }

    fn of_facts(
        facts: [u64; FACTS],
        generation: u64,
        entry: impl FnOnce(usize) -> Option<&'r Entry>,
    ) -> Option<Self> {
        let [flags, id, index, places, model, score, measured_ms] = facts;
        let number = |bit: u64, bits: u64| (flags & bit != 0).then(|| f64::from_bits(bits));
        Some(Self {
            entry: entry(id as usize)?,
            index: index as usize,
            source: *Source::ALL.get((flags & 0xff) as usize)?,
            score: number(SCORED, score),
            measured_ms: number(MEASURED, measured_ms),
            rank: places as u32 as usize,
            unsupported: (places >> 32) as usize,
            outside: FieldSet::from_bits(flags >> OUTSIDE),
            unmeasured: flags & UNMEASURED != 0,
            arch_unknown: flags & ARCH_UNKNOWN != 0,
            no_model: flags & NO_MODEL != 0,
            generic: flags & GENERIC != 0,
            model: ModelName::from_number(model as u32),
            generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NewKernel, Priority, UserData};
    use super::*;
    use crate::problem::GemmProblem;

    fn entry() -> Entry {
        let kernel =
            crate::kernel::Kernel::from_name("grouped_conv_forward_bf16_2d_64x64x64_compv3").unwrap();
        let (priority, user) = (Priority::NORMAL, UserData::default());
        Entry::new(NewKernel { kernel, priority, user, hooks: None })
    }

    fn selection(entry: &Entry, number: usize, generation: u64) -> Selection<'_> {
        Selection {
            entry,
            index: number * 3,
            source: Source::ALL[number % Source::ALL.len()],
            score: (number.is_multiple_of(2)).then_some(number as f64),
            measured_ms: (number.is_multiple_of(3)).then_some(number as f64 * 0.5),
            rank: number % 7,
            unsupported: number % 5,
            outside: FieldSet::from_bits((number as u64).wrapping_mul(0x9e37_79b9) >> 1 & ((1 << 31) - 1)),
            unmeasured: number.is_multiple_of(4),
            arch_unknown: number.is_multiple_of(6),
            no_model: number.is_multiple_of(9),
            generic: number.is_multiple_of(5),
            model: (number.is_multiple_of(5)).then(|| ModelName::of("a model")),
            generation,
        }
    }

    fn key(m: i64) -> Key {
        Key::of(&GemmProblem::new(m, 1, 1).into()).unwrap()
    }

    #[test]
    fn decisions_come_back_whole_for_their_problem_and_generation_only() {
        let (cache, entry) = (Cache::new(), entry());
        for m in 1..200 {
            let put = selection(&entry, m as usize, 5);
            cache.put(&key(m), m as usize, &put);
            let found = cache.get(&key(m), 5, |id| (id == m as usize).then_some(&entry)).unwrap();
            assert_eq!(format!("{found:?}"), format!("{put:?}"));
            assert!(cache.get(&key(m), 6, |_| Some(&entry)).is_none());
            assert!(cache.get(&key(m + 1000), 5, |_| Some(&entry)).is_none());
        }
    }

    #[test]
    fn places_are_spread() {
        let places: std::collections::HashSet<_> = (1..1000).map(|m| key(m).place).collect();
        assert!(places.len() > 550, "{} of 1000 problems have a place of their own", places.len());
    }

    #[test]
    fn a_decision_is_never_mixed_from_two() {
        let (cache, entry) = (Cache::new(), entry());
        let shared = key(1);
        // The number is in every fact, so that a mixture would be detected.
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (cache, entry) = (&cache, &entry);
                scope.spawn(move || {
                    for number in 0..rounds {
                        let number = number * 2 + writer;
                        cache.put(&shared, number, &selection(entry, number, 1));
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let mut id = 0;
                        let found = cache.get(&shared, 1, |found| {
                            id = found;
                            Some(&entry)
                        });
                        if let Some(found) = found {
                            assert_eq!(found.facts(id), selection(&entry, id, 1).facts(id));
                        }
                    }
                });
            }
        });
    }
}
