//! Ranking: which kernels of a pool are best for a problem, and why.

mod compare;
mod error;
pub(crate) mod gpu;
mod outside;
mod ranking;
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

use crate::estimate::{Device, EstimatedKernels, GpuOverride};
use crate::features::{KernelTerms, ProblemTerms};
use crate::kernel::Kernel;
use crate::model::{Model, ModelKey, Predictions};
use crate::pool::Pool;
use crate::problem::{Checked, FieldSet, Problem};
use crate::scoring::{CallValues, PoolFeatures, PoolScorer, Wanted};
use crate::ties::{Ties, order};
use crate::vocab::Arch;
use gpu::PerGpu;
use outside::Known;
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
#[derive(Debug)]
pub struct Ranker {
    model: Arc<Model>,
    key: ModelKey,
    pool: Arc<Pool>,
    /// The index in the pool of each ranked kernel, ascending.
    places: Vec<usize>,
    left_out: Vec<LeftOut>,
    /// Parts that no measured kernel had, by index in the pool; empty for most.
    unmeasured: Vec<String>,
    /// Empty for a universal model, which has columns of its own.
    sides: Vec<KernelTerms>,
    features: Option<PoolFeatures>,
    /// `None` for a universal model, which has one for each GPU.
    scorer: Option<PoolScorer>,
    universal: Option<Universal>,
    known: Known,
    ties: Ties,
    /// The kernels of the pool on each GPU, for their times. A universal model has them already.
    estimated: PerGpu<EstimatedKernels>,
}

/// With fewer kernels that the forest distinguishes, the whole ranking takes no longer than a shortlist.
const SHORTLIST_FROM: usize = 256;

fn compile(model: &Model, sides: &[KernelTerms]) -> Result<(PoolFeatures, PoolScorer), RankError> {
    let forest = model.ranking_forest().ok_or(RankError::NoForest)?;
    let features = PoolFeatures::new(model.extractor(), sides)?;
    let scorer = PoolScorer::deferred(forest, &features.table())?;
    Ok((features, scorer))
}

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

    /// Prepares for the GPUs that the same model was used on with other kernels, which the first problem on each would
    /// wait for.
    pub fn prepare_gpus_of(&self, other: &Self) {
        if let (Some(own), Some(other)) = (&self.universal, &other.universal) {
            own.prepare_gpus_of(other);
        }
        self.estimated.make_those_of(&other.estimated, |device, _| self.estimated_on(device));
    }

    /// Compiles what [`Ranker::deferred`] postponed.
    pub fn prepare(&self) {
        self.scorer.iter().for_each(PoolScorer::prepare);
        self.universal.iter().for_each(Universal::prepare);
    }

    /// [`Ranker::new`] with `key` instead of the model's, and with compilation postponed to the second
    /// ranking ([`PoolScorer::deferred`]). `described` is the GPU of its architecture, and `priority` what the
    /// caller prefers among kernels of equal scores, by index in the pool.
    pub fn deferred(
        model: Arc<Model>,
        key: ModelKey,
        described: Option<GpuOverride>,
        pool: Arc<Pool>,
        priority: impl Fn(usize) -> i32,
    ) -> Result<Self, RankError> {
        let unknown = |source| RankError::Hardware { model: model.name().to_owned(), source };
        model.spec().check_hardware().map_err(unknown)?;
        let (mut sides, mut places, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        let is_universal = model.spec().prior.is_some();
        let own = model.extractor().of_own_features(&model.extractor().hardware);
        for (index, kernel) in pool.iter().enumerate() {
            let side = if key.fits_kernel(kernel) {
                let extractor = if is_universal { own.as_ref() } else { Some(model.extractor()) };
                let side = extractor.map(|extractor| extractor.kernel_side(&kernel.kind));
                side.transpose().map_err(LeftOutReason::Undescribed)
            } else {
                Err(LeftOutReason::NotFor(key.kernel_misfits(kernel)))
            };
            match side {
                Ok(side) => {
                    sides.extend(side);
                    places.push(index);
                }
                Err(reason) => left_out.push(LeftOut { index, reason }),
            }
        }
        if let (true, Some(LeftOut { index, reason })) = (places.is_empty(), left_out.first()) {
            let first = pool.get(*index).map_or_else(String::new, |kernel| kernel.name.clone());
            return Err(RankError::NothingToRank {
                kernels: pool.len(),
                first,
                reason: Box::new(reason.clone()),
            });
        }
        let sides_of_universal = if is_universal { std::mem::take(&mut sides) } else { Vec::new() };
        let universal = Universal::new(&model, described, &pool, &places, sides_of_universal).transpose()?;
        let own = if universal.is_some() { None } else { Some(compile(&model, &sides)?) };
        let (features, scorer) = own.unzip();
        let trained = model.spec().trained_on.as_ref();
        let unmeasured = |kernel: &Kernel| trained.and_then(|trained| trained.unmeasured(&kernel.kind));
        let unmeasured: Vec<String> =
            pool.iter().map(|kernel| unmeasured(kernel).unwrap_or_default()).collect();
        let ties = Ties::new(0..pool.len(), |index| unmeasured[index].is_empty(), priority);
        let estimated = PerGpu::new(&model, described, pool.iter().map(|kernel| kernel.kind.arch()));
        let known = Known::of(&model);
        Ok(Self {
            model,
            key,
            pool,
            places,
            left_out,
            unmeasured,
            sides,
            features,
            scorer,
            universal,
            known,
            ties,
            estimated,
        })
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
        self.places.iter().filter_map(|&index| Some((index, self.pool.get(index)?)))
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
        if let Some(universal) = &self.universal
            && self.shortlist_universal(universal, (problem, arch), count, scratch)?
        {
            return Ok(());
        }
        self.fill(problem, arch, scratch)?;
        let scorer = self.scorer.as_ref().filter(|scorer| scorer.distinct_kernels() >= SHORTLIST_FROM);
        if let Some(scorer) = scorer
            && self.shortlist(scorer, problem, count, scratch)?
        {
            scratch.is_shortlist = true;
            scratch.truncate(count);
        } else {
            self.score_all(problem, scratch)?;
            self.order(problem, count, scratch);
        }
        Ok(())
    }

    /// Ranks a shortlist by a universal model, which has none if the places of other numbers of parts are
    /// better; `false` if all kernels have to be ranked.
    fn shortlist_universal(
        &self,
        universal: &Universal,
        (problem, arch): (Checked<'_>, Option<Arch>),
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        let counts = self.counts(universal, &problem, arch);
        let RankScratch { floor, ranking, universal: values, .. } = scratch;
        let (wanted, finish, split_k) = ((count, *floor), |sum| self.score(sum), problem.split_k());
        ranking.clear();
        let push = |at: usize, score| {
            ranking.extend(self.places.get(at).map(|&index| Ranked { index, split_k, score }));
        };
        let scored = universal.shortlist((&problem, arch), counts, wanted, finish, values, push)?;
        if scored.is_none() {
            return Ok(false);
        }
        (scratch.arch, scratch.is_shortlist) = (arch, true);
        scratch.outside = self.known.outside(&problem, arch, &[]);
        if scored == Some(0) && scratch.floor == f64::NEG_INFINITY {
            return Err(self.no_kernel(&problem));
        }
        self.order(problem, count, scratch);
        scratch.truncate(count);
        Ok(true)
    }

    /// Whether a universal model may choose a kernel: it serves all types and layouts, but a kernel only its
    /// own.
    fn counts<'c>(
        &'c self,
        universal: &Universal,
        problem: &'c Problem,
        arch: Option<Arch>,
    ) -> impl Fn(usize) -> bool + 'c {
        let arch_of_gpu = universal.arch_for(problem, arch);
        move |at| {
            let kernel = self.places.get(at).and_then(|&index| self.pool.get(index));
            kernel.is_some_and(|kernel| kernel.computes(problem) && kernel.runs_on(arch_of_gpu))
        }
    }

    /// Ranks the first `count` of all pairs of a kernel and a number of parts: as many of each number, merged. The
    /// smaller number goes first where nothing but the estimate distinguishes two pairs.
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

    /// Ranks all places, after a ranking of the first ones left its values in the scratch. They begin with those.
    fn rank_rest(&self, problem: Checked<'_>, scratch: &mut RankScratch) -> Result<(), RankError> {
        if problem.chooses_split() {
            scratch.floor = f64::NEG_INFINITY;
            return self.rank_splits(problem, scratch.arch, usize::MAX, scratch);
        }
        if scratch.is_shortlist {
            if self.universal.is_some() {
                self.fill(problem, scratch.arch, scratch)?;
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
        let RankScratch { values, universal, scratch, scores, ranking, arch, .. } = scratch;
        scores.resize(self.places.len(), 0.0);
        ranking.clear();
        let mut push = |index, score| ranking.push(Ranked { index, split_k: problem.split_k(), score });
        if let Some(own) = &self.universal {
            let device = own.on(&problem, *arch)?;
            if own.score_all(device, |sum| self.score(sum), universal, scratch)? {
                let scores = self.places.iter().zip(Universal::scores(device, universal));
                // A kernel that does not answer the problem, or has no estimate, has none.
                let timed = scores.zip(&universal.log_times).filter(|(_, time)| !time.is_nan());
                timed.for_each(|((&index, score), _)| push(index, score));
            }
        } else if let Some(scorer) = &self.scorer {
            scorer.score(&values.uniform, &values.pair, scratch, scores)?;
            for (&index, &sum) in self.places.iter().zip(&*scores) {
                if self.pool.get(index).is_some_and(|kernel| self.ranks(kernel, &problem)) {
                    push(index, self.score(sum));
                }
            }
        }
        if ranking.is_empty() { Err(self.no_kernel(&problem)) } else { Ok(()) }
    }

    /// Names of convolutions tell one type and no layout: what else a problem asks for is reported as out of
    /// range. Names of GEMMs tell them. Whoever forces a model knows that its kernels are of other types.
    fn ranks(&self, kernel: &Kernel, problem: &Problem) -> bool {
        let any_type = matches!(problem, Problem::Conv(_)) || self.model.is_forced();
        kernel.answers(problem) && (any_type || kernel.has_types_of(problem))
    }

    /// The parts of a problem that are outside the model's training range: its fields, then features of them.
    pub fn out_of_range(&self, problem: &Problem) -> Result<Vec<OutOfRange>, RankError> {
        self.out_of_range_on(problem, None)
    }

    /// The same, with an architecture for problems that name none.
    pub fn out_of_range_on(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
    ) -> Result<Vec<OutOfRange>, RankError> {
        problem.validate()?;
        // Whatever number of parts is chosen, the rest is the same.
        let problem = if problem.chooses_split() { problem.with_split(1) } else { *problem };
        let mut values = CallValues::default();
        if let Some(features) = &self.features {
            features.fill(&self.problem_side(&problem)?, &mut values);
        }
        Ok(self.known.describe(&problem, arch, &values.uniform))
    }

    /// Fills in a problem's values, and whether they are in the model's training range.
    fn fill(
        &self,
        problem: Checked<'_>,
        arch: Option<Arch>,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        scratch.arch = arch;
        if let Some(universal) = &self.universal {
            // Its columns are ratios and have no range.
            scratch.outside = self.known.outside(&problem, arch, &[]);
            let counts = self.counts(universal, &problem, arch);
            return universal.fill(&problem, arch, counts, &mut scratch.universal);
        }
        self.scorer.iter().for_each(PoolScorer::fetch);
        if let Some(features) = &self.features {
            features.fill(&self.problem_side(&problem)?, &mut scratch.values);
        }
        // Made before the first equal scores, so that these do not allocate.
        let _ = self.estimated(&problem, arch);
        scratch.outside = self.known.outside(&problem, arch, &scratch.values.uniform);
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
        let RankScratch { ranking, ordered, universal, arch, times, .. } = scratch;
        self.ties.rank(ranking, count, higher_is_better, times, |tied, times| {
            self.fill_times(&problem, *arch, tied, &universal.log_times, times);
        });
        *ordered = count.min(ranking.len());
    }

    /// The estimated times of some kernels, by index in the pool; all 0 where nothing names a GPU.
    fn fill_times(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        of: &[Ranked],
        log_times: &[f64],
        times: &mut [f64],
    ) {
        let indices = of.iter().map(|ranked| ranked.index);
        if self.universal.is_some() {
            for index in indices {
                let place = self.places.binary_search(&index).ok();
                times[index] = place.and_then(|place| log_times.get(place)).map_or(0.0, |&time| time);
            }
        } else if let Some(estimated) = self.estimated(problem, arch) {
            let load = estimated.estimator().load(problem);
            indices.for_each(|index| times[index] = estimated.time(&load, index));
        } else {
            indices.for_each(|index| times[index] = 0.0);
        }
    }

    /// The pool's kernels on a problem's GPU; `None` for a GPU that the estimate does not know.
    fn estimated(&self, problem: &Problem, arch: Option<Arch>) -> Option<&EstimatedKernels> {
        self.estimated.get(problem, arch, |device, _| self.estimated_on(device)).ok()
    }

    fn estimated_on(&self, device: Device) -> EstimatedKernels {
        EstimatedKernels::new(device, self.pool.iter().map(|kernel| &kernel.kind))
    }

    /// Ranks a shortlist from the values in the scratch, if there is one that is sure to contain the best.
    fn shortlist(
        &self,
        scorer: &PoolScorer,
        problem: Checked<'_>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<bool, RankError> {
        let rank_by = self.model.spec().rank_by;
        let RankScratch { values: CallValues { uniform, pair, .. }, scratch: of_scorer, ranking, .. } =
            scratch;
        let wanted = Wanted { count, highest: rank_by.higher_is_better() };
        let index = |kernel: usize| self.places.get(kernel).copied();
        let may = |kernel| {
            index(kernel).and_then(|at| self.pool.get(at)).is_some_and(|one| self.ranks(one, &problem))
        };
        if !scorer.shortlist(uniform, pair, wanted, may, of_scorer)? {
            return Ok(false);
        }
        ranking.clear();
        ranking.extend(of_scorer.shortlist().iter().filter_map(|listed| {
            let (index, score) = (index(listed.kernel)?, self.score(listed.score));
            Some(Ranked { index, split_k: problem.split_k(), score })
        }));
        let beyond = self.score(of_scorer.beyond());
        self.order(problem, count, scratch);
        // Different scores may become equal once logarithms are undone, and then [`Ties`] decide. So kernels
        // that are not on the list must be worse by more than the error of `exp` and the like.
        let last = scratch.ranking.get(count - 1).map_or(f64::NAN, |last| last.score);
        let slack = last.abs().max(beyond.abs()) * f64::exp2(-40.0);
        Ok(if wanted.highest { beyond + slack < last } else { beyond - slack > last })
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
        match &self.universal {
            Some(_) => Ok(self.universal_row(problem, index)?.0),
            None => self.row(&self.problem_side(&problem)?, index),
        }
    }

    /// The columns of one kernel among those of the pool, and what the estimate adds to its score.
    fn universal_row(&self, problem: Checked<'_>, index: usize) -> Result<(Vec<f64>, f64), RankError> {
        let mut scratch = RankScratch::default();
        self.fill(problem, None, &mut scratch)?;
        let place = self.places.binary_search(&index).map_err(|_| self.not_ranked(index))?;
        let values = &scratch.universal;
        let time = values.log_times.get(place).filter(|time| !time.is_nan());
        let (Some(_), Some(universal)) = (time, &self.universal) else {
            return Err(self.no_kernel(&problem));
        };
        let device = universal.on(&problem, None)?;
        Ok(device.row(place, values))
    }

    fn problem_side(&self, problem: &Problem) -> Result<ProblemTerms, RankError> {
        self.model.extractor().problem_side(problem).map_err(RankError::ProblemTerms)
    }

    fn row(&self, problem: &ProblemTerms, index: usize) -> Result<Vec<f64>, RankError> {
        let place = self.places.binary_search(&index).ok();
        let kernel = place.and_then(|place| self.sides.get(place)).ok_or_else(|| self.not_ranked(index))?;
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
        let asked = match problem {
            Problem::Conv(p) => {
                format!("a {}D {} convolution of {} in {}", p.ndim, p.direction, p.dtype_in, p.layout)
            }
            Problem::Gemm(p) => format!("a GEMM of {} in {} with {} results", p.dtype_a, p.layout, p.dtype_c),
            Problem::Fmha(problem) => format!("attention ({}, {})", problem.family, problem.dtype),
        };
        let first = self.pool.get(0);
        let why = first.and_then(|kernel| kernel.misfit(problem));
        RankError::NoKernel {
            kernels: self.pool.len(),
            asked,
            first: self.name(0).to_owned(),
            why: why.unwrap_or_else(|| "it has no estimate there".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::MixedPool;

    /// The error is the actual cause.
    #[test]
    fn kernels_that_a_model_cannot_be_compiled_for_are_named() {
        let golden = |name: &str| format!("{}/../../tests/golden/models/{name}", env!("CARGO_MANIFEST_DIR"));
        let [conv, gemm] = ["conv_small", "gemm_small"].map(|name| Model::load(golden(name)).unwrap());
        let pool = Pool::read(golden("gemm_small/pool.txt")).unwrap();
        let side = |kernel: &Kernel| gemm.extractor().kernel_side(&kernel.kind).unwrap();
        let sides: Vec<KernelTerms> = pool.iter().map(side).collect();
        assert!(compile(&gemm, &sides).is_ok());
        let error = compile(&conv, &sides).err().unwrap();
        assert_eq!(error, RankError::MixedPool(MixedPool { kernel: 0 }));
        assert_eq!(error.to_string(), "kernel 0 is for another operation than the features");
    }

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
