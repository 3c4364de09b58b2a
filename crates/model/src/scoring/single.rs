//! One row or one kernel, down several trees at once: a step of one tree does not wait for the other trees'.

// Iterators over arrays are functions, which are not always inlined where the CPU's features differ.
#![allow(clippy::needless_range_loop)]

use std::hint::select_unpredictable;
use std::ops::Range;

use super::Values;
use super::compile::ladder::{Ladders, Numbers};
use super::compile::lanes::{Column, Lanes};
use super::compile::stair::Stair;
use super::scratch::{Scratch, grow};
use super::unchecked::get;
use crate::forest::{Forest, Target};

/// Trees at once.
const TREES: usize = 8;
/// Where a node's distance to its child for no begins; below is its question. The child for yes is next.
const DISTANCE: u32 = 16;

/// All trees for one row. A leaf leads to itself, so that nothing is asked about where a walk ends; its value
/// is in the two cells behind.
#[derive(Debug)]
pub(super) struct Walks {
    cells: Vec<u32>,
    /// The cell of each tree's root.
    roots: Vec<u32>,
}

impl Walks {
    /// `None` if a tree is too large for distances, or all are for numbers of cells. Leaves ask the question after
    /// the last one, whose answer is always no.
    /// `known` are questions that are already answered, whose nodes are left out.
    pub(super) fn new(
        forest: &Forest,
        numbers: &Numbers,
        questions: usize,
        known: impl Fn(usize) -> Option<bool>,
    ) -> Option<Walks> {
        let end = u32::from(u16::try_from(questions).ok()?);
        let (mut cells, mut roots, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for (number, tree) in forest.trees().iter().enumerate() {
            roots.push(u32::try_from(cells.len()).ok()?);
            tasks.push((tree.root(), None));
            let question = |node| usize::from(numbers.of(number, node));
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
                    Target::Leaf(leaf) => {
                        let value = tree.leaf_values()[leaf].to_bits();
                        cells.extend([end, value as u32, (value >> 32) as u32]);
                    }
                    Target::Node(node) => {
                        cells.push(question(node) as u32);
                        tasks.extend([(child_of(node, false), Some(here)), (child_of(node, true), None)]);
                    }
                }
            }
        }
        Some(Walks { cells, roots })
    }

    /// The sum of the values of the leaves that a row reaches in some trees, given its answers.
    #[inline(always)]
    pub(super) fn sum(&self, trees: Range<usize>, answers: &[bool]) -> f64 {
        let (several, others) = self.roots[trees].as_chunks::<TREES>();
        let mut sum = 0.0;
        for roots in several {
            sum = self.add(roots, answers, sum);
        }
        for &root in others {
            sum = self.add(&[root], answers, sum);
        }
        sum
    }

    /// Adds the values of `N` trees.
    #[inline(always)]
    fn add<const N: usize>(&self, roots: &[u32; N], answers: &[bool], mut sum: f64) -> f64 {
        let mut cells = [0; N];
        for tree in 0..N {
            cells[tree] = roots[tree] as usize;
        }
        loop {
            let mut moved = 0;
            for tree in 0..N {
                // SAFETY: roots are cells, and nodes lead to cells; there is an answer for each question.
                let step = unsafe {
                    let cell = get(&self.cells, cells[tree]);
                    select_unpredictable(get(answers, cell as u16 as usize), 1, (cell >> DISTANCE) as usize)
                };
                cells[tree] += step;
                moved |= step;
            }
            if moved == 0 {
                break;
            }
        }
        for tree in 0..N {
            // SAFETY: a walk ends at a leaf, whose value follows.
            let (low, high) =
                unsafe { (get(&self.cells, cells[tree] + 1), get(&self.cells, cells[tree] + 2)) };
            sum += f64::from_bits(u64::from(low) | u64::from(high) << 32);
        }
        sum
    }
}

/// Makes room for the answers of so many questions, and for that of leaves.
pub(super) fn fit(questions: usize, answers: &mut Vec<bool>) {
    grow(answers, questions + 1);
    answers[questions] = false;
}

/// Answers all questions, given the value of each stair.
#[inline(always)]
pub(super) fn answer(stairs: &[Stair], mut value: impl FnMut(&Stair) -> f64, answers: &mut [bool]) {
    for stair in stairs {
        let mut position = [0];
        stair.positions(&[value(stair)], &mut [0], &mut position);
        stair.answer(position[0], answers);
    }
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
        let (mut answers, mut known) = (vec![false; questions], vec![false; questions]);
        let of_kernel: Vec<Stair> = stairs.extract_if(.., |stair| stair.scope == Column::Kernel).collect();
        answer(&of_kernel, |stair| lanes.value(0, stair.column), &mut answers);
        for stair in &of_kernel {
            known[stair.questions.clone()].fill(true);
        }
        let walks =
            Walks::new(forest, numbers, questions, |question| known[question].then(|| answers[question]))?;
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
        scratch.sums[0] = self.walks.sum(0..self.walks.roots.len(), &scratch.yes);
    }
}
