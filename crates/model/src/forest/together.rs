//! Up to [`TOGETHER`] rows down each tree at once: a node is evaluated once for all rows that reach it.
//!
//! Rows of one pool differ in few values, so most nodes send all of them the same way, and far fewer nodes
//! are evaluated than row by row. The sums are those of [`Forest::raw_score`]: the same leaf values, added in
//! the same order.

use super::Forest;
use super::node::{Child, Missing, Node, Split, Target};
use super::row::{goes_left, is_zero};
use super::tree::Tree;

/// Maximum number of rows per call.
pub(crate) const TOGETHER: usize = 32;

/// A number for each row.
pub(crate) type Values = [f64; TOGETHER];

impl Forest {
    /// The raw scores of the first `rows` rows. `columns` has the values of each feature, as many as the
    /// forest has; `waiting` is working memory.
    pub(crate) fn raw_scores(
        &self,
        columns: &mut [Values],
        rows: usize,
        waiting: &mut Vec<(Child, u32)>,
    ) -> Values {
        for value in columns.as_flattened_mut() {
            if is_zero(*value) {
                *value = 0.0;
            }
        }
        let all = (0..rows.min(TOGETHER)).fold(0, |set, row| set | 1 << row);
        let mut sums = [0.0; TOGETHER];
        for tree in &self.trees {
            let (mut child, mut set) = (tree.root(), all);
            loop {
                match child.target() {
                    Target::Node(node) => {
                        let node = tree.node(node);
                        let left = set & tree.left(&node, &columns[node.feature as usize]);
                        if left != 0 && left != set {
                            waiting.push((node.right, set & !left));
                            set = left;
                        }
                        child = if left == 0 { node.right } else { node.left };
                    }
                    Target::Leaf(leaf) => {
                        add(&mut sums, set, tree.leaf_values[leaf]);
                        let Some(next) = waiting.pop() else { break };
                        (child, set) = next;
                    }
                }
            }
        }
        sums
    }
}

impl Tree {
    /// The rows that go left from a node, one bit each.
    fn left(&self, node: &Node, values: &Values) -> u32 {
        match node.split {
            Split::Categorical { set } => which(values, |value| self.category_sets.contains(set, value)),
            Split::Numeric { threshold, missing, default_left } => {
                let threshold = threshold.get();
                // One loop per kind, without branches inside.
                match missing {
                    Missing::Never => {
                        which(values, |value| goes_left(value, threshold, Missing::Never, default_left))
                    }
                    Missing::Zero => {
                        which(values, |value| goes_left(value, threshold, Missing::Zero, default_left))
                    }
                    Missing::Nan => {
                        which(values, |value| goes_left(value, threshold, Missing::Nan, default_left))
                    }
                }
            }
        }
    }
}

/// Each as wide as a value, so that the compiler can vectorise.
const BITS: [u64; TOGETHER] = {
    let mut bits = [1; TOGETHER];
    let mut row = 1;
    while row < TOGETHER {
        bits[row] = bits[row - 1] << 1;
        row += 1;
    }
    bits
};

fn which(values: &Values, left: impl Fn(f64) -> bool) -> u32 {
    values.iter().zip(BITS).fold(0, |set, (&value, bit)| set | if left(value) { bit } else { 0 }) as u32
}

fn add(sums: &mut Values, mut set: u32, value: f64) {
    while set != 0 {
        sums[set.trailing_zeros() as usize] += value;
        set &= set - 1;
    }
}
