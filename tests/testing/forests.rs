//! Random forests, and values at which scorers differ.

use std::fmt::Write as _;

use crate::Numbers;

/// What LightGBM takes for zero reaches to this.
const NEAR_ZERO: f64 = 1.000_000_018_002_509_5e-35;

/// Values at, near and far from the thresholds, and all special values.
#[rustfmt::skip]
pub const VALUES: [f64; 34] = [
    f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-40, -1e-40, 1.000_000_001e-35, -1e-34, 0.5, -0.5,
    1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 31.0, 33.5, 64.0, -1.0, -3.25, 1e300, 2_147_483_648.0, 2_147_483_647.5,
    NEAR_ZERO, -NEAR_ZERO, 1e-35, -1e-35, 5e-324, -5e-324, 0.999, f64::MAX, f64::MIN,
];

#[rustfmt::skip]
const THRESHOLDS: [f64; 18] = [
    -0.0, 0.0, NEAR_ZERO, -NEAR_ZERO, 1e-40, -1e-36, 1e-35, -1e-35, -1.1e-35, 0.5, 1.0, 1.5, 3.0, 6.5, -1.0, 33.0,
    f64::INFINITY, f64::NEG_INFINITY,
];

/// How large a forest is.
#[derive(Debug)]
pub struct Sizes {
    /// Features.
    pub features: usize,
    /// Trees.
    pub trees: usize,
    /// The most leaves of a tree, exactly so many if they are over 1000.
    pub leaves: usize,
    /// Whether every node has a leaf as a child, so that no tree with that many leaves is higher.
    pub chains: bool,
}

/// The text of a forest: unbalanced trees with each kind of split.
pub fn forest_text(random: &mut impl Numbers, sizes: &Sizes) -> String {
    let names: Vec<String> = (0..sizes.features).map(|feature| format!("f{feature}")).collect();
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
         objective=regression\nfeature_names={}\nfeature_infos={}\n\n",
        sizes.features - 1,
        names.join(" "),
        vec!["[-100:100]"; sizes.features].join(" ")
    );
    for tree in 0..sizes.trees {
        let leaves = if sizes.leaves > 1000 { sizes.leaves } else { 1 + random.below(sizes.leaves) };
        let _ = writeln!(text, "Tree={tree}\nnum_leaves={leaves}");
        put_structure(&mut text, random, leaves, sizes.chains);
        put_splits(&mut text, random, leaves - 1, sizes.features);
        let value = (0..leaves)
            .map(|_| (random.below(2_000_001) as f64 - 1e6) * random.pick(&[1e-7, 3e-3, 1e-12]))
            .collect::<Vec<_>>();
        put(&mut text, "leaf_value", value.iter().map(|value| format!("{value:?}")));
        put(&mut text, "leaf_count", (0..leaves).map(|_| random.below(1000)));
        put(&mut text, "internal_count", (1..leaves).map(|_| random.below(1000)));
        text.push_str("is_linear=0\nshrinkage=1\n\n");
    }
    text.push_str("end of trees\n");
    text
}

/// Splits one leaf after another, as LightGBM does: the left half keeps its number.
fn put_structure(text: &mut String, random: &mut impl Numbers, leaves: usize, chains: bool) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut place: Vec<Option<(usize, bool)>> = vec![None];
    for node in 0..leaves - 1 {
        let is_last = chains || random.below(3) == 0;
        let leaf = if is_last { place.len() - 1 } else { random.below(place.len()) };
        if let Some((parent, is_left)) = place[leaf] {
            if is_left { left[parent] = node as i64 } else { right[parent] = node as i64 }
        }
        left.push(!(leaf as i64));
        right.push(!(place.len() as i64));
        place[leaf] = Some((node, true));
        place.push(Some((node, false)));
    }
    put(text, "left_child", left);
    put(text, "right_child", right);
}

fn put_splits(text: &mut String, random: &mut impl Numbers, count: usize, features: usize) {
    let (mut thresholds, mut types) = (Vec::new(), Vec::new());
    let (mut bounds, mut words) = (vec![0], Vec::new());
    for _ in 0..count {
        if random.below(6) == 0 {
            thresholds.push((bounds.len() - 1).to_string());
            types.push(1);
            words.extend((0..=random.below(2)).map(|_| random.below(1 << 32) as u32));
            bounds.push(words.len());
        } else {
            thresholds.push(format!("{:?}", random.pick(&THRESHOLDS)));
            types.push(random.pick(&[0, 2, 4, 6, 8, 10]));
        }
    }
    put(text, "num_cat", [bounds.len() - 1]);
    put(text, "split_feature", (0..count).map(|_| random.below(features)));
    put(text, "threshold", thresholds);
    put(text, "decision_type", types);
    if !words.is_empty() {
        put(text, "cat_boundaries", bounds);
        put(text, "cat_threshold", words);
    }
}

fn put(text: &mut String, key: &str, values: impl IntoIterator<Item = impl ToString>) {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    let _ = writeln!(text, "{key}={}", values.join(" "));
}
