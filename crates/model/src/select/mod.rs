//! Ranking: which kernels of a pool are best for a problem, and why.

mod compare;
mod error;
pub(crate) mod gpu;
mod list;
mod outside;
mod prepare;
mod ranking;
mod rows;
mod segment;
mod targets;
mod universal;

pub use crate::ties::Ranked;
pub use compare::{Comparison, Term};
pub use error::{LeftOut, LeftOutReason, RankError};
pub use outside::OutOfRange;
pub use ranking::{RankScratch, Ranking};
pub use targets::TargetScorer;
pub use universal::{most_of_forest, universal_prior, universal_rows, universal_score};

use std::sync::Arc;

use crate::kernel::Kernel;
use crate::model::{Model, ModelKey};
use crate::pool::Pool;
use crate::ties::Ties;
use outside::Known;
use segment::Segment;

/// A model prepared for a pool: everything that depends on the pool alone is computed once.
///
/// ```
/// use std::sync::Arc;
/// use ck_select_model::model::{Model, Target};
/// use ck_select_types::pool::Pool;
/// use ck_select_types::problem::ConvProblem;
/// use ck_select_model::select::Ranker;
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
/// It ranks only problems and kernels that the model serves: kernels of another operation, direction, type or
/// architecture are left out ([`Ranker::left_out`]), as are those that its features cannot describe, and
/// other problems are refused.
#[derive(Debug, Clone)]
pub struct Ranker {
    model: Arc<Model>,
    key: ModelKey,
    pool: Arc<Pool>,
    left_out: Vec<LeftOut>,
    /// Parts that no measured kernel had, by index in the pool; empty for most.
    unmeasured: Vec<String>,
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
        self.unmeasured.get(index).map_or("", String::as_str)
    }

    /// The name of a kernel of the pool; empty if the index is out of range.
    pub fn name(&self, index: usize) -> &str {
        self.pool.get(index).map_or("", |kernel| kernel.name.as_str())
    }
}
