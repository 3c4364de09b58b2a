//! Which of several kernels with equal scores goes first, decided here for every ranking.

use std::cmp::{Ordering, Reverse};

/// One place of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The kernel's index in its pool.
    pub index: usize,
    /// The parts into which the reduction is split: the problem's, unless it leaves the choice. Rows have
    /// theirs among their values, and 1 here.
    pub split_k: i32,
    /// The score of the model's ranking forest, with logarithms undone; by the estimate, microseconds.
    pub score: f64,
}

/// Best first, NaN last.
pub fn order(a: f64, b: f64, higher_is_better: bool) -> Ordering {
    // Both zeros are equal here, as they are to upstream's sort.
    a.partial_cmp(&b).map_or_else(
        || a.is_nan().cmp(&b.is_nan()),
        |ascending| if higher_is_better { ascending.reverse() } else { ascending },
    )
}

/// The order of kernels with equal scores: see [`Ties::RULE`].
#[derive(Debug, Clone, Default)]
pub struct Ties(Vec<Standing>);

/// The properties that order a kernel among equal ones, whatever the problem, the most important first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    unmeasured: bool,
    priority: Reverse<i32>,
    rank: u32,
}

impl Ties {
    /// The properties that decide, the first difference counting. Measured are kernels whose pipeline and suffixes
    /// were measured for the model; the scores of others are those of a kernel that they only resemble. Kernels
    /// without an estimate go last. The order of a registry's pool is that of names, so that the order of
    /// registration changes nothing.
    pub const RULE: &'static str = "a measured kernel comes before an unmeasured one, then the one of the \
        higher priority, then the one with the shorter estimated time, then the one that is earlier in the \
        pool";

    /// The ties of a pool whose kernels have these indices in its order.
    pub fn new(
        order: impl ExactSizeIterator<Item = usize>,
        is_measured: impl Fn(usize) -> bool,
        priority: impl Fn(usize) -> i32,
    ) -> Self {
        let mut standings = vec![Standing::default(); order.len()];
        for (rank, index) in (0..).zip(order) {
            if let Some(standing) = standings.get_mut(index) {
                let (unmeasured, priority) = (!is_measured(index), Reverse(priority(index)));
                *standing = Standing { unmeasured, priority, rank };
            }
        }
        Self(standings)
    }

    fn standing(&self, index: usize) -> Standing {
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The order of two kernels as far as it does not depend on the problem: equal if their times decide.
    pub fn before_times(&self, one: usize, other: usize) -> Ordering {
        let known = |index| Standing { rank: 0, ..self.standing(index) };
        known(one).cmp(&known(other))
    }

    /// The order of two kernels, each with its estimated time.
    pub fn order(&self, one: (usize, f64), other: (usize, f64)) -> Ordering {
        let rank = |index| self.standing(index).rank;
        self.before_times(one.0, other.0)
            .then(one.1.total_cmp(&other.1))
            .then_with(|| rank(one.0).cmp(&rank(other.0)))
    }

    /// Puts the `count` best places of a ranking in order. `fill` gives the times of places with equal
    /// scores, by index; it is called only for these. Nothing is allocated once `times` has grown.
    pub(crate) fn rank(
        &self,
        ranking: &mut [Ranked],
        count: usize,
        higher_is_better: bool,
        times: &mut Vec<f64>,
        mut fill: impl FnMut(&[Ranked], &mut [f64]),
    ) {
        let by_score = |a: &Ranked, b: &Ranked| order(a.score, b.score, higher_is_better);
        let known = |a: &Ranked, b: &Ranked| by_score(a, b).then_with(|| self.before_times(a.index, b.index));
        let best = with_equals(ranking, count, by_score);
        // What is still equal is put in order below, so that the sorts need not be stable, and unstable ones
        // do not allocate.
        best.sort_unstable_by(known);
        times.resize(self.0.len(), 0.0);
        let mut rank = 0;
        for equal in best.chunk_by_mut(|a, b| known(a, b).is_eq()) {
            if rank >= count {
                break;
            }
            rank += equal.len();
            if equal.len() > 1 {
                fill(equal, times);
                let timed = |one: &Ranked| (one.index, times.get(one.index).copied().unwrap_or_default());
                equal.sort_unstable_by(|a, b| self.order(timed(a), timed(b)));
            }
        }
    }
}

/// The `count` best of a ranking, in no order, with all that equal the last of them.
fn with_equals(
    ranking: &mut [Ranked],
    count: usize,
    by_score: impl Fn(&Ranked, &Ranked) -> Ordering,
) -> &mut [Ranked] {
    let count = count.min(ranking.len());
    if count == 0 || count == ranking.len() {
        return &mut ranking[..count];
    }
    let last = *ranking.select_nth_unstable_by(count - 1, &by_score).1;
    let mut end = count;
    for at in count..ranking.len() {
        if by_score(&ranking[at], &last).is_eq() {
            ranking.swap(at, end);
            end += 1;
        }
    }
    &mut ranking[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_descending_with_nan_last() {
        let mut scores = [1.0, f64::NAN, 3.0, -0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY];
        scores.sort_by(|&a, &b| order(a, b, true));
        let bits: Vec<u64> = scores.iter().map(|score| score.to_bits()).collect();
        let expected = [f64::INFINITY, 3.0, 1.0, -0.0, 0.0, f64::NEG_INFINITY, f64::NAN];
        assert_eq!(bits, expected.map(f64::to_bits).to_vec());
        scores.sort_by(|&a, &b| order(a, b, false));
        assert_eq!((scores[0], scores[5], scores[6].is_nan()), (f64::NEG_INFINITY, f64::INFINITY, true));
    }

    #[test]
    fn each_criterion_decides_only_where_those_before_it_are_equal() {
        // By kernel: its place, whether it was measured, its priority and its time; the best first.
        let kernels = [
            (5, true, 2, 9.0),
            (4, true, 1, 1.0),
            (2, true, 1, 2.0),
            (3, true, 1, 2.0),
            (1, true, 1, f64::INFINITY),
            (0, false, 3, 0.5),
        ];
        let in_order = [5, 4, 2, 3, 1, 0];
        let ties = Ties::new(in_order.into_iter(), |index| kernels[index].1, |index| kernels[index].2);
        let mut order: Vec<usize> = (0..kernels.len()).rev().collect();
        order.sort_by(|&one, &other| ties.order((one, kernels[one].3), (other, kernels[other].3)));
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
