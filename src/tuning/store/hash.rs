//! The hash of the store, which is part of the file format.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stable_hash_is_fnv_1a() {
        // From the authors' table of test vectors.
        assert_eq!(StableHash::of(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(StableHash::of(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
