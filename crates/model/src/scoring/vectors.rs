//! What the AVX-512 walks share: sixteen items of the queue at a time.

#[allow(clippy::wildcard_imports)] // forty intrinsics
use std::arch::x86_64::*;
use std::ops::Range;

use super::compile::cells::{CELL, QUESTION};
use super::unchecked::{get, set};

/// Items per vector.
pub(super) const WIDTH: usize = 16;

/// A list that vectors are appended to.
pub(super) struct List<'a> {
    pub(super) at: &'a mut [u32],
    pub(super) set: &'a mut [u32],
    pub(super) len: usize,
}

impl List<'_> {
    pub(super) fn start(&mut self, places: &[u32], set: u32) {
        self.at[..places.len()].copy_from_slice(places);
        self.set[..places.len()].fill(set);
        self.len = places.len();
    }

    /// Appends the chosen items.
    ///
    /// # Safety
    ///
    /// There is room for sixteen items after the end.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn append(&mut self, chosen: __mmask16, at: __m512i, set: __m512i) {
        debug_assert!(self.len + WIDTH <= self.at.len() && self.len + WIDTH <= self.set.len());
        // SAFETY: by contract, there is room for sixteen items after the end. To a register and then to
        // memory, since compressing stores are slow on Zen 4.
        unsafe {
            let (places, sets) =
                (self.at.as_mut_ptr().add(self.len).cast(), self.set.as_mut_ptr().add(self.len).cast());
            _mm512_storeu_si512(places, _mm512_maskz_compress_epi32(chosen, at));
            _mm512_storeu_si512(sets, _mm512_maskz_compress_epi32(chosen, set));
        }
        self.len += chosen.count_ones() as usize;
    }
}

/// Loads the cells of a round's items and the answers to their questions.
///
/// One by one: two gathers of sixteen were slower, and these loads run far enough ahead
/// to overlap their cache misses.
///
/// # Safety
///
/// The places lead to cells, the cells hold questions that have answers, and the outputs have room for the
/// items.
#[inline(always)]
pub(super) unsafe fn look_up(
    cells: &[u32],
    answers: &[u32],
    places: &[u32],
    items: Range<usize>,
    cell_of: &mut [u32],
    answer_of: &mut [u32],
) {
    for item in items {
        // SAFETY: by contract, places lead to cells, cells to answers, and the outputs have room for the
        // items.
        unsafe {
            let cell = get(cells, (get(places, item) & CELL) as usize);
            set(cell_of, item, cell);
            set(answer_of, item, get(answers, (cell & QUESTION) as usize));
        }
    }
}
