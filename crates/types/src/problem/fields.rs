//! Sets of a problem's fields.

use super::Problem;
use crate::vocab::Op;

/// Names behind the fields of every operation: the architecture, and what a model's features derive from the fields.
const BEHIND: [&str; 2] = ["arch", "features"];

/// A set of a problem's fields, its architecture, and what a model's features derive from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FieldSet(u64);

impl FieldSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The names that an operation's problems have; a name's index is its bit in [`FieldSet::bits`].
    pub fn fields(op: Op) -> impl ExactSizeIterator<Item = &'static str> {
        let count = Problem::fields(op).len();
        (0..count + 2).map(move |index| {
            Problem::fields(op).get(index).map_or_else(|| BEHIND[index - count], |field| field.name)
        })
    }

    /// One bit per field.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set with these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The fields of the set, in their order.
    pub fn names(self, op: Op) -> impl Iterator<Item = &'static str> {
        Self::fields(op).enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| name)
    }

    /// The set, with the field of an index added if `set`.
    pub const fn with(self, bit: usize, set: bool) -> Self {
        Self(self.0 | (set as u64) << bit)
    }

    /// The index of the architecture.
    pub const fn arch(op: Op) -> usize {
        Problem::fields(op).len()
    }

    /// The index of what features derive.
    pub const fn features(op: Op) -> usize {
        Self::arch(op) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_name_their_fields() {
        let set = FieldSet::NONE.with(5, true).with(0, false).with(FieldSet::features(Op::Conv), true);
        assert_eq!(set.names(Op::Conv).collect::<Vec<_>>(), ["G", "features"]);
        assert!(!set.is_empty() && FieldSet::from_bits(set.bits()) == set);
    }
}
