//! The ends of texts, by which short ones are told apart.

// Features name a cell where they read it: inlined, nothing of the name is left to compute.
#![allow(clippy::inline_always)]

/// The first and the last letters of a text, and how many it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends(u64, u64, usize);

impl Ends {
    /// The longest texts that are equal if their ends are.
    pub const ALL: usize = 16;

    /// The ends of a text.
    #[inline(always)]
    pub fn new(letters: &[u8]) -> Self {
        if let (Some(first), Some(last)) = (letters.first_chunk(), letters.last_chunk()) {
            return Self(u64::from_le_bytes(*first), u64::from_le_bytes(*last), letters.len());
        }
        if let (Some(first), Some(last)) = (letters.first_chunk(), letters.last_chunk()) {
            return Self(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into(), letters.len());
        }
        let mut all = [0; 8];
        all.iter_mut().zip(letters).for_each(|(to, letter)| *to = *letter);
        Self(u64::from_le_bytes(all), 0, letters.len())
    }

    /// The spot where the search begins, of a number of spots that is a power of two.
    pub(crate) const fn begin(self, spots: usize) -> usize {
        let mixed = (self.0 ^ self.1.rotate_left(17) ^ self.2 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize & (spots - 1)
    }
}
