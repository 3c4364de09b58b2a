//! One tree, as the walk reads it.

use super::categories::CategorySets;
use super::node::{Child, Node, Target};

/// One tree of a forest. All indices of children, features and category sets are valid: the parser checks
/// them once, and a tree is immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) leaf_values: Vec<f64>,
    pub(super) category_sets: CategorySets,
    pub(super) internal_values: Vec<f64>,
    pub(super) gains: Vec<f32>,
    pub(super) internal_counts: Vec<i32>,
    pub(super) leaf_counts: Vec<i32>,
    pub(super) depth: usize,
}

impl Tree {
    /// The start of a walk: the first node, or the only leaf.
    pub fn root(&self) -> Child {
        Child(if self.nodes.is_empty() { !0 } else { 0 })
    }

    /// The inner nodes, in the text's order; one fewer than the leaves.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node> {
        self.nodes.iter().copied()
    }

    /// One of the inner nodes.
    ///
    /// # Panics
    ///
    /// If there is no such node; a [`Target`](super::Target) of the same tree always names one.
    #[inline]
    pub fn node(&self, index: usize) -> Node {
        self.nodes[index]
    }

    /// The value that each leaf adds to the sum; all finite.
    pub fn leaf_values(&self) -> &[f64] {
        &self.leaf_values
    }

    /// The sets that categorical nodes ask about.
    pub fn category_sets(&self) -> &CategorySets {
        &self.category_sets
    }

    /// The value that each inner node would add if it were a leaf, with the six digits that LightGBM writes; zeros if
    /// the text has none.
    pub fn internal_values(&self) -> &[f64] {
        &self.internal_values
    }

    /// How much each split lowered the loss; zeros if the text has none.
    pub fn gains(&self) -> &[f32] {
        &self.gains
    }

    /// How many training rows reached each inner node; zeros if the text has none.
    pub fn internal_counts(&self) -> &[i32] {
        &self.internal_counts
    }

    /// How many training rows reached each leaf; zeros if the text has none.
    pub fn leaf_counts(&self) -> &[i32] {
        &self.leaf_counts
    }

    /// How many training rows reached a child.
    pub(crate) fn count(&self, child: Child) -> i32 {
        match child.target() {
            Target::Node(node) => self.internal_counts[node],
            Target::Leaf(leaf) => self.leaf_counts[leaf],
        }
    }

    /// The maximum number of nodes on a path from the root to a leaf; 0 for a tree that is one leaf.
    pub fn depth(&self) -> usize {
        self.depth
    }
}
