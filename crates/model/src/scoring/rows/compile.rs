//! A forest for rows: trees as nodes of six bytes, and the steps of its questions.
//!
//! A tree of more than [`LEAVES`] leaves becomes several parts, each the whole tree without some of its
//! leaves. A row that ends at a missing one has 0 added, which changes no sum: no sum is -0, because it
//! begins with 0.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::forest::{Forest, Node as Split, Target, Tree};
use crate::isa::Isa;
use crate::scoring::compile::ladder::{Ladders, Numbers};
use crate::scoring::compile::lanes::Column;
use crate::scoring::compile::stair::Stair;
use crate::scoring::narrow::NarrowEvaluator;
use crate::scoring::single::Walks;
use crate::scoring::unchecked::get;

/// Leaves of a part: their numbers are bytes.
pub(super) const LEAVES: usize = 256;

/// A node: its question (in a pruned part the number of its mask), and its children. These are slots: a
/// leaf's is its number, a node's follows those of [`LEAVES`] leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    question: u16,
    children: [u16; 2],
}

/// The indices of a node's children by the answer.
pub(super) const YES: usize = 0;
pub(super) const NO: usize = 1;

impl Node {
    const fn new(question: u16) -> Node {
        Node { question, children: [0; 2] }
    }

    #[inline(always)]
    pub(super) const fn question(self) -> usize {
        self.question as usize
    }

    /// The child for [`YES`] or [`NO`].
    #[inline(always)]
    pub(super) const fn child(self, answer: usize) -> u16 {
        self.children[answer]
    }
}

/// A tree, or a part of one. Nodes come before their children.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// The indices of the part's first node and leaf value in the lists of all; the next part's follow.
    pub(super) nodes: u32,
    pub(super) values: u32,
    /// Whether leaf 0 stands for those that are missing.
    pub(super) is_cut: bool,
}

/// Parts in the order of the trees.
#[derive(Debug, Default)]
pub(super) struct TreeParts {
    /// And one after the last.
    list: Vec<Part>,
    pub(super) nodes: Vec<Node>,
    pub(super) values: Vec<f64>,
    /// Nodes of the largest part.
    pub(super) most_nodes: usize,
}

/// One part of [`TreeParts`].
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) values: &'a [f64],
    pub(super) is_cut: bool,
}

impl TreeParts {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.list.push(Part::default());
        self.nodes.clear();
        self.values.clear();
        self.most_nodes = 0;
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len() - 1
    }

    /// Ends a part with the nodes and values that were added after the one before.
    #[inline(always)]
    fn end(&mut self, is_cut: bool) {
        let last = self.list.len() - 1;
        self.list[last].is_cut = is_cut;
        self.most_nodes = self.most_nodes.max(self.nodes.len() - self.list[last].nodes as usize);
        self.list.push(Part {
            nodes: self.nodes.len() as u32,
            values: self.values.len() as u32,
            is_cut: false,
        });
    }

    #[inline(always)]
    pub(super) fn part(&self, part: usize) -> Part {
        self.list[part]
    }

    #[inline(always)]
    pub(super) fn get(&self, part: usize) -> View<'_> {
        let (part, next) = (&self.list[part], &self.list[part + 1]);
        let nodes = &self.nodes[part.nodes as usize..next.nodes as usize];
        let values = &self.values[part.values as usize..next.values as usize];
        View { nodes, values, is_cut: part.is_cut }
    }
}

/// A number that no other forest has; not 0.
fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// A forest for rows.
#[derive(Debug)]
pub(super) struct Compiled {
    /// No other forest's.
    pub(super) number: u64,
    pub(super) parts: TreeParts,
    /// The first part of each tree, and the number of parts.
    pub(super) starts: Vec<u32>,
    pub(super) stairs: Vec<Stair>,
    pub(super) questions: usize,
    /// How many nodes ask the questions before each one.
    asked_before: Vec<u32>,
    /// All trees once more: if they are small, and for one row.
    pub(super) small: Option<NarrowEvaluator>,
    pub(super) walks: Option<Walks>,
}

impl Compiled {
    /// `None` if there are more questions or nodes than numbers for them.
    pub(super) fn new(forest: &Forest, isa: Isa) -> Option<Compiled> {
        let (ladders, numbers) = Ladders::new(forest, &vec![Column::Pair; forest.num_features()])?;
        let small = NarrowEvaluator::small(forest, &ladders, &numbers, isa);
        let (questions, stairs) = (ladders.questions, Stair::all(ladders));
        let (mut parts, mut starts) = (TreeParts::default(), Vec::with_capacity(forest.trees().len() + 1));
        parts.clear();
        for (number, tree) in forest.trees().iter().enumerate() {
            starts.push(parts.len() as u32);
            Layout { tree, number, numbers: &numbers, parts: &mut parts }.all()?;
        }
        starts.push(parts.len() as u32);
        let walks = Walks::new(forest, &numbers, questions, |_| None);
        u32::try_from(parts.nodes.len().max(parts.values.len())).ok()?;
        u16::try_from(questions + usize::from(SOME)).ok()?;
        let mut asked_before = vec![0; questions + 1];
        for node in &parts.nodes {
            asked_before[node.question() + 1] += 1;
        }
        (0..questions).for_each(|question| asked_before[question + 1] += asked_before[question]);
        Some(Compiled { number: number(), parts, starts, stairs, questions, asked_before, small, walks })
    }

    /// How many nodes ask a stair's questions.
    #[inline(always)]
    pub(super) fn nodes_of(&self, stair: &Stair) -> usize {
        (self.asked_before[stair.questions.end] - self.asked_before[stair.questions.start]) as usize
    }

    /// The parts of some trees.
    #[inline(always)]
    pub(super) fn parts_of(&self, trees: Range<usize>) -> Range<usize> {
        self.starts[trees.start] as usize..self.starts[trees.end] as usize
    }

    /// The number of nodes that send all rows the same way, given the least and greatest position in each
    /// stair.
    pub(super) fn shared_nodes(&self, ranges: &[(u8, u8)]) -> usize {
        let before = |question: usize| self.asked_before[question] as usize;
        let shared = self.stairs.iter().zip(ranges).map(|(stair, &(least, most))| {
            let Range { start, end } = stair.questions;
            before(start + usize::from(least)) - before(start) + before(end)
                - before(start + usize::from(most))
        });
        shared.sum()
    }
}

struct Layout<'a> {
    tree: &'a Tree,
    number: usize,
    numbers: &'a Numbers,
    parts: &'a mut TreeParts,
}

impl Layout<'_> {
    fn all(&mut self) -> Option<()> {
        let leaves = self.tree.leaf_values().len();
        if leaves <= LEAVES {
            return self.part(0, leaves);
        }
        let each = LEAVES - 1;
        (0..leaves).step_by(each).try_for_each(|first| self.part(first, (leaves - first).min(each)))
    }

    /// The tree with only some of its leaves, counted in the order of the layout.
    fn part(&mut self, first: usize, count: usize) -> Option<()> {
        let (start, values) = (self.parts.nodes.len(), self.parts.values.len());
        let is_cut = count < self.tree.leaf_values().len();
        self.parts.values.extend(is_cut.then_some(0.0));
        let mut leaves = 0;
        let mut tasks = vec![(self.tree.root(), None)];
        while let Some((child, parent)) = tasks.pop() {
            let slot = match child.target() {
                Target::Leaf(leaf) => {
                    leaves += 1;
                    if (first..first + count).contains(&(leaves - 1)) {
                        self.parts.values.push(self.tree.leaf_values()[leaf]);
                        self.parts.values.len() - values - 1
                    } else {
                        0
                    }
                }
                Target::Node(node) => {
                    let Split { left, right, .. } = self.tree.node(node);
                    let here = self.parts.nodes.len();
                    let question = self.numbers.question(self.number, node);
                    self.parts.nodes.push(Node::new(question));
                    // The child that more training rows went to is next.
                    let both = [(left, Some((here, YES))), (right, Some((here, NO)))];
                    let flipped = self.tree.count(left) < self.tree.count(right);
                    tasks.extend(if flipped { both } else { [both[1], both[0]] });
                    LEAVES + here - start
                }
            };
            let slot = u16::try_from(slot).ok()?;
            if let Some((parent, answer)) = parent {
                self.parts.nodes[parent].children[answer] = slot;
            }
        }
        self.parts.end(is_cut);
        Some(())
    }
}

/// Codes of questions: all rows answer no, all answer yes, or answers differ; then the code is this one plus the
/// number of the question's mask.
pub(in crate::scoring) const NOBODY: u16 = 0;
pub(in crate::scoring) const EVERYBODY: u16 = 1;
pub(in crate::scoring) const SOME: u16 = 2;

impl TreeParts {
    /// Appends a part without the nodes that send all rows the same way. `tasks` is working memory.
    #[inline(always)]
    pub(super) fn add_pruned(&mut self, part: View<'_>, codes: &[u16], tasks: &mut Vec<(u16, u32, usize)>) {
        const NOWHERE: u32 = u32::MAX;
        let (start, values) = (self.nodes.len(), self.values.len());
        if part.is_cut {
            self.values.push(0.0);
        }
        tasks.push((if part.nodes.is_empty() { 0 } else { LEAVES as u16 }, NOWHERE, 0));
        while let Some((mut slot, parent, answer)) = tasks.pop() {
            let here = self.nodes.len();
            while let Some(node) = usize::from(slot).checked_sub(LEAVES) {
                // SAFETY: slots are of this part's nodes and leaves, and questions of this forest, of which
                // there are as many as codes.
                let node = unsafe { get(part.nodes, node) };
                // SAFETY: as before.
                let code = unsafe { get(codes, node.question()) };
                if code >= SOME {
                    self.nodes.push(Node::new(code - SOME));
                    tasks.push((node.child(NO), here as u32, NO));
                    tasks.push((node.child(YES), here as u32, YES));
                    break;
                }
                slot = node.child(if code == EVERYBODY { YES } else { NO });
            }
            let slot = if self.nodes.len() > here {
                LEAVES + here - start
            } else if part.is_cut && slot == 0 {
                0
            } else {
                self.values.push(part.values[usize::from(slot)]);
                self.values.len() - values - 1
            };
            if parent != NOWHERE {
                self.nodes[parent as usize].children[answer] = slot as u16;
            } else if slot < LEAVES {
                // All rows end at the same leaf, and none at the missing ones.
                self.values.drain(values..values + slot);
            }
        }
        self.end(part.is_cut);
    }
}
