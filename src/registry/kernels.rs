//! The kernels of a registry, in each order in which they are searched. A change keeps all orders: it moves
//! numbers, and compares a handful of kernels.

use std::cmp::Reverse;
use std::sync::Arc;

use super::entry::{Entry, Priority};
use super::index::KernelIndex;

/// The number of new kernels from which the lists are sorted; fewer are inserted one by one.
const MANY: usize = 16;

/// Kernels with different names.
#[derive(Clone, Default)]
pub(super) struct Kernels {
    /// All kernels, in the order of registration.
    entries: Vec<Arc<Entry>>,
    by_name: Vec<KernelIndex>,
    /// The highest priority first, then in the order of registration.
    by_priority: Vec<KernelIndex>,
}

impl Kernels {
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// All kernels, in the order of registration.
    pub(super) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub(super) fn get(&self, index: KernelIndex) -> Option<&Arc<Entry>> {
        self.entries.get(index.get())
    }

    /// The kernel with this name, with its index.
    pub(super) fn named(&self, name: &str) -> Option<(KernelIndex, &Arc<Entry>)> {
        let index = self.by_name[self.search(name).ok()?];
        Some((index, &self.entries[index.get()]))
    }

    /// All kernels in the order of names, with their indices: pools in this order do not depend on that of
    /// registration.
    pub(super) fn by_name(&self) -> impl ExactSizeIterator<Item = (KernelIndex, &Arc<Entry>)> {
        self.by_name.iter().map(|&index| (index, &self.entries[index.get()]))
    }

    /// All kernels with their indices, the highest priority first.
    pub(super) fn by_priority(&self) -> impl Iterator<Item = (KernelIndex, &Arc<Entry>)> {
        self.by_priority.iter().map(|&index| (index, &self.entries[index.get()]))
    }

    /// Adds kernels with different names at the end, or in the places of those with their names.
    pub(super) fn insert(&mut self, kernels: Vec<Arc<Entry>>) {
        let (sorts, before) = (kernels.len() >= MANY, self.entries.len());
        for entry in kernels {
            let index = KernelIndex::new(self.entries.len());
            match self.search(entry.name()) {
                Ok(at) => self.replace(self.by_name[at], entry),
                Err(_) if sorts => self.entries.push(entry),
                Err(at) => {
                    self.entries.push(entry);
                    self.by_name.insert(at, index);
                    self.by_priority.insert(self.rank(index), index);
                }
            }
        }
        let Self { entries, by_name, by_priority } = self;
        if sorts {
            let new = (before..entries.len()).map(KernelIndex::new);
            by_name.extend(new.clone());
            by_name.sort_by(|one, other| entries[one.get()].name().cmp(entries[other.get()].name()));
            by_priority.extend(new);
            by_priority.sort_by_key(|&index| key(entries, index));
        }
    }

    fn replace(&mut self, index: KernelIndex, entry: Arc<Entry>) {
        self.by_priority.remove(self.rank(index));
        self.entries[index.get()] = entry;
        self.by_priority.insert(self.rank(index), index);
    }

    /// Removes the kernel with this name, in place; false if there is none.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Ok(at) = self.search(name) else { return false };
        let gone = self.by_name.remove(at);
        self.by_priority.remove(self.rank(gone));
        self.entries.remove(gone.get());
        for index in self.by_name.iter_mut().chain(&mut self.by_priority) {
            *index = index.without(gone);
        }
        true
    }

    /// Keeps the kernels of which `keep` is true, in one pass; the number of the others.
    pub(super) fn retain(&mut self, keep: impl Fn(KernelIndex) -> bool) -> usize {
        let (before, mut kept) = (self.entries.len(), 0..);
        let moved: Vec<Option<KernelIndex>> = (0..before)
            .map(|index| keep(KernelIndex::new(index)).then(|| kept.next()).flatten().map(KernelIndex::new))
            .collect();
        for order in [&mut self.by_name, &mut self.by_priority] {
            *order = order.iter().filter_map(|index| moved[index.get()]).collect();
        }
        let mut stays = moved.iter().map(Option::is_some);
        self.entries.retain(|_| stays.next().unwrap_or_default());
        before - self.entries.len()
    }

    /// The index of a name in the order of names, or the index where it belongs.
    fn search(&self, name: &str) -> Result<usize, usize> {
        self.by_name.binary_search_by(|index| self.entries[index.get()].name().cmp(name))
    }

    /// The index of a kernel in the order of priorities, or the index where it belongs.
    fn rank(&self, index: KernelIndex) -> usize {
        let own = key(&self.entries, index);
        self.by_priority.partition_point(|&other| key(&self.entries, other) < own)
    }
}

fn key(entries: &[Arc<Entry>], index: KernelIndex) -> (Reverse<Priority>, KernelIndex) {
    (Reverse(entries[index.get()].priority()), index)
}

#[cfg(test)]
mod tests {
    use super::super::entry::NewKernel;
    use super::*;
    use crate::kernel::Kernel;
    use crate::registry::index::NameIndex;

    fn entry(name: usize, priority: i32) -> Arc<Entry> {
        let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x64x64_compv3").unwrap();
        let kernel = Kernel { name: format!("k{name}"), ..kernel };
        let new = NewKernel { priority: Priority(priority), ..kernel.into() };
        Arc::new(Entry::new(new, NameIndex::new(name)))
    }

    fn check(kernels: &Kernels, plain: &[Arc<Entry>]) {
        assert!(
            kernels.entries().iter().zip(plain).all(|(registered, entry)| Arc::ptr_eq(registered, entry))
        );
        assert_eq!(kernels.len(), plain.len());
        for (index, entry) in plain.iter().enumerate() {
            let (number, _) = kernels.named(entry.name()).unwrap();
            assert_eq!(number, KernelIndex::new(index));
        }
        let sorted = |order: &[KernelIndex], before: fn(&Entry, &Entry) -> std::cmp::Ordering| {
            let mut expected: Vec<usize> = (0..plain.len()).collect();
            expected.sort_by(|&one, &other| before(&plain[one], &plain[other]).then(one.cmp(&other)));
            assert!(order.iter().map(|index| index.get()).eq(expected));
        };
        sorted(&kernels.by_name, |one, other| one.name().cmp(other.name()));
        sorted(&kernels.by_priority, |one, other| other.priority().cmp(&one.priority()));
    }

    #[test]
    fn kernels_are_listed_in_three_orders() {
        let (mut kernels, mut plain) = (Kernels::default(), Vec::<Arc<Entry>>::new());
        // A small pseudo-random generator, so that the changes are the same each time.
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for round in 0..if cfg!(miri) { 20 } else { 300 } {
            // One or many at once; some replace others.
            let first = random(400);
            let new: Vec<_> = (first..first + [1, 3, MANY + 1][random(3)])
                .map(|name| entry(name, random(3) as i32))
                .collect();
            kernels.insert(new.clone());
            for entry in new {
                match plain.iter_mut().find(|known| known.name() == entry.name()) {
                    Some(known) => *known = entry,
                    None => plain.push(entry),
                }
            }
            for _ in 0..random(if round < 200 { 8 } else { 40 }) {
                let name = format!("k{}", random(420));
                let before = plain.len();
                plain.retain(|known| known.name() != name);
                assert_eq!(kernels.remove(&name), plain.len() < before);
            }
            check(&kernels, &plain);
            if round % 10 == 9 {
                let keeps: Vec<bool> = plain.iter().map(|_| random(3) > 0).collect();
                let (before, mut stays) = (plain.len(), keeps.iter());
                plain.retain(|_| *stays.next().unwrap());
                assert_eq!(kernels.retain(|index| keeps[index.get()]), before - plain.len());
                check(&kernels, &plain);
            }
        }
    }
}
