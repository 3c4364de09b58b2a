//! The kernels of a registry as its writers keep them: a change takes logarithmic time.

use std::collections::HashMap;
use std::sync::Arc;

use super::Priority;

/// Number of removed entries with one name that are checked before a new one is made.
const LOOKED_AT: usize = 8;
/// Number of gaps from removed kernels that are not worth closing yet.
const SPARE: usize = 64;

/// Kernels by name and by place. Their number (`id`) is their index in the registry's arena.
#[derive(Default)]
pub(super) struct Roster {
    /// In order of registration; `None` where a kernel was removed.
    ids: Vec<Option<usize>>,
    /// A Fenwick tree: node `at` counts the kernels of the `lowest_bit(at + 1)` slots that end with slot
    /// `at`.
    counts: Vec<usize>,
    names: HashMap<Arc<str>, Name>,
    len: usize,
    /// Whether the caller has prepared these kernels, so that the next change is prepared, too.
    pub(super) is_prepared: bool,
}

/// What is known about a name that was ever registered.
#[derive(Default)]
struct Name {
    slot: Option<usize>,
    /// Entries of the arena that are no longer registered.
    removed: Vec<usize>,
}

/// A snapshot of the kernels, for readers.
#[derive(Default)]
pub(super) struct Kernels {
    /// In order of registration: a kernel's place is its index here.
    pub(super) ids: Arc<[usize]>,
    pub(super) places: HashMap<Arc<str>, usize>,
    /// Places by priority, the highest first, then by order of registration.
    pub(super) by_priority: Vec<usize>,
}

const fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

impl Roster {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The kernel with this name.
    pub(super) fn id(&self, name: &str) -> Option<usize> {
        self.ids.get(self.names.get(name)?.slot?).copied().flatten()
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
    pub(super) fn at(&self, place: usize) -> Option<usize> {
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
        self.ids.get(slot).copied().flatten()
    }

    /// All kernels, in order of registration.
    pub(super) fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.ids.iter().copied().flatten()
    }

    /// Puts a kernel at the end, or in the place of the one with its name.
    pub(super) fn insert(&mut self, name: &str, id: usize) {
        if !self.names.contains_key(name) {
            self.names.insert(name.into(), Name::default());
        }
        let Some(known) = self.names.get_mut(name) else { return };
        if let Some(slot) = known.slot {
            known.removed.extend(self.ids[slot].replace(id));
            return;
        }
        known.slot = Some(self.ids.len());
        self.push(id);
    }

    fn push(&mut self, id: usize) {
        self.ids.push(Some(id));
        let node = self.ids.len();
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
        known.removed.extend(self.ids[slot].take());
        self.len -= 1;
        let mut node = slot + 1;
        while node <= self.counts.len() {
            self.counts[node - 1] -= 1;
            node += lowest_bit(node);
        }
        if self.ids.len() > 2 * self.len + SPARE {
            self.close_gaps();
        }
        true
    }

    /// Frees the slots of removed kernels.
    fn close_gaps(&mut self) {
        let mut moved = vec![0; self.ids.len()];
        let old = std::mem::take(&mut self.ids);
        self.counts.clear();
        self.len = 0;
        for (slot, id) in old.into_iter().enumerate() {
            if let Some(id) = id {
                moved[slot] = self.ids.len();
                self.push(id);
            }
        }
        for name in self.names.values_mut() {
            name.slot = name.slot.map(|slot| moved[slot]);
        }
    }

    /// A removed entry with this name that `is_same` recognises, which is then no longer removed.
    pub(super) fn revive(&mut self, name: &str, is_same: impl Fn(usize) -> bool) -> Option<usize> {
        let removed = &mut self.names.get_mut(name)?.removed;
        let first = removed.len().saturating_sub(LOOKED_AT);
        let found = first + removed[first..].iter().rposition(|&id| is_same(id))?;
        Some(removed.swap_remove(found))
    }

    /// A snapshot for readers; `priority` gives that of an entry.
    pub(super) fn snapshot(&self, priority: impl Fn(usize) -> Priority) -> Kernels {
        let mut closed = Vec::with_capacity(self.ids.len());
        let mut ids = Vec::with_capacity(self.len);
        for &id in &self.ids {
            closed.push(ids.len());
            ids.extend(id);
        }
        let mut places = HashMap::with_capacity(self.len);
        places
            .extend(self.names.iter().filter_map(|(name, known)| Some((name.clone(), closed[known.slot?]))));
        let mut by_priority: Vec<usize> = (0..ids.len()).collect();
        by_priority.sort_by_key(|&place| std::cmp::Reverse(priority(ids[place])));
        Kernels { ids: ids.into(), places, by_priority }
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

    fn check(roster: &Roster, plain: &Plain) {
        assert_eq!(roster.len(), plain.0.len());
        for (place, (name, id)) in plain.0.iter().enumerate() {
            assert_eq!((roster.at(place), roster.id(name)), (Some(*id), Some(*id)), "{name}");
            assert_eq!(roster.position(name), Some(place), "{name}");
        }
        assert_eq!(roster.at(plain.0.len()), None);
        let priority = |id: usize| Priority(id as i32 % 3);
        let kernels = roster.snapshot(priority);
        let ids: Vec<usize> = plain.0.iter().map(|(_, id)| *id).collect();
        assert_eq!(*kernels.ids, ids);
        assert_eq!(kernels.places.len(), ids.len());
        assert!(plain.0.iter().enumerate().all(|(place, (name, _))| kernels.places[name.as_str()] == place));
        let mut by_priority: Vec<usize> = (0..ids.len()).collect();
        by_priority.sort_by(|&a, &b| priority(ids[b]).cmp(&priority(ids[a])).then(a.cmp(&b)));
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
    fn a_removed_entry_comes_back_once() {
        let mut roster = Roster::default();
        roster.insert("a", 0);
        assert_eq!(roster.revive("a", |_| true), None);
        roster.insert("a", 1);
        assert!(roster.remove("a"));
        assert_eq!(roster.revive("b", |_| true), None);
        assert_eq!(roster.revive("a", |id| id == 0), Some(0));
        assert_eq!(roster.revive("a", |id| id == 0), None);
        assert_eq!(roster.revive("a", |_| true), Some(1));
    }
}
