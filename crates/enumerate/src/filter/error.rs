//! What is wrong with a filter, and where.

use std::fmt;
use std::ops::Range;

/// A filter that cannot be read or evaluated. The error's text points at the mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// What was found and what was expected.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The source line, and how many of its characters to underline.
    shown: String,
    width: usize,
}

impl FilterError {
    /// A mistake in the bytes `span` of `text`.
    pub(super) fn new(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = span.start.min(text.len());
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let shown = text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        let meant = text.get(span).and_then(|span| span.lines().next()).unwrap_or_default();
        Self {
            message: message.into(),
            line: before.matches('\n').count() + 1,
            column,
            shown: shown.to_owned(),
            width: meant.chars().count().max(1),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// How many characters of a long line are shown on either side of the mistake.
        const ROOM: usize = 60;
        if self.line > 1 {
            write!(f, "line {}, ", self.line)?;
        }
        writeln!(f, "column {}: {}", self.column, self.message)?;
        let skipped = (self.column - 1).saturating_sub(ROOM);
        let line: String = self.shown.chars().skip(skipped).take(2 * ROOM).collect();
        let indent: String = line
            .chars()
            .take(self.column - 1 - skipped)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let room = line.chars().count().saturating_sub(indent.chars().count()).max(1);
        write!(f, "  {line}\n  {indent}{}", "^".repeat(self.width.min(room)))
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_mistake() {
        let error = FilterError::new("c.x > 1 and\n\tc.ü.y", 13..17, "wrong");
        assert_eq!(error.to_string(), "line 2, column 2: wrong\n  \tc.ü.y\n  \t^^^");
        let end = FilterError::new("a", 1..1, "early end");
        assert_eq!(end.to_string(), "column 2: early end\n  a\n   ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_mistake() {
        let text = format!("{}?{}", "x".repeat(500), "y".repeat(500));
        let shown = FilterError::new(&text, 500..501, "odd").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].find('?'), lines[2].find('^'));
        assert!(lines[1].len() < 130);
    }
}
