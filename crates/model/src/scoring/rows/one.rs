//! One row down several trees at once, so that a step of one tree does not wait for the other trees'.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::forest::{Forest, Target};
use crate::scoring::compile::ladder::Numbers;
use crate::scoring::unchecked::get;

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
    pub(super) fn new(forest: &Forest, numbers: &Numbers, questions: usize) -> Option<Walks> {
        let end = u32::from(u16::try_from(questions).ok()?);
        let (mut cells, mut roots, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for (number, tree) in forest.trees().iter().enumerate() {
            roots.push(u32::try_from(cells.len()).ok()?);
            tasks.push((tree.root(), None));
            while let Some((child, parent)) = tasks.pop() {
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
                        cells.push(numbers.of(number, node).into());
                        tasks.extend([(tree.node(node).right, Some(here)), (tree.node(node).left, None)]);
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
