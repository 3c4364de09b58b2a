//! What a call costs, apart from time.

use std::collections::HashSet;

use super::compile::cells::CELL;
use super::scratch::Scratch;

/// What a call visits: the same on every machine, so that tests and documents can rely on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Nodes visited.
    pub nodes: usize,
    /// Leaves reached.
    pub leaves: usize,
    /// Cache lines of 64 bytes with nodes and leaves that are read.
    pub lines: usize,
}

impl Work {
    /// Adds the nodes of a batch's queue and its leaf list, of these lengths.
    pub(super) fn count(&mut self, scratch: &Scratch, (nodes, leaves): (usize, usize)) {
        let (nodes, leaves) = (&scratch.node_at[..nodes], &scratch.leaf_at[..leaves]);
        let cells = nodes.iter().chain(leaves).map(|place| place & CELL);
        let ends = leaves.iter().map(|place| (place & CELL) + 1);
        let lines: HashSet<u32> = cells.chain(ends).map(|cell| cell / 16).collect();
        self.nodes += nodes.len();
        self.leaves += leaves.len();
        self.lines += lines.len();
    }
}
