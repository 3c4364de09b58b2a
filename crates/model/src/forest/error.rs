//! Why a text is not a forest, and where in the text.

use std::borrow::Cow;
use std::fmt;

/// What precedes a part of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) bytes: usize,
    pub(super) lines: usize,
    pub(super) trees: usize,
}

/// Why a text is not a forest: the reason, with line, tree and field.
///
/// ```
/// let error = ck_select_model::forest::Forest::parse(b"tree\nversion=v1\nend of trees\n").unwrap_err();
/// assert_eq!(error.line(), 2);
/// assert_eq!(error.to_string(), "line 2: version is `v1`, which is not supported; supported: v3, v4");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {place}{reason}", .place.line)]
pub struct ForestError {
    place: Place,
    reason: Reason,
}

impl ForestError {
    /// The line in the text, counted from 1.
    pub fn line(&self) -> usize {
        self.place.line
    }

    /// The tree, counted from 0, unless the fault is outside all trees.
    pub fn tree(&self) -> Option<usize> {
        self.place.tree
    }

    /// The key whose value is at fault, such as `left_child`.
    pub fn field(&self) -> Option<&'static str> {
        self.place.field
    }

    /// The position in the field's list, counted from 0, if one value of a list is at fault.
    pub fn index(&self) -> Option<usize> {
        self.place.index
    }

    /// What is wrong there.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The same, relative to the whole text instead of a part.
    pub(super) fn shifted(mut self, before: Before) -> ForestError {
        self.place = self.place.shifted(before);
        if let Reason::NotUtf8 { offset } = &mut self.reason {
            *offset += before.bytes;
        }
        self
    }
}

/// What is wrong: what was found, and what was expected in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes are not UTF-8, so they are not a text model.
    #[error("byte {offset} of the text is not UTF-8")]
    NotUtf8 {
        /// Offset of the first byte that is not UTF-8, from 0.
        offset: usize,
    },
    /// A line that the format does not allow at this place.
    #[error("found `{found}`, expected {expected}")]
    Line {
        /// The beginning of the line.
        found: String,
        /// What is allowed here.
        expected: &'static str,
    },
    /// The text stops before the forest is complete.
    #[error("the text ends, expected {expected}: the file is truncated")]
    Truncated {
        /// What was still missing.
        expected: &'static str,
    },
    /// A part of a packed forest is damaged, or something follows its end.
    #[error("damaged: pack it again")]
    Damaged,
    /// A required field is missing.
    #[error("is missing")]
    Missing,
    /// A field is given twice.
    #[error("is given a second time")]
    Repeated,
    /// A list is too short or too long.
    #[error("has {found} values, expected {expected} ({because})")]
    Count {
        /// Values in the text.
        found: usize,
        /// Values that the rest of the text requires.
        expected: usize,
        /// Where the expectation comes from.
        because: &'static str,
    },
    /// A value has the wrong type, or is out of range.
    #[error("is `{found}`, expected {expected}")]
    Value {
        /// The value in the text, cut if it is long.
        found: String,
        /// What is allowed.
        expected: Cow<'static, str>,
    },
    /// The text is a model that LightGBM reads and this crate does not.
    #[error("is `{found}`, which is not supported; supported: {supported}")]
    Unsupported {
        /// The value in the text, cut if it is long.
        found: String,
        /// What is supported.
        supported: Cow<'static, str>,
    },
    /// Two branches, or a cycle, lead to the same node or leaf.
    #[error("leads to {target} a second time, expected one path to each node and leaf")]
    ReachedTwice {
        /// The node or leaf, such as `node 3`.
        target: String,
    },
    /// No branch leads from the root to a node.
    #[error("belongs to a node that is unreachable from the root")]
    Unreached,
}

/// Where in the text: carried by every field while it is parsed, so that any step can report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    tree: Option<usize>,
    field: Option<&'static str>,
    index: Option<usize>,
}

impl Place {
    pub(super) fn line(line: usize) -> Place {
        Place { line, tree: None, field: None, index: None }
    }

    pub(super) fn tree(self, tree: usize) -> Place {
        Place { tree: Some(tree), ..self }
    }

    pub(super) fn field(self, field: &'static str) -> Place {
        Place { field: Some(field), ..self }
    }

    pub(super) fn index(self, index: usize) -> Place {
        Place { index: Some(index), ..self }
    }

    /// The same place, relative to the whole text instead of a part.
    pub(super) fn shifted(self, before: Before) -> Place {
        Place { line: self.line + before.lines, tree: self.tree.map(|tree| tree + before.trees), ..self }
    }

    pub(super) fn error(self, reason: Reason) -> ForestError {
        ForestError { place: self, reason }
    }

    /// The error for one value; long values are cut, since the text may be hostile.
    pub(super) fn value(self, found: &str, expected: impl Into<Cow<'static, str>>) -> ForestError {
        self.error(Reason::Value { found: cut(found), expected: expected.into() })
    }

    pub(super) fn unsupported(self, found: &str, supported: impl Into<Cow<'static, str>>) -> ForestError {
        self.error(Reason::Unsupported { found: cut(found), supported: supported.into() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tree) = self.tree {
            write!(f, "tree {tree}: ")?;
        }
        match (self.field, self.index) {
            (Some(field), Some(index)) => write!(f, "{field}[{index}] "),
            (Some(field), None) => write!(f, "{field} "),
            (None, _) => Ok(()),
        }
    }
}

/// The first characters of a text, without control characters, for a message that stays one readable line.
pub(super) fn cut(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        match character {
            _ if index == SHOWN => {
                shown.push_str("...");
                break;
            }
            '"' | '\'' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_short_and_on_its_line() {
        assert_eq!(cut("\"it's\""), "\"it's\"");
        assert_eq!(cut("a\tb\0\u{feff}é"), "a\\tb\\0\\u{feff}é");
        assert_eq!(cut(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(cut(&"é".repeat(41)), "é".repeat(40) + "...");
    }
}
