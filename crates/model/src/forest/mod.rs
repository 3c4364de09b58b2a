//! LightGBM's text model, checked once and then scored exactly.
//!
//! [`Forest::parse`] takes the whole text of a model (versions 3 and 4 of the format, which LightGBM 2.2 and
//! later write), and either refuses it, naming the line, the tree and the field, or returns a [`Forest`]. A
//! forest is immutable, so any number of threads may score rows with it at once. Its raw scores and
//! predictions have LightGBM 4.7's bits: [`Forest::raw_score`] and [`Forest::predict`].
//!
//! ```
//! use ck_select_model::forest::Forest;
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
//! Not every model that LightGBM reads is supported: a forest has one output, constant leaves, and an
//! [`Objective`] whose prediction is a simple function of the sum. The error says what is supported.

// How the files divide the work. `parts` reads the bytes tree by tree, `text` cuts them into lines and lists,
// `number` reads numbers. `packed` reads numbers that are stored as bytes.
// `fields` sorts the lines of a header or tree by key. `header` and `tree_text` (with `categories` and
// `shape`) interpret the keys and check them. `tree` stores what they accept, and `row`, `together` and
// `contributions` walk it without further checks. `error` has the errors of all of them.

mod categories;
mod contributions;
mod error;
mod feature_info;
mod fields;
mod header;
mod node;
mod number;
mod objective;
mod packed;
mod row;
mod sections;
mod shape;
mod statistics;
mod text;
#[cfg(test)]
pub(crate) mod texts;
mod together;
mod tree;
mod tree_text;

use std::io;

pub use categories::CategorySets;
pub use contributions::Contributions;
pub use error::ForestError;
pub use feature_info::FeatureInfo;
pub use header::text_head;
pub use node::{Child, Missing, Node, Split, Target, Threshold};
pub use objective::{Objective, Transform};
pub use row::{Row, RowError};
pub use statistics::FeatureUse;
pub(crate) use together::{TOGETHER, Values};
pub use tree::Tree;

use sections::Contents;

/// Values of a row up to this size count as zero, as in LightGBM: 1e-35 in single precision.
pub const ZERO_THRESHOLD: f64 = 1e-35f32 as f64;

/// The largest size of a leaf's or node's value. LightGBM has no limit; with this one no sum over a forest
/// can overflow, so that every raw score is a finite number.
pub const MAX_VALUE: f64 = 1e290;

/// Why a forest could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// An error of the reader.
    Io(io::Error),
    /// An error in the text.
    Text(ForestError),
}

impl From<ForestError> for ReadError {
    fn from(error: ForestError) -> Self {
        Self::Text(error)
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The error of reading a slice, which can only fail at its end.
fn text_error(error: ReadError) -> ForestError {
    match error {
        ReadError::Text(error) => error,
        ReadError::Io(_) => packed::truncated(),
    }
}

/// A checked forest of decision trees. See the [module](self) for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    version: &'static str,
    feature_names: Vec<String>,
    feature_infos: Vec<FeatureInfo>,
    objective: Objective,
    averaged: bool,
    trees: Vec<Tree>,
}

impl Forest {
    /// Reads the whole text of a LightGBM model.
    ///
    /// Line ends may be LF or CRLF. Unknown keys and sections after the trees are ignored, as are blank lines
    /// and lines beginning with `#` in the header; `tree_sizes` may be absent. Texts that LightGBM reads
    /// differently from how they look, such as a tree with a line without `=`, are refused. With any bytes,
    /// the call returns: it does not panic, and its memory is a small multiple of the text's size.
    pub fn parse(text: &[u8]) -> Result<Forest, ForestError> {
        Forest::read(text).map_err(text_error)
    }

    /// [`Forest::parse`] from a reader, in one pass and without holding the whole text.
    pub(crate) fn read(reader: impl io::BufRead) -> Result<Forest, ReadError> {
        sections::read(reader).map(Forest::from_contents)
    }

    /// How a packed forest begins. A packed forest is a model text with the numbers of its trees as bytes; it
    /// is the form of embedded models. It loads several times faster than the text, and is checked in the
    /// same way. `ckselect dev pack` makes it.
    pub const PACKED_MAGIC: &[u8] = b"ck-select packed forest 2\n";

    /// Reads the whole of a packed forest, which begins with [`Forest::PACKED_MAGIC`].
    pub fn unpack(bytes: &[u8]) -> Result<Forest, ForestError> {
        Forest::read_packed(bytes).map_err(text_error)
    }

    /// The text of a packed forest, for a program that reads LightGBM's texts: it has the bits of every
    /// number that a forest is read from, but not the digits of the text that was packed.
    pub fn packed_text(bytes: &[u8]) -> Result<String, ForestError> {
        packed::text(bytes).map_err(text_error)
    }

    /// Reads a packed forest.
    pub(crate) fn read_packed(reader: impl io::Read) -> Result<Forest, ReadError> {
        packed::read(reader).map(Forest::from_contents)
    }

    fn from_contents(Contents { header, trees }: Contents) -> Forest {
        Forest {
            version: header.version,
            feature_names: header.feature_names,
            feature_infos: header.feature_infos,
            objective: header.objective,
            averaged: header.averaged,
            trees,
        }
    }

    /// The version of the text format: `v3` or `v4`.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// The number of values of a row.
    pub fn num_features(&self) -> usize {
        self.feature_names.len()
    }

    /// The features' names, in the order of a row's values.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The record of each feature in training.
    pub fn feature_infos(&self) -> &[FeatureInfo] {
        &self.feature_infos
    }

    /// The trees, in the order in which their values are added.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The objective of the training, which determines how a sum becomes a prediction.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Whether a prediction is the trees' average (a random forest) instead of their sum.
    pub fn averaged(&self) -> bool {
        self.averaged
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

    /// The contribution of each feature to the raw score.
    pub fn contributions(&self, values: &[f64]) -> Result<Contributions, RowError> {
        Ok(self.row(values)?.contributions())
    }

    /// The prediction for a raw score: the average if the forest is averaged, then the objective's transform.
    /// For scorers that compute the sum in another way.
    pub fn finish(&self, raw_score: f64) -> f64 {
        let sum = if self.averaged { raw_score / self.trees.len() as f64 } else { raw_score };
        self.objective.transform().apply(sum)
    }
}
