//! The best kernels of a wide pool, without the exact sums of all others.
//!
//! ```text
//! F = a power of two, such that all sums of leaf values times F fit into 32 bits
//! about[lane]  = sum over trees of round(F * leaf value)      whole numbers, in any order, 16 to a vector
//! cutoff       = about[the count-th best kernel] - 2 E
//! score[lane]  = the exact sum, tree after tree               only for lanes with about[lane] >= cutoff
//! ```
//!
//! Why this misses no kernel. Let `s` be a kernel's score, `r` the same sum in real numbers, `a` its whole
//! number, `T` the trees and `M` the sum over trees of the largest magnitude of a leaf value; `F * M <= 2^30`
//! and `T < 2^20`.
//!
//! 1. `F` is a power of two, so `F * v` is exact for each leaf value `v` (or both are far below 1/2), and
//!    rounding it moves it by at most 1/2: `|a - F r| <= T / 2`. So `|a| <= 2^30 + 2^19`, and no sum of 32
//!    bits overflows.
//! 2. `s` comes from `T` additions, each of which rounds a number of at most `2 M` by at most `2^-53` of its
//!    size: `|s - r| <= T * 2^-52 * M`, and times `F` that is at most `2^20 * 2^-52 * 2^30 < 1`.
//! 3. So `|a - F s| <= E` for `E = T / 2 + 1`. The `count` kernels with the highest `a`, of which the lowest
//!    is `c`, have `F s >= c - E`. A kernel with `a < c - 2 E` has `F s <= a + E < c - E`: each of those is
//!    better than it.
//!
//! For the lowest scores the same holds with the signs turned. Small trees (`wide::sieve`) have units of
//! their own, `2^u` of these whole numbers, and so half of `2^u` in `E`. They have bounds from above first,
//! the whole numbers of the best leaves that are left; what is below the cutoff by its bound is below it.

use super::compile::lanes::{LANES, Lanes};
use super::error::SizeError;
use super::scratch::{Listed, Scratch, grow};
use super::{Evaluator, PoolScorer};
use crate::forest::Forest;

/// Maximum number of kernels that may be requested.
const MOST_SHORTLISTED: usize = 32;
/// Maximum number of lanes whose exact sums cost less than those of the whole pool.
const MOST_LANES: usize = 4 * LANES;

/// The kernels that a shortlist must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BestKernels {
    /// How many of the best kernels must be on it.
    pub count: usize,
    /// Whether the best are those with the highest raw scores, or those with the lowest.
    pub highest: bool,
}

/// How sums of leaf values become whole numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) factor: f64,
    /// How far a whole number may be from the sum times the factor: half a unit a tree, and two.
    pub(super) error: i64,
}

impl Scale {
    /// `None` for more trees than the proof above allows.
    pub(super) fn new(forest: &Forest) -> Option<Scale> {
        let trees = forest.trees();
        if trees.len() >= 1 << 20 {
            return None;
        }
        let largest =
            |values: &[f64]| values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let sum: f64 = trees.iter().map(|tree| largest(tree.leaf_values())).sum();
        // The exponent of the power of two above the sum; adding may have rounded it down, but by less than
        // another factor of two.
        let above = ((sum.to_bits() >> 52) as i32 - 1023 + 2).max(-900);
        Some(Scale { factor: 2f64.powi(30 - above), error: trees.len() as i64 / 2 + 2 })
    }
}

impl PoolScorer {
    /// Lists the kernels that can be among the best of those that `may` accepts, into [`Scratch::shortlist`],
    /// in the pool's order. Each of the `count` best is there, including all that tie; no other's raw score
    /// is better than [`Scratch::beyond`].
    ///
    /// Returns `false`, without a list, if scoring the whole pool is better: for a pool of up to 32 lanes,
    /// for many kernels, or if many are too close to each other. Other arguments as in
    /// [`score`](Self::score).
    pub fn shortlist(
        &self,
        uniform: &[f64],
        pair: &[f64],
        best: BestKernels,
        may: impl Fn(usize) -> bool,
        scratch: &mut Scratch,
    ) -> Result<bool, SizeError> {
        let values = self.values(uniform, pair)?;
        let Some(Evaluator::Wide(wide)) = self.evaluator.get() else { return Ok(false) };
        let Some(scale) = wide.scale() else { return Ok(false) };
        if !(1..=MOST_SHORTLISTED).contains(&best.count) {
            return Ok(false);
        }
        wide.fit(scratch);
        scratch.fit_shortlist(self.kernels(), wide.room());
        wide.estimate(&values, scratch);

        // With the sign adjusted, the highest numbers are always the best.
        let turn = |whole: i32| if best.highest { i64::from(whole) } else { -i64::from(whole) };
        if !best.highest {
            wide.refine(i64::MIN, scratch);
        }
        // Sums are below their bounds, so that the cutoff falls until no bound that is left reaches it.
        let cutoff = loop {
            let Some(last) = last_of_best(&self.lanes, best.count, &may, turn, scratch) else {
                return Ok(false);
            };
            let cutoff = last - 2 * scale.error;
            if !wide.refine(cutoff, scratch) {
                break cutoff;
            }
        };
        let beyond = (cutoff - 1 + scale.error) as f64 / scale.factor;
        scratch.beyond = if best.highest { beyond } else { -beyond };
        let Scratch { listed, listed_lanes, whole, .. } = scratch;
        for (kernel, &lane) in self.lanes.lane_of.iter().enumerate() {
            if turn(whole[lane as usize]) >= cutoff && may(kernel) {
                listed.push(Listed { kernel, score: f64::NAN });
                if !listed_lanes.contains(&lane) {
                    if listed_lanes.len() == MOST_LANES {
                        return Ok(false);
                    }
                    listed_lanes.push(lane);
                }
            }
        }
        listed_lanes.sort_unstable();
        let chosen = std::mem::take(&mut scratch.listed_lanes);
        wide.sum_some(&self.lanes, &chosen, &values, scratch);
        for listed in &mut scratch.listed {
            // The lane is one of the chosen.
            let run = chosen.binary_search(&self.lanes.lane_of[listed.kernel]).unwrap_or(0);
            listed.score = scratch.listed_sums[run];
        }
        scratch.listed_lanes = chosen;
        Ok(true)
    }
}

impl Scratch {
    /// The kernels of the last [`PoolScorer::shortlist`].
    pub fn shortlist(&self) -> &[Listed] {
        &self.listed
    }

    /// A bound on raw scores: no accepted kernel outside the shortlist has a better one, and all of the `count` best
    /// have.
    pub fn beyond(&self) -> f64 {
        self.beyond
    }

    fn fit_shortlist(&mut self, kernels: usize, lanes: usize) {
        grow(&mut self.whole, lanes);
        grow(&mut self.listed_sums, MOST_LANES);
        self.listed_lanes.clear();
        self.listed_lanes.reserve(MOST_LANES);
        self.best.clear();
        self.best.reserve(MOST_SHORTLISTED);
        self.listed.clear();
        self.listed.reserve(kernels);
    }
}

/// The whole number of the count-th best kernel; `None` if there are fewer.
fn last_of_best(
    lanes: &Lanes,
    count: usize,
    may: impl Fn(usize) -> bool,
    turn: impl Fn(i32) -> i64,
    scratch: &mut Scratch,
) -> Option<i64> {
    let Scratch { best, whole, .. } = scratch;
    best.clear();
    for (kernel, &lane) in lanes.lane_of.iter().enumerate() {
        let number = turn(whole[lane as usize]);
        if best.len() == count && best.last().is_some_and(|&last| number <= last) || !may(kernel) {
            continue;
        }
        best.truncate(count - 1);
        let rank = best.partition_point(|&better| better >= number);
        best.insert(rank, number);
    }
    if best.len() == count { best.last().copied() } else { None }
}
