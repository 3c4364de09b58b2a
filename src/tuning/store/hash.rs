//! The two hashes of the store: a stable one that is part of the file format, and a fast one for memory.

use std::hash::Hasher;

/// FNV-1a with 128 bits, exactly as its authors define it. It is part of the file format and never changes.
pub(super) struct StableHash(u128);

impl StableHash {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(super) const fn new() -> Self {
        Self(Self::OFFSET)
    }

    pub(super) fn of(bytes: &[u8]) -> u128 {
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

/// Hashes problems in memory: eight bytes a step, one multiplication each. The keys are the process's own
/// problems, so nothing is gained by std's protection against chosen keys, which is four times as slow here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FastHasher(u64);

impl FastHasher {
    fn mix(&mut self, word: u64) {
        // The high half of the product is where all input bits have met.
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_i32(&mut self, value: i32) {
        self.mix(u64::from(value.cast_unsigned()));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_i64(&mut self, value: i64) {
        self.mix(value.cast_unsigned());
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.mix(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stable_hash_is_fnv_1a() {
        // From the authors' table of test vectors.
        assert_eq!(StableHash::of(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(StableHash::of(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn the_fast_hash_spreads_neighbours() {
        let hashes: std::collections::HashSet<u64> = (0..10_000_i64)
            .map(|value| {
                let mut hasher = FastHasher::default();
                hasher.write_i64(value);
                hasher.write_i64(7);
                // hashbrown takes the low bits for the bucket and the top seven for the tag.
                hasher.finish() & 0xfff_ffff
            })
            .collect();
        assert!(hashes.len() > 9_990, "{}", hashes.len());
    }
}
