//! The two hashes of the store: a stable one that is part of the file format, and a fast one for memory.

use std::hash::Hasher;

/// FNV-1a with 128 bits, exactly as its authors define it. It is part of the file format and never changes.
pub(crate) struct StableHash(u128);

impl StableHash {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(super) const fn new() -> Self {
        Self(Self::OFFSET)
    }

    pub(crate) fn of(bytes: &[u8]) -> u128 {
        let mut hash = Self::new();
        hash.write(bytes);
        hash.value()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    pub(super) const fn value(&self) -> u128 {
        self.0
    }
}

/// Hashes problems in memory. The keys are the process's own problems, so std's protection against chosen
/// keys, which costs several times as much, gains nothing.
///
/// Arrays of extents and single values are hashed separately, so that their multiplications overlap.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FastHasher {
    arrays: u64,
    values: u64,
}

/// Odd numbers without a pattern: digits of the golden ratio and of two square roots.
const MIX: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b];

/// Both halves of a product combined; all input bits affect the high half.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl FastHasher {
    fn value(&mut self, value: u64) {
        self.values = (self.values.rotate_left(23) ^ value).wrapping_mul(MIX[0]);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut pairs = words.chunks_exact(2);
        for pair in &mut pairs {
            // Only the last step depends on the previous state.
            let both = folded(u64::from_le_bytes(pair[0]) ^ MIX[1], u64::from_le_bytes(pair[1]) ^ MIX[2]);
            self.arrays = folded(self.arrays.rotate_left(23) ^ both, MIX[0]);
        }
        for word in pairs.remainder() {
            self.value(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.value(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.value(u64::from(value));
    }

    fn write_i32(&mut self, value: i32) {
        self.value(u64::from(value.cast_unsigned()));
    }

    fn write_i64(&mut self, value: i64) {
        self.value(value.cast_unsigned());
    }

    fn write_isize(&mut self, value: isize) {
        self.value(value as u64);
    }

    /// Lengths are ignored: no part of a problem has a variable length.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        folded(self.arrays ^ MIX[1], self.values ^ MIX[2])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::problem::ConvProblem;

    #[test]
    fn the_stable_hash_is_fnv_1a() {
        // From the authors' table of test vectors.
        assert_eq!(StableHash::of(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(StableHash::of(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

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
