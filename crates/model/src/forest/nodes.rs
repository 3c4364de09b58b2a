//! The nodes of a tree, stored compactly.

use super::node::{Child, Missing, Node, Split, Threshold};

/// The inner nodes of one tree.
///
/// Most of a large forest is nodes, and nearly all trees have features and children whose numbers fit into
/// sixteen bits. That takes two thirds of the memory, and as much less to read for each row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Nodes {
    Narrow(Vec<Narrow>),
    Wide(Vec<Node>),
}

/// A [`Node`] with small numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Narrow {
    /// The threshold, or the set of a categorical split.
    value: Threshold,
    feature: u16,
    left: i16,
    right: i16,
    kind: Kind,
    default_left: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numeric(Missing),
    Categorical,
}

// The purpose of `Narrow`.
const _: () = assert!(size_of::<Narrow>() == 16);

impl Nodes {
    pub(super) fn new(nodes: Vec<Node>) -> Nodes {
        let mut narrow = Vec::with_capacity(nodes.len());
        for &node in &nodes {
            match Narrow::new(node) {
                Some(node) => narrow.push(node),
                None => return Nodes::Wide(nodes),
            }
        }
        Nodes::Narrow(narrow)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Nodes::Narrow(nodes) => nodes.len(),
            Nodes::Wide(nodes) => nodes.len(),
        }
    }

    /// One of the nodes. Panics if there is none of this index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Node {
        match self {
            Nodes::Narrow(nodes) => nodes[index].widened(),
            Nodes::Wide(nodes) => nodes[index],
        }
    }
}

impl Narrow {
    /// The same node, if its numbers are small enough.
    #[inline]
    fn new(node: Node) -> Option<Narrow> {
        let (value, kind, default_left) = match node.split {
            Split::Numeric { threshold, missing, default_left } => {
                (threshold, Kind::Numeric(missing), default_left)
            }
            Split::Categorical { set } => (Threshold::new(f64::from(set)), Kind::Categorical, false),
        };
        Some(Narrow {
            value,
            feature: node.feature.try_into().ok()?,
            left: node.left.0.try_into().ok()?,
            right: node.right.0.try_into().ok()?,
            kind,
            default_left,
        })
    }

    #[inline]
    fn widened(self) -> Node {
        let split = match self.kind {
            Kind::Numeric(missing) => {
                Split::Numeric { threshold: self.value, missing, default_left: self.default_left }
            }
            Kind::Categorical => Split::Categorical { set: self.value.get() as u32 },
        };
        Node {
            feature: self.feature.into(),
            split,
            left: Child(self.left.into()),
            right: Child(self.right.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(feature: u32, child: i32, split: Split) -> Node {
        Node { feature, split, left: Child(child), right: Child(!child) }
    }

    fn numeric(threshold: f64, missing: Missing, default_left: bool) -> Split {
        Split::Numeric { threshold: Threshold::new(threshold), missing, default_left }
    }

    #[test]
    fn nodes_are_what_they_were() {
        let splits = [
            numeric(-0.0, Missing::Never, false),
            numeric(f64::INFINITY, Missing::Zero, true),
            numeric(1.0 + f64::EPSILON, Missing::Nan, false),
            Split::Categorical { set: 0 },
            Split::Categorical { set: u32::MAX },
        ];
        for (feature, child, narrow) in
            [(0, 0, true), (65_535, 32_767, true), (65_536, 0, false), (0, 32_768, false)]
        {
            let all: Vec<_> = splits.iter().map(|&split| node(feature, child, split)).collect();
            let nodes = Nodes::new(all.clone());
            assert_eq!(matches!(nodes, Nodes::Narrow(_)), narrow, "{feature} {child}");
            assert_eq!(nodes.len(), all.len());
            for (index, node) in all.into_iter().enumerate() {
                // The debug form distinguishes the two zeros.
                assert_eq!(format!("{:?}", nodes.get(index)), format!("{node:?}"));
            }
        }
    }

    #[test]
    fn one_wide_node_makes_all_of_a_tree_wide() {
        let split = numeric(1.0, Missing::Never, false);
        assert!(matches!(Nodes::new(vec![node(0, 0, split), node(1 << 20, 0, split)]), Nodes::Wide(_)));
    }
}
