//! Cross-validation's figures for a fold.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use ck_select_measurements::figures::{Spread, mean};
use ck_select_model::ties;

/// How good a choice is: speeds as shares of the fastest kernel's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) efficiency: f64,
    pub(super) best_of_top3: f64,
}

/// How good the choices are, over problems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Efficiency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The tenth percentile.
    pub p10: f64,
    /// The worst.
    pub min: f64,
    /// Mean of the best among the first three.
    pub best_of_top3: f64,
    /// Number of problems.
    pub problems: usize,
}

impl Efficiency {
    /// `None` without problems.
    pub(super) fn new(choices: &[Choice]) -> Option<Self> {
        let first = Spread::new(choices.iter().map(|choice| choice.efficiency).collect());
        (first.count > 0).then(|| Self {
            mean: first.mean,
            median: first.p50,
            p10: first.p10,
            min: first.min,
            best_of_top3: mean(choices.iter().map(|choice| choice.best_of_top3)),
            problems: first.count,
        })
    }

    /// Mean, median, tenth percentile, worst, and the best among the first three.
    pub const fn shares(&self) -> [f64; 5] {
        [self.mean, self.median, self.p10, self.min, self.best_of_top3]
    }

    /// The shares of choices that may not have been judged.
    pub fn shares_of(judged: Option<&Self>) -> [Option<f64>; 5] {
        judged.map_or([None; 5], |judged| judged.shares().map(Some))
    }
}

/// The choice in each span.
pub(super) fn choices(scores: &[f64], speeds: &[f64], spans: &[Range<usize>]) -> Vec<Choice> {
    spans
        .iter()
        .filter_map(|span| {
            let (scores, speeds) = (&scores[span.clone()], &speeds[span.clone()]);
            let oracle = speeds.iter().copied().fold(0.0, f64::max);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| ties::order(scores[a], scores[b], true));
            let first = order.first().map_or(0.0, |&row| speeds[row]);
            let best = order.iter().take(3).map(|&row| speeds[row]).fold(0.0, f64::max);
            (oracle > 0.0).then(|| Choice { efficiency: first / oracle, best_of_top3: best / oracle })
        })
        .collect()
}

/// The figures of one fold.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldMetrics {
    /// The fold's number, from 0.
    pub fold: usize,
    /// Root mean squared error in the space of the training; `None` for a forest that only ranks.
    pub rmse: Option<f64>,
    /// Coefficient of determination, likewise.
    pub r2: Option<f64>,
    /// How good choices are, by whole problem; `None` for targets that do not choose.
    pub efficiency: Option<Efficiency>,
    /// Rows trained on.
    pub train_size: usize,
    /// Rows held out.
    pub val_size: usize,
    /// Problems (or groups, by upstream's keys) held out.
    pub val_groups: usize,
    /// Number of trees that were kept.
    pub best_iteration: usize,
    /// The architecture, direction, type or file that was left out, if folds are of these.
    pub left_out: Option<String>,
}

impl FoldMetrics {
    /// The name of the group that was left out, else the fold's number for people, from 1.
    pub fn name(&self) -> String {
        self.left_out.clone().unwrap_or_else(|| (self.fold + 1).to_string())
    }

    /// Under upstream's keys, as far as it has them.
    pub(super) fn to_json(&self) -> Value {
        let [mean, median, p10, min, best_of_top3] = Efficiency::shares_of(self.efficiency.as_ref());
        let mut figures = json!({
            "fold": self.fold,
            "rmse": self.rmse,
            "r2": self.r2,
            "mean_efficiency": mean,
            "p10_efficiency": p10,
            "train_size": self.train_size,
            "val_size": self.val_size,
            "val_groups": self.val_groups,
            "median_efficiency": median,
            "min_efficiency": min,
            "best_of_top3": best_of_top3,
            "best_iteration": self.best_iteration,
        });
        if let Some(left_out) = &self.left_out {
            figures["left_out"] = json!(left_out);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(speeds: &[f64], scores: &[f64]) -> Vec<f64> {
        choices(scores, speeds, std::slice::from_ref(&(0..speeds.len())))
            .into_iter()
            .map(|choice| choice.efficiency)
            .collect()
    }

    #[test]
    fn efficiency_is_the_chosen_speed_over_the_best() {
        assert_eq!(only(&[100.0, 200.0], &[1.0, 2.0]), [1.0]);
        assert_eq!(only(&[100.0, 200.0], &[2.0, 1.0]), [0.5]);
        assert_eq!(only(&[50.0], &[0.0]), [1.0]);
        // The first of equal scores is taken, and of both zeros; NaN is never the best (d1df5c79 let it be).
        assert_eq!(only(&[100.0, 200.0], &[1.0, 1.0]), [0.5]);
        assert_eq!(only(&[100.0, 200.0], &[-0.0, 0.0]), [0.5]);
        assert_eq!(only(&[100.0, 200.0], &[f64::NAN, -1.0]), [1.0]);
        // A problem on which nothing runs has no efficiency.
        assert!(only(&[0.0, 0.0], &[1.0, 2.0]).is_empty());
    }

    #[test]
    fn problems_are_independent() {
        let choices = choices(&[1.0, 2.0, 9.0, 8.0], &[10.0, 5.0, 4.0, 4.0], &[0..2, 2..4]);
        let shares: Vec<_> = choices.iter().map(|choice| (choice.efficiency, choice.best_of_top3)).collect();
        assert_eq!(shares, [(0.5, 1.0), (1.0, 1.0)]);
        let summary = Efficiency::new(&choices).unwrap();
        assert_eq!((summary.mean, summary.median, summary.min, summary.problems), (0.75, 0.75, 0.5, 2));
        assert!((summary.p10 - 0.55).abs() < 1e-15);
        assert_eq!(Efficiency::new(&[]), None);
    }
}
