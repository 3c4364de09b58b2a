//! LightGBM's forests as hipDNN's trees.

use ck_select_model::forest::{Child, Forest, Split, Target, Tree as Source};
use ck_select_types::problem::InvalidField;

use crate::hgbm::{Hgbm, Node, Tree};
use crate::require;
use crate::splits::{Question, Step, To, steps};

impl Hgbm {
    /// The trees of a forest, with the bits of its raw scores, divided by the trees' number if it is
    /// averaged. The error names the tree and the split that cannot be expressed.
    pub fn of_forest(forest: &Forest) -> Result<Self, InvalidField> {
        let parts = if forest.averaged() { forest.trees().len() } else { 1 };
        let trees = forest.trees().iter().enumerate().map(|(number, tree)| expressed(tree, number, parts));
        let trees = trees.collect::<Result<_, _>>()?;
        Ok(Self { trees, num_features: forest.num_features() as u32, ..Self::default() })
    }
}

/// The nodes of a tree, of whose leaves the sum gets this part.
fn expressed(tree: &Source, number: usize, parts: usize) -> Result<Tree, InvalidField> {
    let questions = tree.nodes().map(|node| match node.split {
        Split::Categorical { set } => Question::Set(tree.category_sets().words(set).to_vec()),
        Split::Numeric { threshold, missing, default_left } => {
            Question::Number { threshold: threshold.get(), missing, default_left }
        }
    });
    let (mut groups, mut starts) = (Vec::new(), vec![0]);
    for (split, question) in questions.enumerate() {
        let is_infinite = matches!(question, Question::Number { threshold, .. } if threshold.is_infinite());
        let place = format_args!("tree {number}, split {split}");
        require(!is_infinite, place, "an infinite threshold", "a finite one")?;
        groups.push(steps(&question));
        starts.push(starts[split] + groups[split].len() as u32);
    }
    let place = |child: Child| match child.target() {
        Target::Node(node) => starts[node],
        Target::Leaf(leaf) => starts[groups.len()] + leaf as u32,
    };
    let mut nodes = Vec::new();
    for ((inner, steps), start) in tree.nodes().zip(&groups).zip(&starts) {
        let follow = |to| match to {
            To::Left => place(inner.left),
            To::Right => place(inner.right),
            To::Own(step) => start + step,
        };
        nodes.extend(steps.iter().map(|&Step { threshold, less, default_left, to }| Node::Split {
            feature: inner.feature,
            threshold,
            less,
            default_left,
            children: to.map(follow),
        }));
    }
    for value in tree.leaf_values() {
        let part = value / parts as f64;
        // A sum of parts has the bits of the part of a sum if no division rounds.
        let is_exact = parts.is_power_of_two() && part * parts as f64 == *value;
        let found = format_args!("an average of {parts} trees");
        let expected = "a power of two, by which leaves divide exactly";
        require(is_exact, format_args!("tree {number}"), found, expected)?;
        nodes.push(Node::Leaf(part));
    }
    Ok(nodes)
}
