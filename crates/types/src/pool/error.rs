//! What is wrong with a pool, and where.

use std::fmt;

/// Why a pool could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolError {
    /// The file's label; `None` when the pool did not come from a file.
    pub file: Option<String>,
    /// The line, from 1; for a JSON kernel, the line where it ends.
    pub line: Option<u64>,
    /// The field, such as `kernels[3].signature.op`.
    pub field: Option<String>,
    /// The fault at this position.
    pub reason: String,
    /// Whether the file cannot be opened or read.
    pub is_unreadable: bool,
}

impl PoolError {
    pub(super) fn new(reason: impl fmt::Display) -> Self {
        Self { file: None, line: None, field: None, reason: reason.to_string(), is_unreadable: false }
    }

    pub(super) fn value(found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::new(format_args!("found {found}, expected {expected}"))
    }

    pub(super) fn unreadable(error: &std::io::Error) -> Self {
        Self { is_unreadable: true, ..Self::new(format_args!("cannot be read: {error}")) }
    }

    pub(super) fn file(mut self, label: &str) -> Self {
        self.file = Some(label.to_owned());
        self
    }

    pub(super) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Puts `outer` before the field that is known so far.
    pub(super) fn within(mut self, outer: &str) -> Self {
        self.field = Some(match self.field {
            Some(inner) => format!("{outer}.{inner}"),
            None => outer.to_owned(),
        });
        self
    }
}

/// A value of a file between quotes, cut when it is long.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            f.write_str(file)?;
            separator = ", ";
        }
        if let Some(line) = self.line {
            write!(f, "{separator}line {line}")?;
            separator = ", ";
        }
        if let Some(field) = &self.field {
            write!(f, "{separator}{field}")?;
            separator = ", ";
        }
        let separator = if separator.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", self.reason)
    }
}

impl std::error::Error for PoolError {}
