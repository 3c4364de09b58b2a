//! Up to 64 rows that mostly go the same way: approximate sums of all, and the exact sums of those that
//! matter.
//!
//! ```text
//! for each batch of trees:
//!     queue = (root of each tree, all rows)
//!     for (node, rows) in queue, while it grows: queue or leaf list += each child with those of the rows that go there
//! F = a power of two, such that eight leaf values times F fit into 16 bits
//! for (leaf, rows) in leaf list: about[rows] += round(F * value)                      whole numbers, in any order
//! for (leaf, rows) in leaf list, if some are wanted: value[tree][row] = value
//! for each wanted row: sum += value[tree][row], in the order of the trees
//! ```
//!
//! No step waits for the one before, and nothing branches on an answer.
//!
//! How far a whole number can be from the sum. Let `s` be a row's sum, `r` the same in real numbers, `a` its
//! whole number, `T < 2^19` the trees and `L` the largest magnitude of a leaf value; `F * L < 2^11`. `F * v`
//! is exact or far below 1/2, and rounding moves it by at most 1/2: `|a - F r| <= T / 2`, and `|a| <= 2^30`.
//! `s` comes from `T` additions, each of which rounds a number of at most `2 T L` by at most `2^-53` of its
//! size, which times `F` is less than `2^19 * 2^20 * 2^-53 * 2^11 < 1` in all. So `|a - F s| <= T / 2 + 1`.

use super::compile::{LEAVES, NO, TreeParts, YES};
use crate::isa::Avx2;
use crate::scoring::bits::low_bits;
use crate::scoring::scratch::grow;
use crate::scoring::unchecked::{get, set};

/// Most rows.
pub(super) const MOST: usize = 64;
/// Rounded values are at most `2^BITS`: those of a batch do not overflow a half word.
const BITS: i32 = 11;
/// Trees that are in the queue at once.
const TREES: usize = 128;
/// Rows whose exact sums are computed at once.
const TOGETHER: usize = 8;

/// A forest whose nodes and leaves have numbers of their own.
#[derive(Debug)]
pub(super) struct Alike {
    roots: Vec<NodeNumber>,
    questions: Vec<u16>,
    children: Vec<[NodeNumber; 2]>,
    leaves: Vec<Leaf>,
    /// The leaves' values times the factor, by themselves: most are only added.
    rounded: Vec<i16>,
    /// Nodes of the trees that are in the queue at once.
    most_nodes: usize,
    /// The factor by which a sum is multiplied to be rounded, and the largest error of the whole number.
    factor: f64,
    error: f64,
}

/// The number of a node or leaf, above the bits by which its list's end is shifted.
#[derive(Debug, Clone, Copy, Default)]
struct NodeNumber(u32);

/// The bits of a [`NodeNumber`] below the number.
const SHIFT: u32 = 6;

#[derive(Debug, Clone, Copy)]
struct Leaf {
    value: f64,
    tree: u32,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The queue, and behind it the leaves that were reached: node numbers, and the rows that reach them.
    places: Vec<NodeNumber>,
    rows: Vec<u64>,
    /// The values of the leaves of some rows, tree after tree.
    values: Vec<[f64; TOGETHER]>,
}

/// Leaves, each with a bit for every row that reaches it.
type ReachedLeaves<'a> = (&'a [NodeNumber], &'a [u64]);

impl NodeNumber {
    const fn node(number: usize) -> NodeNumber {
        NodeNumber((number as u32) << SHIFT)
    }

    const fn leaf(number: usize) -> NodeNumber {
        NodeNumber((number as u32) << SHIFT | 32)
    }

    #[inline(always)]
    const fn number(self) -> usize {
        (self.0 >> SHIFT) as usize
    }
}

/// The ends of both lists: the queue's in the lower half, that of leaves in the upper half.
#[derive(Clone, Copy)]
struct Ends(u64);

impl Ends {
    /// Appends a node or leaf to its list if there are rows.
    #[inline(always)]
    fn push(&mut self, (place, rows): (NodeNumber, u64), places: &mut [NodeNumber], sets: &mut [u64]) {
        let end = self.0.wrapping_shr(place.0) as u32 as usize;
        // SAFETY: nodes and leaves come up once, and one more can be written.
        unsafe {
            set(places, end, place);
            set(sets, end, rows);
        }
        self.0 += u64::from(rows != 0).wrapping_shl(place.0);
    }
}

impl Alike {
    /// `None` if a tree has several parts, or there are too many.
    pub(super) fn new(parts: &TreeParts, starts: &[u32]) -> Option<Alike> {
        let (trees, most) = (starts.len() - 1, parts.nodes.len().max(parts.values.len()));
        if parts.len() != trees || trees >= 1 << 19 || most >= 1 << (32 - SHIFT) {
            return None;
        }
        let largest = parts.values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        // The exponent of the power of two above the largest value.
        let above = ((largest.to_bits() >> 52) as i32 - 1022).max(-900);
        let factor = 2f64.powi(BITS - above);
        let mut alike = Alike {
            roots: Vec::with_capacity(trees),
            questions: parts.nodes.iter().map(|node| node.question() as u16).collect(),
            children: Vec::with_capacity(parts.nodes.len()),
            leaves: Vec::with_capacity(parts.values.len()),
            rounded: parts.values.iter().map(|value| (value * factor).round() as i16).collect(),
            most_nodes: 0,
            factor,
            error: (trees as f64 / 2.0 + 2.0) / factor,
        };
        for tree in 0..trees {
            let (part, nodes, leaves) = (parts.get(tree), alike.children.len(), alike.leaves.len());
            let leaf_of = |slot: usize| match slot.checked_sub(LEAVES) {
                Some(node) => NodeNumber::node(nodes + node),
                None => NodeNumber::leaf(leaves + slot),
            };
            alike.roots.push(leaf_of(if part.nodes.is_empty() { 0 } else { LEAVES }));
            let children =
                part.nodes.iter().map(|node| [YES, NO].map(|answer| leaf_of(node.child(answer).into())));
            alike.children.extend(children);
            alike.leaves.extend(part.values.iter().map(|&value| Leaf { value, tree: tree as u32 }));
            // Trees before it that are in the queue with it.
            let first = parts.part(tree / TREES * TREES).nodes as usize;
            alike.most_nodes = alike.most_nodes.max(alike.children.len() - first);
        }
        Some(alike)
    }

    /// Sets the sums of those rows that `pick` wants, of others to NaN; it gets approximate sums of all, and
    /// how far the exact ones can be from them. `masks` has one for each of the codes of questions.
    #[inline(always)]
    pub(super) fn sum(
        &self,
        (codes, masks): (&[u16], &[u64]),
        pick: impl FnOnce(&[f64], f64) -> u64,
        memory: &mut Queue,
        sums: &mut [f64],
        avx2: Option<Avx2>,
    ) {
        let (leaves, values) = self.find((codes, masks), sums.len(), memory);
        let mut totals = [0; MOST];
        match sums.len() {
            ..=16 => self.add::<1>(leaves, &mut totals, avx2),
            17..=32 => self.add::<2>(leaves, &mut totals, avx2),
            _ => self.add::<4>(leaves, &mut totals, avx2),
        }
        let about = totals.map(|total| f64::from(total) / self.factor);
        let wanted = pick(&about[..sums.len()], self.error) & low_bits(sums.len());
        sums.fill(f64::NAN);
        self.add_exactly(leaves, wanted, values, sums, avx2);
    }

    /// Sets the sums of all rows.
    #[inline(always)]
    pub(super) fn sum_all(
        &self,
        asked: (&[u16], &[u64]),
        memory: &mut Queue,
        sums: &mut [f64],
        avx2: Option<Avx2>,
    ) {
        let (leaves, values) = self.find(asked, sums.len(), memory);
        self.add_exactly(leaves, low_bits(sums.len()), values, sums, avx2);
    }

    /// The leaves that so many rows reach, and memory for values.
    #[inline(always)]
    fn find<'r>(
        &self,
        asked: (&[u16], &[u64]),
        count: usize,
        Queue { places, rows, values }: &'r mut Queue,
    ) -> (ReachedLeaves<'r>, &'r mut [[f64; TOGETHER]]) {
        // One more is written than counts.
        let queue = self.most_nodes + 1;
        grow(places, queue + self.leaves.len() + 1);
        grow(rows, queue + self.leaves.len() + 1);
        grow(values, self.roots.len());
        let mut end = queue;
        for roots in self.roots.chunks(TREES) {
            end = self.walk((roots, low_bits(count)), asked, end, (places, rows));
        }
        ((&places[queue..end], &rows[queue..end]), values)
    }

    /// Appends the leaves that these rows reach in some trees to those reached in earlier trees, and returns their
    /// end.
    #[inline(always)]
    fn walk(
        &self,
        (roots, all): (&[NodeNumber], u64),
        (codes, masks): (&[u16], &[u64]),
        end: usize,
        (places, rows): (&mut [NodeNumber], &mut [u64]),
    ) -> usize {
        let mut ends = Ends((end as u64) << 32);
        for &root in roots {
            ends.push((root, all), places, rows);
        }
        let mut head = 0;
        while head < ends.0 as u32 as usize {
            // SAFETY: places are of this forest; all questions have codes, which have masks.
            let (children, here, mask) = unsafe {
                let node = get(places, head).number();
                let code = get(codes, get(&self.questions, node).into());
                (get(&self.children, node), get(rows, head), get(masks, code.into()))
            };
            ends.push((children[YES], here & mask), places, rows);
            ends.push((children[NO], here & !mask), places, rows);
            head += 1;
        }
        (ends.0 >> 32) as usize
    }

    /// Adds the rounded values of leaves to the totals of the first `16 * N` rows.
    #[inline(always)]
    #[allow(unused_variables)] // other architectures have one form
    fn add<const N: usize>(
        &self,
        (places, rows): ReachedLeaves<'_>,
        totals: &mut [i32; MOST],
        avx2: Option<Avx2>,
    ) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if avx2.is_some() {
            // SAFETY: the token proves that the CPU has AVX2; places are of leaves.
            return unsafe { vectors::add::<N>((places, rows), &self.rounded, totals) };
        }
        for (lane, rows) in places.iter().zip(rows) {
            // SAFETY: the place of a leaf.
            let rounded = unsafe { get(&self.rounded, lane.number()) };
            for row in 0..16 * N {
                totals[row] += if rows >> row & 1 == 0 { 0 } else { i32::from(rounded) };
            }
        }
    }

    /// Sets the sums of the wanted rows, a few at once.
    #[inline(always)]
    fn add_exactly(
        &self,
        (places, reached): ReachedLeaves<'_>,
        mut wanted: u64,
        values: &mut [[f64; TOGETHER]],
        sums: &mut [f64],
        avx2: Option<Avx2>,
    ) {
        while wanted != 0 {
            let (mut rest, mut now) = (wanted, 0);
            for _ in 0..TOGETHER {
                now |= rest & rest.wrapping_neg();
                rest &= rest.wrapping_sub(1);
            }
            wanted = rest;
            self.choose((places, reached), now, values, avx2);
            let mut all = [0.0; TOGETHER];
            for values in &values[..self.roots.len()] {
                for lane in 0..TOGETHER {
                    all[lane] += values[lane];
                }
            }
            for sum in all {
                if now != 0 {
                    sums[now.trailing_zeros() as usize] = sum;
                    now &= now - 1;
                }
            }
        }
    }

    /// Sets the values of those rows that are wanted, a few of all, tree after tree.
    #[inline(always)]
    #[allow(unused_variables)] // other architectures have one form
    fn choose(
        &self,
        (places, reached): ReachedLeaves<'_>,
        wanted: u64,
        values: &mut [[f64; TOGETHER]],
        avx2: Option<Avx2>,
    ) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if avx2.is_some() {
            // SAFETY: the token proves that the CPU has AVX2; places are of leaves.
            return unsafe { vectors::choose((places, reached), &self.leaves, wanted, values) };
        }
        let bits = bits_of(wanted);
        for (leaf, reached) in places.iter().zip(reached) {
            let Leaf { value, tree } = self.leaves[leaf.number()];
            for lane in 0..TOGETHER {
                if reached & bits[lane] != 0 {
                    values[tree as usize][lane] = value;
                }
            }
        }
    }
}

/// The lowest bits by themselves.
#[inline(always)]
fn bits_of(mut set: u64) -> [u64; TOGETHER] {
    let mut bits = [0; TOGETHER];
    for bit in &mut bits {
        *bit = set & set.wrapping_neg();
        set &= set.wrapping_sub(1);
    }
    bits
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors {
    #[allow(clippy::wildcard_imports)]
    use std::arch::x86_64::*;

    use super::{Leaf, MOST, ReachedLeaves, TOGETHER, bits_of, get};

    /// Leaves whose rounded values are added before their sums become words.
    const BATCH: usize = 8;

    /// Adds each rounded value to the totals of its rows; a batch does not overflow a half word.
    ///
    /// # Safety
    ///
    /// Places are of leaves.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn add<const N: usize>(
        (places, rows): ReachedLeaves<'_>,
        rounded: &[i16],
        totals: &mut [i32; MOST],
    ) {
        let own =
            _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, i16::MIN);
        for (places, rows) in places.chunks(BATCH).zip(rows.chunks(BATCH)) {
            let mut parts = [_mm256_setzero_si256(); N];
            for at in 0..places.len() {
                // SAFETY: the place of a leaf.
                let value = _mm256_set1_epi16(unsafe { get(rounded, places[at].number()) });
                for word in 0..N {
                    let rows = _mm256_set1_epi16((rows[at] >> (16 * word)) as i16);
                    let are_there = _mm256_cmpeq_epi16(_mm256_and_si256(rows, own), own);
                    parts[word] = _mm256_add_epi16(parts[word], _mm256_and_si256(are_there, value));
                }
            }
            for (part, totals) in parts.into_iter().zip(totals.as_chunks_mut::<16>().0) {
                let halves = [_mm256_castsi256_si128(part), _mm256_extracti128_si256::<1>(part)];
                for (half, totals) in halves.into_iter().zip(totals.as_chunks_mut::<8>().0) {
                    // SAFETY: eight words.
                    unsafe {
                        let sum = _mm256_loadu_si256(totals.as_ptr().cast());
                        let sum = _mm256_add_epi32(sum, _mm256_cvtepi16_epi32(half));
                        _mm256_storeu_si256(totals.as_mut_ptr().cast(), sum);
                    }
                }
            }
        }
    }

    /// The AVX2 form of `Alike::choose`.
    ///
    /// # Safety
    ///
    /// Places are of leaves, of which each is of a tree that has values.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn choose(
        (places, reached): ReachedLeaves<'_>,
        leaves: &[Leaf],
        wanted: u64,
        values: &mut [[f64; TOGETHER]],
    ) {
        let [a, b, c, d, e, f, g, h] = bits_of(wanted).map(u64::cast_signed);
        let bits = [_mm256_setr_epi64x(a, b, c, d), _mm256_setr_epi64x(e, f, g, h)];
        for at in 0..places.len() {
            // SAFETY: by contract.
            let (leaf, values) = unsafe {
                let leaf = get(leaves, places[at].number());
                (leaf, values.get_unchecked_mut(leaf.tree as usize))
            };
            let (value, reached) = (_mm256_set1_pd(leaf.value), _mm256_set1_epi64x(reached[at] as i64));
            for (bits, values) in bits.into_iter().zip(values.as_chunks_mut::<4>().0) {
                // A row of no bit keeps what it has or gets the value, whatever that is.
                let is_there = _mm256_cmpeq_epi64(_mm256_and_si256(reached, bits), bits);
                // SAFETY: four values.
                unsafe {
                    let old = _mm256_loadu_pd(values.as_ptr());
                    let new = _mm256_blendv_pd(old, value, _mm256_castsi256_pd(is_there));
                    _mm256_storeu_pd(values.as_mut_ptr(), new);
                }
            }
        }
    }
}
