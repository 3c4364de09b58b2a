//! The kernels of a registry as its writers keep them: a change takes logarithmic time.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Entry, Priority};

/// Number of gaps from removed kernels that are not worth closing yet.
const SPARE: usize = 64;

/// Kernels by name and by place.
pub(super) struct Roster<K = Arc<Entry>> {
    /// In order of registration; `None` where a kernel was removed.
    slots: Vec<Option<K>>,
    /// A Fenwick tree: node `at` counts the kernels of the `lowest_bit(at + 1)` slots that end with slot
    /// `at`.
    counts: Vec<usize>,
    names: HashMap<Arc<str>, Known>,
    len: usize,
    /// Whether the caller has prepared these kernels, so that the next change is prepared, too.
    pub(super) is_prepared: bool,
}

/// What is known about a name that was ever registered.
struct Known {
    slot: Option<usize>,
    /// Its number among the registry's names.
    number: usize,
}

/// A snapshot of the kernels, for readers.
pub(super) struct Kernels<K = Arc<Entry>> {
    /// In order of registration: a kernel's place is its index here.
    pub(super) entries: Arc<[K]>,
    pub(super) places: HashMap<Arc<str>, usize>,
    /// Places by priority, the highest first, then by order of registration.
    pub(super) by_priority: Vec<usize>,
}

impl<K> Default for Roster<K> {
    fn default() -> Self {
        Self { slots: Vec::new(), counts: Vec::new(), names: HashMap::new(), len: 0, is_prepared: false }
    }
}

impl<K> Default for Kernels<K> {
    fn default() -> Self {
        Self { entries: Arc::new([]), places: HashMap::new(), by_priority: Vec::new() }
    }
}

const fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

impl<K: Clone> Roster<K> {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The kernel with this name.
    pub(super) fn get(&self, name: &str) -> Option<&K> {
        self.slots.get(self.names.get(name)?.slot?)?.as_ref()
    }

    /// The place of the kernel with this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let slot = self.names.get(name)?.slot?;
        let mut before = 0;
        let mut node = slot;
        while node > 0 {
            before += self.counts[node - 1];
            node -= lowest_bit(node);
        }
        Some(before)
    }

    /// The kernel at a place.
    pub(super) fn at(&self, place: usize) -> Option<&K> {
        if place >= self.len {
            return None;
        }
        // Down the tree to the last slot that has no more than `place` kernels before it.
        let (mut slot, mut left) = (0, place);
        let mut step = self.counts.len().checked_ilog2().map_or(0, |bits| 1usize << bits);
        while step > 0 {
            if let Some(&count) = self.counts.get(slot + step - 1)
                && count <= left
            {
                slot += step;
                left -= count;
            }
            step /= 2;
        }
        self.slots.get(slot)?.as_ref()
    }

    /// All kernels, in order of registration.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &K> + '_ {
        self.slots.iter().flatten()
    }

    /// The number of a name; `new` numbers one that was never registered.
    pub(super) fn number(&mut self, name: &str, new: impl FnOnce() -> usize) -> usize {
        if let Some(known) = self.names.get(name) {
            return known.number;
        }
        let number = new();
        self.names.insert(name.into(), Known { slot: None, number });
        number
    }

    /// Puts a kernel, whose name has a number, at the end, or in the place of the one with its name.
    pub(super) fn insert(&mut self, name: &str, kernel: K) {
        let Some(known) = self.names.get_mut(name) else { return };
        if let Some(slot) = known.slot {
            self.slots[slot] = Some(kernel);
            return;
        }
        known.slot = Some(self.slots.len());
        self.push(kernel);
    }

    fn push(&mut self, kernel: K) {
        self.slots.push(Some(kernel));
        let node = self.slots.len();
        let mut count = 1;
        let mut below = 1;
        while below < lowest_bit(node) {
            count += self.counts[node - below - 1];
            below *= 2;
        }
        self.counts.push(count);
        self.len += 1;
    }

    /// Removes the kernel with this name; false if there is none.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(known) = self.names.get_mut(name) else { return false };
        let Some(slot) = known.slot.take() else { return false };
        self.slots[slot] = None;
        self.len -= 1;
        let mut node = slot + 1;
        while node <= self.counts.len() {
            self.counts[node - 1] -= 1;
            node += lowest_bit(node);
        }
        if self.slots.len() > 2 * self.len + SPARE {
            self.close_gaps();
        }
        true
    }

    /// Frees the slots of removed kernels.
    fn close_gaps(&mut self) {
        let mut moved = vec![0; self.slots.len()];
        let old = std::mem::take(&mut self.slots);
        self.counts.clear();
        self.len = 0;
        for (slot, kernel) in old.into_iter().enumerate() {
            if let Some(kernel) = kernel {
                moved[slot] = self.slots.len();
                self.push(kernel);
            }
        }
        for name in self.names.values_mut() {
            name.slot = name.slot.map(|slot| moved[slot]);
        }
    }

    /// A snapshot for readers; `priority` gives that of a kernel.
    pub(super) fn snapshot(&self, priority: impl Fn(&K) -> Priority) -> Kernels<K> {
        let mut closed = Vec::with_capacity(self.slots.len());
        let mut entries = Vec::with_capacity(self.len);
        for kernel in &self.slots {
            closed.push(entries.len());
            entries.extend(kernel.clone());
        }
        let mut places = HashMap::with_capacity(self.len);
        places
            .extend(self.names.iter().filter_map(|(name, known)| Some((name.clone(), closed[known.slot?]))));
        let mut by_priority: Vec<usize> = (0..entries.len()).collect();
        by_priority.sort_by_key(|&place| std::cmp::Reverse(priority(&entries[place])));
        Kernels { entries: entries.into(), places, by_priority }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, with lists.
    #[derive(Default)]
    struct Plain(Vec<(String, usize)>);

    impl Plain {
        fn insert(&mut self, name: &str, id: usize) {
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some(known) => known.1 = id,
                None => self.0.push((name.to_owned(), id)),
            }
        }

        fn remove(&mut self, name: &str) -> bool {
            let before = self.0.len();
            self.0.retain(|(known, _)| known != name);
            self.0.len() < before
        }
    }

    fn check(roster: &Roster<usize>, plain: &Plain) {
        assert_eq!(roster.len(), plain.0.len());
        for (place, (name, id)) in plain.0.iter().enumerate() {
            assert_eq!((roster.at(place), roster.get(name)), (Some(id), Some(id)), "{name}");
            assert_eq!(roster.position(name), Some(place), "{name}");
        }
        assert_eq!(roster.at(plain.0.len()), None);
        let priority = |&id: &usize| Priority(id as i32 % 3);
        let kernels = roster.snapshot(priority);
        let ids: Vec<usize> = plain.0.iter().map(|(_, id)| *id).collect();
        assert_eq!(*kernels.entries, ids);
        assert_eq!(kernels.places.len(), ids.len());
        assert!(plain.0.iter().enumerate().all(|(place, (name, _))| kernels.places[name.as_str()] == place));
        let mut by_priority: Vec<usize> = (0..ids.len()).collect();
        by_priority.sort_by(|&a, &b| priority(&ids[b]).cmp(&priority(&ids[a])).then(a.cmp(&b)));
        assert_eq!(kernels.by_priority, by_priority);
    }

    #[test]
    fn it_is_a_list_with_names() {
        let (mut roster, mut plain) = (Roster::default(), Plain::default());
        // A small pseudo-random generator, so that the changes are the same each time.
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let rounds = if cfg!(miri) { 100 } else { 3000 };
        for id in 0..rounds {
            let name = format!("k{}", random(if id < rounds / 2 { 400 } else { 40 }));
            // Few are left in the second half, so that gaps are closed.
            if random(4) < if id < rounds / 2 { 3 } else { 1 } {
                roster.number(&name, || id);
                roster.insert(&name, id);
                plain.insert(&name, id);
            } else {
                let name = if random(2) == 0 { name } else { format!("k{}", random(400)) };
                assert_eq!(roster.remove(&name), plain.remove(&name));
            }
            if id % 50 == 0 {
                check(&roster, &plain);
            }
        }
        check(&roster, &plain);
        for (name, _) in std::mem::take(&mut plain.0) {
            assert!(roster.remove(&name));
        }
        check(&roster, &plain);
    }

    #[test]
    fn a_name_keeps_its_number() {
        let mut roster = Roster::default();
        assert_eq!((roster.number("a", || 0), roster.number("b", || 1)), (0, 1));
        roster.insert("a", 7);
        assert!(roster.remove("a") && !roster.remove("a"));
        assert_eq!(roster.number("a", || unreachable!()), 0);
    }
}
