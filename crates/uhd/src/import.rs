//! Trees that compare one number as LightGBM's text: what its splits cannot express is refused.
//!
//! Nodes with several parents are LightGBM's only in the forms that [`Hgbm::of_forest`] writes: sets of
//! categories, and zero that is missing. Others are never copied, since they may stand for exponentially
//! many.

use std::fmt::{Display, Write as _};

use ck_select_model::forest::{MAX_VALUE, ZERO_THRESHOLD};
use ck_select_types::problem::InvalidField;

use crate::hgbm::{Hgbm, Node};
use crate::refused;

const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
const ZERO_MISSING: u8 = 4;
const NAN_MISSING: u8 = 8;
/// Categories that LightGBM's sets may have here; a set takes a bit for each below its largest.
const MAX_CATEGORY: f64 = 4096.0;

/// One of LightGBM's splits.
struct Split {
    feature: u32,
    decision: u8,
    threshold: f64,
    /// Runs of categories, first and end.
    set: Vec<(u32, u32)>,
    children: [u32; 2],
}

/// The lists of one tree.
#[derive(Default)]
struct Lists {
    features: Vec<u32>,
    thresholds: Vec<f64>,
    decisions: Vec<u8>,
    children: [Vec<i64>; 2],
    leaves: Vec<f64>,
    bounds: Vec<usize>,
    words: Vec<u32>,
}

impl Hgbm {
    /// The text of a LightGBM model with this objective and these names of its features. Its raw scores have
    /// the artifact's bits for rows without values up to 1e-35 other than zero, which are zero to LightGBM.
    pub fn to_text(&self, objective: &str, names: &[String]) -> Result<String, InvalidField> {
        if names.is_empty() || names.len() != self.num_features as usize {
            return refused("num_features", self.num_features, &format!("{}, the names", names.len()));
        }
        if self.groups > 0 {
            return refused("groups", self.groups, "none: LightGBM has one forest for all kernels");
        }
        let mut text = format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
             objective={objective}\nfeature_names={}\nfeature_infos={}\n",
            names.len() - 1,
            names.join(" "),
            vec!["none"; names.len()].join(" ")
        );
        let base = [Node::Leaf(self.base_score)];
        let base = (self.base_score != 0.0).then_some(&base[..]);
        let trees = self.trees.iter().map(Vec::as_slice).chain(base);
        for (number, tree) in trees.enumerate() {
            lists(tree, number)?.write(&mut text, number);
        }
        text.push_str("\nend of trees\n");
        Ok(text)
    }
}

fn lists(tree: &[Node], number: usize) -> Result<Lists, InvalidField> {
    let mut lists = Lists::default();
    let mut seen = vec![false; tree.len()];
    let mut skips: Vec<u32> = (0..tree.len() as u32).collect();
    // A node, and where its number goes.
    let mut waiting = vec![(0, None)];
    while let Some((node, parent)) = waiting.pop() {
        let node = skipped(tree, node, &mut skips);
        let child = match tree[node as usize] {
            Node::Leaf(value) if value.abs() > MAX_VALUE => {
                return refused(format!("tree {number}, node {node}"), value, "a leaf of 1e290 at most");
            }
            Node::Leaf(value) => {
                lists.leaves.push(value);
                -(lists.leaves.len() as i64)
            }
            Node::Split { .. } if std::mem::replace(&mut seen[node as usize], true) => {
                let expected = "one, or a form of LightGBM's: a set of categories, or zero that is missing";
                return refused(format!("tree {number}, node {node}"), "several parents", expected);
            }
            Node::Split { feature, threshold, less, default_left, children } => {
                let split = categorical(tree, node).or_else(|| zero_missing(tree, node)).unwrap_or(Split {
                    feature,
                    decision: NAN_MISSING | if default_left { DEFAULT_LEFT } else { 0 },
                    threshold: if less { threshold.next_down() } else { threshold },
                    set: Vec::new(),
                    children,
                });
                let own = lists.features.len();
                // The left child is numbered first.
                waiting.extend([(split.children[1], Some((own, 1))), (split.children[0], Some((own, 0)))]);
                lists.push(split);
                own as i64
            }
        };
        if let Some((parent, side)) = parent {
            lists.children[side][parent] = child;
        }
    }
    Ok(lists)
}

/// The first node from this one on that has two different children. `skips` has what is known of it, so that
/// no way is taken twice.
fn skipped(tree: &[Node], start: u32, skips: &mut [u32]) -> u32 {
    let next = |node: u32, skips: &[u32]| match tree[node as usize] {
        Node::Split { children: [left, right], .. } if left == right => skips[left as usize],
        _ => node,
    };
    let (mut node, mut way) = (start, Vec::new());
    while next(node, skips) != node {
        way.push(node);
        node = next(node, skips);
    }
    for passed in way {
        skips[passed as usize] = node;
    }
    node
}

/// Nodes that send zero and NaN to one side of a comparison.
fn zero_missing(tree: &[Node], node: u32) -> Option<Split> {
    let [below, zero] = question(tree, node, -ZERO_THRESHOLD, true, false)?;
    let [default, above] = question(tree, zero, ZERO_THRESHOLD, false, true)?;
    let Node::Split { feature, threshold, less: false, children, .. } = tree[below as usize] else {
        return None;
    };
    let is_one =
        feature == feature_of(tree, node)? && Some(feature) == feature_of(tree, zero) && above == below;
    let default_left = children[0] == default;
    (is_one && (default_left || children[1] == default)).then(|| Split {
        feature,
        decision: ZERO_MISSING | if default_left { DEFAULT_LEFT } else { 0 },
        threshold,
        set: Vec::new(),
        children,
    })
}

fn feature_of(tree: &[Node], node: u32) -> Option<u32> {
    match tree[node as usize] {
        Node::Split { feature, .. } => Some(feature),
        Node::Leaf(_) => None,
    }
}

/// The children of a node with this question.
fn question(tree: &[Node], node: u32, at: f64, is_less: bool, nan_left: bool) -> Option<[u32; 2]> {
    match tree[node as usize] {
        Node::Split { threshold, less, default_left, children, .. }
            if threshold == at && less == is_less && default_left == nan_left =>
        {
            Some(children)
        }
        _ => None,
    }
}

/// A chain of bounds that leads to one of two children, by turns.
fn categorical(tree: &[Node], node: u32) -> Option<Split> {
    let bound = |node: u32| match tree[node as usize] {
        Node::Split { feature, threshold, less, children, .. } if less || threshold == -1.0 => {
            let is_first = !less && threshold == -1.0;
            let category = if is_first { 0.0 } else { threshold };
            let is_category =
                category.fract() == 0.0 && (is_first || (1.0..=MAX_CATEGORY).contains(&category));
            is_category.then_some((feature, category as u32, is_first, children))
        }
        _ => None,
    };
    let (feature, mut first, _, [right, mut next]) = bound(node)?;
    let Node::Split { default_left: true, .. } = tree[node as usize] else { return None };
    let (mut set, mut left) = (Vec::new(), None);
    loop {
        let (of, end, is_first, [inside, after]) = bound(next)?;
        let is_left = *left.get_or_insert(inside) == inside && inside != right;
        if of != feature || end <= first || is_first || !is_left {
            return None;
        }
        set.push((first, end));
        if after == right {
            let children = [inside, right];
            return Some(Split { feature, decision: CATEGORICAL, threshold: 0.0, set, children });
        }
        let (of, begin, is_first, [outside, inner]) = bound(after)?;
        if of != feature || begin <= end || is_first || outside != right {
            return None;
        }
        (first, next) = (begin, inner);
    }
}

impl Lists {
    fn push(&mut self, split: Split) {
        let is_set = split.decision == CATEGORICAL;
        self.features.push(split.feature);
        self.decisions.push(split.decision);
        let set = self.bounds.len().saturating_sub(1) as f64;
        self.thresholds.push(if is_set { set } else { split.threshold });
        self.children.iter_mut().for_each(|side| side.push(0));
        if is_set {
            if self.bounds.is_empty() {
                self.bounds.push(0);
            }
            let start = self.words.len();
            let end = split.set.last().map_or(0, |&(_, end)| end.div_ceil(32) as usize);
            self.words.resize(start + end, 0);
            for category in split.set.into_iter().flat_map(|(first, end)| first..end) {
                self.words[start + category as usize / 32] |= 1 << (category % 32);
            }
            self.bounds.push(self.words.len());
        }
    }

    fn write(&self, text: &mut String, number: usize) {
        let sets = self.bounds.len().saturating_sub(1);
        // Writing to a string cannot fail.
        let _ = write!(text, "\nTree={number}\nnum_leaves={}\nnum_cat={sets}\n", self.leaves.len());
        if !self.features.is_empty() {
            list(text, "split_feature", &self.features);
            list(text, "threshold", self.thresholds.iter().map(|threshold| format!("{threshold:e}")));
            list(text, "decision_type", &self.decisions);
            list(text, "left_child", &self.children[0]);
            list(text, "right_child", &self.children[1]);
        }
        list(text, "leaf_value", self.leaves.iter().map(|value| format!("{value:e}")));
        if sets > 0 {
            list(text, "cat_boundaries", &self.bounds);
            list(text, "cat_threshold", &self.words);
        }
        text.push_str("is_linear=0\nshrinkage=1\n\n");
    }
}

fn list(text: &mut String, key: &str, values: impl IntoIterator<Item = impl Display>) {
    text.push_str(key);
    for (value, separator) in values.into_iter().zip(std::iter::once('=').chain(std::iter::repeat(' '))) {
        let _ = write!(text, "{separator}{value}");
    }
    text.push('\n');
}
