//! Proof that the nodes of a tree form a tree.

use super::error::ForestError;
use super::fields::Fields;
use super::node::{Child, Node, Target};

/// The maximum number of nodes on a path from the root to a leaf, or where the nodes are not a tree: each
/// node and each leaf must be reachable from the root in exactly one way. Children must already be in range.
pub(super) fn depth(fields: &Fields<'_>, nodes: &[Node]) -> Result<usize, ForestError> {
    if nodes.is_empty() {
        return Ok(0);
    }
    depth_in_order(nodes).map_or_else(|| depth_in_any_order(fields, nodes), Ok)
}

/// The same in one pass, for nodes that all come after their parents, as LightGBM writes them; `None` for
/// others.
fn depth_in_order(nodes: &[Node]) -> Option<usize> {
    let leaves = nodes.len() + 1;
    // Levels of the leaves, last one first, and then of the nodes, so that no branch depends on what a child
    // is.
    let mut levels = vec![0u32; leaves + nodes.len()];
    levels[leaves] = 1;
    let (mut depth, mut in_order) = (1, true);
    for (index, node) in nodes.iter().enumerate() {
        // Zero: its parent comes after it, or it has none.
        let level = levels[leaves + index];
        in_order &= level != 0;
        depth = depth.max(level);
        for child in [node.left, node.right] {
            let before =
                std::mem::replace(&mut levels[leaves.wrapping_add_signed(child.0 as isize)], level + 1);
            in_order &= before == 0;
        }
    }
    in_order.then_some(depth as usize)
}

/// The same for nodes in any order.
///
/// Pending nodes are in a list, not on the call stack, since a text may contain a chain of any length.
fn depth_in_any_order(fields: &Fields<'_>, nodes: &[Node]) -> Result<usize, ForestError> {
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
            let place = fields.need("left_child")?.place.index(node);
            Err(place.error("belongs to a node that is unreachable from the root"))
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
            field.place.index(index).error(reason)
        }
        Err(missing) => missing,
    }
}
