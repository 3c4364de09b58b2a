//! A fast hash for maps in memory.

use std::hash::Hasher;

/// Hashes in memory what belongs to the process: std's protection against chosen keys, which costs several
/// times as much, gains nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct FastHasher(u64);

/// An odd number without a pattern: digits of the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(MIX);
        }
    }

    /// Both halves of a product combined: all bits affect the low ones.
    fn finish(&self) -> u64 {
        let product = u128::from(self.0) * u128::from(MIX);
        product as u64 ^ (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::problem::ConvProblem;

    #[test]
    fn the_fast_hash_spreads_neighbours() {
        use std::hash::BuildHasher as _;

        let build = std::hash::BuildHasherDefault::<FastHasher>::default();
        // hashbrown uses low bits for the bucket and the top seven as a tag.
        let hash = |problem: &ConvProblem| build.hash_one(problem) & 0x0fff_ffff;
        let base = ConvProblem { n: 8, c: 64, k: 64, ..ConvProblem::new_2d([56, 56], [3, 3]) };
        let mut hashes = HashSet::new();
        let mut problems = 0;
        for n in 1..=20 {
            for extent in 1..=20 {
                for pad in 0..5 {
                    for c in 1..=5 {
                        let input = [1, extent * 7, extent * 7];
                        hashes.insert(hash(&ConvProblem { n, input, c: c * 64, ..base }.padded([pad, pad])));
                        problems += 1;
                    }
                }
            }
        }
        // By chance, 10,000 of 2^28 collide less than once on average.
        assert!(hashes.len() + 5 >= problems, "{} of {problems}", hashes.len());
    }
}
