//! The sets of categories that go left, as bits.

use super::error::ForestError;
use super::fields::Fields;
use super::text::Count;

/// The category sets of one tree's categorical nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategorySets {
    /// Set `i` is `words[bounds[i]..bounds[i + 1]]`. Empty, or a sequence that starts with 0, never decreases
    /// and ends with the number of words.
    bounds: Vec<u32>,
    words: Vec<u32>,
}

impl CategorySets {
    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// Whether there are no sets, as in a tree that splits only on numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits of one set, lowest category first: bit `i % 32` of word `i / 32` stands for category `i`.
    ///
    /// # Panics
    ///
    /// If there is no such set; a [`Split`](super::Split) of the same tree always names one.
    pub fn words(&self, set: u32) -> &[u32] {
        let set = set as usize;
        &self.words[self.bounds[set] as usize..self.bounds[set + 1] as usize]
    }

    /// Whether a feature value, truncated to an integer, is a member of the set.
    ///
    /// # Panics
    ///
    /// If there is no such set; a [`Split`](super::Split) of the same tree always names one.
    pub fn contains(&self, set: u32, value: f64) -> bool {
        Self::has(self.words(set), value)
    }

    /// Whether the bits of a set have a value's category.
    pub(crate) fn has(words: &[u32], value: f64) -> bool {
        let Some(category) = category(value) else { return false };
        words.get(category / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
    }

    /// Reads the sets of a tree that announces `num_cat` of them.
    pub(super) fn parse(fields: &Fields<'_>, num_cat: usize) -> Result<CategorySets, ForestError> {
        if num_cat == 0 {
            return Ok(CategorySets::default());
        }
        let bounds_field = fields.need("cat_boundaries")?;
        let count = Count { expected: num_cat.saturating_add(1), because: "num_cat + 1" };
        let bounds: Vec<u32> = bounds_field.list(count, "an integer of at least 0", |_| true)?;
        let words_field = fields.need("cat_threshold")?;
        let count = Count { expected: bounds[num_cat] as usize, because: "the last of cat_boundaries" };
        let words = words_field.list(count, "a 32-bit word", |_| true)?;
        let sets = CategorySets { bounds, words };
        sets.validate(fields)?;
        Ok(sets)
    }

    /// Checks that the sets follow one another in the words without gaps.
    fn validate(&self, fields: &Fields<'_>) -> Result<(), ForestError> {
        let position = fields.need("cat_boundaries")?.position;
        if self.bounds[0] != 0 {
            return Err(position.index(0).value(&self.bounds[0].to_string(), "0"));
        }
        for (index, pair) in self.bounds.windows(2).enumerate() {
            if pair[1] < pair[0] {
                let expected = format!("at least {}, the boundary before it", pair[0]);
                return Err(position.index(index + 1).value(&pair[1].to_string(), expected));
            }
        }
        Ok(())
    }
}

/// The category of a value: the value without its fraction, so that -0.5 is category 0. Values that are
/// negative, NaN or above the integers that LightGBM casts to have none.
fn category(value: f64) -> Option<usize> {
    const END: f64 = 2_147_483_648.0;
    (value > -1.0 && value < END).then_some(value as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_for_categories_as_a_cast_makes_them() {
        let cases = [
            (0.0, Some(0)),
            (-0.0, Some(0)),
            (-0.999, Some(0)),
            (-1.0, None),
            (31.9, Some(31)),
            (2_147_483_647.5, Some(2_147_483_647)),
            (2_147_483_648.0, None),
            (1e300, None),
            (f64::INFINITY, None),
            (f64::NEG_INFINITY, None),
            (f64::NAN, None),
        ];
        for (value, expected) in cases {
            assert_eq!(category(value), expected, "{value}");
        }
    }

    #[test]
    fn members_are_the_set_bits_of_their_own_set() {
        let sets = CategorySets { bounds: vec![0, 1, 1, 3], words: vec![0b101, 0, 1 << 31] };
        let members =
            |set| (0..200).filter(|&value| sets.contains(set, f64::from(value))).collect::<Vec<_>>();
        assert_eq!(sets.len(), 3);
        assert_eq!(members(0), [0, 2]);
        assert!(members(1).is_empty());
        assert_eq!(members(2), [63]);
    }
}
