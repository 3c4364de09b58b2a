//! An inner node of a tree, as the walk reads it.

/// An inner node: a question about one feature, and where each answer leads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// The feature that the question is about, as an index into a row.
    pub feature: u32,
    /// The question.
    pub split: Split,
    /// The child for yes.
    pub left: Child,
    /// The child for no.
    pub right: Child,
}

/// The question that a node asks of its feature's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Split {
    /// Is the value at most `threshold`? A value that counts as missing is not compared.
    Numeric {
        /// The largest value that goes left; never NaN.
        threshold: Threshold,
        /// Which values count as missing.
        missing: Missing,
        /// Whether missing values go left.
        default_left: bool,
    },
    /// Is the value, truncated to an integer, a member of the set? NaN and negative integers never are.
    Categorical {
        /// The set, for [`CategorySets::contains`](super::CategorySets::contains) and
        /// [`CategorySets::words`](super::CategorySets::words).
        set: u32,
    },
}

/// The number that a numeric split compares with, in halves, so that nodes are aligned to four bytes, which
/// saves memory in large forests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold([u32; 2]);

impl Threshold {
    pub(super) fn new(value: f64) -> Threshold {
        let bits = value.to_bits();
        Threshold([bits as u32, (bits >> 32) as u32])
    }

    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(u64::from(self.0[0]) | u64::from(self.0[1]) << 32)
    }
}

/// Which values a numeric split treats as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// None: NaN is treated as zero.
    Never,
    /// Zero, which includes values up to [`ZERO_THRESHOLD`](super::ZERO_THRESHOLD), and NaN.
    Zero,
    /// NaN.
    Nan,
}

/// The child of a branch, in the text's own encoding: a node, or the complement of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child(pub(super) i32);

/// The child of a branch, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An index for [`Tree::node`](super::Tree::node).
    Node(usize),
    /// An index into [`Tree::leaf_values`](super::Tree::leaf_values).
    Leaf(usize),
}

impl Child {
    /// The decoded child.
    pub fn target(self) -> Target {
        match usize::try_from(self.0) {
            Ok(node) => Target::Node(node),
            Err(_) => Target::Leaf(!self.0 as usize),
        }
    }
}
