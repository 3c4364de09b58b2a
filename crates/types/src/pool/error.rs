//! What is wrong with a pool, and where.

use std::fmt;

use super::Pool;
use crate::kernel::NameError;
use crate::vocab::Op;

/// Why a pool could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolError {
    /// The file's label; `None` when the pool did not come from a file.
    pub file: Option<String>,
    /// The line, from 1; for a JSON kernel, the line where it ends.
    pub line: Option<u64>,
    /// The field, such as `kernels[3].signature.op`.
    pub field: Option<String>,
    /// What is wrong there.
    pub fault: Box<PoolFault>,
}

/// What is wrong with a pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolFault {
    /// The file cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// More bytes than [`Pool::MAX_BYTES`].
    #[error("larger than {} MiB", Pool::MAX_BYTES >> 20)]
    TooLarge,
    /// More kernels than [`Pool::MAX_KERNELS`].
    #[error("more than {} kernels", Pool::MAX_KERNELS)]
    TooMany,
    /// Text that is not UTF-8.
    #[error("not UTF-8 from byte {offset} on")]
    NotUtf8 {
        /// The first byte that cannot be read.
        offset: usize,
    },
    /// No kernel at all.
    #[error("no kernel found, expected at least one")]
    Empty,
    /// Two operations in one pool.
    #[error("'{name}' is a {op} kernel, but '{first_name}' is a {first_op} kernel: a pool has one operation")]
    MixedOps {
        /// The operation of the kernel that does not fit.
        op: Op,
        /// Its name.
        name: String,
        /// The operation of the first kernel.
        first_op: Op,
        /// Its name.
        first_name: String,
    },
    /// A name that follows no grammar.
    #[error(transparent)]
    Name(NameError),
    /// JSON or CSV that is not well formed.
    #[error("{0}")]
    Syntax(String),
    /// An invalid value of a field, or a missing one.
    #[error("found {found}, expected {expected}")]
    Value {
        /// What was found.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A field and a name that say different things about one kernel.
    #[error("the field says {in_field}, but the name '{name}' says {in_name}")]
    Contradiction {
        /// The name, or identifier.
        name: String,
        /// What the name says.
        in_name: String,
        /// What the field says.
        in_field: String,
    },
}

impl PoolError {
    pub(super) fn new(fault: PoolFault) -> Self {
        Self { file: None, line: None, field: None, fault: Box::new(fault) }
    }

    pub(super) fn value(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(PoolFault::Value { found: found.into(), expected: expected.into() })
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
        write!(f, "{separator}{}", self.fault)
    }
}

impl std::error::Error for PoolError {}
