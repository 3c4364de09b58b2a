//! Prepares a model for a pool: what depends on the pool alone.

use std::ops::Range;
use std::sync::Arc;

use super::outside::Known;
use super::segment::{ADDED, Segment};
use super::{LeftOut, LeftOutReason, RankError, Ranker};
use crate::directory::{Model, ModelKey};
use crate::estimate::GpuOverride;
use crate::pool::Pool;
use crate::ties::Ties;

/// A smaller pool is compiled anew when kernels are added.
const ADDING_FROM: usize = 512;
/// One in this many kernels of a pool may be added to what was compiled before.
const MOST_ADDED: usize = 16;

impl Ranker {
    /// Prepares a model for the kernels of a pool that it serves ([`Model::key`]). A universal model also
    /// serves other operations ([`Model::for_op`]).
    pub fn new(mut model: Arc<Model>, pool: Arc<Pool>) -> Result<Self, RankError> {
        if pool.op() != model.key().op
            && let Some(other) = model.for_op(pool.op())
        {
            model = Arc::new(other);
        }
        let key = model.key();
        let ranker = Self::deferred(model, key, None, pool, |_| 0)?;
        ranker.prepare();
        Ok(ranker)
    }

    /// Prepares for the GPUs that the same model was used on with other kernels, which the first problem on
    /// each would wait for.
    pub fn prepare_gpus_of(&self, other: &Self) {
        self.first_segment().prepare_gpus_of(other.first_segment());
    }

    /// Compiles what [`Ranker::deferred`] postponed.
    pub fn prepare(&self) {
        self.segments.iter().for_each(|segment| segment.prepare());
    }

    /// [`Ranker::new`] with `key` instead of the model's, and with compilation postponed to the second
    /// ranking ([`deferred`](crate::scoring::PoolScorer::deferred)). `described` is the GPU of its
    /// architecture, and `priority` what the caller prefers among kernels of equal scores, by index in the
    /// pool.
    pub fn deferred(
        model: Arc<Model>,
        key: ModelKey,
        described: Option<GpuOverride>,
        pool: Arc<Pool>,
        priority: impl Fn(usize) -> i32,
    ) -> Result<Self, RankError> {
        let unknown = |source| RankError::Hardware { model: model.name().to_owned(), source };
        model.spec().check_hardware().map_err(unknown)?;
        // If the model serves none of the kernels, the error says why for the first one.
        if let (Some(first), false) = (pool.get(0), pool.iter().any(|kernel| key.fits_kernel(kernel))) {
            let reason = Box::new(LeftOutReason::NotFor(key.kernel_misfits(first)));
            return Err(RankError::NothingToRank { kernels: pool.len(), first: first.name.clone(), reason });
        }
        let known = Arc::new(Known::new(&model));
        let (left_out, unmeasured, segments, ties) = Default::default();
        let mut ranker = Self { model, key, pool, left_out, unmeasured, segments, known, ties };
        ranker.compile(0..ranker.pool.len(), described)?;
        ranker.ties = ranker.ties(0..ranker.pool.len(), priority);
        Ok(ranker)
    }

    /// The ranker of a pool that has more kernels at its end: what was compiled stays. `priority` is as for
    /// [`Ranker::deferred`], and names decide last between equal scores. `None` if all are better compiled
    /// anew.
    pub fn with_added(&self, pool: Arc<Pool>, priority: impl Fn(usize) -> i32) -> Option<Self> {
        let first = self.first_segment();
        let added = pool.kernels().get(first.indices.end..)?;
        let are_few = pool.len() >= ADDING_FROM && added.len() * MOST_ADDED <= pool.len();
        if !are_few || !first.is_indifferent_to(added) {
            return None;
        }
        let mut next = Self { pool, ..self.clone() };
        // A segment that is not full grows.
        next.segments.retain(|one| one.indices.start == 0 || one.indices.len() == ADDED);
        let start = next.segments.last()?.indices.end;
        next.left_out.retain(|one| one.index < start);
        next.unmeasured.retain(|&(index, _)| index < start);
        for start in (start..next.pool.len()).step_by(ADDED) {
            next.compile(start..next.pool.len().min(start + ADDED), None).ok()?;
        }
        next.ties = next.ties(next.pool.by_name(), priority);
        Some(next)
    }

    /// Describes the kernels of the pool at these indices, and compiles the model for them.
    fn compile(&mut self, indices: Range<usize>, described: Option<GpuOverride>) -> Result<(), RankError> {
        let Self { model, key, pool, left_out, unmeasured, segments, .. } = self;
        let extractor = model.extractor();
        // A universal model has columns of its own, which features may follow.
        let own = match extractor.schema.universal_columns() {
            Some(_) => &extractor.for_own_features(&extractor.hardware),
            None => &Some(extractor.clone()),
        };
        let trained = model.spec().trained_on.as_ref();
        let (mut ranked, mut kernels, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for index in indices.clone() {
            let Some(kernel) = pool.kernels().get(index) else { break };
            let parts = trained.and_then(|trained| trained.unmeasured(&kernel.kind));
            unmeasured.extend(parts.map(|parts| (index, parts)));
            let own_terms = if key.fits_kernel(kernel) {
                let terms = own.as_ref().map(|own| own.kernel_terms(&kernel.kind));
                terms.transpose().map_err(LeftOutReason::Undescribed)
            } else {
                Err(LeftOutReason::NotFor(key.kernel_misfits(kernel)))
            };
            match own_terms {
                Ok(own_terms) => {
                    terms.extend(own_terms);
                    ranked.push(index);
                    kernels.push(Arc::clone(kernel));
                }
                Err(reason) => left_out.push(LeftOut { index, reason }),
            }
        }
        if let (true, Some(LeftOut { index, reason })) =
            (ranked.is_empty() && segments.is_empty(), left_out.first())
        {
            return Err(RankError::NothingToRank {
                kernels: pool.len(),
                first: pool.get(*index).map_or_else(String::new, |kernel| kernel.name.clone()),
                reason: Box::new(reason.clone()),
            });
        }
        if kernels.is_empty() {
            return Ok(());
        }
        let first = segments.first().map(AsRef::as_ref);
        let segment = Segment::new(model, described, (indices, ranked), kernels.into(), terms, first)?;
        segments.push(Arc::new(segment));
        Ok(())
    }

    fn ties(&self, order: impl ExactSizeIterator<Item = usize>, priority: impl Fn(usize) -> i32) -> Ties {
        Ties::new(order, |index| self.unmeasured(index).is_empty(), priority)
    }
}
