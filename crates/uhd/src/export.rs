//! LightGBM's trees as nodes that compare one number: exactly, for every value that a row may have.
//!
//! LightGBM sets values up to [`ZERO_THRESHOLD`] to zero before it walks; what that changes is in the
//! thresholds here. Its categories are truncated to integers, so that a set is a chain of bounds.

use ck_select_model::forest::{
    Child, Forest, Missing, Node as Inner, Split, Target, Tree as Source, ZERO_THRESHOLD,
};
use ck_select_types::problem::InvalidField;

use crate::hgbm::{Hgbm, Node, Tree};
use crate::refused;

/// Where an answer leads: a child of LightGBM's node, or another node of those that stand for it.
#[derive(Clone, Copy)]
enum To {
    Left,
    Right,
    Own(u32),
}

/// A node of those that stand for one of LightGBM's: its question, and where NaN and both answers lead.
struct Step {
    threshold: f64,
    less: bool,
    default_left: bool,
    to: [To; 2],
}

impl Hgbm {
    /// The trees of a forest, with the bits of its raw scores, divided by the trees' number if it is
    /// averaged. The error names the tree and the split that cannot be expressed.
    pub fn of_forest(forest: &Forest) -> Result<Self, InvalidField> {
        let mut trees = Vec::with_capacity(forest.trees().len());
        for (number, tree) in forest.trees().iter().enumerate() {
            let mut nodes = expressed(tree, number)?;
            if forest.averaged() {
                divide(&mut nodes, number, forest.trees().len())?;
            }
            trees.push(nodes);
        }
        Ok(Self { trees, num_features: forest.num_features() as u32, ..Self::default() })
    }
}

/// A sum of parts has the bits of the part of a sum if no division rounds.
fn divide(nodes: &mut [Node], tree: usize, trees: usize) -> Result<(), InvalidField> {
    for node in nodes {
        let Node::Leaf(value) = node else { continue };
        let part = *value / trees as f64;
        if !trees.is_power_of_two() || part * trees as f64 != *value {
            let expected = "a power of two, by which leaves divide exactly";
            return refused(format!("tree {tree}"), format_args!("an average of {trees} trees"), expected);
        }
        *value = part;
    }
    Ok(())
}

fn expressed(tree: &Source, number: usize) -> Result<Tree, InvalidField> {
    let mut steps = Vec::with_capacity(tree.nodes().len());
    for (split, node) in tree.nodes().enumerate() {
        match steps_of(tree, &node) {
            Some(found) => steps.push(found),
            None => {
                return refused(
                    format!("tree {number}, split {split}"),
                    "an infinite threshold",
                    "a finite one",
                );
            }
        }
    }
    let mut starts = vec![0];
    starts.extend(steps.iter().scan(0, |next, steps: &Vec<Step>| {
        *next += steps.len() as u32;
        Some(*next)
    }));
    let place = |child: Child| match child.target() {
        Target::Node(node) => starts[node],
        Target::Leaf(leaf) => starts[steps.len()] + leaf as u32,
    };
    let mut nodes = Vec::new();
    for (node, (inner, steps)) in tree.nodes().zip(&steps).enumerate() {
        let follow = |to| match to {
            To::Left => place(inner.left),
            To::Right => place(inner.right),
            To::Own(step) => starts[node] + step,
        };
        nodes.extend(steps.iter().map(|&Step { threshold, less, default_left, to }| Node::Split {
            feature: inner.feature,
            threshold,
            less,
            default_left,
            children: to.map(follow),
        }));
    }
    nodes.extend(tree.leaf_values().iter().map(|&value| Node::Leaf(value)));
    Ok(nodes)
}

/// The nodes that stand for one of LightGBM's; `None` for an infinite threshold.
fn steps_of(tree: &Source, node: &Inner) -> Option<Vec<Step>> {
    let (threshold, missing, default_left) = match node.split {
        Split::Categorical { set } => return Some(members(tree.category_sets().words(set))),
        Split::Numeric { threshold, missing, default_left } => (threshold.get(), missing, default_left),
    };
    if threshold.is_infinite() {
        return None;
    }
    let zero_left = 0.0 <= threshold;
    let is_near_zero = (-ZERO_THRESHOLD..ZERO_THRESHOLD).contains(&threshold);
    Some(match missing {
        Missing::Nan => vec![compare(threshold, default_left)],
        Missing::Never => vec![compare(threshold, zero_left)],
        Missing::Zero if zero_left == default_left && !is_near_zero => vec![compare(threshold, default_left)],
        Missing::Zero => {
            let default = if default_left { To::Left } else { To::Right };
            vec![
                Step {
                    threshold: -ZERO_THRESHOLD,
                    less: true,
                    default_left: false,
                    to: [To::Own(2), To::Own(1)],
                },
                Step {
                    threshold: ZERO_THRESHOLD,
                    less: false,
                    default_left: true,
                    to: [default, To::Own(2)],
                },
                Step { threshold, less: false, default_left: false, to: [To::Left, To::Right] },
            ]
        }
    })
}

/// At most a threshold. Values near zero are zero to LightGBM, so that one of them there divides them
/// nowhere.
fn compare(threshold: f64, default_left: bool) -> Step {
    let to = [To::Left, To::Right];
    if (-ZERO_THRESHOLD..0.0).contains(&threshold) {
        return Step { threshold: -ZERO_THRESHOLD, less: true, default_left, to };
    }
    let threshold = if (0.0..ZERO_THRESHOLD).contains(&threshold) { ZERO_THRESHOLD } else { threshold };
    Step { threshold, less: false, default_left, to }
}

/// Is the value a member of the set? Two bounds for each run of categories; only -1 and below are no
/// category, and what is 2^31 or more.
fn members(words: &[u32]) -> Vec<Step> {
    const END: usize = 1 << 31;
    let is_member =
        |category: usize| words.get(category / 32).is_some_and(|word| word >> (category % 32) & 1 == 1);
    let mut steps: Vec<Step> = Vec::new();
    let mut bound = |threshold: f64, less, to| {
        let next = To::Own(steps.len() as u32 + 1);
        steps.push(Step { threshold, less, default_left: true, to: [to, next] });
    };
    let end = END.min(words.len() * 32);
    for category in (0..end).filter(|&category| is_member(category)) {
        match category.checked_sub(1) {
            None => bound(-1.0, false, To::Right),
            Some(before) if !is_member(before) => bound(category as f64, true, To::Right),
            Some(_) => {}
        }
        if category + 1 == end || !is_member(category + 1) {
            bound((category + 1) as f64, true, To::Left);
        }
    }
    match steps.last_mut() {
        Some(last) => last.to[1] = To::Right,
        // Of an empty set, nothing is a member.
        None => {
            steps.push(Step { threshold: 0.0, less: false, default_left: true, to: [To::Right, To::Right] });
        }
    }
    steps
}
