//! Scores of points.

use std::sync::Arc;

use ck_select_model::select::{RankScratch, Ranker};
use ck_select_types::kernel::KernelKind;
use ck_select_types::pool::Pool;
use ck_select_types::problem::Problem;

use super::space::{Point, Space};
use super::{By, SearchError};

/// A point with its score.
pub(super) type Scored = (Point, f64);

/// What scores points of a space for a problem.
pub(super) struct Scorer<'a> {
    pub(super) by: By<'a>,
    pub(super) problem: &'a Problem,
    pub(super) space: &'a Space<'a>,
}

impl Scorer<'_> {
    /// The score of each point, in order.
    pub(super) fn scores(
        &self,
        points: &[Point],
        scratch: &mut RankScratch,
    ) -> Result<Vec<f64>, SearchError> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let model = match self.by {
            By::Model(model) => model,
            By::Estimate(estimator, _) => {
                let load = estimator.load(self.problem);
                let time = |point: &Point| {
                    let shape = estimator.shape(&KernelKind::Gemm(self.space.gemm(point)));
                    shape.map_or(f64::NAN, |shape| estimator.time(&load, &shape))
                };
                return Ok(points.iter().map(time).collect());
            }
        };
        let kernels = points.iter().map(|point| self.space.kernel(point)).collect();
        let ranker = Ranker::new(Arc::clone(model), Arc::new(Pool::new(kernels)?))?;
        ranker.rank_with(self.problem, scratch)?;
        let mut scores = vec![f64::NAN; points.len()];
        for ranked in scratch.ranking() {
            scores[ranked.index] = ranked.score;
        }
        Ok(scores)
    }

    /// Why a point has no score.
    pub(super) fn why_not(&self, point: &Point) -> SearchError {
        let fault = match self.by {
            By::Model(_) => None,
            By::Estimate(estimator, _) => estimator
                .shape(&KernelKind::Gemm(self.space.gemm(point)))
                .err()
                .map(|fault| fault.to_string()),
        };
        fault.map_or(SearchError::NoPoint, SearchError::NoEstimate)
    }

    /// Whether one score is strictly better than another.
    pub(super) fn is_better(&self, score: f64, than: f64) -> bool {
        if self.by.higher_is_better() { score > than } else { score < than }
    }

    /// Sorts best first, stable for equal scores, NaN last.
    pub(super) fn sort(&self, scored: &mut [Scored]) {
        let higher = self.by.higher_is_better();
        scored.sort_by(|a, b| {
            a.1.is_nan().cmp(&b.1.is_nan()).then(if higher {
                b.1.total_cmp(&a.1)
            } else {
                a.1.total_cmp(&b.1)
            })
        });
    }
}
