//! Small trees for the lanes of a slab, 32 lanes at a time, with AVX2.
//!
//! The idea is that of [the narrow sieve](crate::scoring::narrow::sieve). Here most questions have one answer for the
//! whole pool, so that a tree is cut down first:
//!
//! ```text
//! for each tree:
//!     reach = all leaves; for each node with one answer: without those behind the other answer
//!     kept = the nodes with several answers that some leaf in reach is behind
//!     for each group of lanes:
//!         leaf[tree][lane] = the lowest bit of start[tree][lane] & reach & what each kept node leaves
//!         about[lane] += rounded value[tree][leaf]                                for a shortlist
//! for each lane: sum += value[tree][leaf[tree][lane]], in the order of the trees      all, or the shortlist's
//! ```
//!
//! Rounded values are half words, the eight largest of which do not overflow one. Trees of different sizes of values
//! have different units, `2^shift / factor`.

#[allow(clippy::wildcard_imports)] // some intrinsics
use std::arch::x86_64::*;
use std::ops::Range;

use super::{ALL, FIRST_MASK, NONE, TOGETHER};
use crate::isa::Avx2;
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::cells::Cells;
use crate::scoring::compile::lanes::LANES;
use crate::scoring::narrow::SMALL;
use crate::scoring::narrow::sieve::{Draft, Halves, Split, TWICE, halved, load, lowest};
use crate::scoring::scratch::{Bytes, Scratch, Words};
use crate::scoring::shortlist::Scale;
use crate::scoring::unchecked::{get, set};

/// Trees whose rounded values are added before their sums become words.
const BATCH: usize = 8;
/// The largest rounded value: so many do not overflow a half word.
const LARGEST: f64 = (i16::MAX as usize / BATCH) as f64;

#[derive(Debug)]
pub(in crate::scoring) struct Sieve {
    /// Groups of lanes.
    groups: usize,
    /// By their shift.
    trees: Vec<Tree>,
    splits: Vec<Split>,
    /// The leaves that each element begins with: tree after tree, group after group.
    starts: Vec<Words>,
    /// The values of the leaves of each tree, in the order of the trees.
    values: Vec<[f64; SMALL]>,
    /// How values are rounded.
    pub(in crate::scoring) scale: Scale,
}

#[derive(Debug)]
struct Tree {
    number: usize,
    splits: usize,
    shift: u32,
    /// The rounded values' bytes.
    low: [u8; SMALL],
    high: [u8; SMALL],
}

/// A node with several answers.
#[derive(Clone, Copy, Default)]
struct Kept {
    /// Where its answers for the groups begin.
    answers: usize,
    /// The leaves that remain after a no, twice.
    rest: u32,
}

impl Sieve {
    /// `None` if a tree has more leaves, or there are too many trees.
    pub(in crate::scoring) fn new(
        cells: &Cells,
        answers: &KernelAnswers,
        lanes: Range<usize>,
        scale: Scale,
    ) -> Option<Sieve> {
        let groups = lanes.len().div_ceil(LANES);
        let mut drafts = Draft::all(cells)?;
        let values: Vec<_> = drafts.iter().map(Draft::values).collect();
        let mut trees: Vec<_> = values.iter().zip(&mut drafts).enumerate().collect();
        let shift = |values: &[f64; SMALL]| {
            let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            (0..31).find(|&shift| largest * scale.factor <= LARGEST * f64::from(1 << shift))
        };
        trees.sort_by_cached_key(|(_, (values, _))| shift(values));
        let mut sieve = Sieve {
            groups,
            trees: Vec::new(),
            splits: Vec::new(),
            starts: Vec::new(),
            values: Vec::new(),
            scale: Scale { error: 0, ..scale },
        };
        for (number, (values, draft)) in trees {
            let shift = shift(values)?;
            let rounded = values.map(|value| (value * scale.factor / f64::from(1 << shift)).round() as i16);
            for lanes in draft.start(lanes.clone(), answers).chunks(LANES) {
                let mut start = Words([u16::MAX; LANES]);
                lanes.iter().enumerate().for_each(|(lane, &leaves)| start.0[halved(lane)] = leaves);
                sieve.starts.push(start);
            }
            let (low, high) = (rounded.map(|value| value as u8), rounded.map(|value| (value >> 8) as u8));
            sieve.trees.push(Tree { number, splits: draft.splits.len(), shift, low, high });
            sieve.splits.append(&mut draft.splits);
            sieve.scale.error += 1 << shift;
        }
        sieve.scale.error = sieve.scale.error / 2 + 2;
        sieve.values = values;
        Some(sieve)
    }

    /// Lanes, with those that fill the last group.
    pub(in crate::scoring) fn lanes(&self) -> usize {
        self.groups * LANES
    }

    /// The place of the leaves of a slab from this lane on, among those of all.
    pub(in crate::scoring) fn found(&self, first: usize) -> Range<usize> {
        let (start, trees) = (first / LANES, self.values.len());
        start * trees..(start + self.groups) * trees
    }

    /// Finds the leaf of each lane, from the answers in the scratch. `own` is the number of words of masks before those
    /// of the scratch, and `words` that of a mask. With `sums`, adds rounded values to them.
    pub(in crate::scoring) fn find(
        &self,
        _proof: Avx2,
        (own, words): (usize, usize),
        scratch: &mut Scratch,
        found: &mut [Bytes],
        sums: Option<&mut [i32]>,
    ) {
        // SAFETY: the token proves that the CPU has the features.
        unsafe {
            match sums {
                Some(sums) => find::<true>(self, (own, words), scratch, found, sums),
                None => find::<false>(self, (own, words), scratch, found, &mut []),
            }
        }
    }

    /// The sums of some lanes, whose leaves were found.
    pub(in crate::scoring) fn sums(&self, found: &[Bytes], lanes: [usize; TOGETHER]) -> [f64; TOGETHER] {
        let mut sums = [0.0; TOGETHER];
        let places = lanes.map(|lane| (lane / LANES, byte(halved(lane % LANES))));
        for (values, found) in self.values.iter().zip(found.chunks_exact(self.groups)) {
            for (sum, (group, byte)) in sums.iter_mut().zip(places) {
                let leaf = found.get(group).map_or(0, |found| found.0[byte]);
                *sum += values[usize::from(leaf) % SMALL];
            }
        }
        sums
    }

    /// Cuts a tree down to the leaves that its lanes can reach, and the nodes that decide among them.
    #[inline(always)]
    fn cut(
        splits: &[Split],
        answers: &[u32],
        (own, words): (usize, usize),
        kept: &mut [Kept; SMALL],
    ) -> (u16, usize) {
        let (mut reach, mut count) = (u16::MAX, 0);
        for split in splits {
            // SAFETY: questions are of this forest; all have answers (`Wide::fit`). A tree has fewer than 16 nodes.
            let answer = unsafe { get(answers, usize::from(split.question)) };
            let gone = [split.yes, split.no, 0][answer.min(FIRST_MASK) as usize];
            reach &= !gone;
            let mask = (answer.wrapping_sub(FIRST_MASK) as usize).wrapping_mul(words).wrapping_sub(own);
            let rest = u32::from(!split.yes) * TWICE;
            // SAFETY: as before.
            unsafe { set(kept, count, Kept { answers: mask.wrapping_mul(2), rest }) };
            count += usize::from((answer > ALL) & (reach & split.yes != 0));
        }
        (reach, count)
    }
}

const _: () = assert!(NONE == 0 && ALL == 1 && FIRST_MASK == 2);

/// The byte of an element's leaf, as vectors are packed.
const fn byte(element: usize) -> usize {
    let (vector, element) = (element / 16, element % 16);
    element / 8 * 16 + vector * 8 + element % 8
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn find<const ROUNDED: bool>(
    sieve: &Sieve,
    (own, words): (usize, usize),
    scratch: &mut Scratch,
    found: &mut [Bytes],
    sums: &mut [i32],
) {
    let Scratch { answers, masks, parts, .. } = scratch;
    // SAFETY: every half of a word is a word, on a little-endian CPU the lower one first.
    let (_, masks, _) = unsafe { masks.align_to::<u32>() };
    let (groups, halves) = (sieve.groups, Halves::new());
    let (mut splits, mut kept) = (&sieve.splits[..], [Kept::default(); SMALL]);
    let (mut shift, mut together) = (0, 0);
    for (tree, starts) in sieve.trees.iter().zip(sieve.starts.chunks_exact(groups)) {
        let (own_splits, others) = splits.split_at(tree.splits);
        splits = others;
        let (reach, count) = Sieve::cut(own_splits, answers, (own, words), &mut kept);
        if ROUNDED {
            if together == BATCH || tree.shift != shift {
                flush(&mut parts[..groups], sums, shift);
                (shift, together) = (tree.shift, 0);
            }
            together += 1;
        }
        // SAFETY: both have sixteen bytes.
        let [low, high] = unsafe {
            [&tree.low, &tree.high]
                .map(|bytes| _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())))
        };
        let reach = _mm256_set1_epi16(reach as i16);
        let found = &mut found[tree.number * groups..][..groups];
        for (group, ((start, found), part)) in starts.iter().zip(found).zip(&mut *parts).enumerate() {
            let mut left = load(start).map(|start| _mm256_and_si256(start, reach));
            for kept in &kept[..count] {
                // SAFETY: the node has a mask in the scratch, of two halves for each word.
                let answer = unsafe { get(masks, kept.answers + group) };
                halves.take(&mut left, answer, kept.rest);
            }
            let places = _mm256_packus_epi16(lowest(left[0]), lowest(left[1]));
            // SAFETY: 32 bytes.
            unsafe { _mm256_store_si256(found.0.as_mut_ptr().cast(), places) };
            if ROUNDED {
                let (low, high) = (_mm256_shuffle_epi8(low, places), _mm256_shuffle_epi8(high, places));
                let values = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
                let totals = load(part);
                // SAFETY: 32 half words.
                unsafe {
                    let part = part.0.as_mut_ptr();
                    _mm256_store_si256(part.cast(), _mm256_add_epi16(totals[0], values[0]));
                    let second = part.add(LANES / 2).cast();
                    _mm256_store_si256(second, _mm256_add_epi16(totals[1], values[1]));
                }
            }
        }
    }
    if ROUNDED {
        flush(&mut parts[..groups], sums, shift);
        for sums in sums.chunks_exact_mut(LANES) {
            let elements: [i32; LANES] = std::array::from_fn(|element| sums[element]);
            (0..LANES).for_each(|lane| sums[lane] = elements[halved(lane)]);
        }
    }
}

/// Adds the sums of a few trees to those of all, and clears them.
#[inline(always)]
fn flush(parts: &mut [Words], sums: &mut [i32], shift: u32) {
    for (part, sums) in parts.iter_mut().zip(sums.chunks_exact_mut(LANES)) {
        for (part, sum) in part.0.iter_mut().zip(sums) {
            *sum += i32::from(*part as i16) << shift;
            *part = 0;
        }
    }
}
