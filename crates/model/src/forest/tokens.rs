//! Where the parts of a list begin and end.

#![allow(clippy::inline_always)] // into functions that may use vectors

use std::ops::Range;

/// Where the blank-separated parts of a value are.
///
/// Blanks are looked for in blocks of 64 bytes, one bit a byte. So finding a number's end does not wait for
/// the number before it, and the processor reads several at a time.
#[derive(Clone)]
pub(super) struct Tokens<'a> {
    value: &'a [u8],
    /// Where the block is whose bits are left.
    block: usize,
    blanks: u64,
    /// Those of the block after it: so nobody waits for them when a block is over, which nothing can predict.
    ahead: u64,
    /// Behind the last blank.
    start: usize,
}

const BLOCK: usize = 64;

impl<'a> Tokens<'a> {
    pub(super) fn new(value: &'a [u8]) -> Tokens<'a> {
        Tokens { value, block: 0, blanks: blanks_at(value, 0), ahead: blanks_at(value, BLOCK), start: 0 }
    }

    /// What the parts are parts of.
    pub(super) fn text(&self) -> &'a [u8] {
        self.value
    }
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    #[inline(always)]
    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            while self.blanks == 0 {
                self.block += BLOCK;
                if self.block > self.value.len() {
                    self.block = self.value.len() + 1;
                    return None;
                }
                self.blanks = self.ahead;
                self.ahead = blanks_at(self.value, self.block + BLOCK);
            }
            let end = self.block + self.blanks.trailing_zeros() as usize;
            self.blanks &= self.blanks - 1;
            let token = self.start..end;
            self.start = end + 1;
            if !token.is_empty() {
                return Some(token);
            }
        }
    }
}

/// Which of 64 bytes are blanks, the first in the lowest bit. The end of the value counts as one, and is the
/// last; behind it there are none.
#[inline(always)]
fn blanks_at(value: &[u8], at: usize) -> u64 {
    let Some(rest) = value.get(at..) else { return 0 };
    if let Some(block) = rest.first_chunk() {
        return blanks(block);
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    blanks(&block) & (u64::MAX >> (BLOCK - 1 - rest.len()))
}

/// Which bytes are blanks, the first in the lowest bit.
#[inline(always)]
fn blanks(block: &[u8; BLOCK]) -> u64 {
    const BLANKS: u64 = 0x2020_2020_2020_2020;
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let mut found = 0;
    for (index, word) in block.as_chunks::<8>().0.iter().enumerate() {
        let others = u64::from_le_bytes(*word) ^ BLANKS;
        // A byte's top bit stays unset only where all of the byte is; no carry leaves a byte.
        let top_bits = !(((others & LOW_BITS) + LOW_BITS) | others) & !LOW_BITS;
        // Gathers the eight top bits in the highest byte, in order.
        let bits = (top_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        found |= bits << (8 * index);
    }
    found
}
