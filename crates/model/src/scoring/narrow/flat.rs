//! Small trees: of at most sixteen leaves, for pools of at most 32 lanes, with AVX-512.
//!
//! Such a tree's nodes fit in a vector, one word per node, and so do its leaves. So there is no search: the
//! lanes of all leaves are computed together, by the same instructions for every tree.
//!
//! ```text
//! answers[node] = lanes that answer the node's question with yes
//! edge[node]    = lanes that would go from the node's parent to it: the parent's answer, or its opposite
//! path[node]    = edge[node] & edge[parent] & edge[parent's parent] ...
//! lanes[leaf]   = edge[leaf] & path[parent]
//! ```
//!
//! Paths are computed by doubling: one edge up is combined with one edge up from there, then two with two,
//! four with four, eight with eight, and no tree of sixteen leaves is higher. Each such step is one
//! permutation of a vector.
//!
//! Leaves come in the order of the trees, so that values can be added directly.
//!
//! Unlike the walk of [`narrow`](super), which visits five of a tree's fourteen nodes, this evaluates all of
//! them, but without dependencies: no queue, no load that waits for another one, and memory is read
//! sequentially.

#[allow(clippy::wildcard_imports)] // a score of intrinsics
use std::arch::x86_64::*;

use crate::isa::Avx512;
use crate::scoring::compile::cells::leaf_value;
use crate::scoring::compile::cells::{Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION};
use crate::scoring::compile::ladder::Question;
use crate::scoring::compile::lanes::LANES;
use crate::scoring::scratch::{Line, SLACK, Scratch, grow};
use crate::scoring::unchecked::get;

/// Maximum number of leaves of a tree, and of nodes with the one that always answers yes.
const WIDTH: usize = 16;
/// The place of that node: the root's parent and its own.
const ALWAYS: usize = WIDTH - 1;
/// Added to a node's place for its edge of answer no.
const NO: usize = WIDTH;
/// Trees per batch.
const BATCH: usize = 64;

/// A forest of small trees.
#[derive(Debug)]
pub(in crate::scoring) struct Flat {
    /// The questions of each tree's nodes.
    questions: Vec<[Question; WIDTH]>,
    /// The nodes above each tree's nodes and leaves, see [`Small::steps`].
    steps: Vec<Line>,
    /// The values of each tree's leaves.
    values: Vec<[f64; WIDTH]>,
}

/// A tree while it is converted.
struct Small {
    /// The question of each node, and the edge that leads to it: its parent's place, plus [`NO`] for no.
    nodes: Vec<(Question, usize)>,
    /// The same for each leaf, with its value.
    leaves: Vec<(f64, usize)>,
}

impl Flat {
    /// `None` if a tree has more leaves, or if no number is left for a question that is always answered with
    /// yes.
    pub(in crate::scoring) fn new(cells: &Cells, always: usize) -> Option<Flat> {
        let always = Question::try_from(always).ok()?;
        let mut flat = Flat { questions: Vec::new(), steps: Vec::new(), values: Vec::new() };
        for batch in &cells.batches {
            for (place, leaf) in batch.starts() {
                let small = Small::new(&cells.cells[batch.start..], place, leaf)?;
                let mut questions = [always; WIDTH];
                let mut values = [0.0; WIDTH];
                questions.iter_mut().zip(&small.nodes).for_each(|(to, (question, _))| *to = *question);
                values.iter_mut().zip(&small.leaves).for_each(|(to, (value, _))| *to = *value);
                flat.questions.push(questions);
                flat.steps.push(Line(small.steps()));
                flat.values.push(values);
            }
        }
        Some(flat)
    }

    /// Grows a scratch to the needed size.
    pub(in crate::scoring) fn fit(scratch: &mut Scratch) {
        grow(&mut scratch.lines, BATCH);
        grow(&mut scratch.leaf_at, BATCH * WIDTH + SLACK);
        grow(&mut scratch.leaf_set, BATCH * WIDTH + SLACK);
        grow(&mut scratch.sums, LANES);
    }

    /// Adds all trees to `scratch.sums`. The answers are in the scratch, followed by that of the question
    /// `always`.
    pub(in crate::scoring) fn sum(&self, _proof: Avx512, scratch: &mut Scratch) {
        // SAFETY: the token proves that the CPU has the features.
        unsafe { sum(self, scratch) }
    }
}

impl Small {
    fn new(cells: &[u32], root: u32, leaf: bool) -> Option<Small> {
        let mut small = Small { nodes: Vec::new(), leaves: Vec::new() };
        let mut tasks = vec![(root, leaf, ALWAYS)];
        while let Some((place, leaf, edge)) = tasks.pop() {
            if small.nodes.len() + small.leaves.len() > ALWAYS + WIDTH {
                return None;
            }
            if leaf {
                small.leaves.push((leaf_value(cells, place), edge));
                continue;
            }
            let (cell, node) = (cells[place as usize], small.nodes.len());
            let far = place + ((cell >> FAR_SHIFT) & FAR_MAX as u32);
            let (yes, no) = (node, node + NO);
            let (to_near, to_far) = if cell & FLIPPED == 0 { (yes, no) } else { (no, yes) };
            small.nodes.push(((cell & QUESTION) as Question, edge));
            tasks.push((place + 1, cell & NEAR_LEAF != 0, to_near));
            tasks.push((far, cell & FAR_LEAF != 0, to_far));
        }
        (small.leaves.len() <= WIDTH).then_some(small)
    }

    /// For the node and the leaf of each place, from the lowest bit: the edge to the node (5 bits), the nodes
    /// one, two, four and eight edges above it (4 each), the edge to the leaf (5), and the node it starts
    /// from (4).
    fn steps(&self) -> [u32; WIDTH] {
        let edge = |node: usize| self.nodes.get(node).map_or(ALWAYS, |&(_, edge)| edge);
        let above = |node: usize, edges: usize| (0..edges).fold(node, |node, _| edge(node) % WIDTH);
        std::array::from_fn(|place| {
            // No lane reaches unused places: their edge is the "no" edge of a node that always answers yes.
            let leaf = self.leaves.get(place).map_or(ALWAYS + NO, |&(_, edge)| edge);
            let parts = [(edge(place), 5)]
                .into_iter()
                .chain([1, 2, 4, 8].map(|edges| (above(place, edges), 4)))
                .chain([(leaf, 5), (leaf % WIDTH, 4)]);
            let mut shift = 0;
            parts.fold(0, |word, (part, bits)| {
                let word = word | (part as u32) << shift;
                shift += bits;
                word
            })
        })
    }
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn sum(flat: &Flat, scratch: &mut Scratch) {
    let Scratch { answers, lines, leaf_at, leaf_set, sums, .. } = scratch;
    let mut totals = [_mm512_setzero_pd(); LANES / 8];
    let batches = flat.questions.chunks(BATCH).zip(flat.steps.chunks(BATCH)).zip(flat.values.chunks(BATCH));
    for ((questions, steps), values) in batches {
        // One by one: a gather takes longer on AMD's CPUs.
        for (line, questions) in lines.iter_mut().zip(questions) {
            for (word, &question) in line.0.iter_mut().zip(questions) {
                // SAFETY: questions are of this forest, or the one after them; all have answers
                // (`Narrow::fit`).
                *word = unsafe { get(answers, usize::from(question)) };
            }
        }
        let mut leaves = 0;
        let mut place = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        for (line, steps) in lines.iter().zip(steps) {
            // SAFETY: sixteen answers, aligned to a line.
            let yes = unsafe { _mm512_load_si512(line.0.as_ptr().cast()) };
            let lanes = leaf_lanes(yes, steps);
            let some = _mm512_test_epi32_mask(lanes, lanes);
            // SAFETY: there is room for a vector after each tree's leaves (`Flat::fit`).
            unsafe {
                let (at, set) = (leaf_at.as_mut_ptr().add(leaves), leaf_set.as_mut_ptr().add(leaves));
                _mm512_storeu_si512(at.cast(), _mm512_maskz_compress_epi32(some, place));
                _mm512_storeu_si512(set.cast(), _mm512_maskz_compress_epi32(some, lanes));
            }
            leaves += some.count_ones() as usize;
            place = _mm512_add_epi32(place, _mm512_set1_epi32(WIDTH as i32));
        }
        let values = values.as_flattened();
        for leaf in 0..leaves {
            // SAFETY: places are of the batch's leaves.
            let (lanes, value) = unsafe { (get(leaf_set, leaf), get(values, get(leaf_at, leaf) as usize)) };
            let value = _mm512_set1_pd(value);
            for (group, total) in totals.iter_mut().enumerate() {
                *total = _mm512_mask_add_pd(*total, (lanes >> (8 * group)) as u8, *total, value);
            }
        }
    }
    for (total, out) in totals.into_iter().zip(sums[..LANES].chunks_exact_mut(8)) {
        // SAFETY: eight values.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), total) };
    }
}

/// The lanes of each leaf of a tree whose nodes have these answers.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn leaf_lanes(yes: __m512i, steps: &Line) -> __m512i {
    // SAFETY: a vector of words.
    let steps = unsafe { _mm512_load_si512(steps.0.as_ptr().cast()) };
    let no = _mm512_xor_si512(yes, _mm512_set1_epi32(-1));
    // Permutations only read the lowest bits of a word: five for one of two vectors, four for one.
    let edge = _mm512_permutex2var_epi32(yes, steps, no);
    let path = _mm512_and_si512(edge, _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(steps), edge));
    let path = _mm512_and_si512(path, _mm512_permutexvar_epi32(_mm512_srli_epi32::<9>(steps), path));
    let path = _mm512_and_si512(path, _mm512_permutexvar_epi32(_mm512_srli_epi32::<13>(steps), path));
    let path = _mm512_and_si512(path, _mm512_permutexvar_epi32(_mm512_srli_epi32::<17>(steps), path));
    let edge = _mm512_permutex2var_epi32(yes, _mm512_srli_epi32::<21>(steps), no);
    _mm512_and_si512(edge, _mm512_permutexvar_epi32(_mm512_srli_epi32::<26>(steps), path))
}
