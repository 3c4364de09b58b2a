//! hipDNN's trees as LightGBM's text: what its splits cannot express is refused.
//!
//! Nodes with several parents are LightGBM's only in the forms that [`Hgbm::of_forest`] writes: sets of
//! categories, and zero that is missing. Others are never copied, since they may stand for exponentially
//! many.

use std::fmt::{Display, Write as _};

use ck_select_model::forest::{MAX_VALUE, Missing};
use ck_select_types::problem::InvalidField;

use crate::hgbm::{Hgbm, Node};
use crate::splits::{Question, recognised};
use crate::{refused, require};

const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
const ZERO_MISSING: u8 = 4;
const NAN_MISSING: u8 = 8;

/// One of LightGBM's splits. Its children are indices of splits, or complements of leaves'.
struct Split {
    feature: u32,
    question: Question,
    children: [i64; 2],
}

/// A tree as LightGBM numbers it.
#[derive(Default)]
struct Numbered {
    splits: Vec<Split>,
    leaves: Vec<f64>,
}

impl Hgbm {
    /// The text of a LightGBM model with this objective and these names of its features. Its raw scores have
    /// the artifact's bits for rows without values up to 1e-35 other than zero, which are zero to LightGBM.
    pub fn to_text(&self, objective: &str, names: &[String]) -> Result<String, InvalidField> {
        let is_named = !names.is_empty() && names.len() == self.num_features as usize;
        let expected = names.len();
        let expected = format_args!("{expected}, the names");
        require(is_named, "num_features", self.num_features, expected)?;
        let expected = "none: LightGBM has one forest for all kernels";
        require(self.groups == 0, "groups", self.groups, expected)?;
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
            Numbered::new(tree, number)?.write(&mut text, number);
        }
        text.push_str("\nend of trees\n");
        Ok(text)
    }
}

impl Numbered {
    fn new(tree: &[Node], number: usize) -> Result<Self, InvalidField> {
        let (mut numbered, mut seen) = (Self::default(), vec![false; tree.len()]);
        // Nodes that are to become splits, by their numbers.
        let mut waiting = Vec::new();
        let mut number_of = |mut node: u32, waiting: &mut Vec<u32>| loop {
            let place = format_args!("tree {number}, node {node}");
            match tree[node as usize] {
                Node::Leaf(value) => {
                    require(value.abs() <= MAX_VALUE, place, value, "a leaf of 1e290 at most")?;
                    numbered.leaves.push(value);
                    return Ok(-(numbered.leaves.len() as i64));
                }
                Node::Split { .. } if std::mem::replace(&mut seen[node as usize], true) => {
                    let expected =
                        "one, or a form of LightGBM's: a set of categories, or zero that is missing";
                    return refused(place, "several parents", expected);
                }
                // It asks nothing.
                Node::Split { children: [left, right], .. } if left == right => node = left,
                Node::Split { .. } => {
                    waiting.push(node);
                    return Ok(waiting.len() as i64 - 1);
                }
            }
        };
        number_of(0, &mut waiting)?;
        let mut splits = Vec::new();
        while let Some(&node) = waiting.get(splits.len()) {
            let Node::Split { feature, threshold, less, default_left, children } = tree[node as usize] else {
                break;
            };
            let (question, [left, right]) = recognised(tree, node as usize).unwrap_or_else(|| {
                let threshold = if less { threshold.next_down() } else { threshold };
                (Question::Number { threshold, missing: Missing::Nan, default_left }, children)
            });
            let children = [number_of(left, &mut waiting)?, number_of(right, &mut waiting)?];
            splits.push(Split { feature, question, children });
        }
        Ok(Self { splits, ..numbered })
    }

    fn write(&self, text: &mut String, number: usize) {
        let (mut thresholds, mut decisions) = (Vec::new(), Vec::new());
        let (mut bounds, mut words) = (vec![0], Vec::new());
        for split in &self.splits {
            let (threshold, decision) = match &split.question {
                Question::Set(set) => {
                    words.extend_from_slice(set);
                    bounds.push(words.len());
                    ((bounds.len() - 2) as f64, CATEGORICAL)
                }
                &Question::Number { threshold, missing, default_left } => {
                    let missing = if missing == Missing::Zero { ZERO_MISSING } else { NAN_MISSING };
                    (threshold, missing | if default_left { DEFAULT_LEFT } else { 0 })
                }
            };
            thresholds.push(format!("{threshold:e}"));
            decisions.push(decision);
        }
        let sets = bounds.len() - 1;
        // Writing to a string cannot fail.
        let _ = write!(text, "\nTree={number}\nnum_leaves={}\nnum_cat={sets}\n", self.leaves.len());
        if !self.splits.is_empty() {
            list(text, "split_feature", self.splits.iter().map(|split| split.feature));
            list(text, "threshold", thresholds);
            list(text, "decision_type", decisions);
            list(text, "left_child", self.splits.iter().map(|split| split.children[0]));
            list(text, "right_child", self.splits.iter().map(|split| split.children[1]));
        }
        list(text, "leaf_value", self.leaves.iter().map(|value| format!("{value:e}")));
        if sets > 0 {
            list(text, "cat_boundaries", bounds);
            list(text, "cat_threshold", words);
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
