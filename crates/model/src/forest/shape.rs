//! Proof that the nodes of a tree form a tree.

use super::error::ForestError;
use super::fields::Fields;
use super::node::{Child, Node, Target};

/// The maximum number of nodes on a path from the root to a leaf, or where the nodes are not a tree: each
/// node and each leaf must be reachable from the root in exactly one way. Children must already be in range.
///
/// Pending nodes are in a list, not on the call stack, since a text may contain a chain of any length.
pub(super) fn depth(fields: &Fields<'_>, nodes: &[Node]) -> Result<usize, ForestError> {
    if nodes.is_empty() {
        return Ok(0);
    }
    let mut seen_nodes = vec![false; nodes.len()];
    let mut seen_leaves = vec![false; nodes.len() + 1];
    let mut depth = 0;
    let mut waiting = vec![(0, 1)];
    seen_nodes[0] = true;
    while let Some((index, level)) = waiting.pop() {
        depth = depth.max(level);
        let mut follow = |key, child: Child| {
            let (seen, target) = match child.target() {
                Target::Node(node) => (&mut seen_nodes[node], Some(node)),
                Target::Leaf(leaf) => (&mut seen_leaves[leaf], None),
            };
            if std::mem::replace(seen, true) {
                return Err(twice(fields, key, index, child));
            }
            waiting.extend(target.map(|node| (node, level + 1)));
            Ok(())
        };
        follow("left_child", nodes[index].left)?;
        follow("right_child", nodes[index].right)?;
    }
    // n nodes that are each reached once lead to n + 1 leaves: if no node is left over, no leaf is.
    match seen_nodes.iter().position(|seen| !seen) {
        Some(node) => {
            let position = fields.need("left_child")?.position.index(node);
            Err(position.error("belongs to a node that is unreachable from the root"))
        }
        None => Ok(depth),
    }
}

fn twice(fields: &Fields<'_>, key: &'static str, index: usize, child: Child) -> ForestError {
    let target = match child.target() {
        Target::Node(node) => format!("node {node}"),
        Target::Leaf(leaf) => format!("leaf {leaf}"),
    };
    match fields.need(key) {
        Ok(field) => {
            let reason = format!("leads to {target} a second time, expected one path to each node and leaf");
            field.position.index(index).error(reason)
        }
        Err(missing) => missing,
    }
}
