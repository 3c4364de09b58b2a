//! LightGBM's text model, checked once and then scored exactly.
//!
//! [`Forest::parse`] takes the whole text of a model (versions 3 and 4 of the format, which LightGBM 2.2 and later
//! write) and either refuses it with the line, the tree and the field at fault, or makes a [`Forest`]. A forest never
//! changes, so any number of threads may score rows with it at once. Its raw scores and predictions have LightGBM
//! 4.7's bits: [`Forest::raw_score`] and [`Forest::predict`].
//!
//! ```
//! use ck_select::forest::Forest;
//!
//! let text = b"tree
//! version=v4
//! num_class=1
//! num_tree_per_iteration=1
//! label_index=0
//! max_feature_idx=1
//! objective=regression
//! feature_names=gemm_m gemm_n
//! feature_infos=[1:8192] [1:8192]
//! tree_sizes=313
//!
//! Tree=0
//! num_leaves=3
//! num_cat=0
//! split_feature=0 1
//! split_gain=10 4
//! threshold=128.5 64.5
//! decision_type=2 2
//! left_child=-1 -2
//! right_child=1 -3
//! leaf_value=0.25 0.5 2
//! leaf_count=10 10 20
//! internal_value=1 1.5
//! internal_count=40 30
//! is_linear=0
//! shrinkage=1
//!
//! end of trees
//! ";
//! let forest = Forest::parse(text)?;
//! assert_eq!(forest.feature_names(), ["gemm_m", "gemm_n"]);
//! assert_eq!(forest.predict(&[100.0, 4096.0])?, 0.25);
//! assert_eq!(forest.predict(&[4096.0, 4096.0])?, 2.0);
//!
//! // Several answers for one row: check the row once.
//! let row = forest.row(&[4096.0, 1.0])?;
//! assert_eq!(row.raw_score(), 0.5);
//! assert_eq!(row.contributions().features, [0.5, -1.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not every model that LightGBM reads is a forest here: one output, constant leaves, and an [`Objective`] whose
//! prediction is a simple function of the sum. The error says what is supported.

// How the files divide the work. `text` cuts the bytes into lines and lists (of `number`s), `fields` sorts a part's lines by key.
// `header`, `tree_text` (with `categories` and `shape`) and `sections` say what the keys mean and check it; what they
// let through, `row` and `contributions` walk without asking again. `error` is where any of them says what is wrong.

mod categories;
mod contributions;
mod error;
mod feature_info;
mod fields;
mod header;
mod number;
mod objective;
mod row;
mod sections;
mod shape;
mod statistics;
mod text;
mod tree;
mod tree_text;

pub use categories::CategorySets;
pub use contributions::Contributions;
pub use error::{ForestError, Reason};
pub use feature_info::FeatureInfo;
pub use objective::{Objective, Transform};
pub use row::{Row, RowError};
pub use statistics::FeatureUse;
pub use tree::{Child, Missing, Node, Split, Target, Tree};

use error::Place;
use header::Header;
use text::{Field, Lines};

/// Values of a row up to this size count as zero, as they do in LightGBM: 1e-35 in single precision.
pub const ZERO_THRESHOLD: f64 = 1e-35f32 as f64;

/// The largest size of a leaf's or node's value. LightGBM sets no bound; with this one no sum over a forest can
/// overflow, so that every raw score is a finite number.
pub const MAX_VALUE: f64 = 1e290;

/// A checked forest of decision trees. See the [module](self) for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    version: &'static str,
    feature_names: Vec<String>,
    feature_infos: Vec<FeatureInfo>,
    objective: Objective,
    averaged: bool,
    trees: Vec<Tree>,
    parameters: Option<String>,
}

impl Forest {
    /// Reads the whole text of a LightGBM model.
    ///
    /// Line ends may be of either kind. Blank lines, lines that begin with `#`, keys that are not known and sections
    /// after the trees are passed over; `tree_sizes` may be absent. Whatever the bytes are, the call returns: it does
    /// not panic, and it needs memory for a small multiple of the text.
    pub fn parse(text: &[u8]) -> Result<Forest, ForestError> {
        let text = std::str::from_utf8(text).map_err(|error| not_utf8(text, error.valid_up_to()))?;
        let mut lines = Lines::new(text);
        let header = Header::parse(&mut lines)?;
        let trees = parse_trees(&mut lines, header.feature_names.len())?;
        header.validate_trees(trees.len(), lines.place())?;
        let parameters = sections::parameters(lines)?.map(str::to_owned);
        Ok(Forest {
            version: header.version,
            feature_names: header.feature_names,
            feature_infos: header.feature_infos,
            objective: header.objective,
            averaged: header.averaged,
            trees,
            parameters,
        })
    }

    /// The version of the text format: `v3` or `v4`.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// How many values a row has.
    pub fn num_features(&self) -> usize {
        self.feature_names.len()
    }

    /// The features' names, in the order of a row's values.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// What training saw of each feature.
    pub fn feature_infos(&self) -> &[FeatureInfo] {
        &self.feature_infos
    }

    /// The trees, in the order in which their values are added.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// What the forest was trained for; it decides how a sum becomes a prediction.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Whether a prediction is the trees' average (a random forest) instead of their sum.
    pub fn averaged(&self) -> bool {
        self.averaged
    }

    /// The training parameters as LightGBM wrote them, one `[key: value]` a line, if the text has them.
    pub fn parameters(&self) -> Option<&str> {
        self.parameters.as_deref()
    }

    /// Checks a row once, for several answers about it.
    pub fn row<'a>(&'a self, values: &'a [f64]) -> Result<Row<'a>, RowError> {
        Row::new(self, values)
    }

    /// The sum of the leaf values that the row reaches: LightGBM's `predict(raw_score=True)`, bit for bit.
    ///
    /// The sum is not averaged, whatever [`averaged`](Self::averaged) says, and always finite.
    pub fn raw_score(&self, values: &[f64]) -> Result<f64, RowError> {
        Ok(self.row(values)?.raw_score())
    }

    /// The prediction: LightGBM's `predict()`, bit for bit.
    pub fn predict(&self, values: &[f64]) -> Result<f64, RowError> {
        Ok(self.row(values)?.predict())
    }

    /// What each feature adds to the raw score.
    pub fn contributions(&self, values: &[f64]) -> Result<Contributions, RowError> {
        Ok(self.row(values)?.contributions())
    }

    /// The prediction for a raw score: the average if the forest is averaged, then the objective's transform. For
    /// scorers that find the sum in another way.
    pub fn finish(&self, raw_score: f64) -> f64 {
        let sum = if self.averaged { raw_score / self.trees.len() as f64 } else { raw_score };
        self.objective.transform().apply(sum)
    }
}

/// Reads the trees, up to and including the end of them.
fn parse_trees(lines: &mut Lines<'_>, features: usize) -> Result<Vec<Tree>, ForestError> {
    let mut trees = Vec::new();
    let mut open = None;
    while let Some(line) = lines.next() {
        let number = line.strip_prefix("Tree=");
        if (number.is_some() || line == "end of trees")
            && let Some(fields) = open.take()
        {
            trees.push(tree_text::parse(&fields, features)?);
        }
        let place = lines.place().tree(trees.len());
        match (number, &mut open) {
            (Some(number), _) => {
                validate_number(place, number, trees.len())?;
                open = Some(tree_text::fields(place));
            }
            (None, Some(fields)) => fields.put(place, line)?,
            // The header ended before a tree or the end of trees: nothing else comes first.
            (None, None) => return Ok(trees),
        }
    }
    let place = lines.place().tree(trees.len());
    Err(place.error(Reason::Truncated { expected: "`end of trees`" }))
}

/// Trees count up from 0; a number out of line means that trees were lost, added or swapped.
fn validate_number(place: Place, value: &str, expected: usize) -> Result<(), ForestError> {
    let place = place.field("Tree");
    let number = Field { place, value }.number("a tree's number", |_: usize| true)?;
    if number == expected {
        return Ok(());
    }
    Err(place.value(value, expected.to_string()))
}

fn not_utf8(text: &[u8], offset: usize) -> ForestError {
    let line = text[..offset].split(|&byte| byte == b'\n').count();
    Place::line(line).error(Reason::NotUtf8 { offset })
}
