//! LightGBM's forests as hipDNN's trees, exactly for every value that a row may have.
//!
//! LightGBM sets values up to [`ZERO_THRESHOLD`] to zero before it walks; what that changes is in the
//! thresholds here. Its categories are truncated to integers, so that a set is a chain of bounds.

use ck_select_model::forest::{
    Child, Forest, Missing, Node as Inner, Split as Question, Target, Tree as Trained, ZERO_THRESHOLD,
};
use ck_select_types::problem::InvalidField;

use crate::hgbm::{Hgbm, Node, Split, Tree};
use crate::require;

impl Hgbm {
    /// The trees of a forest, with the bits of its raw scores, divided by the trees' number if it is
    /// averaged. The error names the tree and the split that cannot be expressed.
    pub fn from_forest(forest: &Forest) -> Result<Self, InvalidField> {
        let parts = if forest.averaged() { forest.trees().len() } else { 1 };
        let trees = forest.trees().iter().enumerate().map(|(number, tree)| expressed(tree, number, parts));
        let trees = trees.collect::<Result<_, _>>()?;
        Ok(Self { trees, num_features: forest.num_features() as u32, ..Self::default() })
    }
}

/// The nodes of a tree. Each leaf is divided by `parts`, the number of averaged trees.
fn expressed(tree: &Trained, number: usize, parts: usize) -> Result<Tree, InvalidField> {
    let (mut starts, mut end) = (Vec::new(), 0);
    for (at, inner) in tree.nodes().enumerate() {
        let is_infinite =
            matches!(inner.split, Question::Numeric { threshold, .. } if threshold.get().is_infinite());
        let split = format_args!("tree {number}, split {at}");
        require(!is_infinite, split, "an infinite threshold", "a finite one")?;
        starts.push(end);
        end += steps(tree, &inner, end, [0; 2]).len() as u32;
    }
    let child_of = |child: Child| match child.target() {
        Target::Node(node) => starts[node],
        Target::Leaf(leaf) => end + leaf as u32,
    };
    let steps = tree.nodes().zip(&starts).flat_map(|(inner, &start)| {
        let children = [child_of(inner.left), child_of(inner.right)];
        steps(tree, &inner, start, children)
    });
    let mut nodes: Tree = steps.map(Node::Split).collect();
    for value in tree.leaf_values() {
        let part = value / parts as f64;
        // A sum of divided leaves has the bits of the divided sum if no division rounds.
        let is_exact = parts.is_power_of_two() && part * parts as f64 == *value;
        let found = format_args!("an average of {parts} trees");
        let expected = "a power of two, by which leaves divide exactly";
        require(is_exact, format_args!("tree {number}"), found, expected)?;
        nodes.push(Node::Leaf(part));
    }
    Ok(nodes)
}

/// The nodes that stand for a node with these children, numbered from `start` on.
fn steps(tree: &Trained, inner: &Inner, start: u32, children: [u32; 2]) -> Vec<Split> {
    let split = Split { feature: inner.feature, children, ..Split::default() };
    let (threshold, missing, default_left) = match inner.split {
        Question::Categorical { set } => return members(split, tree.category_sets().words(set), start),
        Question::Numeric { threshold, missing, default_left } => (threshold.get(), missing, default_left),
    };
    let (zero, zero_left) = (ZERO_THRESHOLD, 0.0 <= threshold);
    let is_near_zero = (-zero..zero).contains(&threshold);
    if missing == Missing::Zero && (zero_left != default_left || is_near_zero) {
        let (default, others) = (children[usize::from(!default_left)], start + 2);
        return vec![
            Split { threshold: -zero, less: true, children: [others, start + 1], ..split },
            Split { threshold: zero, default_left: true, children: [default, others], ..split },
            Split { threshold, ..split },
        ];
    }
    let default_left = if missing == Missing::Never { zero_left } else { default_left };
    let one = Split { threshold, default_left, ..split };
    vec![match zero_left {
        _ if !is_near_zero => one,
        // A threshold among values that are zero to LightGBM divides them nowhere.
        true => Split { threshold: zero, ..one },
        false => Split { threshold: -zero, less: true, ..one },
    }]
}

/// Is the value a member of the set? Two bounds for each run of categories; only -1 and below are no
/// category, and what is 2^31 or more.
fn members(split: Split, words: &[u32], start: u32) -> Vec<Split> {
    let (end, [left, right]) = (words.len() * 32, split.children);
    let is_member =
        |category: usize| category < end.min(1 << 31) && words[category / 32] >> (category % 32) & 1 == 1;
    let bounds =
        (0..=end).filter(|&category| is_member(category) != (category > 0 && is_member(category - 1)));
    let step = |(bound, next): (usize, u32)| {
        let threshold = if bound == 0 { -1.0 } else { bound as f64 };
        let children = [if is_member(bound) { right } else { left }, next];
        Split { threshold, less: bound > 0, default_left: true, children, ..split }
    };
    let mut steps: Vec<Split> = bounds.zip(start + 1..).map(step).collect();
    match steps.last_mut() {
        Some(last) => last.children[1] = right,
        // Of an empty set, nothing is a member.
        None => steps.push(Split { children: [right; 2], ..split }),
    }
    steps
}

/// Categories from here on are not recognised: a set takes a bit for each category below its largest, and
/// has at most as many bounds.
const MAX_CATEGORY: u32 = 4096;

/// Recognises the nodes that [`members`] wrote from `start` on: the set, and the children of members and of
/// others.
pub(crate) fn set_at(tree: &[Node], start: usize) -> Option<(Vec<u32>, [u32; 2])> {
    let splits = || tree[start..].iter().map_while(Node::split).take(MAX_CATEGORY as usize);
    let (first, second) = (splits().next()?, splits().nth(1)?);
    let children = [second.children[0], first.children[0]];
    let leads_on = |(split, next): &(&Split, u32)| split.children[1] == *next && *next != children[1];
    let inner = splits().zip(start as u32 + 1..).take_while(leads_on).count();
    // Categories begin above -1.
    let bounds: Vec<u32> = splits().take(inner + 1).map(|split| split.threshold.max(0.0) as u32).collect();
    let (runs, []) = bounds.as_chunks::<2>() else { return None };
    let end = bounds.last().filter(|&&end| end <= MAX_CATEGORY)?;
    let mut words = vec![0; end.div_ceil(32) as usize];
    for category in runs.iter().flat_map(|&[first, end]| first..end) {
        words.get_mut(category as usize / 32).map(|word| *word |= 1 << (category % 32))?;
    }
    let set = Split { feature: first.feature, children, ..Split::default() };
    members(set, &words, start as u32).iter().eq(splits().take(bounds.len())).then_some((words, children))
}
