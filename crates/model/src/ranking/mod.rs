//! Ranking: which kernels of a pool are best for a problem, and why.
//!
//! A [`Ranker`] is a model that was prepared for a pool. Preparing finds the kernels that the model serves,
//! turns them into what features need, and compiles the forest; ranking a problem is then four steps:
//!
//! ```text
//! kernels that compute the problem          limits of extents, pads, vectors and splits
//! values of the problem                     features, or the columns of a universal model
//! scores                                    the forest, of the whole pool at once
//! order                                     by score, equal ones by `Ties::RULE`
//! ```
//!
//! A pool is a list of segments: the first one was compiled whole, and kernels that a registry added since
//! are in later ones of up to 32, since compiling a forest for thousands of kernels takes far longer than
//! adding one. All segments have the same model, so that a kernel's score does not depend on when it was
//! added.
//!
//! What describes an answer (expected times, how sure it is, the heading of a table) is in `outlook`, `sure` and
//! `heading`: all of it reads the order, nothing changes it.

mod compare;
mod error;
mod estimate_table;
pub(crate) mod gpu;
pub(crate) mod heading;
mod list;
mod order;
mod outlook;
mod outside;
mod prepare;
mod segment;
mod sure;
mod targets;
mod universal;
pub mod words;

pub use crate::ties::Ranked;
pub use compare::{Comparison, Term};
pub use error::{LeftOut, LeftOutReason, RankError};
pub use estimate_table::{EstimateTable, EstimateTableError};
pub use order::{RankScratch, Ranking};
pub use outlook::Outlook;
pub use outside::OutOfRange;
pub use targets::TargetScorer;
pub use universal::{most_of_forest, universal_prior, universal_rows, universal_score};

use std::sync::Arc;

use crate::directory::{Model, ModelKey, Predictions};
use crate::estimate::Place;
use crate::features::ProblemTerms;
use crate::kernel::Kernel;
use crate::pool::Pool;
use crate::problem::{Checked, Problem, ProblemDefaults};
use crate::ties::Ties;
use order::Query;
use outside::Known;
use segment::{CompiledModel, Segment, Values};

/// A model prepared for a pool: everything that depends on the pool alone is computed once.
///
/// ```
/// use std::sync::Arc;
/// use ck_select_model::directory::{Model, Target};
/// use ck_select_types::pool::Pool;
/// use ck_select_types::problem::ConvProblem;
/// use ck_select_model::ranking::Ranker;
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
/// let best = ranker.rank(&problem.into())?[0];
/// assert_eq!((ranker.name(best.index), best.score), ("grouped_conv_forward_bf16_2d_64x128x64_compv3", 250.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A ranker takes only problems and kernels that the model serves: kernels of another operation, direction,
/// type or architecture are left out ([`Ranker::left_out`]), as are those that its features cannot describe,
/// and other problems are refused.
#[derive(Debug, Clone)]
pub struct Ranker {
    model: Arc<Model>,
    key: ModelKey,
    pool: Arc<Pool>,
    left_out: Vec<LeftOut>,
    /// Parts that no measured kernel had, each with its kernel's index in the pool, ascending; most have none.
    unmeasured: Vec<(usize, String)>,
    /// The first one, and those of kernels that were added.
    segments: Vec<Arc<Segment>>,
    known: Arc<Known>,
    ties: Ties,
}

impl Ranker {
    /// The one of all kernels but those that were added.
    fn first_segment(&self) -> &Segment {
        &self.segments[0]
    }

    /// The model.
    pub const fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The pool.
    pub const fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The values of fields that a problem leaves out: those of the model, else those that all kernels share.
    pub fn problem_defaults(&self) -> ProblemDefaults {
        let spec = self.model.spec();
        let mut defaults = spec.problem_defaults();
        self.pool.set_defaults(&mut defaults, spec.direction.is_none(), spec.dtype.is_none());
        defaults
    }

    /// The kernels that are ranked, each with its index in the pool.
    pub fn kernels(&self) -> impl Iterator<Item = (usize, &Kernel)> {
        let ranked = self.segments.iter().flat_map(|segment| &segment.ranked);
        ranked.filter_map(|&index| Some((index, self.pool.get(index)?)))
    }

    /// Kernels of the pool that are not ranked, with the reasons.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The parts of a kernel's pipeline and suffixes that were never measured for the model, such as `compv5`
    /// or `gm2 si`; empty if all were measured, or if the model does not record it.
    pub fn unmeasured(&self, index: usize) -> &str {
        let known = self.unmeasured.binary_search_by_key(&index, |&(kernel, _)| kernel);
        known.map_or("", |known_index| &self.unmeasured[known_index].1)
    }

    /// The name of a kernel of the pool; empty if the index is out of range.
    pub fn name(&self, index: usize) -> &str {
        self.pool.get(index).map_or("", |kernel| kernel.name.as_str())
    }

    fn problem_terms(&self, problem: &Problem) -> Result<ProblemTerms, RankError> {
        self.model.extractor().problem_terms(problem).map_err(RankError::ProblemTerms)
    }

    /// Every target's prediction for one kernel of the pool.
    pub fn predict(&self, problem: Checked<'_>, index: usize) -> Result<Predictions, RankError> {
        let row = self.features(problem, index)?;
        Ok(self.model.predict_row(&row)?)
    }

    /// The feature row of one kernel of the pool.
    pub fn features(&self, problem: Checked<'_>, index: usize) -> Result<Vec<f64>, RankError> {
        Ok(self.row_and_estimate(problem, index)?.0)
    }

    /// The feature row of a kernel, and what the estimate adds to its score if the model is a universal one.
    fn row_and_estimate(
        &self,
        problem: Checked<'_>,
        index: usize,
    ) -> Result<(Vec<f64>, Option<f64>), RankError> {
        self.check_key(&problem, None)?;
        problem.check_split()?;
        match &self.first_segment().compiled {
            CompiledModel::Universal(_) => {
                self.universal_row(problem, index).map(|(row, own)| (row, Some(own)))
            }
            CompiledModel::Trained { .. } => Ok((self.row(&self.problem_terms(&problem)?, index)?, None)),
        }
    }

    /// The columns of one kernel among those of the pool, and what the estimate adds to its score.
    fn universal_row(&self, problem: Checked<'_>, index: usize) -> Result<(Vec<f64>, f64), RankError> {
        let (segment, member) = self.segment_of(index).ok_or_else(|| self.not_ranked(index))?;
        let mut values = Values::default();
        self.fill(segment, Query { problem, arch: None }, &mut values)?;
        self.row_of_filled(problem, segment, member, &values)
    }

    /// The columns of one kernel, and the estimate's part of its score, from the values of its segment.
    fn row_of_filled(
        &self,
        problem: Checked<'_>,
        segment: &Segment,
        member: Place,
        values: &Values,
    ) -> Result<(Vec<f64>, f64), RankError> {
        let values = &values.universal;
        let time = values.log_times.get(member.get()).filter(|time| !time.is_nan());
        let (Some(_), CompiledModel::Universal(universal)) = (time, &segment.compiled) else {
            return Err(self.no_kernel(&problem));
        };
        let device = universal.on(&problem, None)?;
        Ok(device.row(member, values))
    }

    fn row(&self, problem: &ProblemTerms, index: usize) -> Result<Vec<f64>, RankError> {
        let terms = self.segment_of(index).and_then(|(segment, member)| match &segment.compiled {
            CompiledModel::Trained { terms, .. } => terms.get(member.get()),
            CompiledModel::Universal(_) => None,
        });
        let kernel = terms.ok_or_else(|| self.not_ranked(index))?;
        let mut row = vec![0.0; self.model.extractor().schema.len()];
        self.model.extractor().fill(problem, kernel, &mut row);
        Ok(row)
    }

    /// The segment of a kernel of the pool, and the kernel's place in it.
    fn segment_of(&self, index: usize) -> Option<(&Segment, Place)> {
        let number = self.segments.partition_point(|segment| segment.indices.end <= index);
        let segment = self.segments.get(number)?;
        Some((segment, segment.place(index)?))
    }

    /// Why a kernel has no row.
    fn not_ranked(&self, index: usize) -> RankError {
        match self.left_out.iter().find(|left_out| left_out.index == index) {
            Some(LeftOut { reason, .. }) => {
                RankError::LeftOut { kernel: self.name(index).to_owned(), reason: Box::new(reason.clone()) }
            }
            None => RankError::Index { kernels: self.pool.len(), index },
        }
    }
}
