//! The derivatives of LightGBM's lambdarank, to the bit, in little more than half of its time.
//!
//! LightGBM's table of sigmoids has 8 MB for each forest in training; here all share one. LightGBM's loop
//! over pairs reads through the order of the scores and branches on labels; here a problem is put in order
//! first.

use std::ops::Range;
use std::sync::LazyLock;

/// Entries of the table of sigmoids, and the least difference of scores that it has; the greatest is as far
/// from 0.
const ENTRIES: usize = 1 << 20;
const LEAST: f64 = -25.0;
/// Entries for each unit of difference.
const EACH: f64 = ENTRIES as f64 / (-2.0 * LEAST);
/// The number that is added to a difference of scores before it divides; LightGBM's has 32 bits.
const NEAR: f64 = 0.01_f32 as f64;
/// Pairs are compared of which one is among this many first, unless a parameter says otherwise.
pub(super) const PLACES: f64 = 30.0;

static SIGMOIDS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let sigmoid = |entry: usize| 1.0 / (1.0 + (entry as f64 / EACH + LEAST).exp());
    (0..ENTRIES).map(sigmoid).collect()
});

/// Problems to rank, and working memory.
pub(super) struct Lambdarank {
    problems: Vec<Range<usize>>,
    /// The weight of each problem.
    weights: Vec<f32>,
    /// Grades.
    labels: Vec<f64>,
    /// The number of first ranks that count.
    places: usize,
    /// One over the most that each problem can gain by them; 0 for nothing.
    scales: Vec<f64>,
    /// The weight of a gain at each rank.
    discounts: Vec<f64>,
    /// Keys that ascend as scores descend, with the row.
    order: Vec<(u64, usize)>,
    sorted: Vec<RankedRow>,
}

/// A row in the order of the scores.
#[derive(Clone, Copy)]
struct RankedRow {
    score: f64,
    label: f64,
    discount: f64,
    first: f32,
    second: f32,
}

impl Lambdarank {
    pub(super) fn new(
        problems: Vec<Range<usize>>,
        labels: Vec<f64>,
        weights: Vec<f32>,
        places: usize,
    ) -> Lambdarank {
        let most = problems.iter().map(ExactSizeIterator::len).max().unwrap_or_default();
        let discounts: Vec<f64> = (0..most).map(|rank| 1.0 / (2.0 + rank as f64).log2()).collect();
        let scale = |problem: &Range<usize>| {
            let mut best = labels[problem.clone()].to_vec();
            best.sort_by(|a, b| b.total_cmp(a));
            let gain =
                best.iter().zip(&discounts[..places.min(most)]).fold(0.0, |sum, (gain, by)| sum + by * gain);
            if gain > 0.0 { 1.0 / gain } else { 0.0 }
        };
        let scales = problems.iter().map(scale).collect();
        let (order, sorted) = (Vec::new(), Vec::new());
        Lambdarank { problems, weights, labels, places, scales, discounts, order, sorted }
    }

    /// First and second derivatives by each row's score.
    pub(super) fn derivatives(&mut self, scores: &[f64]) -> (Vec<f32>, Vec<f32>) {
        let (mut first, mut second) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        for number in 0..self.problems.len() {
            let problem = self.problems[number].clone();
            self.sort(&scores[problem.clone()], problem.start);
            let sum = self.compare(self.scales[number]);
            let (by, weight) = (if sum > 0.0 { (1.0 + sum).log2() / sum } else { 1.0 }, self.weights[number]);
            for (&(_, row), sorted) in self.order.iter().zip(&self.sorted) {
                first[row] = (f64::from(sorted.first) * by) as f32 * weight;
                second[row] = (f64::from(sorted.second) * by) as f32 * weight;
            }
        }
        (first, second)
    }

    /// Puts a problem's rows in the order of the scores, equal ones as they are.
    fn sort(&mut self, scores: &[f64], start: usize) {
        let key = |score: f64| {
            // Both zeros are one score.
            let bits = (score + 0.0).to_bits();
            !(bits ^ ((bits as i64 >> 63) as u64 | 1 << 63))
        };
        self.order.clear();
        self.order.extend(scores.iter().zip(start..).map(|(&score, row)| (key(score), row)));
        self.order.sort_unstable();
        self.sorted.clear();
        self.sorted.extend(self.order.iter().zip(&self.discounts).map(|(&(_, row), &discount)| RankedRow {
            score: scores[row - start],
            label: self.labels[row],
            discount,
            first: 0.0,
            second: 0.0,
        }));
    }

    /// Compares the first rows with all behind them. Returns the sum of all first derivatives' sizes.
    fn compare(&mut self, scale: f64) -> f64 {
        let sigmoids = &**SIGMOIDS;
        let ends = [self.sorted.first(), self.sorted.last()].map(|row| row.map(|row| row.score));
        let (are_equal, mut sum) = (ends[0] == ends[1], 0.0);
        for at in 0..self.places.min(self.sorted.len().saturating_sub(1)) {
            let (before, others) = self.sorted.split_at_mut(at + 1);
            let one = &mut before[at];
            for other in others {
                let sign = if one.label > other.label { 1.0 } else { -1.0 };
                let difference = sign * (one.score - other.score);
                // What swapping the two would cost.
                let mut cost =
                    (one.label - other.label).abs() * (one.discount - other.discount).abs() * scale;
                if !are_equal {
                    cost /= NEAR + difference.abs();
                }
                let entry = ((difference - LEAST) * EACH).clamp(0.0, (ENTRIES - 1) as f64);
                let share = sigmoids[entry as u32 as usize % ENTRIES];
                let (first, second) = (share * -cost, share * (1.0 - share) * cost);
                let signed = sign as f32 * first as f32;
                other.first -= signed;
                one.first += signed;
                other.second += second as f32;
                one.second += second as f32;
                sum -= 2.0 * first;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::lightgbm::{Booster, Matrix};

    /// The trees of a forest's text.
    fn trees(booster: &Booster) -> String {
        let text = booster.to_text().unwrap();
        let (_, trees) = text.split_once("Tree=0").unwrap();
        trees.split_once("end of trees").unwrap().0.to_owned()
    }

    /// The data has problems of one kernel and of many, equal labels, equal rows, and weights.
    #[test]
    fn its_forests_are_those_of_lightgbms_own() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let sizes: Vec<usize> = (0..30).map(|problem| [1, 2, 17, 60][problem % 4]).collect();
        let mut matrix = Matrix { width: 3, ..Matrix::default() };
        let (mut problems, mut weights) = (Vec::new(), Vec::new());
        for (problem, &size) in sizes.iter().enumerate() {
            let start = matrix.labels.len();
            let weight = [1.0, 2.0, 0.3][problem % 3];
            for _ in 0..size {
                let row = [0; 3].map(|_| random(12) as f64 - 4.0);
                let noise = random(40) as f64;
                matrix
                    .labels
                    .push((30.0 + 4.0 * row[0] - row[1] * row[2] + noise).clamp(0.0, 100.0).round() as f32);
                matrix.weights.push(weight);
                matrix.blocks.push(Cow::Owned(row.to_vec()));
            }
            matrix.groups.push(size as i32);
            problems.push(start..start + size);
            weights.push(weight);
        }
        let gains: Vec<String> = (0..=100).map(|gain: u32| gain.to_string()).collect();
        for places in [5, 30] {
            let params = |objective: &str| {
                format!(
                    "objective={objective} metric=none num_leaves=7 min_data_in_leaf=3 learning_rate=0.3 \
                     deterministic=true force_row_wise=true verbosity=-1 num_threads=1"
                )
            };
            let own = format!(
                "{} label_gain={} lambdarank_truncation_level={places}",
                params("lambdarank"),
                gains.join(",")
            );
            let own = Booster::train(&matrix, &own, 25, None).unwrap();
            let labels = matrix.labels.iter().copied().map(f64::from).collect();
            let mut pairs = Lambdarank::new(problems.clone(), labels, weights.clone(), places);
            // Which rows are of one problem, only LightGBM's own objective has to know.
            let plain = Matrix { groups: Vec::new(), ..matrix.clone() };
            let mut ours = Booster::begin(&plain, &params("none"), None).unwrap();
            for _ in 0..25 {
                let (first, second) = pairs.derivatives(&ours.scores(0).unwrap());
                assert!(ours.boost_by(&first, &second).unwrap());
            }
            assert_eq!(trees(&ours), trees(&own), "{places} places");
        }
    }
}
