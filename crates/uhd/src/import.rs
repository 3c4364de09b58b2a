//! hipDNN's trees as LightGBM's text: what its splits cannot express is refused.
//!
//! Splits with several parents are never copied, since they may stand for exponentially many. LightGBM has
//! only those that stand for a set of categories.

use std::fmt::Write as _;

use ck_select_model::forest::{MAX_VALUE, text_head};
use ck_select_types::problem::InvalidField;

use crate::export::set_at;
use crate::hgbm::{Hgbm, Node, Split};
use crate::require;

/// Bits of LightGBM's `decision_type`: a set's membership; missing values go left; NaN is missing.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
const NAN_MISSING: u8 = 8;

impl Hgbm {
    /// The text of a LightGBM model with these names of its features. Its raw scores have
    /// the artifact's bits for rows without values up to 1e-35 other than zero, which are zero to LightGBM.
    pub fn to_text(&self, names: &[String]) -> Result<String, InvalidField> {
        let is_named = !names.is_empty() && names.len() == self.num_features as usize;
        let expected = names.len();
        let expected = format_args!("{expected}, the names");
        require(is_named, "num_features", self.num_features, expected)?;
        let expected = "none: LightGBM has one forest for all kernels";
        require(self.groups == 0, "groups", self.groups, expected)?;
        let mut text = text_head(names);
        let base = [Node::Leaf(self.base_score)];
        let base = (self.base_score != 0.0).then_some(&base[..]);
        let trees = self.trees.iter().map(Vec::as_slice).chain(base);
        for (number, tree) in trees.enumerate() {
            write(&mut text, tree, number)?;
        }
        text.push_str("\nend of trees\n");
        Ok(text)
    }
}

/// Writes a tree as LightGBM numbers it: its children are indices of splits, or complements of leaves'.
fn write(text: &mut String, tree: &[Node], number: usize) -> Result<(), InvalidField> {
    let (mut splits, mut leaves, mut seen) = (Vec::new(), Vec::new(), vec![false; tree.len()]);
    let mut number_of = |node: u32, splits: &mut Vec<(usize, Split)>| {
        let position = format_args!("tree {number}, node {node}");
        match tree[node as usize] {
            Node::Leaf(value) => {
                require(value.abs() <= MAX_VALUE, position, value, "a leaf of 1e290 at most")?;
                leaves.push(format!("{value:e}"));
                Ok(-(leaves.len() as i64))
            }
            Node::Split(split) => {
                let is_new = !std::mem::replace(&mut seen[node as usize], true);
                require(is_new, position, "several parents", "one, or a set of categories")?;
                splits.push((node as usize, split));
                Ok(splits.len() as i64 - 1)
            }
        }
    };
    number_of(0, &mut splits)?;
    let (mut thresholds, mut decisions, mut children) = (Vec::new(), Vec::new(), [const { Vec::new() }; 2]);
    let (mut bounds, mut words) = (vec![0], Vec::new());
    while let Some(&(node, split)) = splits.get(thresholds.len()) {
        let mut next = split.children;
        if let Some((set, children)) = set_at(tree, node) {
            thresholds.push((bounds.len() - 1).to_string());
            decisions.push(CATEGORICAL);
            words.extend(set);
            bounds.push(words.len());
            next = children;
        } else {
            let threshold = if split.less { split.threshold.next_down() } else { split.threshold };
            thresholds.push(format!("{threshold:e}"));
            decisions.push(NAN_MISSING | if split.default_left { DEFAULT_LEFT } else { 0 });
        }
        for (side, child) in children.iter_mut().zip(next) {
            side.push(number_of(child, &mut splits)?);
        }
    }
    let sets = bounds.len() - 1;
    // Writing to a string cannot fail.
    let _ = write!(text, "\nTree={number}\nnum_leaves={}\nnum_cat={sets}\n", leaves.len());
    list(text, "split_feature", splits.iter().map(|(_, split)| split.feature));
    list(text, "threshold", thresholds);
    list(text, "decision_type", decisions);
    let [left, right] = children;
    list(text, "left_child", left);
    list(text, "right_child", right);
    list(text, "leaf_value", leaves);
    list(text, "cat_boundaries", bounds.into_iter().filter(|_| sets > 0));
    list(text, "cat_threshold", words);
    text.push_str("is_linear=0\nshrinkage=1\n\n");
    Ok(())
}

/// A line with the values of a key, or none without values.
fn list(text: &mut String, key: &str, values: impl IntoIterator<Item = impl ToString>) {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    if !values.is_empty() {
        let _ = writeln!(text, "{key}={}", values.join(" "));
    }
}
