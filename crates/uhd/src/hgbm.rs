//! The artifact of `tree_data`: trees in a `FlatBuffer` that is called `HGBM`.

use std::collections::HashSet;

use ck_select_types::problem::InvalidField;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, Vector, WIPOffset};

use crate::flat::{self, slot};
use crate::require;

/// The largest artifact that hipDNN loads.
pub(crate) const MAX_BYTES: u64 = 256 << 20;
const IDENTIFIER: &str = "HGBM";

/// A node of a tree. A walk begins at the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// A leaf with the value that the tree adds to the sum.
    Leaf(f64),
    /// A question about a feature.
    Split(Split),
}

/// A question about a feature.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Split {
    /// The feature, as an index into a row.
    pub feature: u32,
    /// The number that the feature's value is compared with; finite.
    pub threshold: f64,
    /// Whether only smaller values go left; otherwise equal ones do, too.
    pub less: bool,
    /// Whether NaN goes left.
    pub default_left: bool,
    /// The child for yes and the child for no.
    pub children: [u32; 2],
}

impl Node {
    pub(crate) fn split(&self) -> Option<&Split> {
        if let Self::Split(split) = self { Some(split) } else { None }
    }
}

/// A tree. Nodes may be the children of several others, but never their own descendants.
pub type Tree = Vec<Node>;

/// A checked artifact.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hgbm {
    /// The trees, in the order in which their values are added.
    pub trees: Vec<Tree>,
    /// The number of values of a row.
    pub num_features: u32,
    /// The descriptor's `features_hash`.
    pub features_hash: String,
    /// The number that is added to the trees' sum.
    pub base_score: f64,
    /// The architectures of the measurements.
    pub training_arches: Vec<String>,
    /// How many groups of kernels have trees of their own; these are checked and not kept.
    pub groups: usize,
}

/// Counts of nodes in an artifact, some of which LightGBM's trees cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeCounts {
    /// All nodes.
    pub nodes: usize,
    /// Nodes that are children of several nodes.
    pub shared: usize,
    /// Splits that send only smaller values left.
    pub less: usize,
}

impl Hgbm {
    /// Reads a file, and refuses what hipDNN refuses.
    pub fn read(bytes: &[u8]) -> Result<Self, InvalidField> {
        let is_size = (8..=MAX_BYTES).contains(&(bytes.len() as u64));
        require(is_size, "file", format_args!("{} bytes", bytes.len()), "8 bytes to 256 MiB")?;
        let root = flat::root(bytes, IDENTIFIER)?;
        let (features, by, base_score) = (root.num_features(), root.group_by(), root.base_score());
        require(features >= 0, "num_features", features, "0 or more")?;
        // The loader's bound on nodes, which also bounds what is read of tables that are named many times.
        let mut left = bytes.len() / 4;
        let mut read = |trees: Vector<'_, ForwardsUOffset<flat::Tree<'_>>>, what: &str| {
            let trees = trees.iter().enumerate();
            trees.map(|(at, tree)| read_tree(&tree, features, &mut left, &format!("{what} {at}"))).collect()
        };
        let trees: Result<Vec<Tree>, InvalidField> = read(root.trees(), "tree");
        let (trees, mut values) = (trees?, HashSet::new());
        for group in root.groups() {
            let (group_path, value) = (format!("group {}", values.len()), group.value());
            // Both zeros are one value.
            let is_new = value.is_finite() && values.insert((value + 0.0).to_bits());
            require(is_new, &group_path, value, "a finite value that no other group has")?;
            read(group.trees(), &format!("{group_path}: tree"))?;
        }
        let groups = values.len();
        let is_grouped_by = groups == 0 || (0..features).contains(&by);
        let expected = format_args!("a feature below {features}");
        require(is_grouped_by, "group_by_feature_index", by, expected)?;
        require(base_score.is_finite(), "base_score", base_score, "a finite number")?;
        let num_features = features as u32;
        let features_hash = root.features_hash().to_owned();
        let training_arches = root.training_arches().iter().map(str::to_owned).collect();
        Ok(Self { trees, num_features, features_hash, base_score, training_arches, groups })
    }

    /// The bytes of the file; groups are not written.
    pub fn write(&self) -> Result<Vec<u8>, InvalidField> {
        let mut to = FlatBufferBuilder::new();
        let trees: Vec<_> = self.trees.iter().map(|tree| write_tree(&mut to, tree)).collect();
        let arches: Vec<_> = self.training_arches.iter().map(|arch| to.create_string(arch)).collect();
        let (trees, arches) = (to.create_vector(&trees), to.create_vector(&arches));
        let (hash, framework) = (to.create_string(&self.features_hash), to.create_string("lightgbm"));
        let root = to.start_table();
        to.push_slot_always(slot(3), self.base_score);
        to.push_slot_always(slot(0), trees);
        to.push_slot_always(slot(1), self.num_features as i32);
        to.push_slot_always(slot(2), hash);
        to.push_slot_always(slot(5), framework);
        to.push_slot_always(slot(9), arches);
        let root = to.end_table(root);
        to.finish(root, Some(IDENTIFIER));
        let bytes = to.finished_data().to_vec();
        // A model that is too large, or has too many trees, is loaded nowhere.
        require(Self::read(&bytes)? == *self, "file", "other trees", "those that were written")?;
        Ok(bytes)
    }

    /// The counts of the nodes of its trees.
    pub fn shape(&self) -> TreeCounts {
        let parents = self.trees.iter().flat_map(|tree| parents(tree));
        let splits = self.trees.iter().flatten().filter_map(Node::split);
        TreeCounts {
            nodes: self.trees.iter().map(Vec::len).sum(),
            shared: parents.filter(|&parents| parents > 1).count(),
            less: splits.filter(|split| split.less).count(),
        }
    }
}

fn write_tree(to: &mut FlatBufferBuilder<'_>, tree: &Tree) -> WIPOffset<TableFinishedWIPOffset> {
    let leaf = Split { children: [u32::MAX; 2], ..Split::default() };
    let splits: Vec<Split> = tree.iter().map(|node| node.split().copied().unwrap_or(leaf)).collect();
    let value = |node: &Node| if let Node::Leaf(value) = *node { value } else { 0.0 };
    let ints: [fn(&Split) -> u32; 3] = [|one| one.feature, |one| one.children[0], |one| one.children[1]];
    let ints = ints.map(|of| to.create_vector(&splits.iter().map(|one| of(one) as i32).collect::<Vec<_>>()));
    let numbers =
        [splits.iter().map(|one| one.threshold).collect::<Vec<_>>(), tree.iter().map(value).collect()];
    let numbers = numbers.map(|list| to.create_vector(&list));
    let flags: [fn(&Split) -> bool; 2] = [|one| one.default_left, |one| !one.less];
    let flags = flags.map(|of| to.create_vector(&splits.iter().map(of).collect::<Vec<_>>()));
    let table = to.start_table();
    [0, 2, 3].into_iter().zip(ints).for_each(|(id, list)| to.push_slot_always(slot(id), list));
    [1, 4].into_iter().zip(numbers).for_each(|(id, list)| to.push_slot_always(slot(id), list));
    [5, 6].into_iter().zip(flags).for_each(|(id, list)| to.push_slot_always(slot(id), list));
    WIPOffset::new(to.end_table(table).value())
}

/// Reads a tree of at most `left` nodes.
fn read_tree(
    table: &flat::Tree<'_>,
    num_features: i32,
    left: &mut usize,
    path: &str,
) -> Result<Tree, InvalidField> {
    let (lefts, rights, features) = (table.lefts(), table.rights(), table.features());
    let (thresholds, leaves) = (table.thresholds(), table.leaves());
    let (default_left, lte) = (table.default_left(), table.lte());
    let count = lefts.len();
    let expected = "one at least, and no more than fit into the file";
    require((1..=*left).contains(&count), path, format_args!("{count} nodes"), expected)?;
    *left -= count;
    let is_whole = [rights.len(), features.len(), thresholds.len()] == [count; 3]
        && [0, count].contains(&lte.len())
        && default_left.len() <= count;
    let expected = format_args!("{count} nodes in each");
    require(is_whole, path, "lists of different lengths", expected)?;
    let node = |at: usize| {
        let path = format_args!("{path}, node {at}");
        let children = [lefts.get(at), rights.get(at)];
        if children[0] == -1 {
            let leaf = if at < leaves.len() { leaves.get(at) } else { f64::NAN };
            let found = format_args!("the leaf value {leaf}");
            require(leaf.is_finite(), path, found, "a finite number")?;
            return Ok(Node::Leaf(leaf));
        }
        let is_inside = children.iter().all(|&child| (0..count as i64).contains(&child.into()));
        let found = format_args!("the children {children:?}");
        require(is_inside, path, found, format_args!("-1, or nodes below {count}"))?;
        let (feature, threshold) = (features.get(at), thresholds.get(at));
        let is_feature = (0..num_features).contains(&feature);
        let found = format_args!("feature {feature}");
        require(is_feature, path, found, format_args!("one below {num_features}"))?;
        let found = format_args!("the threshold {threshold}");
        require(threshold.is_finite(), path, found, "a finite number")?;
        let less = at < lte.len() && !lte.get(at);
        let default_left = at < default_left.len() && default_left.get(at);
        let children = children.map(|child| child as u32);
        Ok(Node::Split(Split { feature: feature as u32, threshold, less, default_left, children }))
    };
    let nodes = (0..count).map(node).collect::<Result<Vec<_>, _>>()?;
    require(!has_cycle(&nodes), path, "a cycle", "nodes that are not their own descendants")?;
    Ok(nodes)
}

/// The number of parents of each node.
fn parents(tree: &[Node]) -> Vec<u32> {
    let mut parents = vec![0; tree.len()];
    for child in tree.iter().filter_map(Node::split).flat_map(|split| split.children) {
        parents[child as usize] += 1;
    }
    parents
}

/// Whether nodes are left when those without parents are taken away again and again.
fn has_cycle(tree: &[Node]) -> bool {
    let mut parents = parents(tree);
    let mut free: Vec<usize> = (0..tree.len()).filter(|&node| parents[node] == 0).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for child in tree[node].split().into_iter().flat_map(|split| split.children) {
            parents[child as usize] -= 1;
            free.extend((parents[child as usize] == 0).then_some(child as usize));
        }
    }
    taken != tree.len()
}
