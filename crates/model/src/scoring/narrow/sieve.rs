//! Small trees: of at most sixteen leaves, for pools of at most 32 lanes, with AVX2 or AVX-512.
//!
//! A small tree's leaves are the bits of a word, so there is no search: every lane begins with the leaves that
//! its kernel can reach, and every other node takes away those that the lane cannot reach.
//!
//! ```text
//! for each tree:
//!     reach[lane] = all leaves, without those that nodes about kernels take away        when it is compiled
//!     for each of its other nodes:
//!         reach[lane] &= all leaves if the lane answers yes, else those that are not behind the yes
//!     leaf[lane] = the lowest bit of reach[lane]
//! for each lane: sum += value[tree][leaf[lane]], in the order of the trees
//! ```
//!
//! The leaves behind a node's yes come before those behind its no. A lane's own leaf always remains, and each
//! leaf before it is behind the yes of a node on the lane's path that the lane answers with no. So the own
//! leaf is the first that remains, whatever other nodes took away.
//!
//! Unlike the walk of [`narrow`](super), which visits five of a tree's fourteen nodes, this evaluates all of
//! them, but a vector of lanes at once, without dependencies, and with few branches: the trees of a batch are
//! visited by their number of nodes, so that the branch predictor knows it.

#[allow(clippy::wildcard_imports)] // some intrinsics
use std::arch::x86_64::*;

use super::{BATCH, SMALL};
use crate::isa::Isa;
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::cells::{
    Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION, leaf_value,
};
use crate::scoring::compile::ladder::Question;
use crate::scoring::compile::lanes::LANES;
use crate::scoring::scratch::{Scratch, Words};
use crate::scoring::unchecked::get;

/// Lanes whose sums are kept in registers.
const GROUP: usize = 8;
/// Multiplied by a word with one bit, gives a word whose upper four bits are different for every bit: a De
/// Bruijn sequence.
const SEQUENCE: u16 = 0x09af;
/// The position of the lowest of those bits.
const UPPER: i32 = 12;
/// Multiplied by a half word, gives a word of it twice.
pub(in crate::scoring) const TWICE: u32 = 0x0001_0001;

/// A forest of small trees.
#[derive(Debug)]
pub(in crate::scoring) struct Sieve {
    /// The trees of each batch, by their number of nodes.
    trees: Vec<Tree>,
    /// The leaves that each tree's elements begin with.
    starts: Vec<Words>,
    /// The nodes of the trees.
    nodes: Vec<Node>,
    /// The values of the leaves of each tree, in the order of the trees, each at its [`place`].
    values: Vec<[f64; SMALL]>,
    /// The element of each lane.
    elements: [u8; LANES],
    /// The instruction set: with AVX-512 one vector has all elements, with AVX2 there are two.
    isa: Isa,
}

#[derive(Debug, Clone, Copy)]
struct Tree {
    /// The tree's number in the batch.
    number: u16,
    /// How many nodes it has.
    nodes: u16,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    question: u32,
    /// The leaves that remain for a lane that answers no, twice.
    rest: u32,
}

/// Trees whose leaves are all reached before their values are added.
struct Batch<'a> {
    trees: &'a [Tree],
    starts: &'a [Words],
    values: &'a [[f64; SMALL]],
}

/// A tree while it is converted.
#[derive(Default)]
pub(in crate::scoring) struct Draft {
    pub(in crate::scoring) splits: Vec<Split>,
    values: Vec<f64>,
}

/// A node of a small tree.
#[derive(Debug, Clone, Copy)]
pub(in crate::scoring) struct Split {
    pub(in crate::scoring) question: Question,
    /// The leaves behind each answer.
    pub(in crate::scoring) yes: u16,
    pub(in crate::scoring) no: u16,
}

/// The index of a leaf's value: the number that the vectors make of the leaf's bit.
const fn place(leaf: usize) -> usize {
    (SEQUENCE.wrapping_shl(leaf as u32) >> UPPER) as usize
}

/// The elements of two vectors of 256 bits that are a lane. Answers come to them as pairs of half words:
/// every element of even number is a lane of the lower half.
pub(in crate::scoring) const fn halved(lane: usize) -> usize {
    lane % (LANES / 2) * 2 + lane / (LANES / 2)
}

impl Sieve {
    /// `None` without vectors, or if a tree has more leaves.
    pub(in crate::scoring) fn new(
        isa: Isa,
        cells: &Cells,
        answers: &KernelAnswers,
        lanes: usize,
    ) -> Option<Sieve> {
        let element: fn(usize) -> usize = match isa {
            Isa::Avx512(_) => |lane| lane,
            Isa::Avx2(_) => halved,
            Isa::Portable => return None,
        };
        let elements = std::array::from_fn(|lane| element(lane) as u8);
        let (trees, starts, nodes, values) = Default::default();
        let mut sieve = Sieve { trees, starts, nodes, values, elements, isa };
        for drafts in Draft::all(cells)?.chunks_mut(BATCH) {
            let mut batch = Vec::new();
            for (number, draft) in drafts.iter_mut().enumerate() {
                sieve.values.push(draft.values());
                batch.push((number, draft.start(lanes, answers), &draft.splits));
            }
            batch.sort_by_key(|(_, _, splits)| splits.len());
            let node =
                |split: &Split| Node { question: split.question.into(), rest: u32::from(!split.yes) * TWICE };
            for (number, reach, splits) in batch {
                let mut start = Words::default();
                reach.iter().enumerate().for_each(|(lane, &leaves)| start.0[element(lane)] = leaves);
                sieve.trees.push(Tree { number: number as u16, nodes: splits.len() as u16 });
                sieve.starts.push(start);
                sieve.nodes.extend(splits.iter().map(node));
            }
        }
        Some(sieve)
    }

    /// Adds all trees to `scratch.sums`, for this many lanes. Their answers are in the scratch.
    pub(in crate::scoring) fn sum(&self, lanes: usize, scratch: &mut Scratch) {
        // SAFETY: there is no sieve without a token, which proves that the CPU has the features.
        unsafe {
            match self.isa {
                Isa::Avx512(_) => sum_wide(self, lanes, scratch),
                _ => sum_halved(self, lanes, scratch),
            }
        }
    }

    fn batches(&self) -> impl Iterator<Item = Batch<'_>> {
        let trees = self.trees.chunks(BATCH).zip(self.starts.chunks(BATCH));
        let values = self.values.chunks(BATCH);
        trees.zip(values).map(|((trees, starts), values)| Batch { trees, starts, values })
    }

    /// The number of elements up to the last one that is a lane.
    fn used(&self, lanes: usize) -> usize {
        self.elements[..lanes].iter().max().map_or(0, |&last| usize::from(last) + 1)
    }
}

impl Draft {
    /// All trees, in their order; `None` if one is not small.
    pub(in crate::scoring) fn all(cells: &Cells) -> Option<Vec<Draft>> {
        let batches = cells.batches.iter();
        let trees =
            batches.flat_map(|batch| batch.starts().map(|start| (&cells.cells[batch.start..], start)));
        let draft = |(cells, (at, leaf)): (&[u32], _)| {
            let mut draft = Draft::default();
            draft.add(cells, at, leaf).map(|_| draft)
        };
        trees.map(draft).collect()
    }

    /// Orders the leaves by their values, the highest first.
    pub(in crate::scoring) fn sort_leaves(&mut self) {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.values[b].total_cmp(&self.values[a]));
        let moved = |leaves: u16| {
            (0..).zip(&order).fold(0, |moved, (bit, &leaf)| moved | (leaves >> leaf & 1) << bit)
        };
        for split in &mut self.splits {
            (split.yes, split.no) = (moved(split.yes), moved(split.no));
        }
        self.values = order.iter().map(|&leaf| self.values[leaf]).collect();
    }

    /// The values of the leaves, each at its [`place`].
    pub(in crate::scoring) fn values(&self) -> [f64; SMALL] {
        let mut values = [0.0; SMALL];
        self.values.iter().enumerate().for_each(|(leaf, &value)| values[place(leaf)] = value);
        values
    }

    /// Adds a subtree, and returns its leaves.
    fn add(&mut self, cells: &[u32], at: u32, leaf: bool) -> Option<u16> {
        if leaf {
            // SAFETY: a child that is a leaf.
            self.values.push(unsafe { leaf_value(cells, at) });
            return (self.values.len() <= SMALL).then(|| 1 << (self.values.len() - 1));
        }
        let (cell, node) = (cells[at as usize], self.splits.len());
        if node == SMALL {
            return None;
        }
        self.splits.push(Split { question: (cell & QUESTION) as Question, yes: 0, no: 0 });
        let near = (at + 1, cell & NEAR_LEAF != 0);
        let far = (at + ((cell >> FAR_SHIFT) & FAR_MAX as u32), cell & FAR_LEAF != 0);
        let (yes, no) = if cell & FLIPPED == 0 { (near, far) } else { (far, near) };
        let yes = self.add(cells, yes.0, yes.1)?;
        let no = self.add(cells, no.0, no.1)?;
        (self.splits[node].yes, self.splits[node].no) = (yes, no);
        Some(yes | no)
    }

    /// The leaves that each lane's kernel can reach; leaves only the nodes that decide among some of them.
    pub(in crate::scoring) fn start(&mut self, lanes: usize, answers: &KernelAnswers) -> Vec<u16> {
        let mut reach = vec![u16::MAX >> (SMALL - self.values.len()); lanes];
        self.splits.retain(|split| {
            let Some(yes) = answers.yes(usize::from(split.question)) else { return true };
            for (lane, reach) in reach.iter_mut().enumerate() {
                let is_yes = yes[lane / 64] >> (lane % 64) & 1 == 1;
                *reach &= !if is_yes { split.no } else { split.yes };
            }
            false
        });
        let any = reach.iter().fold(0, |any, leaves| any | leaves);
        self.splits.retain(|split| any & split.yes != 0);
        reach
    }
}

/// Bits of the answer to a question, for both vectors of elements as [`halved`] says.
#[derive(Clone, Copy)]
pub(in crate::scoring) struct Halves([__m256i; 2]);

impl Halves {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::scoring) fn new() -> Halves {
        // Both elements of a pair have the same bit, in their halves of the answer.
        let lower =
            _mm256_sllv_epi32(_mm256_set1_epi32(TWICE as i32), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        Halves([lower, _mm256_slli_epi16::<8>(lower)])
    }

    /// Takes the leaves away that are not the rest from all elements whose answer is no.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::scoring) fn take(self, reach: &mut [__m256i; 2], answer: u32, rest: u32) {
        let (answer, rest) = (_mm256_set1_epi32(answer as i32), _mm256_set1_epi32(rest as i32));
        for (reach, bits) in reach.iter_mut().zip(self.0) {
            let yes = _mm256_cmpeq_epi16(_mm256_and_si256(answer, bits), bits);
            *reach = _mm256_and_si256(*reach, _mm256_or_si256(yes, rest));
        }
    }

    /// Leaves of all elements only those that remain after a yes or after a no.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::scoring) fn choose(
        self,
        reach: &mut [__m256i; 2],
        answer: u32,
        after_no: u32,
        after_yes: u32,
    ) {
        let answer = _mm256_set1_epi32(answer as i32);
        let (after_no, after_yes) = (_mm256_set1_epi32(after_no as i32), _mm256_set1_epi32(after_yes as i32));
        for (reach, bits) in reach.iter_mut().zip(self.0) {
            let yes = _mm256_cmpeq_epi16(_mm256_and_si256(answer, bits), bits);
            *reach = _mm256_and_si256(*reach, _mm256_blendv_epi8(after_no, after_yes, yes));
        }
    }
}

/// The [`place`] of each element's lowest leaf.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::scoring) fn lowest(reach: __m256i) -> __m256i {
    place_of(_mm256_and_si256(reach, _mm256_sub_epi16(_mm256_setzero_si256(), reach)))
}

/// The [`place`] of each element's only leaf.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::scoring) fn place_of(leaf: __m256i) -> __m256i {
    _mm256_srli_epi16::<UPPER>(_mm256_mullo_epi16(leaf, _mm256_set1_epi16(SEQUENCE as i16)))
}

/// The leaves of both vectors.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::scoring) fn load(words: &Words) -> [__m256i; 2] {
    // SAFETY: 32 words, aligned to a line.
    unsafe {
        let words = words.0.as_ptr();
        [_mm256_load_si256(words.cast()), _mm256_load_si256(words.add(LANES / 2).cast())]
    }
}

/// Stores both vectors.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::scoring) fn store(words: &mut Words, vectors: [__m256i; 2]) {
    // SAFETY: 32 words, aligned to a line.
    unsafe {
        let words = words.0.as_mut_ptr();
        _mm256_store_si256(words.cast(), vectors[0]);
        _mm256_store_si256(words.add(LANES / 2).cast(), vectors[1]);
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn sum_halved(sieve: &Sieve, lanes: usize, scratch: &mut Scratch) {
    let Scratch { answers, leaf_of, sums, .. } = scratch;
    let used = sieve.used(lanes).next_multiple_of(GROUP);
    let mut totals = [0.0; LANES];
    let mut nodes = &sieve.nodes[..];
    for Batch { trees, starts, values } in sieve.batches() {
        for (tree, start) in trees.iter().zip(starts) {
            let (own, others) = nodes.split_at(usize::from(tree.nodes));
            leaf_of[usize::from(tree.number)] = halved_leaves(tree.number, start, own, answers);
            nodes = others;
        }
        for (group, totals) in totals[..used].chunks_exact_mut(GROUP).enumerate() {
            let mut sums: [f64; GROUP] = std::array::from_fn(|lane| totals[lane]);
            for leaf in &leaf_of[..values.len()] {
                for (sum, &leaf) in sums.iter_mut().zip(&leaf.0[group * GROUP..][..GROUP]) {
                    // SAFETY: `halved_leaves` gives places in the values of the tree, one of these.
                    *sum += unsafe { get(values.as_flattened(), usize::from(leaf)) };
                }
            }
            totals.copy_from_slice(&sums);
        }
    }
    for (sum, &element) in sums.iter_mut().zip(&sieve.elements[..lanes]) {
        *sum = totals[usize::from(element)];
    }
}

/// The position of each element's leaf in its batch, in a tree of these nodes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn halved_leaves(number: u16, start: &Words, nodes: &[Node], answers: &[u32]) -> Words {
    let (halves, mut reach) = (Halves::new(), load(start));
    for node in nodes {
        // SAFETY: questions are of this forest; all have answers (`NarrowEvaluator::fit`).
        let answer = unsafe { get(answers, node.question as usize) };
        halves.take(&mut reach, answer, node.rest);
    }
    let before = _mm256_set1_epi16((usize::from(number) * SMALL) as i16);
    let mut leaves = Words::default();
    store(&mut leaves, reach.map(|reach| _mm256_or_si256(lowest(reach), before)));
    leaves
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn sum_wide(sieve: &Sieve, lanes: usize, scratch: &mut Scratch) {
    let Scratch { answers, leaf_of, sums, .. } = scratch;
    let mut totals = [_mm512_setzero_pd(); LANES / GROUP];
    let totals = &mut totals[..lanes.div_ceil(GROUP)];
    let mut nodes = &sieve.nodes[..];
    for Batch { trees, starts, values } in sieve.batches() {
        for (tree, start) in trees.iter().zip(starts) {
            let (own, others) = nodes.split_at(usize::from(tree.nodes));
            leaf_of[usize::from(tree.number)] = wide_leaves(start, own, answers);
            nodes = others;
        }
        for (leaf, values) in leaf_of.iter().zip(values) {
            // SAFETY: sixteen values; 32 words.
            unsafe {
                let (low, high) =
                    (_mm512_loadu_pd(values.as_ptr()), _mm512_loadu_pd(values[SMALL / 2..].as_ptr()));
                for (total, leaf) in totals.iter_mut().zip(leaf.0.chunks_exact(GROUP)) {
                    let leaf = _mm512_cvtepu16_epi64(_mm_load_si128(leaf.as_ptr().cast()));
                    *total = _mm512_add_pd(*total, _mm512_permutex2var_pd(low, leaf, high));
                }
            }
        }
    }
    for (total, sums) in totals.iter().zip(sums.chunks_exact_mut(GROUP)) {
        // SAFETY: eight sums.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), *total) };
    }
}

/// The position of each lane's leaf, in a tree of these nodes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn wide_leaves(start: &Words, nodes: &[Node], answers: &[u32]) -> Words {
    // SAFETY: 32 words, aligned to a line.
    let mut reach = unsafe { _mm512_load_si512(start.0.as_ptr().cast()) };
    for node in nodes {
        // SAFETY: questions are of this forest; all have answers (`NarrowEvaluator::fit`).
        let yes = unsafe { get(answers, node.question as usize) };
        let rest = _mm512_and_si512(reach, _mm512_set1_epi32(node.rest as i32));
        reach = _mm512_mask_mov_epi16(rest, yes, reach);
    }
    let lowest = _mm512_and_si512(reach, _mm512_sub_epi16(_mm512_setzero_si512(), reach));
    let place =
        _mm512_srli_epi16::<{ UPPER as u32 }>(_mm512_mullo_epi16(lowest, _mm512_set1_epi16(SEQUENCE as i16)));
    let mut leaves = Words::default();
    // SAFETY: as before.
    unsafe { _mm512_store_si512(leaves.0.as_mut_ptr().cast(), place) };
    leaves
}
