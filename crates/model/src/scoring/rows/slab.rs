//! A slab: up to 512 rows down all trees at once, a bit for each row.

use std::ops::Range;

use super::compile::{LEAVES, NO, TreeParts, View, YES};
use crate::isa::Avx2;
use crate::scoring::scratch::grow;
use crate::scoring::unchecked::get;

/// Words of the largest slab.
pub(super) const WORDS: usize = 8;
/// Rows of the largest slab.
pub(super) const ROWS: usize = WORDS * 64;
/// Trees whose leaves are all reached before their values are added.
const BATCH: usize = 16;
/// Sums that are kept in registers.
const GROUP: usize = 8;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Slab {
    /// Masks, one after the other.
    pub(super) masks: Vec<u64>,
    /// The rows that reach each slot.
    sets: Vec<u64>,
    /// The leaf of each row, for each tree of a batch.
    leaves: Vec<[u8; ROWS]>,
}

impl Slab {
    /// Adds the values of parts to the sums of as many rows as there are; `masks` has a mask for each
    /// question.
    #[inline(always)]
    pub(super) fn sum<const W: usize>(
        &mut self,
        parts: &TreeParts,
        range: Range<usize>,
        sums: &mut [f64],
        avx2: Option<Avx2>,
    ) {
        self.fit(parts, W);
        let Slab { masks, sets, leaves, .. } = self;
        let (masks, sets) = (masks.as_chunks::<W>().0, sets.as_chunks_mut::<W>().0);
        let mut part = range.start;
        while part < range.end {
            let (mut firsts, count) = ([0; BATCH], BATCH.min(range.end - part));
            for at in 0..count {
                let view = parts.get(part + at);
                firsts[at] = parts.part(part + at).values as usize;
                walk(view, masks, sets);
                number(sets, view.values.len(), &mut leaves[at], avx2);
            }
            add(&parts.values, &firsts[..count], leaves, sums);
            part += count;
        }
    }

    fn fit(&mut self, parts: &TreeParts, words: usize) {
        grow(&mut self.sets, (LEAVES + parts.most_nodes.max(1)) * words);
        if self.leaves.is_empty() {
            self.leaves.resize(BATCH, [0; ROWS]);
        }
    }
}

/// Fills the sets of a part's leaves.
#[inline(always)]
fn walk<const W: usize>(part: View<'_>, masks: &[[u64; W]], sets: &mut [[u64; W]]) {
    debug_assert!(sets.len() >= LEAVES + part.nodes.len());
    sets[LEAVES] = [u64::MAX; W];
    for (slot, &node) in (LEAVES..).zip(part.nodes) {
        // SAFETY: slots are of this part's nodes and leaves, for which there is room; all questions have
        // masks.
        unsafe {
            debug_assert!(node.question() < masks.len());
            let (set, mask) = (get(sets, slot), masks.get_unchecked(node.question()));
            let (mut yes, mut no) = ([0; W], [0; W]);
            for word in 0..W {
                (yes[word], no[word]) = (set[word] & mask[word], set[word] & !mask[word]);
            }
            *sets.get_unchecked_mut(usize::from(node.child(YES))) = yes;
            *sets.get_unchecked_mut(usize::from(node.child(NO))) = no;
        }
    }
}

/// Numbers rows by the set of leaves that they are in, of the first `count`; those in none have number 0.
#[inline(always)]
fn number<const W: usize>(sets: &mut [[u64; W]], count: usize, leaves: &mut [u8; ROWS], avx2: Option<Avx2>) {
    const { assert!(W <= WORDS) }
    let planes = match count {
        1 => {
            // SAFETY: `leaves` has `WORDS * 64` bytes, and `W <= WORDS`.
            unsafe { leaves.get_unchecked_mut(..W * 64) }.fill(0);
            return;
        }
        2..=8 => planes::<W, 4>(sets, count),
        _ => planes::<W, 16>(sets, count),
    };
    let bits = (count - 1).ilog2() as usize + 1;
    for word in 0..W {
        let mut own = [0; 8];
        for bit in 0..8 {
            own[bit] = planes[bit][word];
        }
        // SAFETY: `leaves` has `WORDS` chunks of 64 bytes, and `word < W <= WORDS`.
        bytes(&own, bits, unsafe { leaves.as_chunks_mut::<64>().0.get_unchecked_mut(word) }, avx2);
    }
}

/// The bits of each row's number, the lowest first, from lines of sets that are combined at once.
///
/// ```text
/// planes[b]: the rows whose leaf's number has bit b
///
/// for each line of LINE leaves:
///     for b = 0, 1, ... while more than one set is left:
///         planes[b] |= the odd sets
///         sets = unions of neighbours
///     for each bit b above that is set in the line's own number:
///         planes[b] |= the union of the line
/// ```
#[inline(always)]
fn planes<const W: usize, const LINE: usize>(sets: &mut [[u64; W]], count: usize) -> [[u64; W]; 8] {
    let (mut planes, lines) = ([[0; W]; 8], count.div_ceil(LINE));
    // Slots of leaves end where a line does.
    for set in &mut sets[count..lines * LINE] {
        *set = [0; W];
    }
    for line in 0..lines {
        // SAFETY: `line < lines`, and the range above has checked that there are `lines * LINE` sets.
        let mut sets = unsafe { *sets.as_chunks::<LINE>().0.get_unchecked(line) };
        let (mut pairs, mut bit) = (LINE / 2, 0);
        while pairs > 0 {
            for at in 0..pairs {
                planes[bit] = or(planes[bit], sets[2 * at + 1]);
                sets[at] = or(sets[2 * at], sets[2 * at + 1]);
            }
            (pairs, bit) = (pairs / 2, bit + 1);
        }
        for higher in bit..8 {
            if line >> (higher - bit) & 1 == 1 {
                planes[higher] = or(planes[higher], sets[0]);
            }
        }
    }
    planes
}

#[inline(always)]
fn or<const W: usize>(mut some: [u64; W], others: [u64; W]) -> [u64; W] {
    for word in 0..W {
        some[word] |= others[word];
    }
    some
}

/// A one in each byte, and in each byte the bit of the byte's index.
const EACH: u64 = 0x0101_0101_0101_0101;
const OWN: u64 = 0x8040_2010_0804_0201;

/// Bytes from their bits, the lowest bits of all first.
#[inline(always)]
#[allow(unused_variables)] // other architectures have one form
fn bytes(planes: &[u64; 8], bits: usize, bytes: &mut [u8; 64], avx2: Option<Avx2>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[allow(clippy::wildcard_imports)]
        use std::arch::x86_64::*;
        if avx2.is_some() {
            // SAFETY: 64 bytes; the token proves that the CPU has AVX2.
            unsafe {
                let each = EACH as i64;
                let spread = _mm256_setr_epi64x(0, each, 2 * each, 3 * each);
                let own = _mm256_set1_epi64x(OWN as i64);
                for half in 0..2 {
                    let mut all = _mm256_setzero_si256();
                    let mut bit = bits;
                    while bit > 0 {
                        bit -= 1;
                        let plane = get(planes, bit);
                        let bits =
                            _mm256_shuffle_epi8(_mm256_set1_epi32((plane >> (32 * half)) as i32), spread);
                        let set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
                        all = _mm256_sub_epi8(_mm256_add_epi8(all, all), set);
                    }
                    _mm256_storeu_si256(bytes.as_mut_ptr().add(32 * half).cast(), all);
                }
            }
            return;
        }
    }
    for (at, eight) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut all = 0;
        for &plane in planes[..bits].iter().rev() {
            let bits = ((plane >> (8 * at) & 0xff) * EACH) & OWN;
            // The highest bit of each byte that is not 0.
            let byte = (((bits & !(EACH << 7)) + EACH * 0x7f) | bits) >> 7 & EACH;
            all = all << 1 | byte;
        }
        *eight = all.to_le_bytes();
    }
}

/// Adds the value of each row's leaf, tree after tree.
#[inline(always)]
fn add(values: &[f64], firsts: &[usize], leaves: &[[u8; ROWS]], sums: &mut [f64]) {
    let mut first = 0;
    while first < sums.len() {
        let count = GROUP.min(sums.len() - first);
        let mut all = [0.0; GROUP];
        all[..count].copy_from_slice(&sums[first..first + count]);
        for at in 0..firsts.len() {
            // SAFETY: leaves are numbered by their sets, of which there is one for each value; a slab has
            // whole groups.
            unsafe {
                let own = values.as_ptr().add(get(firsts, at));
                let leaves = leaves.get_unchecked(at).as_ptr().add(first);
                for row in 0..GROUP {
                    all[row] += *own.add(usize::from(*leaves.add(row)));
                }
            }
        }
        sums[first..first + count].copy_from_slice(&all[..count]);
        first += GROUP;
    }
}
