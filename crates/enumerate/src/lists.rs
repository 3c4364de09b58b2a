//! Lists of configurations and rules.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;

/// Whether a list has an item; without a list, everything is allowed.
pub(crate) fn admits<T: Borrow<Q>, Q: PartialEq + ?Sized>(list: Option<&[T]>, item: &Q) -> bool {
    list.is_none_or(|list| list.iter().any(|known| known.borrow() == item))
}

/// Keeps the first of equal values.
pub fn distinct<T: Eq + Hash + Copy>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}
