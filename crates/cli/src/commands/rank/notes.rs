//! Notes of `ckselect rank` besides the scores: ties, kernels unlike the measured ones, problems out of
//! range.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ck_select::pool::Pool;
use ck_select::problem::{FieldSet, Problem};
use ck_select::select::{RankError, Ranked, Ranker};
use ck_select::vocab::Op;

use super::super::reasons::Reasons;
use crate::error::CliError;
use crate::table::Cell;

/// The error for a file of which every problem is skipped.
pub(super) fn none_ranked(skipped: &Reasons, file: &str) -> CliError {
    CliError::failed(format!("{file}: no problem can be ranked: {}", skipped.first()))
}

/// Whether a place of a ranking has the score of one beside it, so that the order of both says nothing.
pub(super) fn is_tied(place: usize, score: impl Fn(usize) -> Option<f64>) -> bool {
    let same = |other: Option<f64>| other.is_some() && other == score(place);
    same(place.checked_sub(1).and_then(&score)) || same(score(place + 1))
}

/// Prints how many kernels of the pool are not ranked for the only problem, and why. `left_out` are those
/// that are ranked for no problem, which were printed before.
pub(super) fn say_misfits(
    pool: &Pool,
    problem: &Problem,
    ranked: impl Iterator<Item = usize>,
    left_out: impl Iterator<Item = usize>,
) {
    let said: HashSet<usize> = ranked.chain(left_out).collect();
    let others = pool.iter().enumerate().filter(|(index, _)| !said.contains(index));
    let reasons: Reasons = others
        .map(|(_, kernel)| {
            let elsewhere = || {
                (!kernel.runs_on(problem.arch())).then(|| "it does not run on the architecture".to_owned())
            };
            let reason = kernel.misfit(problem).or_else(elsewhere);
            reason.unwrap_or_else(|| "it has no estimate".to_owned())
        })
        .collect();
    if let Some((count, reasons)) = reasons.list() {
        let all = pool.len();
        say!("ckselect: {count} of {all} kernels are not ranked for the problem: {reasons}");
    }
}

/// Counts over the problems of a file, for all threads.
pub(super) struct Notes<'a> {
    ranker: &'a Ranker,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    ranked: usize,
    outside: usize,
    fields: BTreeMap<&'static str, usize>,
    /// Problems that the model or the pool is not for, by reason.
    skipped: Reasons,
}

impl<'a> Notes<'a> {
    /// The columns that [`Notes::cells`] fills.
    pub(super) const COLUMNS: [&'static str; 3] = ["tie", "unmeasured", "out_of_range"];

    pub(super) fn new(ranker: &'a Ranker) -> Self {
        Self { ranker, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn op(&self) -> Op {
        self.ranker.model().spec().op()
    }

    /// Counts a ranked problem; returns the cell of its column `out_of_range`.
    pub(super) fn problem(&self, outside: FieldSet) -> Cell {
        let outside: Vec<&str> = outside.names(self.op()).collect();
        let mut counts = self.counts();
        counts.ranked += 1;
        counts.outside += usize::from(!outside.is_empty());
        for name in &outside {
            *counts.fields.entry(name).or_default() += 1;
        }
        (!outside.is_empty()).then(|| outside.join(" ")).into()
    }

    /// The cells of one place of the ranking, which has one place more than is shown.
    pub(super) fn cells(&self, ranking: &[Ranked], place: usize, out_of_range: &Cell) -> [Cell; 3] {
        let score = |place: usize| ranking.get(place).map(|ranked| ranked.score);
        let unmeasured = ranking.get(place).map(|ranked| self.ranker.unmeasured(ranked.index));
        let unmeasured = unmeasured.filter(|words| !words.is_empty());
        [is_tied(place, score).then_some("=").into(), unmeasured.into(), out_of_range.clone()]
    }

    /// Counts a problem that the model or the pool does not support; returns any other error.
    pub(super) fn pass_over(&self, error: RankError) -> Result<(), RankError> {
        use RankError::{Device, NoArch, NoKernel, NotFor, ProblemTerms};
        if !matches!(error, NotFor { .. } | NoKernel { .. } | ProblemTerms(_) | NoArch | Device(_)) {
            return Err(error);
        }
        self.counts().skipped.count(error.to_string());
        Ok(())
    }

    /// Prints the counts. It is an error if no problem of the file could be ranked.
    pub(super) fn say(&self, file: &str) -> Result<(), CliError> {
        let Counts { ranked, outside, fields, skipped } = &*self.counts();
        if *ranked == 0 {
            return Err(none_ranked(skipped, file));
        }
        skipped.say_skipped(file);
        if *outside > 0 {
            let count = |name| Some(format!("{name} ({})", fields.get(name)?));
            let fields: Vec<String> = FieldSet::fields(self.op()).filter_map(count).collect();
            say!(
                "ckselect: {file}: {outside} of {ranked} problems are outside the model's training range, \
                 in {}",
                fields.join(", ")
            );
        }
        Ok(())
    }
}
