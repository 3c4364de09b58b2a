//! Answers of narrow pools with AVX-512: a value is compared with eight thresholds at once.
//!
//! A binary search compares one threshold after the other, with unpredictable branches. Here a value is
//! compared with the last threshold of each group of eight, which gives its group, and then with that group:
//! for the ladders of most forests, these are two comparisons and no branch.

#[allow(clippy::wildcard_imports)] // a score of intrinsics
use std::arch::x86_64::*;
use std::ops::Range;

use super::{BEHIND, Narrow};
use crate::forest::{Missing, ZERO_THRESHOLD};
use crate::isa::Avx512;
use crate::scoring::bits::low_bits;
use crate::scoring::compile::cells::fetch_line;
use crate::scoring::compile::ladder::{Ladder, Ladders};
use crate::scoring::compile::lanes::{Column, LANES, Lanes};
use crate::scoring::values::Values;

/// Thresholds per vector.
const WIDTH: usize = 8;
/// Answers per vector.
const ANSWERS: usize = BEHIND;

/// Every ladder of a forest, contiguous, because the first access after other work comes from memory.
#[derive(Debug)]
pub(in crate::scoring) struct Rungs {
    /// The class of each lane.
    class_of: PerLane<u16>,
    /// Numeric ladders about problems and pairs.
    numeric: Vec<Numeric>,
    /// The numbers of all ladders, one ladder after the other.
    eights: Vec<Eight>,
    /// The questions about kernels alone.
    kernel: Range<usize>,
    /// The indices of the other ladders: categorical questions, and ladders that are too long.
    others: Vec<usize>,
}

/// One vector of numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Eight([f64; WIDTH]);

/// A number for each lane, or for each class, of which there are no more.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct PerLane<T>([T; LANES]);

/// A numeric ladder.
#[derive(Debug)]
struct Numeric {
    /// Whether the ladder is about pairs.
    pair: bool,
    /// Index among the values of its scope.
    column: u32,
    /// The ladder's first question, and how many there are.
    first: u32,
    count: u32,
    /// The index of the ladder's first number: the last threshold of each whole group of eight, and then all
    /// thresholds, padded with infinity, with one group more than there are places for ends.
    start: u32,
    ends: u32,
    /// Substitutes for zeros and for NaN.
    zero: f64,
    nan: f64,
}

impl Rungs {
    /// `None` for a pool with more classes than a narrow pool has lanes: some of them have no lanes.
    pub(in crate::scoring) fn new(ladders: &Ladders, lanes: &Lanes, classes: usize) -> Option<Rungs> {
        if classes > LANES {
            return None;
        }
        let kernel = ladders.range(Column::Kernel);
        let class_of = |lane: usize| lanes.classes.get(lane).map_or(0, |&class| class as u16);
        let mut rungs = Rungs {
            class_of: PerLane(std::array::from_fn(class_of)),
            numeric: Vec::new(),
            eights: Vec::new(),
            kernel,
            others: Vec::new(),
        };
        for (number, ladder) in ladders.ladders.iter().enumerate() {
            if ladder.scope == Column::Kernel {
                continue;
            }
            if let Some(numeric) = Numeric::new(ladder, &mut rungs.eights) {
                rungs.numeric.push(numeric);
            } else {
                rungs.others.push(number);
            }
        }
        Some(rungs)
    }

    /// Prefetches what [`answer`](Self::answer) reads.
    pub(in crate::scoring) fn fetch(&self) {
        self.eights.iter().for_each(|eight| fetch_line(eight.0.as_ptr().cast()));
    }

    /// Answers all questions about one problem, as [`Narrow`] does without vectors. There is room for
    /// [`BEHIND`] more after them.
    pub(in crate::scoring) fn answer(
        &self,
        _: Avx512,
        pool: &Narrow,
        values: &Values<'_>,
        answers: &mut [u32],
    ) {
        // SAFETY: the token proves that the CPU has the features.
        unsafe { self.answer_numeric(low_bits(pool.lanes) as u32, values, answers) };
        pool.answer_kernel(self.kernel.clone(), answers);
        for ladder in self.others.iter().filter_map(|&ladder_index| pool.ladders.ladders.get(ladder_index)) {
            pool.answer_ladder(ladder, values, answers);
        }
    }

    /// Answers in the order of the ladders, since those about problems write beyond their end.
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
    fn answer_numeric(&self, all: u32, values: &Values<'_>, answers: &mut [u32]) {
        for numeric in &self.numeric {
            let eights = &self.eights[numeric.start as usize..];
            let answers = &mut answers[numeric.first as usize..];
            let column = numeric.column as usize;
            if numeric.pair {
                numeric.answer_classes(eights, values.pair(column), &self.class_of, all, answers);
            } else {
                // Also for lanes that there are not.
                numeric.answer_all(eights, values.uniform[column], u32::MAX, answers);
            }
        }
    }
}

impl Numeric {
    /// The ladder's numbers are appended to those of others.
    fn new(ladder: &Ladder, all: &mut Vec<Eight>) -> Option<Numeric> {
        let (thresholds, missing, default_left) = ladder.numeric()?;
        let ends: Vec<f64> = thresholds.chunks_exact(WIDTH).map(|eight| eight[WIDTH - 1]).collect();
        let places = ends.len().div_ceil(WIDTH);
        // Positions have 16 bits.
        u16::try_from((places * WIDTH + 1) * WIDTH).ok()?;
        let start = u32::try_from(all.len()).ok()?;
        let mut append = |numbers: &[f64], eights: usize| {
            let number = |rung: usize| numbers.get(rung).copied().unwrap_or(f64::INFINITY);
            let eight = |eight: usize| Eight(std::array::from_fn(|lane| number(eight * WIDTH + lane)));
            all.extend((0..eights).map(eight));
        };
        append(&ends, places);
        append(thresholds, places * WIDTH + 1);
        // Minus infinity is above no threshold. In the comparison below, NaN is above all of them, even
        // infinity, so that it leads past the last end.
        let absent = if default_left { f64::NEG_INFINITY } else { f64::NAN };
        let (zero, nan) = match missing {
            Missing::Never => (0.0, 0.0),
            Missing::Zero => (absent, absent),
            Missing::Nan => (0.0, absent),
        };
        let (pair, column) = (ladder.scope == Column::Pair, ladder.column as u32);
        let (first, count) = (ladder.questions.start as u32, ladder.questions.len() as u32);
        Some(Numeric { pair, column, first, count, start, ends: places as u32, zero, nan })
    }

    /// The values as [`position`](Self::position) takes them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
    fn known(&self, values: __m512d) -> __m512d {
        let zero = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(_mm512_abs_pd(values), _mm512_set1_pd(ZERO_THRESHOLD));
        let nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(values, values);
        let values = _mm512_mask_mov_pd(values, zero, _mm512_set1_pd(self.zero));
        _mm512_mask_mov_pd(values, nan, _mm512_set1_pd(self.nan))
    }

    /// Gives all lanes the same answers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
    fn answer_all(&self, eights: &[Eight], value: f64, all: u32, answers: &mut [u32]) {
        let value = _mm512_cvtsd_f64(self.known(_mm512_set1_pd(value)));
        let (ends, thresholds) = eights.split_at(self.ends as usize);
        let count = self.count as usize;
        let position = position(ends, thresholds, value).min(count);
        let first = _mm512_set1_epi32(position as i32);
        let mut question = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        for answers in answers[..count.next_multiple_of(ANSWERS)].chunks_exact_mut(ANSWERS) {
            let yes = _mm512_cmpge_epi32_mask(question, first);
            // SAFETY: a vector of answers.
            unsafe {
                _mm512_storeu_si512(answers.as_mut_ptr().cast(), _mm512_maskz_set1_epi32(yes, all as i32));
            }
            question = _mm512_add_epi32(question, _mm512_set1_epi32(ANSWERS as i32));
        }
    }

    /// Answers for the lanes of classes with these values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
    fn answer_classes(
        &self,
        eights: &[Eight],
        values: &[f64],
        class_of: &PerLane<u16>,
        all: u32,
        answers: &mut [u32],
    ) {
        let mut known = PerLane([0.0; LANES]);
        for (values, known) in values.chunks(WIDTH).zip(known.0.chunks_exact_mut(WIDTH)) {
            let live = (0xff_u32 >> (WIDTH - values.len())) as __mmask8;
            // SAFETY: as many values as are live, and a vector of numbers.
            unsafe {
                let values = self.known(_mm512_maskz_loadu_pd(live, values.as_ptr()));
                _mm512_store_pd(known.as_mut_ptr(), values);
            }
        }
        let mut positions = PerLane([0; LANES]);
        let (ends, thresholds) = eights.split_at(self.ends as usize);
        fill_positions(ends, thresholds, &known.0[..values.len()], &mut positions);
        // SAFETY: a vector of numbers each.
        let (positions, class_of) = unsafe {
            (_mm512_load_si512(positions.0.as_ptr().cast()), _mm512_load_si512(class_of.0.as_ptr().cast()))
        };
        let positions = _mm512_min_epu16(positions, _mm512_set1_epi16(self.count as i16));
        let positions = _mm512_permutexvar_epi16(class_of, positions);
        let mut question = _mm512_setzero_si512();
        for answer in &mut answers[..self.count as usize] {
            *answer = _mm512_cmple_epu16_mask(positions, question) & all;
            question = _mm512_add_epi16(question, _mm512_set1_epi16(1));
        }
    }
}

/// How many of the questions are answered with no; for NaN, which is above all thresholds, all or more.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn position(ends: &[Eight], thresholds: &[Eight], value: f64) -> usize {
    let value = _mm512_set1_pd(value);
    let above = |thresholds: &Eight| {
        // SAFETY: a vector of numbers.
        let thresholds = unsafe { _mm512_load_pd(thresholds.0.as_ptr()) };
        _mm512_cmp_pd_mask::<_CMP_NLE_UQ>(value, thresholds).count_ones() as usize
    };
    let whole: usize = ends.iter().map(above).sum();
    debug_assert!(whole < thresholds.len());
    // SAFETY: there is an eight for each place of an end and one more.
    whole * WIDTH + above(unsafe { thresholds.get_unchecked(whole) })
}

/// The positions of some values. The number of vectors of ends is the same for all of them, so that it is
/// checked once.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn fill_positions(ends: &[Eight], thresholds: &[Eight], values: &[f64], positions: &mut PerLane<u16>) {
    let positions = positions.0.iter_mut().zip(values);
    match ends {
        [] => positions.for_each(|(to, &value)| *to = position(&[], thresholds, value) as u16),
        [end] => positions.for_each(|(to, &value)| *to = position(&[*end], thresholds, value) as u16),
        [first, second] => {
            positions.for_each(|(to, &value)| *to = position(&[*first, *second], thresholds, value) as u16);
        }
        ends => positions.for_each(|(to, &value)| *to = position(ends, thresholds, value) as u16),
    }
}

// Miri does not support AVX-512.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use proptest::prelude::*;

    /// Numbers that are close to each other, and special ones.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => (-300..300_i32).prop_map(|number| f64::from(number) / 8.0),
            1 => prop::sample::select(vec![
                0.0, -0.0, 1e-35, -1e-35, 1e-34, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX,
                f64::MIN,
            ]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

        #[test]
        fn positions_are_the_ladders(
            mut thresholds in prop::collection::vec(number(), 1..300),
            values in prop::collection::vec(number(), 32),
            missing in prop::sample::select(vec![Missing::Never, Missing::Zero, Missing::Nan]),
            default_left: bool,
        ) {
            let Isa::Avx512(_) = Isa::best() else { return Ok(()) };
            thresholds.retain(|threshold| !threshold.is_nan());
            prop_assume!(!thresholds.is_empty());
            thresholds.sort_by(f64::total_cmp);
            thresholds.dedup();
            let ladder = Ladder::from_thresholds(thresholds, missing, default_left);
            let expected: Vec<usize> = values.iter().map(|&value| ladder.position(value)).collect();
            let mut eights = vec![Eight([f64::NAN; WIDTH])];
            let numeric = Numeric::new(&ladder, &mut eights).unwrap();
            let eights = &eights[numeric.start as usize..];
            let mut answers = vec![u32::MAX; ladder.questions.len() + BEHIND];
            let class_of = PerLane(std::array::from_fn(|lane| 31 - lane as u16));
            for (lane, &position) in expected.iter().enumerate() {
                // SAFETY: the CPU has the features.
                unsafe { numeric.answer_all(eights, values[lane], 7, &mut answers) };
                for (question, &answer) in answers[..ladder.questions.len()].iter().enumerate() {
                    prop_assert_eq!(answer, if question >= position { 7 } else { 0 });
                }
            }
            let answers = &mut answers[..ladder.questions.len()];
            // SAFETY: as before.
            unsafe { numeric.answer_classes(eights, &values, &class_of, u32::MAX >> 2, answers) };
            for (question, &answer) in answers.iter().enumerate() {
                let yes = (0..30).filter(|lane| question >= expected[31 - lane]);
                prop_assert_eq!(answer, yes.fold(0, |lanes, lane| lanes | 1 << lane));
            }
        }
    }
}
