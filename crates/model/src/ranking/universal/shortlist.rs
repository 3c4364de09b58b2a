//! The best kernels by a universal model, without scores for those that the estimate leaves behind.
//!
//! The forest adds at most `most` to a score, and the estimate's part of the score is known for a small
//! fraction of the cost. So a kernel whose estimate alone, plus `most`, is below the last of the best places
//! so far cannot be among them:
//!
//! ```text
//! last = floor
//! until no candidate is left:
//!     drop candidates with most - prior * ln(time) < last
//!     take the 64 with the shortest times
//!     bound each by an approximate sum of its trees        tighter than `most`, at a fraction of a walk
//!     score exactly those that can still be among the best; last = the least of the best
//! ```
//!
//! The answer is the one of scoring all kernels, to the bit: bounds leave out only what cannot win, by more
//! than rounding.

use super::columns::{Columns, Listed, Values};
use super::{FEW, OnDevice, RankError, Universal};
use crate::estimate::{ClassIndex, Place};
use crate::problem::Problem;
use crate::ranking::order::{FirstPlaces, Query};

/// Most places that a shortlist finds.
const MOST_PLACES: usize = FEW;

/// The kernels of a pool from which on a shortlist is worth it.
const SHORTLIST_FROM: usize = 2 * FEW;

/// How many are scored together, the best by the estimate first: as many rows as cost little more than one.
const TOGETHER: usize = 64;

/// How far a time may be above the limit and still need a score, as a share: more than rounding moves either.
const SLACK: f64 = 1e-9;

impl Universal {
    /// Scores the kernels that can be among the `count` best, if these are better than `floor`, and gives
    /// those to `push`, each with its score: others cannot, even if the forest adds the most that it can.
    /// `false` if all kernels have to be scored.
    pub(in crate::ranking) fn shortlist(
        &self,
        Query { problem, arch }: Query<'_>,
        counts: impl Fn(Place) -> bool,
        FirstPlaces { count, floor }: FirstPlaces,
        finish: impl Fn(f64) -> f64,
        values: &mut Values,
        mut push: impl FnMut(Place, f64),
    ) -> Result<bool, RankError> {
        let device = self.on(&problem, arch)?;
        let Columns { pool, members, classes, .. } = &device.columns;
        let is_worth_it = (1..=MOST_PLACES).contains(&count) && pool.distinct() >= SHORTLIST_FROM;
        if !is_worth_it || self.most == f64::INFINITY || device.prior <= 0.0 {
            return Ok(false);
        }
        pool.times(&problem, &mut values.of_classes);
        device.columns.fill_own(&problem, values).map_err(RankError::ProblemTerms)?;
        values.log_times.resize(classes.len(), f64::NAN);
        let mut candidates = std::mem::take(&mut values.candidates);
        candidates.clear();
        let classes = (0..).map(ClassIndex::new);
        candidates.extend(values.of_classes.iter().copied().zip(classes).filter(|(time, _)| !time.is_nan()));
        values.scored.clear();
        values.best.clear();
        let (mut last, mut size) = (floor, TOGETHER);
        loop {
            // None of those that take longer is better than `last`.
            let limit = ((self.most - last) / device.prior).exp() * (1.0 + SLACK);
            candidates.retain(|&(time, _)| time <= limit);
            let rest = candidates.len().saturating_sub(size);
            if candidates.is_empty() {
                break;
            }
            if rest > 0 {
                candidates.select_nth_unstable_by(rest, |a, b| b.0.total_cmp(&a.0));
            }
            let has_member = |class: &ClassIndex| members[class.get()].iter().any(|&kernel| counts(kernel));
            values.listed.clear();
            values.listed.extend(candidates.drain(rest..).map(|one| one.1).filter(has_member));
            // Of those that compute the problem there can be few.
            if values.listed.is_empty() {
                size *= 2;
                continue;
            }
            size = TOGETHER;
            self.score_listed((device, &problem), (count, last), &finish, values);
            last = last.max(last_of(count, &mut values.best));
        }
        values.candidates = candidates;
        for &(score, class) in values.scored.iter().filter(|(score, _)| *score >= last) {
            let own = members[class.get()].iter().copied().filter(|&kernel| counts(kernel));
            own.for_each(|kernel| push(kernel, score));
        }
        Ok(true)
    }

    /// Scores those of the listed classes, of which the times are known, that can be among the `count` best
    /// and no worse than `last`.
    fn score_listed(
        &self,
        (device, problem): (&OnDevice, &Problem),
        (count, last): (usize, f64),
        finish: impl Fn(f64) -> f64,
        values: &mut Values,
    ) {
        let Columns { pool, members, .. } = &device.columns;
        let columns = self.extractor.schema.universal_columns().unwrap_or_default();
        pool.fill_some(columns, problem, &values.listed, &mut values.pair);
        let own_members = values.listed.iter().map(|class| &members[class.get()]);
        device.columns.extend_by_own(&values.own, &own_members, &mut values.pair);
        let (mut sums, mut bounds) = (std::mem::take(&mut values.sums), std::mem::take(&mut values.bounds));
        let mut logs = std::mem::take(&mut values.listed_logs);
        logs.clear();
        logs.extend(values.listed.iter().map(|&class| values.of_classes[class.get()].ln()));
        sums.resize(values.listed.len(), 0.0);
        let rows = Listed { columns: &device.columns, classes: Some(&values.listed), values };
        let pick = |about: &[f64], error: f64| {
            if !self.is_sum {
                return u64::MAX;
            }
            // The least that each one's score can be, and the best so far.
            bounds.clone_from(&values.best);
            bounds.extend(about.iter().zip(&logs).map(|(sum, &log)| self.score(device, sum - error, log)));
            let last = last.max(last_of(count, &mut bounds));
            let can = |(at, (sum, &log))| u64::from(self.score(device, sum + error, log) >= last) << at;
            (0..).zip(about.iter().zip(&logs)).map(can).fold(0, |all, one| all | one)
        };
        self.rows.score_some(&rows, pick, &mut sums);
        for ((&class, &sum), &log_time) in values.listed.iter().zip(&sums).zip(&logs) {
            members[class.get()].iter().for_each(|kernel| values.log_times[kernel.get()] = log_time);
            if !sum.is_nan() {
                let score = self.score(device, finish(sum), log_time);
                values.scored.push((score, class));
                values.best.push(score);
            }
        }
        (values.sums, values.bounds, values.listed_logs) = (sums, bounds, logs);
    }
}

/// The least of the `count` best scores, which alone are kept; minus infinity if there are fewer.
fn last_of(count: usize, scores: &mut Vec<f64>) -> f64 {
    let Some(last) = count.checked_sub(1).filter(|&last| last < scores.len()) else {
        return f64::NEG_INFINITY;
    };
    scores.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
    scores.truncate(count);
    scores[last]
}
