//! From the lines of one tree to the tree.

use super::MAX_VALUE;
use super::categories::CategorySets;
use super::error::{ForestError, TextPosition};
use super::fields::Fields;
use super::node::{Child, Missing, Node, Split, Threshold};
use super::number::Number;
use super::shape;
use super::text::Count;
use super::tree::Tree;

const KEYS: &[&str] = &[
    "num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child",
    "right_child", "leaf_value", "leaf_count", "internal_value", "internal_count", "cat_boundaries",
    "cat_threshold", "is_linear", "shrinkage",
];

const VALUE: &str = "a number between -1e290 and 1e290";

/// The fields of a tree that begins at `start`.
pub(super) fn fields<'a>(start: TextPosition) -> Fields<'a> {
    Fields::new(start, KEYS)
}

/// The tree that the fields describe, for rows of `features` values.
pub(super) fn parse(fields: &Fields<'_>, features: usize) -> Result<Tree, ForestError> {
    if let Some(linear) = fields.get("is_linear")
        && linear.number("0", |_: i32| true)? != 0
    {
        return Err(linear.position.unsupported(linear.value, "0, leaves that are constants"));
    }
    // The values include it already.
    fields.get("shrinkage").map_or(Ok(1.0), |field| field.number("a number", |_: f64| true))?;
    let leaves: i32 = fields.need("num_leaves")?.number("an integer of at least 1", |leaves| leaves >= 1)?;
    let num_cat: u32 = fields.need("num_cat")?.number("an integer of at least 0", |_| true)?;
    let per_leaf = Count { expected: leaves.unsigned_abs() as usize, because: "num_leaves" };
    let per_node = Count { expected: per_leaf.expected - 1, because: "num_leaves - 1" };

    // The first of the lists, since it proves that the text is long enough for the claimed count.
    let leaf_values = fields.need("leaf_value")?.list(per_leaf, VALUE, is_value)?;
    let category_sets = CategorySets::parse(fields, num_cat as usize)?;
    let nodes = nodes(fields, per_node, features, &category_sets)?;
    Ok(Tree {
        depth: shape::depth(fields, &nodes)?,
        nodes,
        leaf_values,
        category_sets,
        internal_values: list_or_zeros(fields, "internal_value", per_node, VALUE, is_value)?,
        gains: list_or_zeros(fields, "split_gain", per_node, "a number", |_| true)?,
        internal_counts: list_or_zeros(fields, "internal_count", per_node, "an integer", |_| true)?,
        leaf_counts: list_or_zeros(fields, "leaf_count", per_leaf, "an integer", |_| true)?,
    })
}

/// Sums of such values stay finite in every forest that fits in memory.
fn is_value(value: f64) -> bool {
    value.abs() <= MAX_VALUE
}

fn nodes(
    fields: &Fields<'_>,
    per_node: Count,
    features: usize,
    sets: &CategorySets,
) -> Result<Vec<Node>, ForestError> {
    if per_node.expected == 0 {
        return Ok(Vec::new());
    }
    let is_child = |child: i32| {
        let (first_leaf, end) = (!(per_node.expected as i64), per_node.expected as i64);
        (first_leaf..end).contains(&i64::from(child))
    };
    let is_feature = |feature: u32| (feature as usize) < features;
    let child = "a node (0 to num_leaves - 2) or a leaf (-1 to -num_leaves)";
    let left = fields.need("left_child")?;
    let mut nodes = Vec::with_capacity(per_node.expected.min(left.most()));
    let split =
        Split::Numeric { threshold: Threshold::new(0.0), missing: Missing::Never, default_left: false };
    left.each(per_node, child, is_child, |_, child| {
        nodes.push(Node { feature: 0, split, left: Child(child), right: Child(0) });
    })?;
    fields
        .need("right_child")?
        .each(per_node, child, is_child, |node, child| nodes[node].right = Child(child))?;
    let feature = "a feature (0 to max_feature_idx)";
    fields
        .need("split_feature")?
        .each(per_node, feature, is_feature, |node, feature| nodes[node].feature = feature)?;
    splits(fields, per_node, sets, &mut nodes)?;
    Ok(nodes)
}

/// Reads the questions of the nodes.
fn splits(
    fields: &Fields<'_>,
    per_node: Count,
    sets: &CategorySets,
    nodes: &mut [Node],
) -> Result<(), ForestError> {
    let thresholds = fields.need("threshold")?;
    thresholds.each(
        per_node,
        "a number",
        |threshold: f64| !threshold.is_nan(),
        |node, threshold| {
            let threshold = Threshold::new(threshold);
            nodes[node].split = Split::Numeric { threshold, missing: Missing::Never, default_left: false };
        },
    )?;
    let Some(decisions) = fields.get("decision_type") else { return Ok(()) };
    let expected = "a sum of 1 (categorical), 2 (default left) and 4 (zero is missing) or 8 (NaN is missing)";
    let mut no_set = None;
    decisions.each(
        per_node,
        expected,
        |bits| missing(bits).is_some(),
        |node, bits| {
            let Split::Numeric { threshold, missing: kind, default_left } = &mut nodes[node].split else {
                return;
            };
            if bits & 1 == 0 {
                *kind = missing(bits).unwrap_or(Missing::Never);
                *default_left = bits & 2 != 0;
                return;
            }
            let set = threshold.get();
            if set.fract() == 0.0 && set >= 0.0 && set < sets.len() as f64 {
                nodes[node].split = Split::Categorical { set: set as u32 };
            } else {
                no_set = no_set.or(Some((node, set)));
            }
        },
    )?;
    no_set.map_or(Ok(()), |(node, set)| {
        let expected = format!("a category set (an integer below num_cat, {})", sets.len());
        Err(thresholds.position.index(node).value(&set.to_string(), expected))
    })
}

/// Which values are missing by the bits of a `decision_type`; `None` for bits that LightGBM never sets.
fn missing(bits: u8) -> Option<Missing> {
    match bits >> 2 {
        0 => Some(Missing::Never),
        1 => Some(Missing::Zero),
        2 => Some(Missing::Nan),
        _ => None,
    }
}

/// A list that LightGBM takes as all zeros if the text has none. Only to be used after a required list has
/// proved the count.
fn list_or_zeros<T: Number + Default>(
    fields: &Fields<'_>,
    key: &'static str,
    count: Count,
    expected: &'static str,
    accept: impl Fn(T) -> bool,
) -> Result<Vec<T>, ForestError> {
    match fields.get(key) {
        Some(field) => field.list(count, expected, accept),
        None => Ok(vec![T::default(); count.expected]),
    }
}
