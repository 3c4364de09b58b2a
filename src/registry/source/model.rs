//! The best kernel by the model that serves the problem.

use std::fmt::Write;

use crate::directory::listed;
use crate::problem::Problem;
use crate::ranking::{LeftOutReason, RankError, RankScratch, Ranker, Ranking};
use crate::registry::call::{Call, with_scratch};
use crate::registry::entry::Entry;
use crate::registry::index::Choice;
use crate::registry::prepared::{LoadedModel, PreparedModel};
use crate::registry::selection::{SelectError, Selection, Source};
use crate::registry::state::State;
use crate::vocab::Arch;

/// Places of a ranking that are computed before the others.
const FIRST: usize = Ranker::LOOKED_AT;

/// The model that serves a problem, and its ranking.
pub(in crate::registry) struct Ranked<'s, 'w> {
    pub(in crate::registry) model: &'s PreparedModel,
    pub(in crate::registry) ranker: &'s Ranker,
    pub(in crate::registry) ranking: Ranking<'s, 'w>,
}

/// Ranks the kernels for a problem, the `first` best before the others: none if they compute something else.
/// Reasons are not collected for the select path, because that allocates.
fn rank<'s, 'w>(
    call: Call<'_, 's>,
    first: usize,
    scratch: &'w mut RankScratch,
) -> Result<Ranked<'s, 'w>, SelectError> {
    let Call { state, problem, .. } = call;
    let no_model = || SelectError::NoModel { why: String::new() };
    let index = state.model_for(&problem, call.arch()).ok_or_else(no_model)?;
    let model = call.prepared().model(index).ok_or_else(no_model)?;
    let kernels = state.kernels().len();
    let nothing = SelectError::NoKernel { kernels, unfit: kernels, unsupported: 0, why: None };
    let ranker = model.ranker.as_deref().map_err(|_| nothing)?;
    match ranker.ranking_of_fitting(problem, call.arch(), first, scratch) {
        Ok(ranking) => Ok(Ranked { model, ranker, ranking }),
        // A universal model only serves the problem if the GPU is known.
        Err(RankError::NoArch | RankError::Device(_)) => Err(no_model()),
        Err(error) => Err(error.into()),
    }
}

/// [`rank`] with the reason why there is no kernel.
pub(in crate::registry) fn rank_or_why<'s, 'w>(
    call: Call<'_, 's>,
    first: usize,
    scratch: &'w mut RankScratch,
) -> Result<Ranked<'s, 'w>, SelectError> {
    let ranked = rank(call, first, scratch)?;
    if ranked.ranking.is_empty() {
        return Err(ranked.model.no_kernel(ranked.ranker, call.problem).into());
    }
    Ok(ranked)
}

impl Ranked<'_, '_> {
    /// The next kernel that fits, best first, with its index in the pool and its score.
    pub(in crate::registry) fn next_fitting<'s>(
        &mut self,
        call: Call<'_, 's>,
    ) -> Result<Option<(Choice, &'s Entry, crate::ranking::Ranked)>, RankError> {
        for ranked in &mut self.ranking {
            let ranked = ranked?;
            let kernel = self.model.kernel(ranked.index);
            if let Some((kernel, entry)) = kernel.and_then(|kernel| Some((kernel, call.state.entry(kernel)?)))
                && call.runs_ranked(entry, self.ranker)
            {
                return Ok(Some((Choice { kernel, split_k: ranked.split_k }, entry, ranked)));
            }
        }
        Ok(None)
    }
}

pub(in crate::registry) fn answer<'r>(call: Call<'r, '_>) -> Option<Selection<'r>> {
    with_scratch(&call.registry.scratches, |scratch| first_supported(call, scratch))
}

/// The model's best kernel that fits and is supported. Usually it is one of the first, and in a large pool computing
/// those is faster than the whole ranking.
fn first_supported<'r>(call: Call<'r, '_>, scratch: &mut RankScratch) -> Option<Selection<'r>> {
    let mut ranked = rank(call, FIRST, scratch).ok()?;
    let mut unsupported = 0;
    while let Some((choice, entry, listed)) = ranked.next_fitting(call).ok()? {
        if !call.supports(entry, choice.split_k) {
            unsupported += 1;
            continue;
        }
        let Ranked { model, ranker, ranking } = &ranked;
        let arch_unknown = model.is_of_one_arch() && call.problem.arch().or(call.arch()).is_none();
        return Some(Selection {
            score: Some(listed.score),
            sure: ranking.sure(),
            rank: unsupported,
            unsupported,
            outside: ranking.outside(),
            unmeasured: !ranker.unmeasured(listed.index).is_empty(),
            arch_unknown,
            universal: model.is_universal(),
            model: Some(model.name),
            ..call.selection(choice, entry, Source::Model)
        });
    }
    None
}

/// The best kernels that fit and are supported.
pub(super) fn best(call: Call<'_, '_>, count: usize) -> Vec<Choice> {
    let mut scratch = RankScratch::default();
    let Ok(mut ranked) = rank(call, usize::MAX, &mut scratch) else { return Vec::new() };
    std::iter::from_fn(|| ranked.next_fitting(call).ok()?)
        .filter(|(choice, entry, _)| call.supports(entry, choice.split_k))
        .map(|(choice, ..)| choice)
        .take(count)
        .collect()
}

/// Why the model did not choose.
pub(super) fn why_not(call: Call<'_, '_>) -> String {
    match rank_or_why(call, 1, &mut RankScratch::default()) {
        Err(SelectError::NoModel { .. }) => none_fits(call.state, &call.problem),
        Err(error) => error.to_string(),
        Ok(_) => match answer(call) {
            None => "no kernel that it ranks fits and is supported".to_owned(),
            Some(best) => {
                let note = if best.out_of_range() { ", out of range" } else { "" };
                call.problem.named(best.entry.name(), best.split_k) + note
            }
        },
    }
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    let Call { state, problem, .. } = call;
    let chosen = state.model_for(&problem, call.arch());
    let fitting = chosen.and_then(|index| Some((index, state.model(index)?, call.prepared().model(index)?)));
    let Some((chosen, loaded, prepared)) = fitting else { return none_fits(state, &problem) };
    let universal = if loaded.model.is_universal() { ", universal" } else { "" };
    let mut text = format!("{} ({}{universal})", loaded.model.name(), loaded.key);
    for (_, other) in state.models().iter().enumerate().filter(|(at, _)| *at != chosen.get()) {
        let _ = write!(text, "\n  not {}", misfit(other, &problem, call.arch()));
    }
    if let Err(fault) = &prepared.ranker {
        let _ = write!(text, "\n  {fault}");
    }
    for (index, reason) in prepared.left_out() {
        let name = state.entry(index).map_or("", Entry::name);
        let verb = match reason {
            LeftOutReason::Undescribed(_) => "cannot describe",
            LeftOutReason::NotFor(_) => "does not rank",
        };
        let _ = write!(text, "\n  {verb} {name}: {reason}");
    }
    match rank_or_why(call, usize::MAX, &mut RankScratch::default()) {
        Err(error) => {
            let _ = write!(text, "\n  {error}");
        }
        Ok(ranked) => explain_ranking(call, ranked, &mut text),
    }
    text
}

fn explain_ranking(call: Call<'_, '_>, ranked: Ranked<'_, '_>, text: &mut String) {
    let Ranked { model, ranker, ranking } = ranked;
    let outlook = ranking.outlook();
    if let Some(outlook) = &outlook {
        let _ = write!(text, "\n  {}", ranking.heading(outlook));
    }
    let outside = ranker.out_of_range(&call.problem, call.arch()).unwrap_or_default();
    let outside: Vec<_> = outside.iter().map(ToString::to_string).collect();
    if !outside.is_empty() {
        let _ = write!(text, "\n  the problem is outside its training range: {}", outside.join("; "));
    }
    let entry = |ranked: &crate::ranking::Ranked| {
        model.kernel(ranked.index).and_then(|index| call.state.entry(index))
    };
    let left = ranking.places().iter().filter_map(|ranked| Some((entry(ranked)?, ranked)));
    for (rank, (entry, ranked)) in (1..).zip(left) {
        let note = if !call.is_eligible(entry) {
            ", computes something else"
        } else if call.supports(entry, ranked.split_k) {
            ""
        } else {
            ", unsupported"
        };
        let name = call.problem.named(entry.name(), ranked.split_k);
        let _ = write!(text, "\n  {rank:>4}. {name} score {}{note}", ranked.score);
        let expected = outlook.map(|outlook| outlook.summary(ranked.score)).unwrap_or_default();
        if !expected.is_empty() {
            let _ = write!(text, ": {expected}");
        }
        let unmeasured = ranker.unmeasured(ranked.index);
        if !unmeasured.is_empty() {
            let _ = write!(text, ", {unmeasured} was never measured for the model");
        }
    }
}

/// Why no model serves a problem, model by model, and what can be done.
pub(in crate::registry) fn none_fits(state: &State, problem: &Problem) -> String {
    // That built-in models are for other operations tells nothing.
    let related = state.models().iter().filter(|loaded| !loaded.embedded || loaded.key.op == problem.op());
    let misfits: Vec<String> = related.map(|loaded| misfit(loaded, problem, state.options().arch)).collect();
    if misfits.is_empty() {
        return "none is loaded".to_owned();
    }
    format!("none fits: {}; load a model for it, allow a search, or force one", misfits.join("; "))
}

/// Why a model is not used.
fn misfit(loaded: &LoadedModel, problem: &Problem, arch: Option<Arch>) -> String {
    let misfits = loaded.key.misfits(problem, arch);
    let reason = if misfits.is_empty() && loaded.model.is_universal() {
        "it ranks only where no other model was trained for the problem, on a GPU that the estimate knows"
            .to_owned()
    } else if misfits.is_empty() {
        "it also fits, but another one fits better or was loaded later".to_owned()
    } else {
        listed(&misfits)
    };
    format!("{} ({}): {reason}", loaded.model.name(), loaded.key)
}
