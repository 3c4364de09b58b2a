//! Combines forests: all their trees, each with its share.

use std::fmt::Write;

/// The text of a forest whose score is the sum of the forests' scores, each divided by its number: all their
/// trees, with the values of leaves and nodes divided by it. It begins as the first one does.
///
/// The sum is a forest like any other, for LightGBM and for us, so both give it the same bits.
pub(super) fn sum(forests: &[(&str, f64)]) -> Result<String, String> {
    let [(first, _), ..] = forests else { return Err("nothing to add".to_owned()) };
    let mut trees = Vec::new();
    for (forest, divisor) in forests {
        if columns_of(forest) != columns_of(first) {
            return Err("forests of other columns cannot be combined".to_owned());
        }
        for tree in trees_of(forest)? {
            let change = |key: &str, values: &mut [f64]| {
                if VALUES.contains(&key) {
                    for value in values {
                        *value /= divisor;
                    }
                }
            };
            trees.push(changed(tree, change)?);
        }
    }
    with_trees(first, &trees)
}

/// A forest in a third of its digits, to be shipped: without weights and counts, which no score needs, and
/// with thresholds that are not below what they were, so that values equal to them stay on their side.
pub(super) fn lean(forest: &str) -> Result<String, String> {
    const UNUSED: [&str; 4] = ["leaf_weight=", "internal_weight=", "leaf_count=", "internal_count="];
    let change = |key: &str, values: &mut [f64]| {
        for value in values {
            *value = match key {
                THRESHOLD => not_below(*value),
                LEAVES => rounded(*value, 3),
                _ => rounded(*value, 2),
            };
        }
    };
    let one = |tree: &str| {
        let used = tree.lines().filter(|line| !UNUSED.iter().any(|key| line.starts_with(key)));
        changed(&used.collect::<Vec<_>>().join("\n"), change)
    };
    with_trees(forest, &trees_of(forest)?.into_iter().map(one).collect::<Result<Vec<_>, _>>()?)
}

/// The nearest number of so many decimal digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A threshold in seven digits. What is compared with it is below LightGBM's, by as little as a number can
/// be.
fn not_below(threshold: f64) -> f64 {
    const DIGITS: usize = 7;
    let nearest = rounded(threshold, DIGITS);
    if nearest >= threshold.next_down() {
        return nearest;
    }
    let step = 10.0_f64.powi(threshold.abs().log10().floor() as i32 + 1 - DIGITS as i32);
    rounded(nearest + step, DIGITS)
}

const THRESHOLD: &str = "threshold";
const GAIN: &str = "split_gain";
const LEAVES: &str = "leaf_value";
const VALUES: [&str; 2] = [LEAVES, "internal_value"];

/// A tree with other thresholds or values.
fn changed(tree: &str, change: impl Fn(&str, &mut [f64])) -> Result<String, String> {
    let mut text = String::new();
    for line in tree.lines() {
        let numbers =
            line.split_once('=').filter(|(key, _)| [THRESHOLD, GAIN].contains(key) || VALUES.contains(key));
        if let Some((key, numbers)) = numbers {
            let mut values = numbers.split_whitespace().map(number).collect::<Result<Vec<_>, _>>()?;
            change(key, &mut values);
            let numbers: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            let _ = writeln!(text, "{key}={}", numbers.join(" "));
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

/// The text of a forest of these trees, which begins and ends as another does.
fn with_trees(like: &str, trees: &[String]) -> Result<String, String> {
    // Two blank lines end a tree.
    let numbered = trees.iter().enumerate().map(|(number, tree)| format!("Tree={number}\n{tree}\n\n"));
    let trees: Vec<String> = numbered.collect();
    let sizes: Vec<String> = trees.iter().map(|tree| tree.len().to_string()).collect();
    let tail = without_importances(like.split_once("end of trees").map_or("", |(_, tail)| tail));
    Ok(format!("{}tree_sizes={}\n\n{}end of trees{tail}", head_of(like)?, sizes.join(" "), trees.concat()))
}

/// The line with the names of the columns.
fn columns_of(forest: &str) -> Option<&str> {
    forest.lines().find(|line| line.starts_with("feature_names="))
}

/// The lines before the sizes of the trees.
fn head_of(forest: &str) -> Result<&str, String> {
    forest.split_once("tree_sizes=").map(|(head, _)| head).ok_or_else(|| "no tree_sizes".to_owned())
}

/// The lines of each tree after its first.
fn trees_of(forest: &str) -> Result<Vec<&str>, String> {
    let body = forest.split_once("end of trees").ok_or("no end of trees")?.0;
    let trees = body.split("\nTree=").skip(1);
    trees
        .map(|tree| {
            tree.split_once('\n').map(|(_, lines)| lines.trim_end()).ok_or_else(|| "an empty tree".to_owned())
        })
        .collect()
}

fn number(word: &str) -> Result<f64, String> {
    word.parse().map_err(|_| format!("'{word}' is not a number"))
}

/// The text after the trees, without the importances, which belong to one forest only.
fn without_importances(tail: &str) -> String {
    match (tail.find("feature_importances:"), tail.find("\nparameters:")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &tail[..start], &tail[end + 1..]),
        _ => tail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ck_select_model::forest::Forest;

    use super::*;

    fn forest(names: &str, leaves: &str) -> String {
        let tree = format!(
            "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\nthreshold=0.5\ndecision_type=2\n\
             left_child=-1\nright_child=-2\nleaf_value={leaves}\nleaf_weight=1 1\nleaf_count=1 1\n\
             internal_value=0\ninternal_weight=0\ninternal_count=2\nis_linear=0\nshrinkage=1\n\n\n"
        );
        format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=0\n\
             objective=none\nfeature_names={names}\nfeature_infos=none\ntree_sizes={}\n\n{tree}end of \
             trees\n",
            tree.len()
        )
    }

    #[test]
    fn scores_are_added_with_their_shares() {
        let (first, second) = (forest("a", "1 2"), forest("a", "10 30"));
        let scores = |text: &str| {
            let forest = Forest::parse(text.as_bytes()).unwrap();
            [0.0, 1.0].map(|value| forest.predict(&[value]).unwrap())
        };
        assert_eq!(scores(&sum(&[(&first, 1.0), (&second, 0.5)]).unwrap()), [21.0, 62.0]);
        let error = sum(&[(&first, 1.0), (&forest("b", "1 2"), 1.0)]).unwrap_err();
        assert_eq!(error, "forests of other columns cannot be combined");
    }

    /// More than half of a shipped ranking were digits and counts that no score needs (1470cae2).
    #[test]
    fn a_lean_forest_decides_alike_in_fewer_digits() {
        let third = (1.0_f64 / 3.0).next_up();
        let whole = forest("a", "0.12345678901234567 -1.9876543210987654")
            .replace("threshold=0.5", &format!("threshold={third:?}"));
        let lean = lean(&whole).unwrap();
        assert!(!lean.contains("weight") && !lean.contains("count="), "{lean}");
        let forest = Forest::parse(lean.as_bytes()).unwrap();
        let values = [1.0 / 3.0, 0.334].map(|value| forest.predict(&[value]).unwrap());
        assert_eq!(values, [0.123, -1.99]);
        for (threshold, expected) in [
            (6.0_f64.next_up(), 6.0),
            (1.234_567_49, 1.234_568),
            (1.234_567_01, 1.234_568),
            (-1.234_567_51, -1.234_567),
            (1.000_000_018_002_509_5e-35, 1.000_001e-35),
        ] {
            assert_eq!(not_below(threshold), expected);
        }
    }
}
