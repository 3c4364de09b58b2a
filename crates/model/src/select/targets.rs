//! Predictions of a model's other targets for the kernels of a ranking.

use std::sync::Arc;

use super::segment::{Form, Segment};
use super::{RankError, RankScratch, Ranker};
use crate::forest::Forest;
use crate::model::Target;
use crate::problem::{Checked, Problem};
use crate::scoring::{CallValues, PoolScorer, RowMajor, RowScorer};

/// The row of one kernel costs as much as scoring this many kernels of the pool: for small pools, which are
/// scored like rows, and for others.
const KERNELS_A_ROW: [usize; 2] = [3, 16];

/// Kernels of a small pool.
const NARROW: usize = 32;

/// A target that does not rank, prepared for the pool of a [`Ranker`].
#[derive(Debug)]
pub struct TargetScorer {
    target: Target,
    forest: Arc<Forest>,
    /// By segment.
    segments: Vec<PoolScorer>,
    rows: RowScorer,
}

impl TargetScorer {
    /// The target.
    pub const fn target(&self) -> Target {
        self.target
    }
}

impl Ranker {
    /// Prepares another of the model's targets for the pool; `None` if the model has no forest for it.
    /// Universal models only rank.
    pub fn target(&self, target: Target) -> Result<Option<TargetScorer>, RankError> {
        let (Some(forest), Form::Trained { .. }) = (self.model.forest(target), &self.first_segment().form)
        else {
            return Ok(None);
        };
        let scorer = |segment: &Arc<Segment>| match &segment.form {
            Form::Trained { features, .. } => Some(PoolScorer::deferred(forest, &features.table())),
            Form::Universal(_) => None,
        };
        let segments = self.segments.iter().filter_map(scorer).collect::<Result<_, _>>()?;
        let rows = RowScorer::new(Arc::clone(forest));
        Ok(Some(TargetScorer { target, forest: Arc::clone(forest), segments, rows }))
    }

    /// Whether [`Ranker::predict_rows`] is the faster way to predict this many kernels per problem.
    pub fn predicts_by_rows(&self, kernels: usize) -> bool {
        let [small, other] = KERNELS_A_ROW;
        let cost = if self.pool.len() <= NARROW { small } else { other };
        kernels.saturating_mul(cost) < self.pool.len()
    }

    /// What a target predicts for kernels of several problems: the same as [`Ranker::predict`], with many
    /// rows walking down a tree at the same time.
    pub fn predict_rows(
        &self,
        target: &TargetScorer,
        asked: &[(Problem, usize)],
        predictions: &mut Vec<f64>,
    ) -> Result<(), RankError> {
        predictions.clear();
        let width = target.forest.num_features();
        let mut rows = Vec::with_capacity(asked.len() * width);
        for (problem, kernel) in asked {
            self.check(problem)?;
            rows.extend(self.row(&self.problem_side(problem)?, *kernel)?);
        }
        predictions.resize(asked.len(), 0.0);
        let rows = RowMajor { values: &rows, width };
        target.rows.score(&rows, 0..target.forest.trees().len(), predictions);
        for value in predictions {
            *value = self.model.value(target.target, target.forest.finish(*value));
        }
        Ok(())
    }

    /// What a target predicts for each kernel of the ranking in the scratch, in the ranking's order: the same
    /// as [`Ranker::predict`], without walking the forest for each kernel.
    pub fn predict_ranked(
        &self,
        target: &TargetScorer,
        problem: Checked<'_>,
        scratch: &mut RankScratch,
        predictions: &mut Vec<f64>,
    ) -> Result<(), RankError> {
        self.check_key(&problem, None)?;
        let RankScratch { values, scratch, scores, ranking, ordered, .. } = scratch;
        predictions.clear();
        predictions.resize(*ordered, f64::NAN);
        scores.resize(self.places.len(), 0.0);
        if values.len() < self.segments.len() {
            values.resize_with(self.segments.len(), Default::default);
        }
        for definite in problem.each_split() {
            let side = self.problem_side(&definite)?;
            for ((segment, scorer), values) in self.segments.iter().zip(&target.segments).zip(&mut *values) {
                if let Form::Trained { features, .. } = &segment.form {
                    features.fill(&side, &mut values.own);
                }
                let CallValues { uniform, pair, .. } = &values.own;
                scorer.score(uniform, pair, scratch, &mut scores[segment.places.clone()])?;
            }
            let own = ranking
                .iter()
                .zip(&mut *predictions)
                .filter(|(ranked, _)| ranked.split_k == definite.split_k());
            for (ranked, prediction) in own {
                let place =
                    self.places.binary_search(&ranked.index).map_err(|_| self.not_ranked(ranked.index))?;
                let sum = scores.get(place).ok_or_else(|| self.not_ranked(ranked.index))?;
                *prediction = self.model.value(target.target, target.forest.finish(*sum));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::pool::Pool;
    use crate::problem::GemmProblem;

    /// All kernels of a small pool, and a few and many of a larger one, both ways: the bits are those of each
    /// kernel's own prediction.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn predictions_of_a_ranking_are_those_of_its_kernels() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/gemm_small");
        let small = Pool::read(format!("{folder}/pool.txt")).unwrap();
        let name = |m: usize, n: usize, k: usize| {
            format!(
                "gemm_universal_fp8_rcr_compv3_default_intrawave_True_True_True_False_{m}x{n}x{k}_2x2x1\
                 _32x32x16"
            )
        };
        let sizes = [32, 64, 96, 128, 160, 192, 224, 256];
        let names: Vec<String> = (0..512)
            .map(|kernel| name(sizes[kernel / 64], sizes[kernel / 8 % 8], sizes[kernel % 8]))
            .collect();
        let large = Pool::from_bytes("names", names.join("\n").as_bytes()).unwrap();
        for (pool, counts) in [(small, vec![1, 5, usize::MAX]), (large, vec![1, 3, 4, usize::MAX])] {
            let ranker = Ranker::new(Arc::new(Model::load(folder).unwrap()), Arc::new(pool)).unwrap();
            let (mut scratch, mut predictions) = (RankScratch::default(), Vec::new());
            for count in counts {
                let problem: Problem = GemmProblem::new(300, 4096, 512).into();
                ranker.ranking(problem.checked().unwrap(), None, count, &mut scratch).unwrap();
                for target in [Target::Latency, Target::Bandwidth] {
                    let scorer = ranker.target(target).unwrap().unwrap();
                    ranker
                        .predict_ranked(&scorer, problem.checked().unwrap(), &mut scratch, &mut predictions)
                        .unwrap();
                    assert_eq!(predictions.len(), count.min(ranker.pool().len()));
                    let asked: Vec<_> =
                        scratch.ranking().iter().map(|place| (problem, place.index)).collect();
                    let mut by_rows = Vec::new();
                    // The second time with the compiled forest.
                    for _ in 0..2 {
                        ranker.predict_rows(&scorer, &asked, &mut by_rows).unwrap();
                        assert_eq!(by_rows, predictions, "{count} {target}");
                    }
                    for (place, found) in scratch.ranking().iter().zip(&predictions) {
                        let kernel = ranker.predict(problem.checked().unwrap(), place.index).unwrap();
                        let expected =
                            if target == Target::Latency { kernel.latency_ms } else { kernel.bandwidth_gb_s };
                        assert_eq!(Some(found.to_bits()), expected.map(f64::to_bits), "{count} {target}");
                    }
                }
                assert!(ranker.target(Target::Relative).unwrap().is_none());
            }
        }
    }
}
