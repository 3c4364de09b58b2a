//! The kernels in the order of their estimated times, with higher priorities first among equal ones.

use std::fmt::Write;

use crate::estimate::{DeviceError, EstimateScratch};
use crate::problem::Problem;
use crate::ranking::words;
use crate::registry::call::{Call, with_scratch};
use crate::registry::entry::Entry;
use crate::registry::estimates::PreparedEstimate;
use crate::registry::index::{Choice, KernelIndex};
use crate::registry::selection::{Selection, Source};
use crate::registry::shared::Registry;
use crate::sureness::{Sure, Sureness};
use crate::ties::Ranked;

/// Number of kernels whose terms an explanation shows.
const EXPLAINED: usize = 5;

/// Why the estimate has no answer, without allocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NoEstimate {
    #[error("off")]
    Off,
    #[error("neither the problem nor the options name an architecture, nor do all kernels name one")]
    NoArch,
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Ranks the kernels that fit, or says why not. `supports` is not called.
fn rank<'s>(call: Call<'_, 's>, scratch: &mut EstimateScratch) -> Result<&'s PreparedEstimate, NoEstimate> {
    let Call { state, problem, .. } = call;
    if !state.options().estimate {
        return Err(NoEstimate::Off);
    }
    let estimates = &call.prepared().estimates;
    let arch = estimates.arch_for(call.arch(), &problem).ok_or(NoEstimate::NoArch)?;
    let estimate = estimates.device(arch)?;
    let fitting = estimate.kernels.shapes().filter_map(|(index, shape)| {
        let entry = state
            .entry(KernelIndex::new(index))
            .filter(|entry| entry.is_ranked() && call.is_eligible(entry))?;
        Some((index, &entry.kernel().kind, shape))
    });
    let takes = |index, definite: &Problem| {
        state.entry(KernelIndex::new(index)).is_some_and(|entry| entry.takes(definite, call.arch()))
    };
    scratch.rank(estimate.kernels.estimator(), problem, fitting, takes, estimates.ties());
    Ok(estimate)
}

/// The first supported kernel.
pub(super) fn answer<'r>(call: Call<'r, '_>) -> Option<Selection<'r>> {
    with_scratch(&call.registry.estimate_scratches, |scratch| {
        let estimate = rank(call, scratch).ok()?;
        scratch.ranking().iter().enumerate().find_map(|(rank, one)| {
            let choice = choice(one);
            let entry = call.state.entry(choice.kernel)?;
            if !call.supports(entry, choice.split_k) {
                return None;
            }
            let base = call.selection(choice, entry, Source::Estimate);
            let sure = estimate.judge(&call.problem, scratch, rank);
            // All before it are unsupported.
            let outside = call.problem.unknown();
            Some(Selection { score: Some(one.score), outside, sure, rank, unsupported: rank, ..base })
        })
    })
}

const fn choice(ranked: &Ranked) -> Choice {
    Choice { kernel: KernelIndex::new(ranked.index), split_k: ranked.split_k }
}

/// All kernels that fit, in the estimate's order; empty if it has no answer.
pub(super) fn fitting(call: Call<'_, '_>) -> Vec<Choice> {
    scored(call).iter().flat_map(|(ranking, _)| ranking).map(choice).collect()
}

/// All kernels that fit with their times in microseconds, in the estimate's order; `None` if it has no answer.
pub(in crate::registry) fn scored(call: Call<'_, '_>) -> Option<(Vec<Ranked>, Option<Sure>)> {
    let mut scratch = EstimateScratch::default();
    let estimate = rank(call, &mut scratch).ok()?;
    let ranking = Some(scratch.ranking()).filter(|ranking| !ranking.is_empty())?;
    let sure = estimate.judge(&call.problem, &scratch, 0);
    Some((ranking.to_vec(), sure))
}

pub(super) fn explain(call: Call<'_, '_>) -> String {
    let mut scratch = EstimateScratch::default();
    let estimate = match rank(call, &mut scratch) {
        Ok(estimate) => estimate,
        Err(reason) => return reason.to_string(),
    };
    let ranking = scratch.ranking();
    if ranking.is_empty() {
        return "no kernel that fits has an estimate".to_owned();
    }
    let mut text = format!("{} kernels on {}", ranking.len(), estimate.arch);
    if let (Some(gpu), Some(by)) = (call.state.gpu(), &call.state.options().hardware)
        && gpu.arch == estimate.arch
    {
        let _ = write!(text, ", described by {}", by.display());
    }
    let sure = estimate.judge(&call.problem, &scratch, 0);
    let learned = Sureness::for_estimate(&call.problem, Some(estimate.arch)).map(AsRef::as_ref);
    let _ = write!(text, ": {}", words::sureness(sure.as_ref().zip(learned)));
    let estimator = estimate.kernels.estimator();
    for (rank, one) in (1..).zip(ranking.iter().take(EXPLAINED)) {
        let entry = call.state.entry(KernelIndex::new(one.index));
        let name = call.problem.named(entry.map_or("", Entry::name), one.split_k);
        let is_supported = entry.is_some_and(|entry| call.supports(entry, one.split_k));
        let note = if is_supported { "" } else { ", unsupported" };
        let _ = write!(text, "\n  {rank:>4}. {name} {:.3} us{note}:", one.score);
        let load = estimator.load(&call.problem.with_split(one.split_k));
        let shape = estimate.kernels.shape(one.index);
        let terms = shape.map(|shape| estimator.terms(&load, shape));
        for (term, value) in terms.iter().flat_map(|terms| &terms.named) {
            let _ = write!(text, " {term} {value:.3}");
        }
    }
    if ranking.len() > EXPLAINED {
        let _ = write!(text, "\n  and {} more", ranking.len() - EXPLAINED);
    }
    text
}

/// Why the estimate did not choose.
pub(super) fn why_not(call: Call<'_, '_>) -> String {
    match rank(call, &mut EstimateScratch::default()) {
        Err(reason) => reason.to_string(),
        Ok(_) => "no kernel that has an estimate fits and is supported".to_owned(),
    }
}

impl Registry {
    /// Microseconds of the fastest supported kernel by the estimate; `None` if it has no answer.
    pub(in crate::registry) fn estimated_time(&self, problem: &Problem) -> Option<f64> {
        let problem = problem.checked().ok()?;
        let state = self.state();
        answer(Call::new(self, &state, problem, false))?.score
    }
}
