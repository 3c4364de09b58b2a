//! Ranking: which kernels of a pool are best for a problem, and why.

mod compare;
mod error;
pub(crate) mod gpu;
mod outside;
mod ranking;
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

use std::ops::Range;
use std::sync::Arc;

use crate::estimate::{GpuOverride, Place};
use crate::features::ProblemTerms;
use crate::kernel::Kernel;
use crate::model::{Model, ModelKey, Predictions};
use crate::pool::Pool;
use crate::problem::{Checked, FieldSet, Problem};
use crate::scoring::{CallValues, Wanted};
use crate::ties::{Ties, order};
use crate::vocab::Arch;
use outside::Known;
use segment::{ADDED, Form, Segment};
use universal::Universal;

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
/// let best = ranker.best(&problem.into())?;
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

/// With fewer kernels that the forest distinguishes, the whole ranking takes no longer than a shortlist.
const SHORTLIST_FROM: usize = 256;

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

    /// The one of all kernels but those that were added.
    fn first_segment(&self) -> &Segment {
        &self.segments[0]
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

    /// The same for a pool that has more kernels at its end: what was compiled stays. `priority` is as above,
    /// and names decide last between equal scores. `None` if all are better compiled anew.
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
        next.unmeasured.truncate(start);
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
            Some(_) => &extractor.of_own_features(&extractor.hardware),
            None => &Some(extractor.clone()),
        };
        let trained = model.spec().trained_on.as_ref();
        let (mut ranked, mut kernels, mut sides) = (Vec::new(), Vec::new(), Vec::new());
        for index in indices.clone() {
            let Some(kernel) = pool.kernels().get(index) else { break };
            let unmeasured_parts = trained.and_then(|trained| trained.unmeasured(&kernel.kind));
            unmeasured.push(unmeasured_parts.unwrap_or_default());
            let side = if key.fits_kernel(kernel) {
                let side = own.as_ref().map(|own| own.kernel_side(&kernel.kind));
                side.transpose().map_err(LeftOutReason::Undescribed)
            } else {
                Err(LeftOutReason::NotFor(key.kernel_misfits(kernel)))
            };
            match side {
                Ok(side) => {
                    sides.extend(side);
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
        let segment = Segment::new(model, described, (indices, ranked), kernels.into(), sides, first)?;
        segments.push(Arc::new(segment));
        Ok(())
    }

    fn ties(&self, order: impl ExactSizeIterator<Item = usize>, priority: impl Fn(usize) -> i32) -> Ties {
        Ties::new(order, |index| self.unmeasured(index).is_empty(), priority)
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

    /// All kernels that compute the problem, best first; equal scores in the order of [`Ties`], NaN last.
    pub fn rank(&self, problem: &Problem) -> Result<Vec<Ranked>, RankError> {
        let mut scratch = RankScratch::default();
        self.rank_with(problem, &mut scratch)?;
        Ok(scratch.ranking)
    }

    /// [`Ranker::rank`] into [`RankScratch::ranking`], without allocating once the scratch is warm.
    pub fn rank_with(&self, problem: &Problem, scratch: &mut RankScratch) -> Result<(), RankError> {
        self.ranking(problem.checked()?, None, usize::MAX, scratch).map(|_| ())
    }

    /// The best kernel.
    pub fn best(&self, problem: &Problem) -> Result<Ranked, RankError> {
        let best = self.ranking(problem.checked()?, None, 1, &mut RankScratch::default())?.next();
        best.ok_or_else(|| self.no_kernel(problem))
    }

    /// The ranking, of which the first `count` places are found now: these alone are then in
    /// [`RankScratch::ranking`]. `arch` is for problems that name none.
    pub fn ranking<'r, 'w>(
        &'r self,
        problem: Checked<'r>,
        arch: Option<Arch>,
        count: usize,
        scratch: &'w mut RankScratch,
    ) -> Result<Ranking<'r, 'w>, RankError> {
        self.check_key(&problem, arch)?;
        scratch.floor = f64::NEG_INFINITY;
        if problem.chooses_split() {
            self.rank_splits(problem, arch, count, scratch)?;
        } else {
            self.rank_first(problem, arch, count, scratch)?;
        }
        let is_whole = !scratch.is_shortlist && scratch.ordered == scratch.ranking.len();
        Ok(Ranking { ranker: self, problem, scratch, next: 0, is_whole })
    }

    /// Ranks the first `count` places of a problem whose number of parts is known.
    fn rank_first(
        &self,
        problem: Checked<'_>,
        arch: Option<Arch>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        scratch.start(arch, self.segments.len());
        for (number, segment) in self.segments.iter().enumerate() {
            if let Form::Universal(universal) = &segment.form
                && self.shortlist_universal((number, universal), problem, count, scratch)?
            {
                continue;
            }
            self.fill(segment, problem, arch, &mut scratch.values[number])?;
            if !self.shortlist(number, problem, count, scratch)? {
                self.score_segment(number, problem, scratch)?;
            }
        }
        scratch.outside = self.known.outside(&problem, arch, self.uniform(&scratch.values));
        self.order(problem, count, scratch);
        if scratch.is_shortlist && self.may_lack(count, scratch) {
            self.score_all(problem, scratch)?;
            self.order(problem, count, scratch);
        }
        if scratch.is_shortlist {
            scratch.truncate(count);
        }
        if scratch.ranking.is_empty() && scratch.floor == f64::NEG_INFINITY {
            return Err(self.no_kernel(&problem));
        }
        Ok(())
    }

    /// Lists the kernels of a segment that can be among the first places by a universal model, which are none
    /// if the places of other numbers of parts are better; `false` if all kernels have to be scored.
    fn shortlist_universal(
        &self,
        (number, universal): (usize, &Universal),
        problem: Checked<'_>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        let segment = &self.segments[number];
        let RankScratch { arch, floor, ranking, values, is_shortlist, .. } = scratch;
        let counts = counts(segment, universal, &problem, *arch);
        let (wanted, finish, split_k) = ((count, *floor), |sum| self.score(sum), problem.split_k());
        let push = |place: Place, score| {
            ranking.extend(segment.ranked.get(place.get()).map(|&index| Ranked { index, split_k, score }));
        };
        let values = &mut values[number].universal;
        let is_listed = universal.shortlist((&problem, *arch), counts, wanted, finish, values, push)?;
        *is_shortlist |= is_listed;
        Ok(is_listed)
    }

    /// Ranks the first `count` of all pairs of a kernel and a number of parts: as many of each number,
    /// merged. The smaller number goes first where nothing but the estimate distinguishes two pairs.
    fn rank_splits(
        &self,
        problem: Checked<'_>,
        arch: Option<Arch>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        let higher_is_better = self.model.spec().rank_by.higher_is_better();
        let before = |a: &Ranked, b: &Ranked| order(a.score, b.score, higher_is_better);
        let mut pairs = std::mem::take(&mut scratch.pairs);
        pairs.clear();
        let (mut outside, mut best, mut fault, mut is_part) = (FieldSet::NONE, None::<Ranked>, None, false);
        for definite in problem.each_split() {
            if let Err(error) = self.rank_first(problem.in_parts(&definite), arch, count, scratch) {
                fault.get_or_insert(error);
                continue;
            }
            is_part |= scratch.is_shortlist || scratch.ordered < scratch.ranking.len();
            if let Some(last) = count.checked_sub(1).and_then(|last| scratch.ranking().get(last)) {
                scratch.floor = scratch.floor.max(last.score);
            }
            let first = scratch.ranking().first().copied();
            if first.is_some_and(|first| best.is_none_or(|best| before(&first, &best).is_lt())) {
                (best, outside) = (first, scratch.outside);
            }
            pairs.extend((0_u32..).zip(scratch.ranking().iter().copied()));
        }
        // Pairs of one number are in order already.
        pairs.sort_unstable_by(|(place, a), (other, b)| {
            before(a, b)
                .then_with(|| self.ties.before_times(a.index, b.index))
                .then_with(|| (a.split_k, place).cmp(&(b.split_k, other)))
        });
        scratch.ranking.clear();
        scratch.ranking.extend(pairs.iter().map(|(_, ranked)| *ranked));
        (scratch.pairs, scratch.outside, scratch.is_shortlist) = (pairs, outside, is_part);
        scratch.truncate(count);
        if scratch.ranking.is_empty() {
            return Err(fault.unwrap_or_else(|| self.no_kernel(&problem)));
        }
        Ok(())
    }

    /// Ranks all places, after a ranking of the first ones left its values in the scratch. They begin with
    /// those.
    fn rank_rest(&self, problem: Checked<'_>, scratch: &mut RankScratch) -> Result<(), RankError> {
        if problem.chooses_split() {
            scratch.floor = f64::NEG_INFINITY;
            return self.rank_splits(problem, scratch.arch, usize::MAX, scratch);
        }
        if scratch.is_shortlist {
            for (segment, values) in self.segments.iter().zip(&mut scratch.values) {
                if let Form::Universal(_) = segment.form {
                    self.fill(segment, problem, scratch.arch, values)?;
                }
            }
            self.score_all(problem, scratch)?;
        }
        self.order(problem, usize::MAX, scratch);
        Ok(())
    }

    /// Refuses an invalid problem, and one that the model is not for.
    fn check<'p>(&self, problem: &'p Problem) -> Result<Checked<'p>, RankError> {
        let checked = problem.checked()?;
        self.check_key(problem, None).map(|()| checked)
    }

    /// Refuses a problem that the model is not for.
    fn check_key(&self, problem: &Problem, arch: Option<Arch>) -> Result<(), RankError> {
        if self.key.fit(problem, arch).is_none() {
            return Err(RankError::NotFor { key: self.key, misfits: self.key.misfits(problem, arch) });
        }
        Ok(())
    }

    /// Scores all kernels that compute the problem from the values in the scratch.
    fn score_all(&self, problem: Checked<'_>, scratch: &mut RankScratch) -> Result<(), RankError> {
        (scratch.is_shortlist, scratch.ordered) = (false, 0);
        scratch.ranking.clear();
        (0..self.segments.len()).try_for_each(|number| self.score_segment(number, problem, scratch))
    }

    /// Scores all kernels of a segment.
    fn score_segment(
        &self,
        number: usize,
        problem: Checked<'_>,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        let segment = &self.segments[number];
        let RankScratch { values, scratch, scores, ranking, arch, .. } = scratch;
        let values = &mut values[number];
        let mut push = |index, score| ranking.push(Ranked { index, split_k: problem.split_k(), score });
        match &segment.form {
            Form::Universal(own) => {
                let (device, values) = (own.on(&problem, *arch)?, &mut values.universal);
                if own.score_all(device, |sum| self.score(sum), values, scratch)? {
                    // A kernel that does not answer the problem, or has no estimate, has none.
                    let scores =
                        segment.ranked.iter().zip(Universal::scores(device, values)).zip(&values.log_times);
                    let timed = scores.filter(|(_, time)| !time.is_nan());
                    timed.for_each(|((&index, score), _)| push(index, score));
                }
            }
            Form::Trained { scorer, .. } => {
                scores.resize(segment.ranked.len(), 0.0);
                scorer.score(&values.own.uniform, &values.own.pair, scratch, scores)?;
                let all = segment.ranked.iter().zip(&*segment.kernels).zip(&*scores);
                for ((&index, _), &sum) in all.filter(|((_, kernel), _)| self.ranks(kernel, &problem)) {
                    push(index, self.score(sum));
                }
            }
        }
        Ok(())
    }

    /// Names of convolutions tell one type and no layout: what else a problem asks for is reported as out of
    /// range. Names of GEMMs tell them. Whoever forces a model knows that its kernels are of other types.
    fn ranks(&self, kernel: &Kernel, problem: &Problem) -> bool {
        let any_type = matches!(problem, Problem::Conv(_)) || self.model.is_forced();
        kernel.matches_request(problem) && (any_type || kernel.matches_types(problem))
    }

    /// The parts of a problem that are outside the model's training range: its fields, then features of them.
    /// `arch` is for problems that name none.
    pub fn out_of_range(&self, problem: &Problem, arch: Option<Arch>) -> Result<Vec<OutOfRange>, RankError> {
        problem.validate()?;
        // Whatever number of parts is chosen, the rest is the same.
        let problem = if problem.chooses_split() { problem.with_split(1) } else { *problem };
        let mut values = [segment::Values::default()];
        if let Form::Trained { features, .. } = &self.first_segment().form {
            features.fill(&self.problem_side(&problem)?, &mut values[0].own);
        }
        Ok(self.known.describe(&problem, arch, self.uniform(&values)))
    }

    /// The features that have a training range. Those of a universal model are ratios and have none.
    fn uniform<'v>(&self, values: &'v [segment::Values]) -> &'v [f64] {
        match (&self.first_segment().form, values.first()) {
            (Form::Trained { .. }, Some(values)) => &values.own.uniform,
            (_, _) => &[],
        }
    }

    /// Fills in a problem's values for a segment.
    fn fill(
        &self,
        segment: &Segment,
        problem: Checked<'_>,
        arch: Option<Arch>,
        values: &mut segment::Values,
    ) -> Result<(), RankError> {
        match &segment.form {
            Form::Universal(universal) => {
                let counts = counts(segment, universal, &problem, arch);
                universal.fill(&problem, arch, counts, &mut values.universal)?;
            }
            Form::Trained { features, scorer, .. } => {
                scorer.fetch();
                features.fill(&self.problem_side(&problem)?, &mut values.own);
                // Made before the first equal scores, so that these do not allocate.
                let _ = segment.estimated(&problem, arch);
            }
        }
        Ok(())
    }

    /// The model's score for a sum of leaf values.
    fn score(&self, sum: f64) -> f64 {
        let raw = self.model.ranking_forest().map_or(sum, |forest| forest.finish(sum));
        self.model.score(self.model.spec().rank_by, raw)
    }

    /// Puts the `count` best of the scratch in order.
    fn order(&self, problem: Checked<'_>, count: usize, scratch: &mut RankScratch) {
        let higher_is_better = self.model.spec().rank_by.higher_is_better();
        let RankScratch { ranking, ordered, values, arch, times, .. } = scratch;
        self.ties.rank(ranking, count, higher_is_better, times, |tied, times| {
            for (segment, values) in self.segments.iter().zip(&*values) {
                let own = tied.iter().filter(|ranked| segment.indices.contains(&ranked.index));
                let own = own.filter_map(|&Ranked { index, .. }| Some((index, segment.place(index)?)));
                Self::fill_times((&problem, *arch), segment, own, values, times);
            }
        });
        *ordered = count.min(ranking.len());
    }

    /// The estimated times of some kernels of a segment, by index in the pool; all 0 where nothing names a
    /// GPU.
    fn fill_times(
        (problem, arch): (&Problem, Option<Arch>),
        segment: &Segment,
        of: impl Iterator<Item = (usize, Place)>,
        values: &segment::Values,
        times: &mut [f64],
    ) {
        if let Form::Universal(_) = segment.form {
            let log_times = &values.universal.log_times;
            of.for_each(|(index, place)| times[index] = log_times.get(place.get()).copied().unwrap_or(0.0));
        } else if let Some(estimated) = segment.estimated(problem, arch) {
            let load = estimated.estimator().load(problem);
            of.for_each(|(index, place)| times[index] = estimated.time(&load, place.get()));
        } else {
            of.for_each(|(index, _)| times[index] = 0.0);
        }
    }

    /// The segment of a kernel of the pool, and the kernel's place in it.
    fn segment_of(&self, index: usize) -> Option<(&Segment, Place)> {
        let number = self.segments.partition_point(|segment| segment.indices.end <= index);
        let segment = self.segments.get(number)?;
        Some((segment, segment.place(index)?))
    }

    /// Lists the kernels of a segment that can be among the first places, from the values in the scratch;
    /// `false` if all have to be scored.
    fn shortlist(
        &self,
        number: usize,
        problem: Checked<'_>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        let segment = &self.segments[number];
        let Form::Trained { scorer, .. } = &segment.form else { return Ok(false) };
        if scorer.distinct_kernels() < SHORTLIST_FROM {
            return Ok(false);
        }
        let RankScratch { values, scratch: of_scorer, ranking, .. } = scratch;
        let CallValues { uniform, pair, .. } = &values[number].own;
        let wanted = Wanted { count, highest: self.model.spec().rank_by.higher_is_better() };
        let may = |at: usize| segment.kernels.get(at).is_some_and(|kernel| self.ranks(kernel, &problem));
        if !scorer.shortlist(uniform, pair, wanted, may, of_scorer)? {
            return Ok(false);
        }
        ranking.extend(of_scorer.shortlist().iter().filter_map(|listed| {
            let &index = segment.ranked.get(listed.kernel)?;
            Some(Ranked { index, split_k: problem.split_k(), score: self.score(listed.score) })
        }));
        (scratch.is_shortlist, scratch.beyond) = (true, Some(self.score(of_scorer.beyond())));
        Ok(true)
    }

    /// Whether kernels that are not on the shortlist can be among the first places. Different scores may
    /// become equal once logarithms are undone, and then [`Ties`] decide. So those kernels must be worse by
    /// more than the error of `exp` and the like.
    fn may_lack(&self, count: usize, scratch: &RankScratch) -> bool {
        let Some(beyond) = scratch.beyond else { return false };
        let last = scratch.ranking.get(count - 1).map_or(f64::NAN, |last| last.score);
        let slack = last.abs().max(beyond.abs()) * f64::exp2(-40.0);
        let are_worse = if self.model.spec().rank_by.higher_is_better() {
            beyond + slack < last
        } else {
            beyond - slack > last
        };
        !are_worse
    }

    /// Every target's prediction for one kernel of the pool.
    pub fn predict(&self, problem: Checked<'_>, index: usize) -> Result<Predictions, RankError> {
        let row = self.features(problem, index)?;
        Ok(self.model.predict_row(&row)?)
    }

    /// The feature row of one kernel of the pool.
    pub fn features(&self, problem: Checked<'_>, index: usize) -> Result<Vec<f64>, RankError> {
        self.check_key(&problem, None)?;
        problem.check_split()?;
        match &self.first_segment().form {
            Form::Universal(_) => Ok(self.universal_row(problem, index)?.0),
            Form::Trained { .. } => self.row(&self.problem_side(&problem)?, index),
        }
    }

    /// The columns of one kernel among those of the pool, and what the estimate adds to its score.
    fn universal_row(&self, problem: Checked<'_>, index: usize) -> Result<(Vec<f64>, f64), RankError> {
        let (segment, place) = self.segment_of(index).ok_or_else(|| self.not_ranked(index))?;
        let mut values = segment::Values::default();
        self.fill(segment, problem, None, &mut values)?;
        let values = &values.universal;
        let time = values.log_times.get(place.get()).filter(|time| !time.is_nan());
        let (Some(_), Form::Universal(universal)) = (time, &segment.form) else {
            return Err(self.no_kernel(&problem));
        };
        let device = universal.on(&problem, None)?;
        Ok(device.row(place, values))
    }

    fn problem_side(&self, problem: &Problem) -> Result<ProblemTerms, RankError> {
        self.model.extractor().problem_side(problem).map_err(RankError::ProblemTerms)
    }

    fn row(&self, problem: &ProblemTerms, index: usize) -> Result<Vec<f64>, RankError> {
        let side = self.segment_of(index).and_then(|(segment, place)| match &segment.form {
            Form::Trained { sides, .. } => sides.get(place.get()),
            Form::Universal(_) => None,
        });
        let kernel = side.ok_or_else(|| self.not_ranked(index))?;
        let mut row = vec![0.0; self.model.extractor().schema.len()];
        self.model.extractor().fill(problem, kernel, &mut row);
        Ok(row)
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

    fn no_kernel(&self, problem: &Problem) -> RankError {
        let first = self.pool.get(0);
        let why = first.and_then(|kernel| kernel.misfit(problem));
        RankError::NoKernel {
            kernels: self.pool.len(),
            asked: problem.summary(),
            first: self.name(0).to_owned(),
            why: why.unwrap_or_else(|| "it has no estimate there".to_owned()),
        }
    }
}

/// Whether a universal model may choose a kernel of a segment: it serves all types and layouts, but a kernel
/// only its own.
fn counts<'c>(
    segment: &'c Segment,
    universal: &Universal,
    problem: &'c Problem,
    arch: Option<Arch>,
) -> impl Fn(Place) -> bool + 'c {
    let arch_of_gpu = universal.arch_for(problem, arch);
    move |place| {
        segment
            .kernels
            .get(place.get())
            .is_some_and(|kernel| kernel.matches(problem) && kernel.runs_on(arch_of_gpu))
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
