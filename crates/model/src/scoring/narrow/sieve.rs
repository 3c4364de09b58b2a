//! Small trees: of at most sixteen leaves, for pools of at most 32 lanes, with AVX2.
//!
//! Such a tree's leaves are the bits of two bytes, so there is no search: every lane begins with all leaves,
//! and every node takes away those that the lane cannot reach.
//!
//! ```text
//! for each tree:
//!     reach[lane] = all leaves
//!     for each of its nodes:
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
//! them, but a vector of lanes at once, without dependencies or unpredictable branches.

#[allow(clippy::wildcard_imports)] // some intrinsics
use std::arch::x86_64::*;

use super::BATCH;
use crate::isa::Avx2;
use crate::scoring::compile::cells::{
    Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION, leaf_value,
};
use crate::scoring::compile::ladder::Question;
use crate::scoring::scratch::{Bytes, Scratch, grow};
use crate::scoring::unchecked::get;

/// Maximum number of leaves of a tree.
const LEAVES: usize = 16;
/// Lanes whose sums are kept in registers.
const GROUP: usize = 8;

/// A forest of small trees.
#[derive(Debug)]
pub(in crate::scoring) struct Sieve {
    /// The nodes of each tree, filled up to the same number with nodes that take nothing away.
    nodes: Vec<Node>,
    nodes_per_tree: usize,
    /// The values of each tree's leaves.
    values: Vec<[f64; LEAVES]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    question: Question,
    /// The leaves that remain for a lane that answers no: the first eight, and the others.
    rest: [u8; 2],
}

/// A tree while it is converted.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    values: Vec<f64>,
}

impl Sieve {
    /// `None` if a tree has more leaves.
    pub(in crate::scoring) fn new(cells: &Cells) -> Option<Sieve> {
        let mut trees = Vec::new();
        for batch in &cells.batches {
            for (place, leaf) in batch.starts() {
                let mut tree = Tree::default();
                tree.add(&cells.cells[batch.start..], place, leaf)?;
                trees.push(tree);
            }
        }
        let nodes_per_tree = trees.iter().map(|tree| tree.nodes.len()).max().unwrap_or(0);
        let idle = Node { question: 0, rest: [u8::MAX; 2] };
        let (mut nodes, mut values) = (Vec::new(), Vec::new());
        for tree in trees {
            nodes.extend(tree.nodes.into_iter().chain(std::iter::repeat(idle)).take(nodes_per_tree));
            values.push(std::array::from_fn(|leaf| tree.values.get(leaf).copied().unwrap_or(0.0)));
        }
        Some(Sieve { nodes, nodes_per_tree, values })
    }

    /// Grows a scratch to the needed size.
    pub(in crate::scoring) fn fit(scratch: &mut Scratch) {
        grow(&mut scratch.leaf_of, BATCH);
    }

    /// Adds all trees to `scratch.sums`, for this many lanes. Their answers are in the scratch.
    pub(in crate::scoring) fn sum(&self, _proof: Avx2, lanes: usize, scratch: &mut Scratch) {
        // SAFETY: the token proves that the CPU has the features.
        unsafe { sum(self, lanes, scratch) }
    }
}

impl Tree {
    /// Adds a subtree, and returns its leaves.
    fn add(&mut self, cells: &[u32], place: u32, leaf: bool) -> Option<u16> {
        if leaf {
            self.values.push(leaf_value(cells, place));
            return (self.values.len() <= LEAVES).then(|| 1 << (self.values.len() - 1));
        }
        let (cell, node) = (cells[place as usize], self.nodes.len());
        if node == LEAVES {
            return None;
        }
        self.nodes.push(Node { question: (cell & QUESTION) as Question, rest: [0; 2] });
        let near = (place + 1, cell & NEAR_LEAF != 0);
        let far = (place + ((cell >> FAR_SHIFT) & FAR_MAX as u32), cell & FAR_LEAF != 0);
        let (yes, no) = if cell & FLIPPED == 0 { (near, far) } else { (far, near) };
        let yes = self.add(cells, yes.0, yes.1)?;
        self.nodes[node].rest = (!yes).to_le_bytes();
        Some(yes | self.add(cells, no.0, no.1)?)
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn sum(sieve: &Sieve, lanes: usize, scratch: &mut Scratch) {
    let Scratch { answers, leaf_of, sums, .. } = scratch;
    let sums = &mut sums[..lanes.next_multiple_of(GROUP)];
    sums.fill(0.0);
    for (batch, values) in sieve.values.chunks(BATCH).enumerate() {
        for (tree, leaf) in leaf_of[..values.len()].iter_mut().enumerate() {
            let first = (batch * BATCH + tree) * sieve.nodes_per_tree;
            *leaf = leaves(&sieve.nodes[first..first + sieve.nodes_per_tree], answers);
        }
        for (group, sums) in sums.chunks_exact_mut(GROUP).enumerate() {
            let mut totals: [f64; GROUP] = std::array::from_fn(|lane| sums[lane]);
            for (leaf, values) in leaf_of.iter().zip(values) {
                for (total, &leaf) in totals.iter_mut().zip(&leaf.0[group * GROUP..][..GROUP]) {
                    // SAFETY: `leaves` gives numbers below sixteen.
                    *total += unsafe { get(values, usize::from(leaf)) };
                }
            }
            sums.copy_from_slice(&totals);
        }
    }
}

/// The leaf of each lane, in a tree of these nodes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn leaves(nodes: &[Node], answers: &[u32]) -> Bytes {
    let byte = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let (mut low, mut high) = (_mm256_set1_epi8(-1), _mm256_set1_epi8(-1));
    for node in nodes {
        // SAFETY: questions are of this forest; all have answers (`Narrow::fit`).
        let answer = unsafe { get(answers, usize::from(node.question)) };
        // The byte with a lane's bit, the bit, and then all bits if it is set.
        let own = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(answer as i32), byte), bit);
        let yes = _mm256_cmpeq_epi8(own, bit);
        let [rest_low, rest_high] = node.rest;
        low = _mm256_and_si256(low, _mm256_or_si256(yes, _mm256_set1_epi8(rest_low as i8)));
        high = _mm256_and_si256(high, _mm256_or_si256(yes, _mm256_set1_epi8(rest_high as i8)));
    }
    let (low, high) = (Bytes::from(low), Bytes::from(high));
    // The compiler makes vectors of this.
    Bytes(std::array::from_fn(|lane| {
        let (bits, first) = if low.0[lane] == 0 { (high.0[lane], 8) } else { (low.0[lane], 0) };
        let lowest = bits & bits.wrapping_neg();
        let bit = |mask, value| if lowest & mask == 0 { 0 } else { value };
        first | bit(0xaa, 1) | bit(0xcc, 2) | bit(0xf0, 4)
    }))
}

impl From<__m256i> for Bytes {
    #[inline]
    fn from(vector: __m256i) -> Bytes {
        // SAFETY: both are 32 bytes, of any value.
        unsafe { std::mem::transmute(vector) }
    }
}
