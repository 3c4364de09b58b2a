//! Parquet's RLE/bit-packing hybrid for levels and dictionary codes: equal neighbours as a count, others
//! packed in as few bits as the largest needs.

/// Values in a packed group.
const GROUP: usize = 8;

/// Encodes numbers below 2^16.
pub(super) struct Hybrid {
    bits: u32,
    bytes: Vec<u8>,
    /// The last value, and its number of repetitions; not encoded yet.
    value: u16,
    count: u32,
    /// Earlier values that do not fill a group yet.
    group: [u16; GROUP],
    in_group: usize,
    /// Whole groups whose count, which precedes them, is not known yet.
    packed: Vec<u8>,
    groups: u32,
}

impl Hybrid {
    /// Appends to `bytes`. `bits` is from 1 to 16.
    pub(super) const fn behind(bytes: Vec<u8>, bits: u32) -> Self {
        Self {
            bits,
            bytes,
            value: 0,
            count: 0,
            group: [0; GROUP],
            in_group: 0,
            packed: Vec::new(),
            groups: 0,
        }
    }

    /// The next `count` values.
    pub(super) fn push(&mut self, value: u16, count: u32) {
        if value != self.value {
            self.end_run();
            self.value = value;
        }
        self.count += count;
    }

    /// Ends the encoding.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.end_run();
        if self.in_group > 0 {
            self.group[self.in_group..].fill(0);
            self.pack();
        }
        self.end_groups();
        self.bytes
    }

    fn end_run(&mut self) {
        let mut count = std::mem::take(&mut self.count) as usize;
        if self.in_group > 0 || count < GROUP {
            let taken = count.min(GROUP - self.in_group);
            self.group[self.in_group..self.in_group + taken].fill(self.value);
            self.in_group += taken;
            count -= taken;
            if self.in_group == GROUP {
                self.pack();
            }
        }
        if count >= GROUP {
            self.end_groups();
            self.varint((count as u32) << 1);
            self.bytes.extend_from_slice(&self.value.to_le_bytes()[..self.bits.div_ceil(8) as usize]);
        } else if count > 0 {
            self.group[..count].fill(self.value);
            self.in_group = count;
        }
    }

    fn pack(&mut self) {
        let join = |word: u128, (place, &value): (u32, &u16)| word | u128::from(value) << (place * self.bits);
        let word = (0..).zip(&self.group).fold(0, join);
        self.packed.extend_from_slice(&word.to_le_bytes()[..self.bits as usize]);
        self.groups += 1;
        self.in_group = 0;
    }

    fn end_groups(&mut self) {
        if self.groups > 0 {
            self.varint(self.groups << 1 | 1);
            self.bytes.append(&mut self.packed);
            self.groups = 0;
        }
    }

    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(runs: &[(u16, u32)], bits: u32) -> Vec<u8> {
        let mut hybrid = Hybrid::behind(Vec::new(), bits);
        for &(value, count) in runs {
            hybrid.push(value, count);
        }
        hybrid.finish()
    }

    /// A decoder written directly from the format's description.
    fn decoded(mut bytes: &[u8], bits: u32) -> Vec<u16> {
        let mut values = Vec::new();
        while !bytes.is_empty() {
            let (mut header, mut shift) = (0u32, 0);
            loop {
                header |= u32::from(bytes[0] & 0x7f) << shift;
                let last = bytes[0] < 0x80;
                bytes = &bytes[1..];
                shift += 7;
                if last {
                    break;
                }
            }
            if header & 1 == 0 {
                let width = bits.div_ceil(8) as usize;
                let value = bytes[..width].iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte));
                values.extend(std::iter::repeat_n(value, (header >> 1) as usize));
                bytes = &bytes[width..];
            } else {
                let (packed, rest) = bytes.split_at(((header >> 1) * bits) as usize);
                bytes = rest;
                let bit = |place: usize| u16::from(packed[place / 8] >> (place % 8) & 1);
                for first in (0..packed.len() * 8).step_by(bits as usize) {
                    values
                        .push((0..bits as usize).fold(0, |value, place| value | bit(first + place) << place));
                }
            }
        }
        values
    }

    #[test]
    fn bytes_are_those_of_the_format() {
        // The example in the format's description: 0 to 7 in three bits.
        let each: Vec<_> = (0..8).map(|value| (value, 1)).collect();
        assert_eq!(encoded(&each, 3), [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(encoded(&[(1, 1000)], 1), [0xd0, 0x0f, 1]);
        assert_eq!(encoded(&[(0x1234, 8)], 13), [16, 0x34, 0x12]);
        assert!(encoded(&[], 5).is_empty());
    }

    proptest! {
        #[test]
        fn whatever_goes_in_comes_out(
            bits in 1..=16u32,
            runs in prop::collection::vec((any::<u16>(), prop_oneof![1..3u32, 1..40u32]), 0..100),
        ) {
            let runs: Vec<_> =
                runs.into_iter().map(|(value, count)| (value & (0xffff >> (16 - bits)), count)).collect();
            let mut expected: Vec<u16> =
                runs.iter().flat_map(|&(value, count)| std::iter::repeat_n(value, count as usize)).collect();
            let found = decoded(&encoded(&runs, bits), bits);
            // Only the last group may have extra values.
            prop_assert!(found.len() - expected.len() < GROUP);
            expected.resize(found.len(), 0);
            prop_assert_eq!(found, expected);
        }
    }
}
