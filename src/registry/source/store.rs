//! The winner that was measured earlier.

use crate::registry::call::{Call, described};
use crate::registry::index::Choice;
use crate::registry::selection::{Selection, Source};

/// The measured winner, if its kernel is still registered and supported.
pub(in crate::registry) fn answer<'r>(call: Call<'r, '_>) -> Option<Selection<'r>> {
    let snapshot = call.prepared().winners.as_ref().ok()?.snapshot();
    let winner = snapshot.get(&call.problem)?;
    let (kernel, entry) = call.state.kernels().named(&winner.kernel)?;
    let choice = Choice { kernel, split_k: winner.split_k };
    let measured_ms = Some(winner.median_ms);
    let base = || call.selection(choice, entry, Source::Store);
    call.is_usable(entry, choice.split_k).then(|| Selection { measured_ms, ..base() })
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    let winners = match &call.prepared().winners {
        Ok(winners) => winners,
        Err(reason) => return format!("none: {reason}"),
    };
    match (answer(call), winners.snapshot().get(&call.problem)) {
        (Some(selection), _) => described(call, &selection),
        (None, Some(winner)) => {
            format!(
                "{}, which is not registered or not supported",
                call.problem.named(&winner.kernel, winner.split_k)
            )
        }
        (None, None) => match winners.store().status().reason {
            Some(reason) => format!("no winner is known for this problem: {reason}"),
            None => "no winner for this problem".to_owned(),
        },
    }
}
