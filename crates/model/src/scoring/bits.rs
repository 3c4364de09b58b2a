//! Sets of lanes as bits of a word.

/// The lowest `count` bits of a word; all of them for 64 and more.
pub(super) const fn low_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
