//! Positions: the place of each row's values among a forest's thresholds, a byte each, and masks of rows made
//! from them.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::compile::{EVERYBODY, NOBODY, SOME};
use super::slab::ROWS;
use crate::forest::{Missing, ZERO_THRESHOLD};
use crate::scoring::compile::ladder::Ladder;
use crate::scoring::scratch::grow;
use crate::scoring::unchecked::get;

/// The questions of a [`Ladder`], for searches without a branch.
#[derive(Debug)]
pub(super) struct Stair {
    pub(super) column: usize,
    /// Its questions' numbers; so few that positions are bytes.
    pub(super) questions: Range<usize>,
    /// [Keys](key) of ascending thresholds, filled up to one less than a power of two; none for a categorical
    /// question.
    keys: Vec<i64>,
    /// Keys in place of those of zeros and of NaN.
    zero: i64,
    nan: i64,
    ladder: Ladder,
}

/// Above and below the keys of all numbers.
const ABOVE: i64 = i64::MAX;
const BELOW: i64 = i64::MIN;

/// An integer that orders like the number; NaN may be anything.
#[inline(always)]
const fn key(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (bits >> 63 & i64::MAX)
}

impl Stair {
    pub(super) fn new(ladder: Ladder) -> Stair {
        let (mut keys, mut zero, mut nan) = (Vec::new(), 0, 0);
        if let Some((thresholds, missing, default_left)) = ladder.numeric() {
            // Both zeros are one threshold.
            keys.extend(thresholds.iter().map(|threshold| key(threshold + 0.0)));
            keys.resize((keys.len() + 1).next_power_of_two() - 1, ABOVE);
            let absent = if default_left { BELOW } else { ABOVE };
            (zero, nan) = match missing {
                Missing::Never => (key(0.0), key(0.0)),
                Missing::Zero => (absent, absent),
                Missing::Nan => (key(0.0), absent),
            };
        }
        Stair { column: ladder.column, questions: ladder.questions.clone(), keys, zero, nan, ladder }
    }

    /// Sets its own questions' answers.
    #[inline(always)]
    fn answer(&self, position: u8, answers: &mut [bool]) {
        let (no, yes) = answers[self.questions.clone()].split_at_mut(position.into());
        no.fill(false);
        yes.fill(true);
    }

    /// How many of the questions, from the first one, are answered with no for each value.
    #[inline(always)]
    fn positions<const N: usize>(&self, values: &[f64; N]) -> [u8; N] {
        let mut positions = [0; N];
        if self.keys.is_empty() {
            for at in 0..N {
                positions[at] = self.ladder.position(values[at]) as u8;
            }
            return positions;
        }
        let (mut keys, mut found) = ([0; N], [0; N]);
        for at in 0..N {
            let own = if values[at].abs() <= ZERO_THRESHOLD { self.zero } else { key(values[at]) };
            keys[at] = if values[at].is_nan() { self.nan } else { own };
        }
        let mut half = self.keys.len().div_ceil(2);
        while half > 0 {
            for at in 0..N {
                // SAFETY: `found` + 2 `half` is never above the number of keys and one.
                let below = unsafe { get(&self.keys, found[at] + half - 1) } < keys[at];
                found[at] += select_unpredictable(below, half, 0);
            }
            half /= 2;
        }
        for at in 0..N {
            positions[at] = found[at] as u8;
        }
        positions
    }
}

/// The answers of a row that is alone; `column` writes a value.
#[inline(always)]
pub(super) fn answer_alone(
    stairs: &[Stair],
    mut column: impl FnMut(usize, &mut [f64]),
    answers: &mut [bool],
) {
    let (mut last, mut value) = (usize::MAX, [0.0]);
    for stair in stairs {
        if last != stair.column {
            last = stair.column;
            column(last, &mut value);
        }
        let [position] = stair.positions(&value);
        stair.answer(position, answers);
    }
}

/// The positions of some rows, stair after stair.
#[derive(Debug, Default)]
pub(super) struct Positions {
    bytes: Vec<u8>,
    /// Room for the rows of a stair.
    stride: usize,
    /// The least and the greatest position of each stair.
    pub(super) ranges: Vec<(u8, u8)>,
    /// The values of a column.
    values: Vec<f64>,
}

/// A question whose answers differ: its stair, and its place there.
pub(super) type Step = (u32, u8);

impl Positions {
    /// Finds the positions of `rows` rows; `column` writes the values of a column.
    #[inline(always)]
    pub(super) fn find(&mut self, stairs: &[Stair], rows: usize, mut column: impl FnMut(usize, &mut [f64])) {
        // There is room for a whole slab.
        self.stride = if rows <= 64 { 64 } else { (rows + ROWS).next_multiple_of(64) };
        grow(&mut self.bytes, stairs.len() * self.stride);
        grow(&mut self.values, rows);
        self.ranges.clear();
        let values = &mut self.values[..rows];
        let (mut last, mut constant) = (usize::MAX, false);
        for (number, stair) in stairs.iter().enumerate() {
            if last != stair.column {
                last = stair.column;
                column(last, values);
                let mut different = 0;
                for value in &*values {
                    different |= value.to_bits() ^ values[0].to_bits();
                }
                constant = different == 0;
            }
            let positions = &mut self.bytes[number * self.stride..][..rows];
            if constant {
                let [position] = stair.positions(&[values[0]]);
                positions.fill(position);
                self.ranges.push((position, position));
            } else {
                self.ranges.push(fill(stair, values, positions));
            }
        }
    }

    /// The positions of rows in a stair, from one row on.
    #[inline(always)]
    fn in_stair(&self, stair: usize, first: usize) -> &[u8] {
        &self.bytes[stair * self.stride + first..(stair + 1) * self.stride]
    }

    /// What is known about each question of all `rows` rows, and the steps of those whose answers differ.
    #[inline(always)]
    pub(super) fn codes(&self, stairs: &[Stair], rows: usize, codes: &mut [u16], steps: &mut Vec<Step>) {
        steps.clear();
        for (number, stair) in stairs.iter().enumerate() {
            let (least, most) = (usize::from(self.ranges[number].0), usize::from(self.ranges[number].1));
            let codes = &mut codes[stair.questions.clone()];
            codes[..least].fill(NOBODY);
            codes[most..].fill(EVERYBODY);
            if least == most {
                continue;
            }
            let mut taken = [false; 256];
            for &position in &self.in_stair(number, 0)[..rows] {
                taken[usize::from(position)] = true;
            }
            for place in least..most {
                // A place that no row has changes no answer.
                if taken[place] {
                    steps.push((number as u32, place as u8));
                }
                codes[place] = SOME + steps.len() as u16 - 1;
            }
        }
    }

    /// The rows that answer each question with yes, of as many as a narrow pool has lanes from `first` on.
    #[inline(always)]
    pub(super) fn lanes(&self, stairs: &[Stair], first: usize, rows: usize, answers: &mut [u32]) {
        for (number, stair) in stairs.iter().enumerate() {
            let (least, most) = (usize::from(self.ranges[number].0), usize::from(self.ranges[number].1));
            let answers = &mut answers[stair.questions.clone()];
            answers[..most].fill(0);
            answers[most..].fill(u32::MAX);
            if least == most {
                continue;
            }
            for (lane, &position) in self.in_stair(number, first)[..rows].iter().enumerate() {
                if let Some(answer) = answers.get_mut(usize::from(position)) {
                    *answer |= 1 << lane;
                }
            }
            let mut yes = 0;
            for answer in &mut answers[least..most] {
                yes |= *answer;
                *answer = yes;
            }
        }
    }

    /// The answers of one row.
    #[inline(always)]
    pub(super) fn answers(&self, stairs: &[Stair], row: usize, answers: &mut [bool]) {
        for (number, stair) in stairs.iter().enumerate() {
            stair.answer(self.bytes[number * self.stride + row], answers);
        }
    }

    /// The rows that answer each step's question with yes, of as many rows as a mask has bits, from `first`
    /// on.
    #[inline(always)]
    pub(super) fn masks<const W: usize>(&self, steps: &[Step], first: usize, masks: &mut [u64], avx2: bool) {
        let masks = masks.as_chunks_mut::<W>().0;
        debug_assert!(masks.len() >= steps.len());
        for at in 0..steps.len() {
            // SAFETY: there is a mask for each step, and all rows of a slab have positions (`find`).
            unsafe {
                let (stair, place) = get(steps, at);
                let positions =
                    self.bytes.as_ptr().add(stair as usize * self.stride + first).cast::<[u8; 64]>();
                let mask = masks.get_unchecked_mut(at);
                for word in 0..W {
                    mask[word] = at_most(&*positions.add(word), place, avx2);
                }
            }
        }
    }
}

/// Fills in positions, and returns the least and the greatest.
#[inline(always)]
fn fill(stair: &Stair, values: &[f64], positions: &mut [u8]) -> (u8, u8) {
    // Several searches at once: each step of one waits for the step before.
    const AT_ONCE: usize = 4;
    let (values, last_values) = values.as_chunks::<AT_ONCE>();
    let (places, last_places) = positions.as_chunks_mut::<AT_ONCE>();
    let (mut least, mut most) = ([u8::MAX; AT_ONCE], [0; AT_ONCE]);
    for (values, places) in values.iter().zip(places) {
        *places = stair.positions(values);
        for at in 0..AT_ONCE {
            least[at] = least[at].min(places[at]);
            most[at] = most[at].max(places[at]);
        }
    }
    for (&value, place) in last_values.iter().zip(last_places) {
        [*place] = stair.positions(&[value]);
        least[0] = least[0].min(*place);
        most[0] = most[0].max(*place);
    }
    let (mut ends, rest) = ((least[0], most[0]), 1..AT_ONCE);
    for at in rest {
        ends = (ends.0.min(least[at]), ends.1.max(most[at]));
    }
    ends
}

/// The bytes that are at most `most`, a bit each.
#[inline(always)]
#[allow(unused_variables)] // other architectures have one form
fn at_most(bytes: &[u8; 64], most: u8, avx2: bool) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[allow(clippy::wildcard_imports)]
        use std::arch::x86_64::*;
        if avx2 {
            // SAFETY: 64 bytes; the caller is compiled for AVX2.
            return unsafe {
                let most = _mm256_set1_epi8(most as i8);
                let low = _mm256_loadu_si256(bytes.as_ptr().cast());
                let high = _mm256_loadu_si256(bytes.as_ptr().add(32).cast());
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(low, most), low)) as u32;
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(high, most), high)) as u32;
                u64::from(low) | u64::from(high) << 32
            };
        }
    }
    bytes.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(byte <= most))
}
