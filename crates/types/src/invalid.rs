//! Words and values that are refused, and what would have been accepted.

use std::fmt;

use crate::nearest::Hint;

/// A word outside its vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown {what} '{found}', expected one of: {}{}",
    accepted.join(", "),
    Hint::new(found, accepted.iter().copied())
)]
pub struct UnknownWord {
    /// The kind of word that was expected, such as `pipeline`.
    pub what: &'static str,
    /// The word in the input.
    pub found: String,
    /// The words that would have been accepted.
    pub accepted: &'static [&'static str],
}

/// A field of a problem (or of a kernel, or of an input row) that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: found {found}, expected {expected}")]
pub struct InvalidField {
    /// The field's name, as the text form spells it.
    pub field: String,
    /// The field's value in the input.
    pub found: String,
    /// The values that the field may have.
    pub expected: String,
}

impl InvalidField {
    /// The error for a field: its value, and what it should be.
    pub fn new(field: impl Into<String>, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { field: field.into(), found: found.to_string(), expected: expected.into() }
    }

    /// A field with an unknown word.
    pub fn word(field: impl Into<String>, error: &UnknownWord) -> Self {
        let accepted = error.accepted;
        let hint = Hint::new(&error.found, accepted.iter().copied());
        Self::new(field, format_args!("'{}'", error.found), format!("one of {}{hint}", accepted.join(", ")))
    }
}
