//! Distinct kernels, or problems, to which rows refer by their indices.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;

/// Items with different keys, in the order in which they came.
#[derive(Debug, Clone)]
pub(crate) struct Distinct<K, T> {
    items: Vec<T>,
    index: HashMap<K, u32>,
}

impl<K, T> Default for Distinct<K, T> {
    fn default() -> Self {
        Self { items: Vec::new(), index: HashMap::new() }
    }
}

impl<K: Eq + Hash, T> Distinct<K, T> {
    /// The index of a key's item.
    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        self.index.get(key).copied()
    }

    /// The index of a key's item, which is made if the key is new.
    pub(crate) fn index_of<Q>(&mut self, key: &Q, make: impl FnOnce() -> T) -> u32
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + Eq + Hash + ?Sized,
    {
        if let Some(index) = self.find(key) {
            return index;
        }
        let index = self.items.len() as u32;
        self.items.push(make());
        self.index.insert(key.to_owned(), index);
        index
    }
}

impl<K, T> Deref for Distinct<K, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}
