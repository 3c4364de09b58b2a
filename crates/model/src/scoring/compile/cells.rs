//! Trees as cells: four bytes per node, eight bytes per leaf, in the order in which a walk reaches them.
//!
//! ```text
//! cell of a node   bits  0..16  number of its question
//!                  bits 16..29  distance to the far child, in cells; the near child is the next cell
//!                  bit  29      the near child is a leaf
//!                  bit  30      the far child is a leaf
//!                  bit  31      the far child is the left one (yes), the near child the right one
//! cells of a leaf  the bits of its value, lower half first
//! ```
//!
//! The near child is the one that more training rows went to, so that most steps stay in a cache line, and a
//! leaf's value is next to the node that leads to it.
//!
//! Questions that depend only on the pool's kernels are answered here, once: a node that sends all lanes that
//! can reach it the same way is left out.

use std::rc::Rc;

use crate::forest::{Child, Forest, Node, Target, Tree};
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::ladder::Numbers;
use crate::scoring::compile::lanes::Lanes;
use crate::scoring::unchecked::get;

pub(in crate::scoring) const QUESTION: u32 = 0xffff;
pub(in crate::scoring) const FAR_SHIFT: u32 = 16;
pub(in crate::scoring) const FAR_MAX: usize = 0x1fff;
pub(in crate::scoring) const NEAR_LEAF: u32 = 1 << 29;
pub(in crate::scoring) const FAR_LEAF: u32 = 1 << 30;
pub(in crate::scoring) const FLIPPED: u32 = 1 << 31;

/// The position of a queue item: cells from the batch's start in the low bits, the tree's number in the batch above
/// them.
pub(in crate::scoring) const TREE_SHIFT: u32 = 24;
pub(in crate::scoring) const CELL: u32 = (1 << TREE_SHIFT) - 1;

/// Cells of a cache line: each tree starts at one.
const LINE: usize = 16;

/// Consecutive trees that are walked at the same time.
#[derive(Debug, Clone)]
pub(in crate::scoring) struct Batch {
    /// Start of each tree that has a node, as the position of an item.
    pub(in crate::scoring) roots: Vec<u32>,
    /// Position of the value of each tree that is a single leaf.
    pub(in crate::scoring) lone_leaves: Vec<u32>,
    /// The batch's first cell.
    pub(in crate::scoring) start: usize,
    /// Trees.
    pub(in crate::scoring) trees: usize,
    /// Nodes. There are as many leaves, and one more per tree.
    pub(in crate::scoring) nodes: usize,
}

/// A forest for one pool.
#[derive(Debug)]
#[allow(clippy::struct_field_names)] // cells of cells: what else
pub(in crate::scoring) struct Cells {
    pub(in crate::scoring) cells: Vec<u32>,
    pub(in crate::scoring) batches: Vec<Batch>,
    /// Nodes of the largest batch.
    pub(in crate::scoring) most_nodes: usize,
}

impl Batch {
    fn new(start: usize) -> Batch {
        Batch { roots: Vec::new(), lone_leaves: Vec::new(), start, trees: 0, nodes: 0 }
    }

    /// The start of each tree, in the order of the trees, and whether the tree is a single leaf.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::scoring) fn starts(&self) -> impl Iterator<Item = (u32, bool)> {
        let roots = self.roots.iter().map(|&start| (start, false));
        let mut starts: Vec<_> = roots.chain(self.lone_leaves.iter().map(|&start| (start, true))).collect();
        starts.sort_unstable_by_key(|(start, _)| start >> TREE_SHIFT);
        starts.into_iter().map(|(start, leaf)| (start & CELL, leaf))
    }
}

/// The lanes that can reach a node, as far as the kernels determine it.
type Reach = Rc<[u64]>;

struct Layout<'a> {
    numbers: &'a Numbers,
    answers: &'a KernelAnswers,
    cells: Vec<u32>,
    nodes: usize,
}

/// A subtree still to be laid out.
struct Task {
    child: Child,
    reach: Reach,
    /// The cell of the subtree's parent, and whether the subtree is the far child.
    parent: Option<(usize, bool)>,
}

impl Cells {
    /// `None` if a tree is too large for the cells' distances. `batch` is the maximum number of trees to walk
    /// at once.
    pub(in crate::scoring) fn new(
        forest: &Forest,
        numbers: &Numbers,
        lanes: &Lanes,
        answers: &KernelAnswers,
        batch: usize,
    ) -> Option<Cells> {
        let mut layout = Layout { numbers, answers, cells: Vec::new(), nodes: 0 };
        let all: Reach = (0..lanes.len().div_ceil(64))
            .map(|word| crate::scoring::bits::low_bits(lanes.len() - word * 64))
            .collect();
        let mut batches: Vec<Batch> = Vec::new();
        let mut current = Batch::new(0);
        for (number, tree) in forest.trees().iter().enumerate() {
            layout.cells.resize(layout.cells.len().next_multiple_of(LINE), 0);
            let start = layout.cells.len();
            if current.trees == batch || start + TREE_ROOM - current.start > CELL as usize {
                batches.push(std::mem::replace(&mut current, Batch::new(start)));
            }
            let nodes = layout.nodes;
            layout.tree(number, tree, &all)?;
            let root = (start - current.start) as u32 | (current.trees as u32) << TREE_SHIFT;
            if layout.nodes == nodes {
                current.lone_leaves.push(root);
            } else {
                current.roots.push(root);
            }
            if layout.cells.len() - current.start > CELL as usize {
                return None;
            }
            current.trees += 1;
            current.nodes += layout.nodes - nodes;
        }
        batches.push(current);
        // The last line is also whole, so that reading the whole line of any cell stays in bounds.
        layout.cells.resize(layout.cells.len().next_multiple_of(LINE) + LINE, 0);
        let most_nodes = batches.iter().map(|batch| batch.nodes).max().unwrap_or(0);
        Some(Cells { cells: layout.cells, batches, most_nodes })
    }
}

/// Room that a batch keeps for its next tree; a larger tree is refused once it is laid out.
const TREE_ROOM: usize = 4 * FAR_MAX;

/// Maximum number of cells of a batch that are fetched at once: more than half of the first-level cache would
/// evict each other.
const FETCHED: usize = 1 << 12;

impl Cells {
    /// Prefetches the cells of a batch, if it is small: walks jump, so that no processor predicts them, and
    /// after other work they come from main memory.
    #[inline]
    pub(in crate::scoring) fn fetch(&self, batch: usize) {
        let Some(start) = self.batches.get(batch).map(|batch| batch.start) else { return };
        let end = self.batches.get(batch + 1).map_or(self.cells.len(), |next| next.start);
        let cells = self.cells.get(start..end).unwrap_or_default();
        if cells.len() <= FETCHED {
            cells.iter().step_by(LINE).for_each(|cell| fetch_line(cell));
        }
    }
}

/// Prefetches the cache line of a cell; the address may be invalid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in crate::scoring) fn fetch_line(cell: *const u32) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: prefetching reads nothing, so any address will do, and every processor of the architecture has
    // the instruction.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(cell.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u32) {}

/// The value of the leaf at a position.
///
/// # Safety
/// The position is a leaf's, which a walk over these cells has reached.
#[inline(always)]
pub(in crate::scoring) unsafe fn leaf_value(cells: &[u32], position: u32) -> f64 {
    let cell = (position & CELL) as usize;
    // SAFETY: by contract, and `Cells::new` laid out whole leaves.
    let (low, high) = unsafe { (get(cells, cell), get(cells, cell + 1)) };
    f64::from_bits(u64::from(low) | u64::from(high) << 32)
}

impl Layout<'_> {
    fn tree(&mut self, number: usize, tree: &Tree, all: &Reach) -> Option<()> {
        let mut tasks = vec![Task { child: tree.root(), reach: Rc::clone(all), parent: None }];
        while let Some(Task { child, reach, parent }) = tasks.pop() {
            let here = self.cells.len();
            let (child, reach, split) = self.undecided(number, tree, child, reach);
            let target = child.target();
            if let Some((parent, far)) = parent {
                let distance = here - parent;
                if far {
                    if distance > FAR_MAX {
                        return None;
                    }
                    self.cells[parent] |= (distance as u32) << FAR_SHIFT;
                }
                if matches!(target, Target::Leaf(_)) {
                    self.cells[parent] |= if far { FAR_LEAF } else { NEAR_LEAF };
                }
            }
            match target {
                Target::Leaf(leaf) => {
                    let bits = tree.leaf_values()[leaf].to_bits();
                    self.cells.extend([bits as u32, (bits >> 32) as u32]);
                }
                Target::Node(node) => {
                    let Node { left, right, .. } = tree.node(node);
                    let flipped = tree.count(left) < tree.count(right);
                    let question = u32::from(self.numbers.question(number, node));
                    self.cells.push(question | if flipped { FLIPPED } else { 0 });
                    self.nodes += 1;
                    let (left_reach, right_reach) = split.unwrap_or_else(|| (Rc::clone(&reach), reach));
                    let left = Task { child: left, reach: left_reach, parent: Some((here, flipped)) };
                    let right = Task { child: right, reach: right_reach, parent: Some((here, !flipped)) };
                    // The near one is laid out next, so it goes on top.
                    tasks.extend(if flipped { [left, right] } else { [right, left] });
                }
            }
        }
        Some(())
    }

    /// Skips nodes that send all their lanes the same way because of the kernels alone. Returns the node or
    /// leaf, the lanes that can reach it, and those that can reach its left and right child if they differ.
    fn undecided(
        &self,
        number: usize,
        tree: &Tree,
        mut child: Child,
        reach: Reach,
    ) -> (Child, Reach, Option<(Reach, Reach)>) {
        while let Target::Node(node) = child.target() {
            let Some(yes) = self.answers.yes(self.numbers.question(number, node).into()) else { break };
            let Node { left, right, .. } = tree.node(node);
            let both: Reach = reach.iter().zip(yes.iter()).map(|(reach, yes)| reach & yes).collect();
            let rest: Reach = reach.iter().zip(yes.iter()).map(|(reach, yes)| reach & !yes).collect();
            if rest.iter().all(|&word| word == 0) {
                child = left;
            } else if both.iter().all(|&word| word == 0) {
                child = right;
            } else {
                return (child, reach, Some((both, rest)));
            }
        }
        (child, reach, None)
    }
}
