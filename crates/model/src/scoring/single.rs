//! One row or one kernel, down all trees a few steps at a time: no tree waits for another's steps, and little
//! is mispredicted.
//!
//! ```text
//! for each tree: end = the cell that the answers to its first questions lead to
//! until all ends are leaves:
//!     for each end that is none: a few steps                                      several at once
//! for each tree: sum += the value of its leaf
//! ```

// Iterators over arrays are functions, which are not always inlined where the CPU's features differ.
#![allow(clippy::needless_range_loop)]

use std::hint::select_unpredictable;

use super::compile::ladder::{Ladders, Numbers};
use super::compile::lanes::{Column, Lanes};
use super::compile::stair::Stair;
use super::scratch::{Answer, Ends, Scratch, grow};
use super::unchecked::{get, set};
use super::values::Values;
use crate::forest::{Forest, Target};

/// Walks at once.
const WALKS: usize = 8;
/// The lowest bit of the distance to a node's child for no, or of a leaf's number; below is the question. The child
/// for yes is next.
const DISTANCE: u32 = 16;

const NO: Answer = -1;
const YES: Answer = 1;
/// The walk stays where it is: at a leaf, or, while trees are pruned, at a question without an answer.
pub(super) const NONE: Answer = 0;

/// All trees for one row.
#[derive(Debug)]
pub(super) struct Walks {
    cells: Vec<u32>,
    /// For each tree the cell of its root, and the index of its first leaf's value.
    roots: Vec<[u32; 2]>,
    pub(super) tops: Vec<Top>,
    /// The values of all leaves.
    values: Vec<f64>,
}

/// The first levels of a tree, numbered as search trees are: below node i are 2 i for no, 2 i + 1 for yes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Top {
    /// The questions of the nodes, which are numbered from 1.
    questions: [u16; BELOW],
    /// The cells of the nodes below.
    cells: [u32; BELOW],
    /// The index of the tree's first leaf value.
    first: u32,
}

/// Levels of a [`Top`], and how many nodes are below.
const LEVELS: usize = 2;
const BELOW: usize = 1 << LEVELS;

/// Trees that are walked before their values are added.
const CHUNK: usize = 512;

/// Steps of a walk between checks whether it goes on.
const STEPS: usize = 3;

impl Walks {
    /// `None` if a tree is too large for distances, or all are for numbers of cells. Leaves ask the question
    /// after the last one. `known` are questions that are already answered, whose nodes are left out.
    pub(super) fn new(
        forest: &Forest,
        numbers: &Numbers,
        questions: usize,
        known: impl Fn(usize) -> Option<bool>,
    ) -> Option<Walks> {
        let end = u32::from(u16::try_from(questions).ok()?);
        let (mut cells, mut roots, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut tasks = Vec::new();
        for (number, tree) in forest.trees().iter().enumerate() {
            roots.push([u32::try_from(cells.len()).ok()?, u32::try_from(values.len()).ok()?]);
            values.extend_from_slice(tree.leaf_values());
            tasks.push((tree.root(), None));
            let question = |node| usize::from(numbers.question(number, node));
            let child_of = |node, yes: bool| if yes { tree.node(node).left } else { tree.node(node).right };
            while let Some((mut child, parent)) = tasks.pop() {
                while let Target::Node(node) = child.target()
                    && let Some(yes) = known(question(node))
                {
                    child = child_of(node, yes);
                }
                let here = cells.len();
                if let Some(parent) = parent {
                    cells[parent] |= u32::from(u16::try_from(here - parent).ok()?) << DISTANCE;
                }
                match child.target() {
                    Target::Leaf(leaf) => cells.push(end | u32::from(u16::try_from(leaf).ok()?) << DISTANCE),
                    Target::Node(node) => {
                        cells.push(question(node) as u32);
                        tasks.extend([(child_of(node, false), Some(here)), (child_of(node, true), None)]);
                    }
                }
            }
        }
        let mut walks = Walks { cells, roots, values, tops: Vec::new() };
        let mut tops = Vec::new();
        walks.find_tops(&vec![NONE; questions + 1], &mut Ends::default(), &mut tops);
        walks.tops = tops;
        Some(walks)
    }

    /// Makes room for [`find_tops`](Self::find_tops).
    pub(super) fn fit(&self, ends: &mut Ends, tops: &mut Vec<Top>) {
        ends.fit(self.roots.len() * BELOW);
        tops.clear();
        tops.reserve(self.roots.len());
    }

    /// The first levels of all trees without the questions that `known` answers, which has one more, for
    /// leaves.
    pub(super) fn find_tops(&self, known: &[Answer], ends: &mut Ends, tops: &mut Vec<Top>) {
        let trees = self.roots.len();
        self.fit(ends, tops);
        for (&[root, first], cell) in self.roots.iter().zip(&mut ends.cells) {
            tops.push(Top { questions: [0; BELOW], cells: [0; BELOW], first });
            *cell = root;
        }
        for level in 0..LEVELS {
            let nodes = 1 << level;
            ends.all(trees * nodes);
            self.walk(trees * nodes, known, ends);
            for at in (0..trees * nodes).rev() {
                let cell = ends.cells[at];
                let node = self.cells[cell as usize];
                // A leaf is what comes after it, too.
                let is_leaf = usize::from(node as u16) + 1 == known.len();
                tops[at / nodes].questions[nodes + at % nodes] = node as u16;
                ends.cells[2 * at] = cell + if is_leaf { 0 } else { node >> DISTANCE };
                ends.cells[2 * at + 1] = cell + u32::from(!is_leaf);
            }
        }
        ends.all(trees * BELOW);
        self.walk(trees * BELOW, known, ends);
        for (top, &cells) in tops.iter_mut().zip(ends.cells.as_chunks().0) {
            top.cells = cells;
        }
    }

    /// The sum of the values of the leaves that a row reaches in some trees, given its answers.
    #[inline(always)]
    pub(super) fn sum(&self, tops: &[Top], answers: &[Answer], ends: &mut Ends) -> f64 {
        ends.fit(CHUNK);
        let mut sum = 0.0;
        // The values of some trees are added while the next ones are walked.
        for tops in tops.chunks(CHUNK) {
            let (cells, waiting, mut count) = (&mut ends.cells[..], &mut ends.waiting[..], 0);
            for (tree, top) in tops.iter().enumerate() {
                let mut node = 1;
                // SAFETY: there is an answer for each question, nodes end below the last level, and there is
                // room for a chunk.
                unsafe {
                    for _ in 0..LEVELS {
                        let answer = get(answers, get(&top.questions, node).into());
                        node = 2 * node + usize::from(answer == YES);
                    }
                    let cell = get(&top.cells, node - BELOW);
                    set(cells, tree, cell);
                    set(waiting, count, tree as u32);
                    count += usize::from(self.is_answered(cell as usize, answers));
                }
            }
            self.walk(count, answers, ends);
            for (top, &cell) in tops.iter().zip(&ends.cells) {
                // SAFETY: a walk ends at a leaf, of which there is a value.
                sum += unsafe {
                    let leaf = get(&self.cells, cell as usize) >> DISTANCE;
                    get(&self.values, (top.first + leaf) as usize)
                };
            }
        }
        sum
    }

    /// Goes on from those that wait, as far as there are answers.
    #[inline(always)]
    fn walk(&self, mut count: usize, answers: &[Answer], Ends { cells, waiting }: &mut Ends) {
        while count > 0 {
            let now = count;
            // As many as walk at once; the first one is not counted again.
            waiting[now..now + WALKS].fill(0);
            count = 0;
            for first in (0..now).step_by(WALKS) {
                let (mut ends, mut at) = ([0; WALKS], [0; WALKS]);
                // SAFETY: those that wait are among the cells, which lead to cells; there is an answer for
                // each question.
                unsafe {
                    for walk in 0..WALKS {
                        ends[walk] = get(waiting, first + walk) as usize;
                        at[walk] = get(cells, ends[walk]) as usize;
                    }
                    for _ in 0..STEPS {
                        for walk in 0..WALKS {
                            at[walk] += step(&self.cells, at[walk], answers);
                        }
                    }
                    for walk in 0..WALKS {
                        set(cells, ends[walk], at[walk] as u32);
                        set(waiting, count, ends[walk] as u32);
                        let is_left = self.is_answered(at[walk], answers) & (first + walk < now);
                        count += usize::from(is_left);
                    }
                }
            }
        }
    }

    /// Whether a walk goes on.
    ///
    /// # Safety
    ///
    /// There is such a cell, and an answer to its question.
    #[inline(always)]
    unsafe fn is_answered(&self, cell: usize, answers: &[Answer]) -> bool {
        // SAFETY: by contract.
        unsafe { get(answers, usize::from(get(&self.cells, cell) as u16)) != NONE }
    }
}

impl Ends {
    /// Makes room for so many.
    fn fit(&mut self, count: usize) {
        grow(&mut self.cells, count);
        grow(&mut self.waiting, count + WALKS);
    }

    /// All of the first `count` go on.
    fn all(&mut self, count: usize) {
        (0..).zip(&mut self.waiting[..count]).for_each(|(number, end)| *end = number);
    }
}

/// How far it is from a cell to the next one.
///
/// # Safety
///
/// There is such a cell, and an answer to its question.
#[inline(always)]
unsafe fn step(cells: &[u32], cell: usize, answers: &[Answer]) -> usize {
    // SAFETY: by contract.
    let (distance, most) = unsafe {
        let cell = get(cells, cell);
        (cell >> DISTANCE, i32::from(get(answers, usize::from(cell as u16))) as u32)
    };
    select_unpredictable(distance < most, distance, most) as usize
}

/// Makes room for the answers of so many questions, and for that of leaves.
pub(super) fn fit(questions: usize, answers: &mut Vec<Answer>) {
    grow(answers, questions + 1);
    answers[questions] = NONE;
}

/// Answers all questions, given the value of each stair.
#[inline(always)]
pub(super) fn answer(stairs: &[Stair], mut value: impl FnMut(&Stair) -> f64, answers: &mut [Answer]) {
    for stair in stairs {
        place(stair, stair.position(value(stair)), answers);
    }
}

/// Answers a stair's questions.
#[inline(always)]
pub(super) fn place(stair: &Stair, position: u8, answers: &mut [Answer]) {
    let (no, yes) = answers[stair.questions.clone()].split_at_mut(position.into());
    no.fill(NO);
    yes.fill(YES);
}

/// Changes a stair's answers from those of one position to those of another.
#[inline(always)]
pub(super) fn change(stair: &Stair, old: u8, new: u8, answers: &mut [Answer]) {
    let between = usize::from(old.min(new))..usize::from(old.max(new));
    answers[stair.questions.clone()][between].fill(if new < old { YES } else { NO });
}

/// A forest for a pool of one kernel.
#[derive(Debug)]
pub(super) struct Single {
    stairs: Vec<Stair>,
    questions: usize,
    class: usize,
    walks: Walks,
}

impl Single {
    /// `None` if there are no walks.
    pub(super) fn new(forest: &Forest, ladders: Ladders, numbers: &Numbers, lanes: &Lanes) -> Option<Single> {
        let (questions, mut stairs) = (ladders.questions, Stair::all(ladders));
        let (mut answers, mut known) = (vec![NONE; questions], vec![false; questions]);
        let of_kernel: Vec<Stair> = stairs.extract_if(.., |stair| stair.scope == Column::Kernel).collect();
        answer(&of_kernel, |stair| lanes.value(0, stair.column), &mut answers);
        for stair in &of_kernel {
            known[stair.questions.clone()].fill(true);
        }
        let walks = Walks::new(forest, numbers, questions, |question| {
            known[question].then(|| answers[question] == YES)
        })?;
        Some(Single { stairs, questions, class: lanes.classes[0] as usize, walks })
    }

    /// The kernel's sum, into `scratch.sums`.
    pub(super) fn score(&self, values: &Values<'_>, scratch: &mut Scratch) {
        let value = |stair: &Stair| match stair.scope {
            Column::Uniform => values.uniform[stair.column],
            _ => values.pair(stair.column)[self.class],
        };
        fit(self.questions, &mut scratch.yes);
        answer(&self.stairs, value, &mut scratch.yes);
        grow(&mut scratch.sums, 1);
        scratch.sums[0] = self.walks.sum(&self.walks.tops, &scratch.yes, &mut scratch.ends);
    }
}
