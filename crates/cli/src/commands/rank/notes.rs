//! Notes of `ckselect rank` besides its rows: kernels that are not ranked, problems out of range or skipped, and
//! what choices are expected to lose.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ck_select::pool::Pool;
use ck_select::problem::{FieldSet, Problem};
use ck_select::ranking::Outlook;
use ck_select::vocab::Op;

use super::super::reasons::Reasons;
use super::TableRows;
use crate::error::CliError;
use crate::table::Cell;

/// Prints how many kernels of the pool are not ranked for the only problem, and why. `known` are those that
/// are ranked, and those that are ranked for no problem, which were printed before.
pub(super) fn say_misfits(pool: &Pool, problem: &Problem, known: impl Iterator<Item = usize>) {
    let known: HashSet<usize> = known.collect();
    let others = pool.iter().enumerate().filter(|(index, _)| !known.contains(index));
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
pub(super) struct Notes {
    op: Op,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    ranked: usize,
    outside: usize,
    fields: BTreeMap<&'static str, usize>,
    /// The number of choices with an expected loss, and the sum of these.
    expected: (usize, f64),
    /// Problems that the model or the pool is not for, by reason.
    skipped: Reasons,
}

impl Notes {
    pub(super) fn new(op: Op) -> Self {
        Self { op, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a ranked problem, with the fields in which it is outside of the training range; returns the
    /// cell that names them.
    pub(super) fn count(&self, outside: FieldSet) -> Cell {
        let outside: Vec<&str> = outside.names(self.op).collect();
        let mut counts = self.counts();
        counts.ranked += 1;
        counts.outside += usize::from(!outside.is_empty());
        for name in &outside {
            *counts.fields.entry(name).or_default() += 1;
        }
        (!outside.is_empty()).then(|| outside.join(" ")).into()
    }

    /// Counts what the choice for a problem is expected to lose.
    pub(super) fn expect(&self, outlook: &Outlook) {
        if let Some(sure) = outlook.sure {
            let expected = &mut self.counts().expected;
            *expected = (expected.0 + 1, expected.1 + f64::from(sure.expected_loss));
        }
    }

    /// Counts a problem of a file that is not ranked, and has no rows; an error for the only problem.
    pub(super) fn skip(&self, label: Option<&str>, reason: String) -> Result<TableRows, CliError> {
        if label.is_none() {
            return Err(CliError::Failed(reason));
        }
        self.counts().skipped.count(reason);
        Ok(Vec::new())
    }

    /// Prints the counts. It is an error if no problem of the file could be ranked.
    pub(super) fn say(&self, file: &str) -> Result<(), CliError> {
        let Counts { ranked, outside, fields, expected: (expected, loss), skipped } = &*self.counts();
        if *ranked == 0 {
            fail!("{file}: no problem can be ranked: {}", skipped.most_frequent());
        }
        skipped.say_skipped(file);
        if *expected > 0 {
            let mean = 100.0 * loss / *expected as f64;
            say!("ckselect: {file}: {expected} choices are expected to lose {mean:.1} % on average");
        }
        if *outside > 0 {
            let count = |name| Some(format!("{name} ({})", fields.get(name)?));
            let fields: Vec<String> = FieldSet::fields(self.op).filter_map(count).collect();
            say!(
                "ckselect: {file}: {outside} of {ranked} problems are outside the model's training range, \
                 in {}",
                fields.join(", ")
            );
        }
        Ok(())
    }
}
