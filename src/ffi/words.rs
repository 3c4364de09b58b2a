//! Words as numbers.
//!
//! Inputs are plain integers, so that an unknown number is an error instead of undefined behaviour. The
//! header's enums are made of the vocabularies by `tests/header.rs`.

use super::CkStatus;
use super::error::Failure;

/// Looks a number up in a vocabulary.
pub(super) fn word<T: Copy>(what: &str, number: i32, all: &[T], words: &[&str]) -> Result<T, Failure> {
    usize::try_from(number).ok().and_then(|number| all.get(number)).copied().ok_or_else(|| {
        let message = format!("{what} is {number}, expected 0 to {} ({})", all.len() - 1, words.join(", "));
        Failure::new(CkStatus::InvalidArgument, message)
    })
}
