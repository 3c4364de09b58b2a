//! Why the ranking forest distinguishes two kernels.

use super::segment::CompiledModel;
use super::{RankError, Ranker};
use crate::forest::Contributions;
use crate::problem::Problem;

/// The explanation of why a forest distinguishes two kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The forest's raw scores.
    pub raw: [f64; 2],
    /// The terms that the estimated times add to the raw scores of a universal model.
    pub estimate: Option<[f64; 2]>,
    /// The most of a raw score that counts.
    pub most: f64,
    /// Each kernel's contributions; they add up to its raw score exactly.
    pub parts: [Contributions; 2],
    /// The contribution of each feature, the largest difference first.
    pub terms: Vec<Term>,
}

impl Comparison {
    /// The scores that order the two kernels: raw scores, with what the estimate adds.
    pub fn scores(&self) -> [f64; 2] {
        let estimate = self.estimate.unwrap_or_default();
        [0, 1].map(|kernel| self.raw[kernel].min(self.most) + estimate[kernel])
    }
}

/// One feature's part in a [`Comparison`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The feature's name.
    pub feature: &'static str,
    /// The feature's value for each kernel.
    pub values: [f64; 2],
    /// The feature's contribution to each kernel's raw score.
    pub contributions: [f64; 2],
}

impl Term {
    /// How much more the feature adds to the first kernel.
    pub fn difference(&self) -> f64 {
        self.contributions[0] - self.contributions[1]
    }
}

impl Ranker {
    /// Explains why the ranking forest distinguishes two kernels of the pool on a problem, or on the same
    /// problem in two numbers of parts.
    pub fn compare(
        &self,
        first: (&Problem, usize),
        second: (&Problem, usize),
    ) -> Result<Comparison, RankError> {
        let forest = self.model.ranking_forest().ok_or(RankError::NoForest)?;
        let judged = |(problem, index): (&Problem, usize)| -> Result<(Vec<f64>, Contributions, Option<f64>), RankError> {
            let (row, estimate) = self.row_and_estimate(problem.checked()?, index)?;
            let parts = forest.contributions(&row)?;
            Ok((row, parts, estimate))
        };
        let (first_row, first, first_estimate) = judged(first)?;
        let (second_row, second, second_estimate) = judged(second)?;
        let names = self.model.extractor().schema.names();
        let mut terms: Vec<_> = names
            .into_iter()
            .enumerate()
            .map(|(column, feature)| Term {
                feature,
                values: [first_row[column], second_row[column]],
                contributions: [first.features[column], second.features[column]],
            })
            .collect();
        terms.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        let estimate = first_estimate.zip(second_estimate).map(|(first, second)| [first, second]);
        let most = match &self.first_segment().compiled {
            CompiledModel::Universal(universal) => universal.most(),
            CompiledModel::Trained { .. } => f64::INFINITY,
        };
        Ok(Comparison {
            raw: [first.raw_score(), second.raw_score()],
            estimate,
            most,
            parts: [first, second],
            terms,
        })
    }
}
