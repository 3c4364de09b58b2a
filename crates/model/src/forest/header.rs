//! The lines before the first tree.

use super::error::{ForestError, TextPosition};
use super::feature_info::FeatureInfo;
use super::fields::Fields;
use super::objective::Objective;
use super::text::{Count, Lines};

const VERSIONS: [&str; 2] = ["v3", "v4"];

const KEYS: &[&str] = &[
    "version", "num_class", "num_tree_per_iteration", "max_feature_idx", "objective", "average_output",
    "feature_names", "feature_infos", "tree_sizes",
];

/// The lines before the first tree, which are about the whole forest.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: &'static str,
    pub(super) feature_names: Vec<String>,
    pub(super) feature_infos: Vec<FeatureInfo>,
    pub(super) objective: Objective,
    pub(super) averaged: bool,
    /// The position of the sizes of the trees, and their number. The sizes themselves are not used, because they are
    /// wrong if a tool has converted the text's line ends.
    tree_sizes: Option<(TextPosition, usize)>,
}

impl Header {
    /// Reads up to, and not including, the first tree or the end of the trees.
    pub(super) fn parse(lines: &mut Lines<'_>) -> Result<Header, ForestError> {
        let first = lines.next().unwrap_or_default();
        if first != "tree" {
            return Err(lines.here().found(first, "`tree`, the first line of a LightGBM text model"));
        }
        let mut fields = Fields::new(lines.here(), KEYS);
        loop {
            let mut ahead = lines.clone();
            match ahead.next() {
                Some(line) if line.starts_with("Tree=") || line == "end of trees" => break,
                Some(line) => fields.put(ahead.here(), line)?,
                None => return Err(ahead.here().truncated("the trees")),
            }
            *lines = ahead;
        }
        Header::from_fields(&fields)
    }

    fn from_fields(fields: &Fields<'_>) -> Result<Header, ForestError> {
        let version = fields.need("version")?;
        let Some(&version) = VERSIONS.iter().find(|known| **known == version.value) else {
            return Err(version.position.unsupported(version.value, VERSIONS.join(", ")));
        };
        require_one_output(fields)?;
        let objective = fields.get("objective").map_or(Ok(Objective::CUSTOM), Objective::parse)?;

        let last = fields.need("max_feature_idx")?;
        let last = last.number("an integer of at least 0", |last: i32| last >= 0)?;
        let count = Count { expected: last.unsigned_abs() as usize + 1, because: "max_feature_idx + 1" };
        let names = fields.need("feature_names")?;
        count.check(names.position, names.tokens().count())?;
        let infos = fields.need("feature_infos")?;
        count.check(infos.position, infos.tokens().count())?;

        Ok(Header {
            version,
            feature_names: names.tokens().map(str::to_owned).collect(),
            feature_infos: infos.tokens().map(FeatureInfo::parse).collect(),
            objective,
            // LightGBM only checks whether the key is present, and writes it without a value.
            averaged: fields.get("average_output").is_some(),
            tree_sizes: fields.get("tree_sizes").map(|sizes| (sizes.position, sizes.tokens().count())),
        })
    }

    /// Checks the number of trees that were read against the header, and that an average has a count to
    /// divide by.
    pub(super) fn validate_trees(&self, trees: usize, end: TextPosition) -> Result<(), ForestError> {
        if let Some((position, sizes)) = self.tree_sizes {
            Count { expected: trees, because: "trees in the text" }.check(position, sizes)?;
        }
        if self.averaged && trees == 0 {
            return Err(end.found("end of trees", "a tree to average"));
        }
        Ok(())
    }
}

/// How the text of a forest of regression begins whose columns have these names, up to its first tree.
pub fn text_head<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
         objective=regression\nfeature_names={}\nfeature_infos={}\n\n",
        names.len().saturating_sub(1),
        names.join(" "),
        vec!["none"; names.len()].join(" "),
    )
}

/// A score is one number: refuses forests that give a number for each of several classes.
fn require_one_output(fields: &Fields<'_>) -> Result<(), ForestError> {
    let classes = Some(fields.need("num_class")?);
    // Without it, LightGBM uses the number of classes.
    let per_iteration = fields.get("num_tree_per_iteration");
    for field in [classes, per_iteration].into_iter().flatten() {
        if field.number("1", |_: i32| true)? != 1 {
            return Err(field.position.unsupported(field.value, "1, a forest with one output"));
        }
    }
    Ok(())
}
