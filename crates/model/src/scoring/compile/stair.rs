//! A ladder's questions about many values: searches without a branch.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::ladder::{Ladder, Ladders};
use super::lanes::Column;
use crate::forest::{Missing, ZERO_THRESHOLD};
use crate::scoring::unchecked::get;

/// The questions of a [`Ladder`], for searches without a branch.
#[derive(Debug)]
pub(in crate::scoring) struct Stair {
    pub(in crate::scoring) scope: Column,
    pub(in crate::scoring) column: usize,
    /// The numbers of the ladder's questions; so few that positions are bytes.
    pub(in crate::scoring) questions: Range<usize>,
    /// [Keys](key) of the thresholds as a search tree, from 1 on: below node i are nodes 2 i for smaller ones
    /// and 2 i + 1 for larger ones. It is filled up to a power of two; empty for a categorical question.
    tree: Vec<u64>,
    /// Keys in place of those of zeros and of NaN.
    zero: u64,
    nan: u64,
    ladder: Ladder,
}

/// Bits of numbers without a sign, which are compared as integers because that is done for several at once.
const ZERO: i64 = ZERO_THRESHOLD.to_bits() as i64;
const INFINITY: i64 = f64::INFINITY.to_bits() as i64;

/// Above and below the keys of all numbers.
const ABOVE: u64 = u64::MAX;
const BELOW: u64 = 0;

/// An integer that orders like the number; NaN may be anything.
#[inline(always)]
const fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

/// Ascending keys as a search tree.
fn search_tree(keys: &[u64]) -> Vec<u64> {
    let nodes = (keys.len() + 1).next_power_of_two();
    // What a search ends at: below node i of a level of n nodes are those from i / n to (i + 1) / n of all.
    let key = |node: usize| {
        let level = 1 << node.ilog2();
        keys.get((2 * (node - level) + 1) * nodes / (2 * level) - 1).copied().unwrap_or(ABOVE)
    };
    [0].into_iter().chain((1..nodes).map(key)).collect()
}

impl Stair {
    /// The stairs of all ladders.
    pub(in crate::scoring) fn all(ladders: Ladders) -> Vec<Stair> {
        ladders.ladders.into_iter().flat_map(Stair::from_ladder).collect()
    }

    /// The stairs of a ladder.
    pub(in crate::scoring) fn from_ladder(ladder: Ladder) -> impl Iterator<Item = Stair> {
        ladder.into_short().map(Stair::new)
    }

    fn new(ladder: Ladder) -> Stair {
        let (mut tree, mut zero, mut nan) = (Vec::new(), 0, 0);
        if let Some((thresholds, missing, default_left)) = ladder.numeric() {
            // Both zeros are one threshold.
            let keys: Vec<_> = thresholds.iter().map(|threshold| key(threshold + 0.0)).collect();
            tree = search_tree(&keys);
            let absent = if default_left { BELOW } else { ABOVE };
            (zero, nan) = match missing {
                Missing::Never => (key(0.0), key(0.0)),
                Missing::Zero => (absent, absent),
                Missing::Nan => (key(0.0), absent),
            };
        }
        Stair {
            scope: ladder.scope,
            column: ladder.column,
            questions: ladder.questions.clone(),
            tree,
            zero,
            nan,
            ladder,
        }
    }

    /// The [position](Self::positions) of one value.
    #[inline(always)]
    pub(in crate::scoring) fn position(&self, value: f64) -> u8 {
        let mut position = [0];
        self.positions(&[value], &mut [0], &mut position);
        position[0]
    }

    /// How many of the questions, from the first one, are answered with no for each value. `keys` is working
    /// memory for as many.
    #[inline(always)]
    pub(in crate::scoring) fn positions(&self, values: &[f64], keys: &mut [u64], positions: &mut [u8]) {
        if self.tree.is_empty() {
            for (position, &value) in positions.iter_mut().zip(values) {
                *position = self.ladder.position(value) as u8;
            }
            return;
        }
        let (keys, zero, nan) = (&mut keys[..values.len()], self.zero, self.nan);
        for at in 0..values.len() {
            let (size, number) = (values[at].abs().to_bits() as i64, key(values[at]));
            let number = select_unpredictable(size <= ZERO, zero, number);
            keys[at] = select_unpredictable(size > INFINITY, nan, number);
        }
        let (keys, last_keys) = keys.as_chunks::<AT_ONCE>();
        let (positions, last_positions) = positions.as_chunks_mut::<AT_ONCE>();
        for (keys, positions) in keys.iter().zip(positions) {
            *positions = self.search(keys);
        }
        for (&key, position) in last_keys.iter().zip(last_positions) {
            [*position] = self.search(&[key]);
        }
    }

    #[inline(always)]
    fn search<const N: usize>(&self, keys: &[u64; N]) -> [u8; N] {
        let (mut nodes, mut positions) = ([1; N], [0; N]);
        for _ in 0..self.tree.len().ilog2() {
            for at in 0..N {
                // SAFETY: a search ends below the last level.
                let is_above = unsafe { get(&self.tree, nodes[at]) } < keys[at];
                nodes[at] = 2 * nodes[at] + usize::from(is_above);
            }
        }
        for at in 0..N {
            positions[at] = (nodes[at] - self.tree.len()) as u8;
        }
        positions
    }
}

/// Searches at once: each step of one waits for the step before.
const AT_ONCE: usize = 4;
