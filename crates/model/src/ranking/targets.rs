//! Predictions of a model's other targets for the kernels of a ranking.

use std::sync::Arc;

use super::segment::{CompiledModel, Segment, Values};
use super::{Query, RankError, Ranker};
use crate::directory::Target;
use crate::problem::{Checked, Problem};
use crate::scoring::{RowMajor, RowScorer};

/// A target that does not rank, prepared for rows.
#[derive(Debug)]
pub struct TargetScorer {
    target: Target,
    scorer: RowScorer,
}

impl TargetScorer {
    /// The target.
    pub const fn target(&self) -> Target {
        self.target
    }
}

impl Ranker {
    /// Prepares another of the model's targets; `None` if the model has no forest for it.
    pub fn target(&self, target: Target) -> Option<TargetScorer> {
        let forest = self.model.forest(target)?;
        Some(TargetScorer { target, scorer: RowScorer::new(Arc::clone(forest)) })
    }

    /// The predictions of a target for kernels of several problems: the same as [`Ranker::predict`], with many rows
    /// walking down a tree at the same time.
    pub fn predict_rows(
        &self,
        TargetScorer { target, scorer }: &TargetScorer,
        asked: &[(Problem, usize)],
        predictions: &mut Vec<f64>,
    ) -> Result<(), RankError> {
        predictions.clear();
        let (forest, width) = (scorer.forest(), scorer.forest().num_features());
        let mut rows = Vec::with_capacity(asked.len() * width);
        // Neighbours are mostly of one problem.
        for kernels in asked.chunk_by(|(one, _), (other, _)| one == other) {
            let problem = kernels[0].0.checked()?;
            self.check_key(&problem, None)?;
            let kernels = kernels.iter().map(|(_, kernel)| *kernel);
            match &self.first_segment().compiled {
                CompiledModel::Trained { .. } => {
                    let terms = self.problem_terms(&problem)?;
                    for kernel in kernels {
                        rows.extend(self.row(&terms, kernel)?);
                    }
                }
                CompiledModel::Universal(_) => self.universal_rows(problem, kernels, &mut rows)?,
            }
        }
        predictions.resize(asked.len(), 0.0);
        scorer.score(&RowMajor { values: &rows, width }, 0..usize::MAX, predictions);
        for value in predictions {
            *value = self.model.value(*target, forest.finish(*value));
        }
        Ok(())
    }

    /// The columns of kernels among those of their segments, which are filled once if neighbours share one.
    fn universal_rows(
        &self,
        problem: Checked<'_>,
        kernels: impl Iterator<Item = usize>,
        rows: &mut Vec<f64>,
    ) -> Result<(), RankError> {
        let (mut filled, mut values): (Option<&Segment>, _) = (None, Values::default());
        for kernel in kernels {
            let (segment, member) = self.segment_of(kernel).ok_or_else(|| self.not_ranked(kernel))?;
            if !filled.is_some_and(|known| std::ptr::eq(known, segment)) {
                self.fill(segment, Query { problem, arch: None }, &mut values)?;
                filled = Some(segment);
            }
            rows.extend(self.row_of_filled(problem, segment, member, &values)?.0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Model;
    use crate::pool::Pool;
    use crate::problem::GemmProblem;
    use crate::ranking::RankScratch;

    /// The bits are those of each kernel's own prediction, before the forest is compiled and after.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn predictions_of_a_ranking_are_those_of_its_kernels() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/gemm_small");
        let pool = Pool::read(format!("{folder}/pool.txt")).unwrap();
        let ranker = Ranker::new(Arc::new(Model::load(folder).unwrap()), Arc::new(pool)).unwrap();
        let (mut scratch, mut predictions) = (RankScratch::default(), Vec::new());
        for count in [1, 5, usize::MAX] {
            let problem: Problem = GemmProblem::new(300, 4096, 512).into();
            let ranking = ranker.ranking(problem.checked().unwrap(), None, count, &mut scratch).unwrap();
            let asked: Vec<_> = ranking.places().iter().map(|ranked| (problem, ranked.index)).collect();
            for target in [Target::Latency, Target::Bandwidth] {
                let scorer = ranker.target(target).unwrap();
                for _ in 0..2 {
                    ranker.predict_rows(&scorer, &asked, &mut predictions).unwrap();
                    for ((_, kernel), found) in asked.iter().zip(&predictions) {
                        let kernel = ranker.predict(problem.checked().unwrap(), *kernel).unwrap();
                        let expected =
                            if target == Target::Latency { kernel.latency_ms } else { kernel.bandwidth_gb_s };
                        assert_eq!(Some(found.to_bits()), expected.map(f64::to_bits), "{count} {target}");
                    }
                }
            }
        }
        assert!(ranker.target(Target::Relative).is_none());
    }
}
