//! Why a text is not a forest, and where in the text.

use std::borrow::Cow;
use std::fmt;

/// Why a text is not a forest: the reason, with line, tree and field.
///
/// ```
/// let error = ck_select_model::forest::Forest::parse(b"tree\nversion=v1\nend of trees\n").unwrap_err();
/// assert_eq!(error.line(), 2);
/// assert_eq!(error.to_string(), "line 2: version is `v1`, which is not supported; supported: v3, v4");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {position}{reason}", .position.line)]
pub struct ForestError {
    position: TextPosition,
    reason: Cow<'static, str>,
}

impl ForestError {
    /// The line in the text, counted from 1.
    pub fn line(&self) -> usize {
        self.position.line
    }
}

/// The error for a packed forest that was changed, or that something follows.
pub(super) const DAMAGED: &str = "damaged: pack it again";

/// A position in the text: carried by every field while it is parsed, so that any step can report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPosition {
    line: usize,
    tree: Option<usize>,
    field: Option<&'static str>,
    index: Option<usize>,
    /// An offset into the text, where that is all that is known.
    byte: Option<usize>,
}

impl TextPosition {
    pub(super) fn line(line: usize) -> TextPosition {
        TextPosition { line, tree: None, field: None, index: None, byte: None }
    }

    pub(super) fn tree(self, tree: usize) -> TextPosition {
        TextPosition { tree: Some(tree), ..self }
    }

    pub(super) fn field(self, field: &'static str) -> TextPosition {
        TextPosition { field: Some(field), ..self }
    }

    pub(super) fn index(self, index: usize) -> TextPosition {
        TextPosition { index: Some(index), ..self }
    }

    pub(super) fn byte(self, byte: usize) -> TextPosition {
        TextPosition { byte: Some(byte), ..self }
    }

    pub(super) fn error(self, reason: impl Into<Cow<'static, str>>) -> ForestError {
        ForestError { position: self, reason: reason.into() }
    }

    /// The error for a line that the format does not allow here.
    pub(super) fn found(self, found: &str, expected: &str) -> ForestError {
        self.error(format!("found `{}`, expected {expected}", cut(found)))
    }

    /// The error for a text that stops before the forest is complete.
    pub(super) fn truncated(self, expected: &str) -> ForestError {
        self.error(format!("the text ends, expected {expected}: the file is truncated"))
    }

    /// The error for one value; long values are cut, since the text may be hostile.
    pub(super) fn value(self, found: &str, expected: impl fmt::Display) -> ForestError {
        self.error(format!("is `{}`, expected {expected}", cut(found)))
    }

    /// The error for what LightGBM reads and this crate does not.
    pub(super) fn unsupported(self, found: &str, supported: impl fmt::Display) -> ForestError {
        self.error(format!("is `{}`, which is not supported; supported: {supported}", cut(found)))
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tree) = self.tree {
            write!(f, "tree {tree}: ")?;
        }
        if let Some(byte) = self.byte {
            write!(f, "byte {byte} ")?;
        }
        match (self.field, self.index) {
            (Some(field), Some(index)) => write!(f, "{field}[{index}] "),
            (Some(field), None) => write!(f, "{field} "),
            (None, _) => Ok(()),
        }
    }
}

/// The first characters of a text, without control characters, for a message that stays one readable line.
fn cut(text: &str) -> String {
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
    fn quotes_in_errors_stay_short_and_on_one_line() {
        assert_eq!(cut("\"it's\""), "\"it's\"");
        assert_eq!(cut("a\tb\0\u{feff}é"), "a\\tb\\0\\u{feff}é");
        assert_eq!(cut(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(cut(&"é".repeat(41)), "é".repeat(40) + "...");
    }
}
