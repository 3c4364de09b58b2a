//! Two sweeps side by side, as a part of a page.

use super::chart::{self, Axis};
use super::html::Page;
use super::made::Made;
use super::text::{brief, code, count, percent, times};
use crate::survey::Change;
use ck_select_data::figures::quantile;
use ck_select_data::measurements::Measurements;

/// Columns of the histogram per doubling of speed, and on each side of 1.
const FINE: i32 = 8;
const MOST: i32 = 2 * FINE;

/// A second sweep, and what changed since the first.
#[derive(Debug, Clone, Copy)]
pub struct Against<'a> {
    /// The second sweep.
    pub measurements: &'a Measurements,
    /// Its digests.
    pub made: &'a Made,
    /// What changed.
    pub change: &'a Change,
}

pub(super) fn write(page: &mut Page, first: &Measurements, against: Against<'_>) {
    let (change, second) = (against.change, against.measurements);
    let all = change.problems.len();
    let other = change.problems.iter().filter(|problem| problem.is_won_by_another()).count();
    let mut best: Vec<f64> = change.problems.iter().map(|problem| problem.speed).collect();
    best.sort_by(f64::total_cmp);
    page.text(&format!(
        "{} problems are in both sweeps. Another kernel wins on {} of them. The first sweep's winners keep \
         {} of the speed of the second one's.",
        count(all),
        count(other),
        percent(change.kept())
    ));
    page.figures(&[
        ("common_problems", "problems in both", count(all)),
        ("other_winners", "other winners", count(other)),
        ("kept", "first winners keep", percent(change.kept())),
        ("best_speed", "fastest kernels, median speed", times(quantile(&best, 0.5))),
        ("pair_speed", "all pairs, median speed", times(quantile(&change.speeds, 0.5))),
        ("only_first", "problems only in the first", count(change.other_problems[0])),
        ("only_second", "only in the second", count(change.other_problems[1])),
    ]);
    page.text(
        "Speed of a kernel on a problem in the second sweep over that in the first; \
         outer columns hold what lies beyond them.",
    );
    let edges: Vec<f64> = (-MOST..=MOST).map(edge).collect();
    let x =
        Axis::logarithmic("speed in the second sweep over that in the first", [edge(-MOST), edge(MOST)], 2.0);
    page.raw(&chart::histogram("pairs of a kernel and a problem", &x, &edges, &histogram(&change.speeds)));
    let name = |side: &Measurements, kernel: u32| code(&side.kernels()[kernel as usize].name);
    page.details("By problem", |page| {
        page.named_table(
            "changed-problems",
            &["problem", "first winner keeps", "speed of the fastest", "first winner", "second winner"],
            change.problems.iter().map(|one| {
                let problem = brief(&first.problems()[one.problems[0] as usize].to_string());
                let winners = [name(first, one.winners[0]), name(second, one.winners[1])];
                let [ours, theirs] = winners;
                vec![
                    code(&problem),
                    one.kept.map_or_else(|| "did not run".to_owned(), percent),
                    times(one.speed),
                    ours,
                    if one.is_won_by_another() { theirs } else { "the same".to_owned() },
                ]
            }),
        );
    });
    page.details("By kernel", |page| {
        page.named_table(
            "changed-kernels",
            &["kernel", "problems", "P10", "median speed", "P90"],
            change.kernels.iter().map(|one| {
                let [low, median, high] = one.speed.map(times);
                vec![name(first, one.kernel), count(one.pairs), low, median, high]
            }),
        );
    });
}

/// The ratio where a column begins.
fn edge(step: i32) -> f64 {
    (f64::from(step) / f64::from(FINE)).exp2()
}

/// How many ratios lie in each part of a doubling.
fn histogram(sorted: &[f64]) -> Vec<usize> {
    let below = |step: i32| match step {
        step if step <= -MOST => 0,
        step if step >= MOST => sorted.len(),
        step => sorted.partition_point(|ratio| *ratio < edge(step)),
    };
    (-MOST..MOST).map(|step| below(step + 1) - below(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ratio_is_in_one_column() {
        let columns = histogram(&[0.01, 0.25, 0.99, 1.0, 1.0, 1.09, 2.0, 50.0]);
        let filled: Vec<(i32, usize)> = (-MOST..).zip(columns).filter(|column| column.1 > 0).collect();
        assert_eq!(filled, [(-16, 2), (-1, 1), (0, 3), (8, 1), (15, 1)]);
    }
}
