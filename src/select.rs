//! Ranking: which kernels of a pool are best for a problem, and why.

mod targets;

use std::cmp::Ordering;
use std::sync::Arc;

pub use targets::TargetScorer;

use crate::features::{KernelSide, ProblemSide, SideError};
use crate::forest::{Contributions, FeatureInfo, RowError};
use crate::kernel::{Kernel, KernelKind};
use crate::model::{Model, Predictions};
use crate::pool::Pool;
use crate::problem::{InvalidField, Problem};
use crate::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch, SizeError, Wanted};

/// A model prepared for a pool: everything that depends on the pool alone is computed once.
///
/// ```
/// use std::sync::Arc;
/// use ck_select::model::{Model, Target};
/// use ck_select::pool::Pool;
/// use ck_select::problem::ConvProblem;
/// use ck_select::select::Ranker;
///
/// let spec = br#"{"op_type": "grouped_conv", "feature_names": ["tile_mn"]}"#;
/// let forest = b"tree
/// version=v4
/// num_class=1
/// num_tree_per_iteration=1
/// label_index=0
/// max_feature_idx=0
/// objective=regression
/// feature_names=tile_mn
/// feature_infos=[256:16384]
///
/// Tree=0
/// num_leaves=2
/// num_cat=0
/// split_feature=0
/// split_gain=1
/// threshold=4096
/// decision_type=2
/// left_child=-1
/// right_child=-2
/// leaf_value=100 250
/// internal_value=175
/// is_linear=0
/// shrinkage=1
///
/// end of trees
/// ";
/// let model = Model::from_bytes("example", spec, &[(Target::Tflops, forest)])?;
/// let pool = Pool::from_bytes(
///     "names",
///     b"grouped_conv_forward_bf16_2d_32x64x64_compv3\ngrouped_conv_forward_bf16_2d_64x128x64_compv3\n",
/// )?;
/// let ranker = Ranker::new(Arc::new(model), Arc::new(pool))?;
///
/// let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
/// let best = ranker.best(&problem.into())?;
/// assert_eq!((ranker.name(best.index), best.score), ("grouped_conv_forward_bf16_2d_64x128x64_compv3", 250.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ranker {
    model: Arc<Model>,
    pool: Arc<Pool>,
    sides: Vec<KernelSide>,
    features: PoolFeatures,
    scorer: PoolScorer,
    ranges: Vec<Range>,
}

/// In smaller pools, in the forest's eyes, the whole ranking takes no longer than a shortlist.
const SHORTLIST_FROM: usize = 256;

/// What a feature of the problem was between in training.
#[derive(Debug, Clone, Copy)]
struct Range {
    feature: &'static str,
    /// The feature's place among the columns that are the same for all kernels.
    place: usize,
    min: f64,
    max: f64,
}

impl Range {
    /// The feature's value among those that are the same for all kernels, if it is outside. NaN is not.
    fn outside(&self, uniform: &[f64]) -> Option<f64> {
        uniform.get(self.place).copied().filter(|&value| value < self.min || value > self.max)
    }
}

/// Working memory of one call at a time; calls after the first do not allocate. Any fits any ranker.
#[derive(Debug, Default)]
pub struct RankScratch {
    values: CallValues,
    scratch: Scratch,
    scores: Vec<f64>,
    ranking: Vec<Ranked>,
    out_of_range: bool,
}

impl RankScratch {
    /// The ranking of the last call, best first.
    pub fn ranking(&self) -> &[Ranked] {
        &self.ranking
    }

    /// Whether the last call's problem has a feature outside of what the ranking forest saw in training.
    pub const fn out_of_range(&self) -> bool {
        self.out_of_range
    }
}

/// One place of a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// The kernel's place in its pool.
    pub index: usize,
    /// What the model's ranking forest says of it, logarithms undone.
    pub score: f64,
}

/// A problem or a pool that a model cannot rank.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RankError {
    /// The problem is not one.
    #[error("problem: {0}")]
    Problem(#[from] InvalidField),
    /// The model's features cannot describe the problem.
    #[error("problem: {0}")]
    ProblemSide(SideError),
    /// The model's features cannot describe a kernel.
    #[error("kernel '{kernel}': {source}")]
    KernelSide {
        /// The kernel's name.
        kernel: String,
        /// What is wrong with it.
        source: SideError,
    },
    /// No kernel of the pool computes what the problem asks for.
    #[error("none of the {kernels} kernels computes {asked}; the first, '{first}', does not")]
    NoKernel {
        /// Kernels in the pool.
        kernels: usize,
        /// What the problem asks for.
        asked: String,
        /// The name of the first kernel.
        first: String,
    },
    /// A place that the pool does not have.
    #[error("the pool has {kernels} kernels, there is none at {index}")]
    Index {
        /// Kernels in the pool.
        kernels: usize,
        /// The place asked for.
        index: usize,
    },
    /// A model without the forest that ranks; loading excludes it.
    #[error("the model has no forest that ranks kernels")]
    NoForest,
    /// A forest that does not fit to the spec; loading excludes it.
    #[error(transparent)]
    Row(#[from] RowError),
    /// Values that do not fit to the compiled pool; both come from the same features, which excludes it.
    #[error(transparent)]
    Size(#[from] SizeError),
}

impl Kernel {
    /// Whether the kernel computes what the problem asks for: the operation, and for convolutions the direction and
    /// the number of spatial dimensions. Types and layouts are the registry's to match: a model ranks across them.
    pub fn answers(&self, problem: &Problem) -> bool {
        match (&self.kind, problem) {
            (KernelKind::Conv(kernel), Problem::Conv(problem)) => {
                kernel.direction == problem.direction && kernel.ndim == problem.ndim
            }
            (KernelKind::Gemm(_), Problem::Gemm(_)) => true,
            _ => false,
        }
    }
}

impl Ranker {
    /// Prepares a model for a pool. A kernel that the model's features cannot describe is an error that names it.
    pub fn new(model: Arc<Model>, pool: Arc<Pool>) -> Result<Self, RankError> {
        let side = |kernel: &Kernel| {
            model
                .extractor()
                .kernel_side(&kernel.kind)
                .map_err(|source| RankError::KernelSide { kernel: kernel.name.clone(), source })
        };
        let sides: Vec<_> = pool.iter().map(side).collect::<Result<_, _>>()?;
        let forest = model.ranking_forest().ok_or(RankError::NoForest)?;
        let features = PoolFeatures::new(model.extractor(), &sides).map_err(|_| RankError::NoForest)?;
        let scorer = PoolScorer::compile(forest, &features.table()).map_err(|_| RankError::NoForest)?;
        let ranges = ranges(&model);
        Ok(Self { model, pool, sides, features, scorer, ranges })
    }

    /// The model.
    pub const fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The pool.
    pub const fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The name of a kernel of the pool; empty when there is none at that place.
    pub fn name(&self, index: usize) -> &str {
        self.pool.get(index).map_or("", |kernel| kernel.name.as_str())
    }

    /// All kernels that compute the problem, best first. Equal scores keep the pool's order; NaN comes last.
    pub fn rank(&self, problem: &Problem) -> Result<Vec<Ranked>, RankError> {
        let mut scratch = RankScratch::default();
        self.rank_with(problem, &mut scratch)?;
        Ok(scratch.ranking)
    }

    /// [`Ranker::rank`] into [`RankScratch::ranking`], without allocating once the scratch is warm.
    pub fn rank_with(&self, problem: &Problem, scratch: &mut RankScratch) -> Result<(), RankError> {
        problem.validate()?;
        self.fill(problem, scratch)?;
        self.rank_filled(problem, scratch)
    }

    /// Ranks by the values in the scratch.
    fn rank_filled(&self, problem: &Problem, scratch: &mut RankScratch) -> Result<(), RankError> {
        let RankScratch { values: CallValues { uniform, pair }, scratch, scores, ranking, .. } = scratch;
        scores.resize(self.pool.len(), 0.0);
        self.scorer.score(uniform, pair, scratch, scores)?;
        ranking.clear();
        for (index, (kernel, &sum)) in self.pool.iter().zip(&*scores).enumerate() {
            if kernel.answers(problem) {
                ranking.push(Ranked { index, score: self.score(sum) });
            }
        }
        if ranking.is_empty() {
            return Err(self.no_kernel(problem));
        }
        self.sort(ranking);
        Ok(())
    }

    /// The problem's features outside of what the ranking forest saw in training.
    pub fn out_of_range(&self, problem: &Problem) -> Result<Vec<OutOfRange>, RankError> {
        problem.validate()?;
        let mut values = CallValues::default();
        self.features.fill(&self.problem_side(problem)?, &mut values);
        let outside = |range: &Range| {
            let &Range { feature, min, max, .. } = range;
            range.outside(&values.uniform).map(|value| OutOfRange { feature, value, min, max })
        };
        Ok(self.ranges.iter().filter_map(outside).collect())
    }

    /// Fills in a valid problem's values, and whether the model knows their like.
    fn fill(&self, problem: &Problem, scratch: &mut RankScratch) -> Result<(), RankError> {
        self.scorer.fetch();
        self.features.fill(&self.problem_side(problem)?, &mut scratch.values);
        let uniform = &scratch.values.uniform;
        scratch.out_of_range = self.ranges.iter().any(|range| range.outside(uniform).is_some());
        Ok(())
    }

    /// What the model makes of a sum of leaf values.
    fn score(&self, sum: f64) -> f64 {
        let raw = self.model.ranking_forest().map_or(sum, |forest| forest.finish(sum));
        self.model.score(self.model.spec().rank_by, raw)
    }

    fn sort(&self, ranking: &mut [Ranked]) {
        let higher_is_better = self.model.spec().rank_by.higher_is_better();
        // With the index as a tie-break no two are equal, and an unstable sort, which does not allocate, will do.
        ranking
            .sort_unstable_by(|a, b| order(a.score, b.score, higher_is_better).then(a.index.cmp(&b.index)));
    }

    /// The `count` best kernels.
    pub fn top(&self, problem: &Problem, count: usize) -> Result<Vec<Ranked>, RankError> {
        let mut scratch = RankScratch::default();
        self.top_with(problem, count, &mut scratch)?;
        Ok(scratch.ranking)
    }

    /// The best kernel.
    pub fn best(&self, problem: &Problem) -> Result<Ranked, RankError> {
        self.top(problem, 1)?.first().copied().ok_or_else(|| self.no_kernel(problem))
    }

    /// The first `count` places of [`Ranker::rank_with`], which in a large pool take a fraction of its time.
    pub fn top_with(
        &self,
        problem: &Problem,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        problem.validate()?;
        self.lead_with(problem, count, scratch)?;
        scratch.ranking.truncate(count);
        Ok(())
    }

    /// At least the first `count` places for a valid problem; whether it is all of them.
    pub(crate) fn lead_with(
        &self,
        problem: &Problem,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        self.fill(problem, scratch)?;
        if self.scorer.distinct_kernels() >= SHORTLIST_FROM && self.shortlist(problem, count, scratch)? {
            scratch.ranking.truncate(count);
            return Ok(false);
        }
        self.rank_filled(problem, scratch)?;
        Ok(true)
    }

    /// Ranks a shortlist by the values in the scratch, if there is one on which the best are sure to be.
    fn shortlist(
        &self,
        problem: &Problem,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        let rank_by = self.model.spec().rank_by;
        let RankScratch { values: CallValues { uniform, pair }, scratch: of_scorer, ranking, .. } = scratch;
        let wanted = Wanted { count, highest: rank_by.higher_is_better() };
        let may = |kernel| self.pool.get(kernel).is_some_and(|kernel| kernel.answers(problem));
        if !self.scorer.shortlist(uniform, pair, wanted, may, of_scorer)? {
            return Ok(false);
        }
        ranking.clear();
        ranking.extend(
            of_scorer
                .shortlist()
                .iter()
                .map(|listed| Ranked { index: listed.kernel, score: self.score(listed.score) }),
        );
        self.sort(ranking);
        // Scores that differ may be equal once logarithms are undone, and then places decide. What is not on the list
        // must be worse by more than what `exp` and the like can be wrong by.
        let beyond = self.score(of_scorer.beyond());
        let last = ranking.get(count - 1).map_or(f64::NAN, |last| last.score);
        let slack = last.abs().max(beyond.abs()) * f64::exp2(-40.0);
        Ok(if wanted.highest { beyond + slack < last } else { beyond - slack > last })
    }

    /// The rankings of many problems.
    pub fn rank_all(&self, problems: &[Problem]) -> Vec<Result<Vec<Ranked>, RankError>> {
        problems.iter().map(|problem| self.rank(problem)).collect()
    }

    /// Every target's prediction for one kernel of the pool.
    pub fn predict(&self, problem: &Problem, index: usize) -> Result<Predictions, RankError> {
        problem.validate()?;
        let row = self.row(&self.problem_side(problem)?, index)?;
        Ok(self.model.predict_row(&row)?)
    }

    /// The feature row of one kernel of the pool.
    pub fn features(&self, problem: &Problem, index: usize) -> Result<Vec<f64>, RankError> {
        problem.validate()?;
        self.row(&self.problem_side(problem)?, index)
    }

    /// Why the ranking forest tells two kernels of the pool apart.
    pub fn compare(&self, problem: &Problem, first: usize, second: usize) -> Result<Comparison, RankError> {
        problem.validate()?;
        let side = self.problem_side(problem)?;
        let forest = self.model.ranking_forest().ok_or(RankError::NoForest)?;
        let judged = |index| -> Result<(Vec<f64>, Contributions), RankError> {
            let row = self.row(&side, index)?;
            let parts = forest.contributions(&row)?;
            Ok((row, parts))
        };
        let (first_row, first) = judged(first)?;
        let (second_row, second) = judged(second)?;
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
        Ok(Comparison { raw: [first.raw_score(), second.raw_score()], parts: [first, second], terms })
    }

    fn problem_side(&self, problem: &Problem) -> Result<ProblemSide, RankError> {
        self.model.extractor().problem_side(problem).map_err(RankError::ProblemSide)
    }

    fn row(&self, problem: &ProblemSide, index: usize) -> Result<Vec<f64>, RankError> {
        let kernel = self.sides.get(index).ok_or(RankError::Index { kernels: self.pool.len(), index })?;
        let mut row = vec![0.0; self.model.extractor().schema.len()];
        self.model.extractor().fill(problem, kernel, &mut row);
        Ok(row)
    }

    fn no_kernel(&self, problem: &Problem) -> RankError {
        let asked = match problem {
            Problem::Conv(problem) => format!("a {}D {} convolution", problem.ndim, problem.direction),
            Problem::Gemm(_) => "a GEMM".to_owned(),
        };
        RankError::NoKernel { kernels: self.pool.len(), asked, first: self.name(0).to_owned() }
    }
}

/// The trained ranges of the features that depend on the problem alone: those that the spec records, else those that
/// LightGBM left in the forest.
fn ranges(model: &Model) -> Vec<Range> {
    let Some(forest) = model.ranking_forest() else { return Vec::new() };
    let schema = &model.extractor().schema;
    let recorded = model.spec().trained_range.as_ref();
    let columns = schema.names().into_iter().zip(schema.scopes()).zip(forest.feature_infos());
    columns
        .filter(|((_, scope), _)| matches!(*scope, "problem" | "hardware"))
        .enumerate()
        .filter_map(|(place, ((feature, _), info))| {
            let [min, max] = match (recorded, info) {
                (Some(recorded), _) => recorded.get(feature)?,
                (None, &FeatureInfo::Range { min, max }) => [min, max],
                (None, _) => return None,
            };
            Some(Range { feature, place, min, max })
        })
        .collect()
}

/// A feature of a problem outside of what the model saw in training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfRange {
    /// The feature's name.
    pub feature: &'static str,
    /// Its value.
    pub value: f64,
    /// The smallest value in training.
    pub min: f64,
    /// The largest value in training.
    pub max: f64,
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, trained on {} to {}", self.feature, self.value, self.min, self.max)
    }
}

/// Best first, NaN last.
pub(crate) fn order(a: f64, b: f64, higher_is_better: bool) -> Ordering {
    // Both zeros are equal here, as they are to upstream's sort.
    a.partial_cmp(&b).map_or_else(
        || a.is_nan().cmp(&b.is_nan()),
        |ascending| if higher_is_better { ascending.reverse() } else { ascending },
    )
}

/// Why a forest tells two kernels apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The forest's raw scores.
    pub raw: [f64; 2],
    /// Each kernel's contributions; they add up to its raw score exactly.
    pub parts: [Contributions; 2],
    /// The same by feature, the largest difference first.
    pub terms: Vec<Term>,
}

/// One feature's part in a [`Comparison`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The feature's name.
    pub feature: &'static str,
    /// Its value for each kernel.
    pub values: [f64; 2],
    /// What it adds to each kernel's raw score.
    pub contributions: [f64; 2],
}

impl Term {
    /// How much more the feature adds to the first kernel.
    pub fn difference(&self) -> f64 {
        self.contributions[0] - self.contributions[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_descending_with_nan_last() {
        let mut scores = [1.0, f64::NAN, 3.0, -0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY];
        scores.sort_by(|&a, &b| order(a, b, true));
        let bits: Vec<u64> = scores.iter().map(|score| score.to_bits()).collect();
        let expected = [f64::INFINITY, 3.0, 1.0, -0.0, 0.0, f64::NEG_INFINITY, f64::NAN];
        assert_eq!(bits, expected.map(f64::to_bits).to_vec());
        scores.sort_by(|&a, &b| order(a, b, false));
        assert_eq!((scores[0], scores[5], scores[6].is_nan()), (f64::NEG_INFINITY, f64::INFINITY, true));
    }
}
