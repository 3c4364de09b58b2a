//! Combines forests of several seeds: all trees, each with its share.

use std::fmt::Write;

/// The text of a forest whose score is the mean of the forests' scores: all their trees, with the values of
/// leaves and nodes divided by the number of forests.
///
/// It is a forest like any other, for LightGBM and for us, so both give it the same bits.
pub(super) fn average(forests: &[String]) -> Result<String, String> {
    let [first, .., _] = forests else {
        return forests.first().cloned().ok_or_else(|| "nothing to average".to_owned());
    };
    let share = forests.len() as f64;
    let head = head_of(first)?;
    let mut trees = String::new();
    let mut sizes = Vec::new();
    for forest in forests {
        if head_of(forest)? != head {
            return Err("forests of other columns cannot be averaged".to_owned());
        }
        for tree in trees_of(forest)? {
            let start = trees.len();
            let _ = writeln!(trees, "Tree={}", sizes.len());
            for line in tree.lines() {
                if let Some((key @ ("leaf_value" | "internal_value"), values)) = line.split_once('=') {
                    let values = values.split_whitespace().map(|value| divided(value, share));
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
