//! The kernel that a rule of the override file names.

use crate::registry::call::{Answer, Call, outcome};
use crate::registry::index::Choice;
use crate::registry::selection::{SelectError, Source};

/// A rule for the problem is never skipped: it is an error if its kernel cannot be taken.
pub(super) fn answer<'r>(call: Call<'r, '_>) -> Answer<'r> {
    let (name, split_k) = call.state.overrides().get(&call.problem, call.arch())?;
    let reason = match call.state.kernels().named(name) {
        None => "is not registered",
        Some((_, entry)) if !call.is_eligible(entry) => "computes something else",
        Some((_, entry)) if !call.supports(entry, split_k) => "does not support the problem",
        Some((kernel, entry)) => {
            return Some(Ok(call.selection(Choice { kernel, split_k }, entry, Source::Override)));
        }
    };
    Some(Err(SelectError::Override { kernel: name.to_owned(), reason }))
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    match answer(call) {
        Some(answer) => outcome(call, answer),
        None if call.state.options().override_file.is_none() => "no file".to_owned(),
        None => "no rule for this problem".to_owned(),
    }
}
