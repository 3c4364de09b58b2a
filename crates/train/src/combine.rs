//! Combines forests: all their trees, each with its share.

use std::fmt::Write;

/// The text of a forest whose score is the sum of the forests' scores, each divided by its number: all their
/// trees, with the values of leaves and nodes divided by it. It begins as the first one does.
///
/// It is a forest like any other, for LightGBM and for us, so both give it the same bits.
pub(super) fn sum(forests: &[(&str, f64)]) -> Result<String, String> {
    let [(first, _), ..] = forests else { return Err("nothing to add".to_owned()) };
    let head = head_of(first)?;
    let mut trees = String::new();
    let mut sizes = Vec::new();
    for (forest, divisor) in forests {
        if columns_of(forest) != columns_of(first) {
            return Err("forests of other columns cannot be combined".to_owned());
        }
        for tree in trees_of(forest)? {
            let start = trees.len();
            let _ = writeln!(trees, "Tree={}", sizes.len());
            for line in tree.lines() {
                if let Some((key @ ("leaf_value" | "internal_value"), values)) = line.split_once('=') {
                    let values = values.split_whitespace().map(|value| divided(value, *divisor));
                    let values: Vec<String> = values.collect::<Result<_, _>>()?;
                    let _ = writeln!(trees, "{key}={}", values.join(" "));
                } else {
                    trees.push_str(line);
                    trees.push('\n');
                }
            }
            // Two blank lines end a tree.
            trees.push_str("\n\n");
            sizes.push((trees.len() - start).to_string());
        }
    }
    let tail = first.split_once("end of trees").map_or("", |(_, tail)| tail);
    Ok(format!("{head}tree_sizes={}\n\n{trees}end of trees{}", sizes.join(" "), without_importances(tail)))
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

fn divided(value: &str, share: f64) -> Result<String, String> {
    let value: f64 = value.parse().map_err(|_| format!("'{value}' is not a number"))?;
    Ok(format!("{:?}", value / share))
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
             objective=none\nfeature_names={names}\nfeature_infos=none\ntree_sizes={}\n\n{tree}end of trees\n",
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
}
