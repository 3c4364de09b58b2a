//! The registered priorities, which have an answer whenever a kernel fits and is supported.

use std::fmt::Write;

use crate::kernel::closest;
use crate::registry::call::{Call, outcome};
use crate::registry::index::Choice;
use crate::registry::options::Mode;
use crate::registry::selection::{SelectError, Selection, Source};

pub(super) fn answer<'r>(call: Call<'r, '_>) -> Result<Selection<'r>, SelectError> {
    let Call { state, problem, .. } = call;
    let (mut unfit, mut unsupported) = (0, 0);
    for (kernel, entry) in state.kernels().by_priority() {
        if !call.is_eligible(entry) {
            unfit += 1;
        } else if let Some(split_k) = call.splits_of(entry).find(|&split_k| call.supports(entry, split_k)) {
            let no_model = state.options().mode != Mode::Priority;
            let base = call.selection(Choice { kernel, split_k }, entry, Source::Priority);
            return Ok(Selection { rank: unsupported, unsupported, no_model, ..base });
        } else {
            unsupported += 1;
        }
    }
    let kernels = state.kernels().by_priority().map(|(_, entry)| entry.kernel());
    let why = closest(kernels, &problem).and_then(|kernel| {
        let reason = kernel.misfit(&problem)?;
        Some(format!("'{}': {reason}", kernel.name))
    });
    Err(SelectError::NoKernel { kernels: state.kernels().len(), unfit, unsupported, why })
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    let mut text = outcome(call, answer(call));
    for (_, entry) in call.state.kernels().by_priority().filter(|(_, entry)| call.is_eligible(entry)) {
        if let Some(words) = entry.unknown() {
            let _ = write!(text, "\n  after those that are ranked: {}: {words}", entry.name());
        }
    }
    text
}
