//! What a forest is trained to do, and the derivatives of the loss that LightGBM does not have.

use std::ops::Range;

use ck_select_types::vocabulary;

vocabulary! {
    /// The objective of a forest's training.
    Objective, "objective" {
        /// Predict `ln(1 + y)`: upstream's way for TFLOPS and bandwidth.
        Log1p = "log1p",
        /// Predict `y` itself: upstream's way for latency.
        Raw = "raw",
        /// Predict the logarithm of the efficiency, which is all that a choice depends on.
        Relative = "relative",
        /// Fit the softmax of a problem's scores to `efficiency ^ sharpness` (cross-entropy).
        Listwise = "listwise",
        /// LightGBM's lambdarank, with its derivatives to the bit: each pair's weight is what swapping its
        /// places would cost, by efficiency in percent and by how near the top they are.
        Lambdarank = "lambdarank",
    }
}

impl Objective {
    /// Whether the scores only order the kernels of a problem, and are not related to TFLOPS.
    pub const fn only_ranks(self) -> bool {
        !matches!(self, Self::Log1p | Self::Raw)
    }

    /// Whether the forest predicts a label, so that prediction errors are meaningful.
    pub const fn predicts(self) -> bool {
        matches!(self, Self::Log1p | Self::Raw | Self::Relative)
    }

    /// A prediction in the unit of the measurements; upstream clamps those below 0.
    pub fn value(self, prediction: f64) -> f64 {
        match self {
            Self::Log1p => prediction.exp_m1().max(0.0),
            _ => prediction.max(0.0),
        }
    }

    /// LightGBM's parameters for it.
    pub(super) const fn lightgbm(self) -> &'static str {
        if self.is_custom() { "objective=none metric=none" } else { "objective=regression metric=rmse,l1" }
    }

    /// The name of the loss that decides when a training stops: the first, or the second if LightGBM reports
    /// two.
    pub(super) const fn loss_name(self, target: usize) -> &'static str {
        match (self, target) {
            (Self::Log1p | Self::Raw | Self::Relative, 0) => "root mean squared error",
            (Self::Log1p | Self::Raw | Self::Relative, _) => "mean absolute error",
            _ => "loss",
        }
    }

    /// Whether the objective's derivatives are computed here.
    pub(super) const fn is_custom(self) -> bool {
        matches!(self, Self::Listwise | Self::Lambdarank)
    }

    /// A row's label, from the measured value and its share of the problem's best.
    pub(super) fn label(self, value: f64, efficiency: f64) -> f64 {
        match self {
            Self::Log1p => value.ln_1p(),
            Self::Raw => value,
            Self::Relative => efficiency.ln(),
            Self::Listwise => efficiency,
            Self::Lambdarank => (efficiency * GRADES).round(),
        }
    }
}

/// Grades of efficiency for LightGBM's ranking objective, whose labels are integers: percent.
const GRADES: f64 = 100.0;

/// Efficiencies of the rows of some problems, grouped by problem, and the weight of each problem.
pub(super) struct Lists {
    pub(super) efficiency: Vec<f64>,
    pub(super) problems: Vec<Range<usize>>,
    pub(super) weights: Vec<f64>,
    pub(super) sharpness: f64,
}

/// Minimum second derivative: a leaf of rows that are already right must not take a huge step.
const FLOOR: f64 = 1e-3;

impl Lists {
    /// First and second derivatives of [`Objective::Listwise`]'s loss by each row's score.
    pub(super) fn derivatives(&self, scores: &[f64]) -> (Vec<f32>, Vec<f32>) {
        let (mut first, mut second) = (Vec::with_capacity(scores.len()), Vec::with_capacity(scores.len()));
        for (span, &weight) in self.problems.iter().zip(&self.weights) {
            let shares = softmax(scores[span.clone()].iter().copied());
            for (p, q) in shares.into_iter().zip(self.wanted(&self.efficiency[span.clone()])) {
                first.push((weight * (p - q)) as f32);
                second.push((weight * (p * (1.0 - p)).max(FLOOR)) as f32);
            }
        }
        (first, second)
    }

    /// The mean loss over the problems: the cross-entropy of [`Objective::Listwise`]; for LightGBM's own
    /// ranking objective, 1 - NDCG. The regret of the first choice would be too coarse to say when to stop.
    pub(super) fn loss(&self, objective: Objective, scores: &[f64]) -> f64 {
        let of_problem = |span: &Range<usize>| {
            let (scores, efficiency) = (&scores[span.clone()], &self.efficiency[span.clone()]);
            if objective != Objective::Listwise {
                return 1.0 - ndcg(scores, efficiency);
            }
            let shares = softmax(scores.iter().copied());
            let wanted = self.wanted(efficiency);
            -shares.iter().zip(wanted).map(|(p, q)| q * p.max(f64::MIN_POSITIVE).ln()).sum::<f64>()
        };
        self.problems.iter().map(of_problem).sum::<f64>() / self.problems.len().max(1) as f64
    }

    /// The share of choices that each kernel should get.
    fn wanted(&self, efficiency: &[f64]) -> Vec<f64> {
        softmax(efficiency.iter().map(|e| self.sharpness * e.ln()))
    }
}

fn softmax(scores: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = scores.map(|score| (score - most).exp()).collect();
    let sum: f64 = shares.iter().sum();
    for share in &mut shares {
        *share /= sum;
    }
    shares
}

/// The normalised discounted cumulative gain: efficiencies in the order of the scores, each counting less the
/// later it comes, as a share of what the best order has.
fn ndcg(scores: &[f64], efficiency: &[f64]) -> f64 {
    let gain = |by: &[f64]| -> f64 {
        let mut order: Vec<usize> = (0..by.len()).collect();
        order.sort_by(|&a, &b| by[b].total_cmp(&by[a]));
        order.into_iter().zip(2u32..).map(|(row, rank)| efficiency[row] / f64::from(rank).log2()).sum()
    };
    let ideal = gain(efficiency);
    if ideal > 0.0 { gain(scores) / ideal } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(efficiency: &[f64], problems: &[Range<usize>], weights: &[f64]) -> Lists {
        let (efficiency, problems, weights) = (efficiency.to_vec(), problems.to_vec(), weights.to_vec());
        Lists { efficiency, problems, weights, sharpness: 5.0 }
    }

    /// Compares analytic derivatives with differences of the loss.
    #[test]
    fn first_derivatives_are_those_of_the_loss() {
        let scores = [0.2, -0.4, 0.9, 0.1, -1.5];
        let lists = lists(&[1.0, 0.5, 0.8, 0.3, 1.0], &[0..3, 3..5], &[1.0, 1.0]);
        let (first, second) = lists.derivatives(&scores);
        for row in 0..scores.len() {
            let at = |change: f64| {
                let mut moved = scores;
                moved[row] += change;
                // `loss` is a mean over the two problems.
                2.0 * lists.loss(Objective::Listwise, &moved)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - f64::from(first[row])).abs() < 1e-6, "{row}: {slope}");
            assert!(second[row] > 0.0);
        }
    }

    #[test]
    fn a_problem_counts_by_its_weight() {
        let of =
            |weights: &[f64]| lists(&[1.0, 0.5, 1.0, 0.5], &[0..2, 2..4], weights).derivatives(&[0.0; 4]).0;
        let (single, double) = (of(&[1.0, 1.0]), of(&[1.0, 2.0]));
        assert_eq!(double, [single[0], single[1], 2.0 * single[2], 2.0 * single[3]]);
    }

    #[test]
    fn ranking_losses_fall_with_each_pair_in_order() {
        // The best first is not enough: the other two count as well.
        let of = |efficiency: &[f64]| lists(efficiency, std::slice::from_ref(&(0..3)), &[1.0]);
        let loss = |scores: [f64; 3]| of(&[0.5, 1.0, 0.8]).loss(Objective::Lambdarank, &scores);
        assert_eq!(loss([0.0, 2.0, 1.0]), 0.0);
        assert!(loss([1.0, 2.0, 0.0]) > 0.0 && loss([2.0, 1.0, 0.0]) > loss([1.0, 2.0, 0.0]));
        assert_eq!(of(&[0.0; 3]).loss(Objective::Lambdarank, &[0.0; 3]), 0.0);
    }

    #[test]
    fn large_scores_stay_finite() {
        let lists = lists(&[1.0, 0.9], std::slice::from_ref(&(0..2)), &[1.0]);
        let (first, second) = lists.derivatives(&[-1e4, 1e4]);
        assert!(first.iter().chain(&second).all(|value| value.is_finite()));
        assert!(lists.loss(Objective::Listwise, &[-1e4, 1e4]).is_finite());
    }
}
