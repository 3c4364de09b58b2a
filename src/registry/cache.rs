//! The decision cache: a repeated problem is answered from memory.
//!
//! A fixed number of slots that readers share without writing. Each decision carries the generation that it
//! was made for, so that a change of the registry invalidates all of them at once.

use super::entry::UserData;
use super::entry::{Name, Registered};
#[cfg(test)]
use super::index::NameIndex;
use super::model_name::ModelName;
use super::selection::{Selection, Source};
use super::slot::Slot;
use crate::problem::{FieldSet, Problem, WORDS};
use crate::sureness::Sure;

/// Number of decisions; problems with the same slot replace each other.
pub(super) const SLOTS: usize = 1024;

/// Words of a selection, after those of the problem.
const FACTS: usize = 10;

/// Recent decisions of a registry.
pub(super) struct Cache {
    slots: Box<[Slot<WORDS, FACTS>]>,
}

/// A problem's words and the index of its slot, computed once per call for reading and writing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    words: [u64; WORDS],
    slot: usize,
}

impl Key {
    /// `None` if the problem cannot be valid.
    pub(super) fn new(problem: &Problem) -> Option<Self> {
        let words = problem.words()?;
        // Two chains, because each multiplication waits for the one before it.
        let (mut a, mut b) = (0x9e37_79b9_7f4a_7c15u64, 0xc2b2_ae3d_27d4_eb4fu64);
        for pair in words.chunks_exact(2) {
            a = (a ^ pair[0]).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
            b = (b ^ pair[1]).wrapping_mul(0xc4ce_b9fe_1a85_ec53).rotate_left(31);
        }
        let hash = (a ^ b).wrapping_mul(0x9fb2_1c65_1e98_df25);
        Some(Self { words, slot: (hash >> 48) as usize % SLOTS })
    }

    /// The problem's index among [`SLOTS`].
    pub(super) const fn slot(&self) -> usize {
        self.slot
    }
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { slots: std::iter::repeat_with(Slot::new).take(SLOTS).collect() }
    }

    /// The selection that was kept for an equal problem; `names` are those of the registry.
    pub(super) fn get<'r>(
        &self,
        key: &Key,
        generation: u64,
        names: &'r boxcar::Vec<Name>,
    ) -> Option<Selection<'r>> {
        let facts = self.slots.get(key.slot)?.get(generation, &key.words)?;
        Selection::from_facts(facts, generation, names)
    }

    /// Keeps a selection; false if another thread is writing to the same slot.
    pub(super) fn put(&self, key: &Key, selection: &Selection<'_>) -> bool {
        self.slots
            .get(key.slot)
            .is_some_and(|slot| slot.put(selection.generation, &key.words, &selection.facts()))
    }
}

const SCORED: u64 = 1 << 8;
const MEASURED: u64 = 1 << 9;
const UNMEASURED: u64 = 1 << 10;
const ARCH_UNKNOWN: u64 = 1 << 11;
const NO_MODEL: u64 = 1 << 12;
const UNIVERSAL: u64 = 1 << 13;
const MAY_REFUSE: u64 = 1 << 14;
const SURE: u64 = 1 << 15;
/// The value that stands for no sureness.
const NOT_SURE: Sure = Sure { expected_loss: 0.0, chance: 0.0, sure_within: [0; 2] };
/// The first bit of the fields that are out of range, which are fewer than 48.
const OUTSIDE: u32 = 16;

impl<'r> Selection<'r> {
    fn facts(&self) -> [u64; FACTS] {
        let mut flags = self.source as u64 | self.outside.bits() << OUTSIDE;
        for (bit, set) in [
            (SCORED, self.score.is_some()),
            (SURE, self.sure.is_some()),
            (MEASURED, self.measured_ms.is_some()),
            (UNMEASURED, self.unmeasured),
            (ARCH_UNKNOWN, self.arch_unknown),
            (NO_MODEL, self.no_model),
            (UNIVERSAL, self.universal),
            (MAY_REFUSE, self.entry.may_refuse()),
        ] {
            flags |= if set { bit } else { 0 };
        }
        let Sure { expected_loss, chance, sure_within: [few, more] } = self.sure.unwrap_or(NOT_SURE);
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            flags,
            self.entry.number().get() as u64,
            self.index as u64 | (self.split_k as u64) << 32,
            // Both are below the number of kernels, for which 32 bits are enough.
            self.rank as u64 | (self.unsupported as u64) << 32,
            ModelName::number(self.model).into(),
            self.score.unwrap_or(0.0).to_bits(),
            self.measured_ms.unwrap_or(0.0).to_bits(),
            self.entry.user().0.expose_provenance() as u64,
            pair(expected_loss.to_bits(), chance.to_bits()),
            pair(few, more),
        ]
    }

    fn from_facts(facts: [u64; FACTS], generation: u64, names: &'r boxcar::Vec<Name>) -> Option<Self> {
        let [flags, number, index, places, model, score, measured_ms, user, losses, counts] = facts;
        let user = UserData(std::ptr::with_exposed_provenance_mut(user as usize));
        let name = names.get(number as usize)?;
        let known = |bit: u64, bits: u64| (flags & bit != 0).then(|| f64::from_bits(bits));
        Some(Self {
            entry: Registered::new(name, user, flags & MAY_REFUSE != 0),
            index: index as u32 as usize,
            split_k: (index >> 32) as i32,
            source: *Source::ALL.get((flags & 0xff) as usize)?,
            score: known(SCORED, score),
            sure: (flags & SURE != 0).then(|| Sure {
                expected_loss: f32::from_bits(losses as u32),
                chance: f32::from_bits((losses >> 32) as u32),
                sure_within: [counts as u32, (counts >> 32) as u32],
            }),
            measured_ms: known(MEASURED, measured_ms),
            rank: places as u32 as usize,
            unsupported: (places >> 32) as usize,
            outside: FieldSet::from_bits(flags >> OUTSIDE),
            unmeasured: flags & UNMEASURED != 0,
            arch_unknown: flags & ARCH_UNKNOWN != 0,
            no_model: flags & NO_MODEL != 0,
            universal: flags & UNIVERSAL != 0,
            model: ModelName::from_number(model as u32),
            generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::GemmProblem;

    fn names(count: usize) -> boxcar::Vec<Name> {
        (0..count).map(|number| Name::new(NameIndex::new(number), &format!("kernel {number}"))).collect()
    }

    fn selection(names: &boxcar::Vec<Name>, number: usize, generation: u64) -> Selection<'_> {
        let user = UserData(std::ptr::without_provenance_mut(number * 16));
        Selection {
            entry: Registered::new(&names[number], user, number.is_multiple_of(7)),
            index: number * 3,
            split_k: 1 << (number % 31),
            source: Source::ALL[number % Source::ALL.len()],
            score: (number.is_multiple_of(2)).then_some(number as f64),
            sure: (number.is_multiple_of(3)).then(|| Sure {
                expected_loss: number as f32 * 0.001,
                chance: 0.5,
                sure_within: [number as u32, number as u32 + 7],
            }),
            measured_ms: (number.is_multiple_of(3)).then_some(number as f64 * 0.5),
            rank: number % 7,
            unsupported: number % 5,
            outside: FieldSet::from_bits((number as u64).wrapping_mul(0x9e37_79b9) >> 1 & ((1 << 31) - 1)),
            unmeasured: number.is_multiple_of(4),
            arch_unknown: number.is_multiple_of(6),
            no_model: number.is_multiple_of(9),
            universal: number.is_multiple_of(5),
            model: (number.is_multiple_of(5)).then(|| ModelName::new("a model")),
            generation,
        }
    }

    fn key(m: i64) -> Key {
        Key::new(&GemmProblem::new(m, 1, 1).into()).unwrap()
    }

    #[test]
    fn decisions_come_back_whole_for_their_problem_and_generation_only() {
        let (cache, names) = (Cache::new(), names(200));
        for m in 1..200 {
            let put = selection(&names, m as usize, 5);
            cache.put(&key(m), &put);
            let decision = cache.get(&key(m), 5, &names).unwrap();
            assert_eq!(format!("{decision:?}"), format!("{put:?}"));
            assert!(cache.get(&key(m), 6, &names).is_none());
            assert!(cache.get(&key(m + 1000), 5, &names).is_none());
        }
    }

    #[test]
    fn places_are_spread() {
        let places: std::collections::HashSet<_> = (1..1000).map(|m| key(m).slot).collect();
        assert!(places.len() > 550, "{} of 1000 problems have a place of their own", places.len());
    }

    #[test]
    fn a_decision_is_never_mixed_from_two() {
        let shared = key(1);
        // The number is in every fact, so that a mixture would be detected.
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let (cache, names) = (Cache::new(), names(2 * rounds));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (cache, names) = (&cache, &names);
                scope.spawn(move || {
                    for number in 0..rounds {
                        cache.put(&shared, &selection(names, number * 2 + writer, 1));
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        if let Some(decision) = cache.get(&shared, 1, &names) {
                            let number = decision.entry.number().get();
                            assert_eq!(decision.facts(), selection(&names, number, 1).facts());
                        }
                    }
                });
            }
        });
    }
}
