//! Kernels measured during the call.

use std::collections::HashSet;

use super::{estimate, model};
use crate::registry::call::Call;
use crate::registry::index::Choice;
use crate::registry::measure::measure;
use crate::registry::options::Mode;
use crate::registry::selection::Selection;
use crate::sureness::Sure;
use crate::tuning::store::WinnerSource;

/// Measures what the mode allows: all kernels, or the model's best.
pub(super) fn answer<'r>(call: Call<'r, '_>) -> Option<Selection<'r>> {
    let options = call.state.options();
    match options.mode {
        Mode::Search => all(call),
        Mode::Model if options.search => all(call),
        Mode::Refine(count) => refine(call, &model::answer(call)?, count),
        Mode::RefineAuto => {
            let best = model::answer(call)?;
            refine(call, &best, to_be_sure(best.sure))
        }
        Mode::Model | Mode::Priority => None,
    }
}

/// The model's answer, or a measured one where the options do not trust it: a universal model's guess does
/// not prevent a search, and outside the training range the best kernels may be measured.
pub(super) fn instead_of<'r>(best: Selection<'r>, call: Call<'r, '_>) -> Selection<'r> {
    let options = call.state.options();
    if options.mode != Mode::Model || !options.measures() {
        return best;
    }
    let measured = if options.search && best.universal { all(call) } else { None };
    let refine = || refine(call, &best, options.refine_out_of_range);
    measured.or_else(|| if best.out_of_range() { refine() } else { None }).unwrap_or(best)
}

fn all<'r>(call: Call<'r, '_>) -> Option<Selection<'r>> {
    if !call.measures {
        return None;
    }
    measure(call, &candidates(call), WinnerSource::Search)
}

/// How many kernels an answer asks to measure; 0 if it is sure without.
fn to_be_sure(sure: Option<Sure>) -> usize {
    match sure {
        Some(Sure { sure_within: [0 | 1, _], .. }) => 0,
        Some(Sure { sure_within: [count, _], .. }) => count as usize,
        None => USUAL,
    }
}

/// How many kernels are measured where nobody knows how sure the answer is.
const USUAL: usize = 3;

/// Measures the model's `count` best.
fn refine<'r>(call: Call<'r, '_>, best: &Selection<'r>, count: usize) -> Option<Selection<'r>> {
    if !call.measures || count == 0 {
        return None;
    }
    let refined = measure(call, &model::best(call, count), WinnerSource::Refine)?;
    Some(Selection { outside: best.outside, ..refined })
}

/// All kernels that fit and are supported, in each number of parts that may be chosen: in the model's order
/// and, if there is none, the rest in the estimate's, so that the best are measured before the budget ends.
pub(in crate::registry) fn candidates(call: Call<'_, '_>) -> Vec<Choice> {
    let kernels = call.state.kernels();
    let mut candidates = model::best(call, usize::MAX);
    let mut taken: HashSet<Choice> = candidates.iter().copied().collect();
    let by_priority = kernels
        .by_priority()
        .flat_map(|(kernel, entry)| call.splits_of(entry).map(move |split_k| Choice { kernel, split_k }));
    candidates.extend(estimate::fitting(call).into_iter().chain(by_priority).filter(|&choice| {
        let entry = kernels.get(choice.kernel);
        taken.insert(choice) && entry.is_some_and(|entry| call.is_usable(entry, choice.split_k))
    }));
    candidates
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    let options = call.state.options();
    let what = match options.mode {
        Mode::Search => "all kernels, before the model".to_owned(),
        Mode::Refine(count) => format!("the model's best {count}"),
        Mode::RefineAuto => match model::answer(call).map(|best| to_be_sure(best.sure)) {
            Some(0) => return "the model's answer is sure".to_owned(),
            Some(count) => format!("the model's best {count}, to be sure"),
            None => "as many of the model's best as it takes to be sure".to_owned(),
        },
        Mode::Model if options.search => "all kernels, when no model fits".to_owned(),
        Mode::Model if options.refine_out_of_range > 0 => {
            format!("the model's best {} when the problem is out of range", options.refine_out_of_range)
        }
        Mode::Model | Mode::Priority => return "not allowed".to_owned(),
    };
    match call.registry.slots.facts(options) {
        Ok(facts) => format!("{what}, on {}", facts.name),
        Err(reason) => format!("{what}, but {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_kernels_are_measured_as_an_answer_asks_for() {
        let asking = |count| Some(Sure { expected_loss: 0.01, chance: 0.8, sure_within: [count, 30] });
        assert_eq!([asking(1), asking(2), asking(12), None].map(to_be_sure), [0, 2, 12, USUAL]);
    }
}
