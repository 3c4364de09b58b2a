//! Positions: the place of each row's values among a forest's thresholds, a byte each, and masks of rows made
//! from them.

use super::compile::{EVERYBODY, NOBODY, SOME};
use super::slab::ROWS;
use crate::isa::Avx2;
use crate::scoring::compile::stair::Stair;
use crate::scoring::scratch::{Answer, Positions, Step, grow};
use crate::scoring::unchecked::{get, set};
use crate::scoring::{narrow, single};

impl Positions {
    /// Finds the positions of `rows` rows; `column` writes the values of a column.
    #[inline(always)]
    pub(in crate::scoring) fn find(
        &mut self,
        stairs: &[Stair],
        rows: usize,
        mut column: impl FnMut(usize, &mut [f64]),
    ) {
        // There is room for a whole slab.
        self.stride = if rows <= 64 { 64 } else { (rows + ROWS).next_multiple_of(64) };
        grow(&mut self.bytes, stairs.len() * self.stride);
        grow(&mut self.values, rows);
        grow(&mut self.keys, rows);
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
                stair.positions(&values[..1], &mut self.keys, &mut positions[..1]);
                positions.fill(positions[0]);
                self.ranges.push((positions[0], positions[0]));
            } else {
                stair.positions(values, &mut self.keys, positions);
                let ends = |ends: (u8, u8), &position: &u8| (ends.0.min(position), ends.1.max(position));
                self.ranges.push(positions.iter().fold((u8::MAX, 0), ends));
            }
        }
    }

    /// The positions of rows in a stair, from one row on.
    #[inline(always)]
    fn in_stair(&self, stair: usize, first: usize) -> &[u8] {
        &self.bytes[stair * self.stride + first..(stair + 1) * self.stride]
    }

    /// The code of each question for all `rows` rows, and the steps of questions whose answers differ.
    #[inline(always)]
    pub(in crate::scoring) fn codes(
        &self,
        stairs: &[Stair],
        rows: usize,
        codes: &mut [u16],
        steps: &mut Vec<Step>,
    ) {
        steps.clear();
        for (number, stair) in stairs.iter().enumerate() {
            let (least, most) = (usize::from(self.ranges[number].0), usize::from(self.ranges[number].1));
            let codes = &mut codes[stair.questions.clone()];
            codes[..least].fill(NOBODY);
            codes[most..].fill(EVERYBODY);
            if least == most {
                continue;
            }
            let (mut taken, mut places, mut count) = ([false; 256], [0; 256], 0);
            for &position in &self.in_stair(number, 0)[..rows] {
                taken[usize::from(position)] = true;
            }
            let before = SOME + steps.len() as u16 - 1;
            // A place that no row has changes no answer. It is left out without a branch on it.
            for step in least..most {
                places[count & 255] = step as u8;
                count += usize::from(taken[step]);
                codes[step] = before + count as u16;
            }
            steps.extend(places[..count].iter().map(|&step| (number as u32, step)));
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
            narrow::accumulate(&mut answers[least..most]);
        }
    }

    /// The answers of one row.
    #[inline(always)]
    pub(super) fn answers(&self, stairs: &[Stair], row: usize, answers: &mut [Answer]) {
        for (number, stair) in stairs.iter().enumerate() {
            single::place(stair, self.bytes[number * self.stride + row], answers);
        }
    }

    /// The rows that answer each step's question with yes, in masks of as many words, from `first` on.
    #[inline(always)]
    pub(in crate::scoring) fn masks(
        &self,
        steps: &[Step],
        first: usize,
        words: usize,
        masks: &mut [u64],
        avx2: Option<Avx2>,
    ) {
        debug_assert!(masks.len() >= steps.len() * words);
        for at in 0..steps.len() {
            // SAFETY: there is a mask for each step, and all rows of a slab have positions (`find`).
            unsafe {
                let (stair, step) = get(steps, at);
                let positions =
                    self.bytes.as_ptr().add(stair as usize * self.stride + first).cast::<[u8; 64]>();
                for word in 0..words {
                    set(masks, at * words + word, at_most(&*positions.add(word), step, avx2));
                }
            }
        }
    }
}

/// The bytes that are at most `most`, a bit each.
#[inline(always)]
#[allow(unused_variables)] // other architectures have one form
fn at_most(bytes: &[u8; 64], most: u8, avx2: Option<Avx2>) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[allow(clippy::wildcard_imports)]
        use std::arch::x86_64::*;
        if avx2.is_some() {
            // SAFETY: 64 bytes; the token proves that the CPU has AVX2.
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
