//! A ranking, read place by place: the first places, all of them, and those of several numbers of parts.
//!
//! Whoever selects reads one place, whoever measures reads a few, and a table has them all. So a ranking is
//! an iterator that knows as many places as were requested, and ranks the rest only when it is reached:
//!
//! ```text
//! ranking(problem, count):
//!     scores of all kernels, or of a shortlist that contains the first `count`
//!     order the first `count` of them                      a selection of the best, not a sort of all
//! next():
//!     place known: that one
//!     else: score and order the rest, once
//! ```
//!
//! A problem that leaves its split open has a place for each kernel and number of parts. Each number is
//! ranked as if it were given, and the lists are merged by score: no second scorer exists that would have to
//! agree with the first one, and a fixed number gives the bits that it has alone.

use super::{RankError, Ranker, segment};
use crate::kernel::{Kernel, closest};
use crate::problem::{Checked, FieldSet, Problem};
use crate::scoring::Scratch;
use crate::ties::{Ranked, order};
use crate::vocab::Arch;

/// The ranking of a pool for one problem, best first: an iterator over its places. The requested number of first
/// places is known; in a large pool they take a fraction of the time of all, and the rest is ranked if the iterator
/// reaches it. If that fails, the error is the last item.
#[derive(Debug)]
pub struct Ranking<'r, 'w> {
    pub(super) ranker: &'r Ranker,
    pub(super) query: Query<'r>,
    scratch: &'w mut RankScratch,
    pub(super) next: usize,
}

/// A problem, and the architecture that the caller names for problems without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'p> {
    pub(super) problem: Checked<'p>,
    pub(super) arch: Option<Arch>,
}

/// The places that are wanted now: so many, and of a universal model's none with lower scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstPlaces {
    pub(super) count: usize,
    pub(super) floor: f64,
}

impl Ranking<'_, '_> {
    /// The places that are known: the requested number, or fewer in a smaller ranking; all once the iterator has
    /// passed them.
    pub fn places(&self) -> &[Ranked] {
        self.scratch.list.places()
    }

    /// Whether no kernel computes the problem.
    pub fn is_empty(&self) -> bool {
        self.places().is_empty()
    }

    /// The fields of the problem that are outside the model's training range.
    pub const fn outside(&self) -> FieldSet {
        self.scratch.list.outside
    }
}

impl Iterator for Ranking<'_, '_> {
    type Item = Result<Ranked, RankError>;

    fn next(&mut self) -> Option<Self::Item> {
        let list = &self.scratch.list;
        if self.next == list.ordered
            && !list.is_whole()
            && let Err(error) = self.ranker.rank_rest(self.query, self.scratch)
        {
            self.scratch.list.clear();
            return Some(Err(error));
        }
        let ranked = self.places().get(self.next).copied()?;
        self.next += 1;
        Some(Ok(ranked))
    }
}

/// Working memory for one ranking at a time; those after the first do not allocate. Works with any ranker.
#[derive(Debug, Default)]
pub struct RankScratch {
    /// The values of each segment.
    pub(super) values: Vec<segment::Values>,
    pub(super) list: List,
    /// Kernels with numbers of parts, where these are chosen, each with its place among those of its number.
    pairs: Vec<(u32, Ranked)>,
}

/// The kernels of a ranking.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) ranking: Vec<Ranked>,
    pub(super) extent: Extent,
    /// How many places are in order; the rest are worse.
    pub(super) ordered: usize,
    pub(super) outside: FieldSet,
    pub(super) scratch: Scratch,
    pub(super) scores: Vec<f64>,
    /// The times of kernels of equal scores, by index in the pool.
    pub(super) times: Vec<f64>,
}

/// Which kernels are in a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Extent {
    /// All that compute the problem.
    #[default]
    Whole,
    /// Kernels that can be among the first places. No other kernel has a better score than `beyond`, if any
    /// is left out for its score.
    First { beyond: Option<f64> },
}

impl List {
    /// The places that are in order, best first.
    pub(super) fn places(&self) -> &[Ranked] {
        self.ranking.get(..self.ordered).unwrap_or_default()
    }

    pub(super) const fn is_first(&self) -> bool {
        matches!(self.extent, Extent::First { .. })
    }

    /// Whether all places are known.
    const fn is_whole(&self) -> bool {
        !self.is_first() && self.ordered == self.ranking.len()
    }

    pub(super) fn clear(&mut self) {
        self.ranking.clear();
        (self.extent, self.ordered) = (Extent::Whole, 0);
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.ranking.truncate(count);
        self.ordered = self.ranking.len();
    }
}

impl Ranker {
    /// All kernels that compute the problem, best first; equal scores in the order of
    /// [`Ties`](crate::ties::Ties), NaN last.
    pub fn rank(&self, problem: &Problem) -> Result<Vec<Ranked>, RankError> {
        let mut scratch = RankScratch::default();
        self.ranking(problem.checked()?, None, usize::MAX, &mut scratch)?;
        Ok(scratch.list.ranking)
    }

    /// The ranking, of which the first `count` places are known at once; [`RankError::NoKernel`] if no kernel
    /// computes the problem. `arch` is for problems that name none.
    pub fn ranking<'r, 'w>(
        &'r self,
        problem: Checked<'r>,
        arch: Option<Arch>,
        count: usize,
        scratch: &'w mut RankScratch,
    ) -> Result<Ranking<'r, 'w>, RankError> {
        self.check_key(&problem, arch)?;
        let ranking = self.ranking_of_fitting(problem, arch, count, scratch)?;
        if ranking.is_empty() { Err(self.no_kernel(&problem)) } else { Ok(ranking) }
    }

    /// The ranking for a problem that the model's key fits, as a caller who chose the model by its key knows;
    /// empty if no kernel computes the problem: the reason takes a look at the whole pool, and allocates
    /// ([`no_kernel_among`](Self::no_kernel_among)).
    pub fn ranking_of_fitting<'r, 'w>(
        &'r self,
        problem: Checked<'r>,
        arch: Option<Arch>,
        count: usize,
        scratch: &'w mut RankScratch,
    ) -> Result<Ranking<'r, 'w>, RankError> {
        let query = Query { problem, arch };
        if problem.chooses_split() {
            self.rank_splits(query, count, scratch)?;
        } else {
            self.rank_first(query, FirstPlaces { count, floor: f64::NEG_INFINITY }, scratch)?;
        }
        Ok(Ranking { ranker: self, query, scratch, next: 0 })
    }

    /// Ranks the first places of a problem whose number of parts is known: none if no kernel takes it so.
    fn rank_first(
        &self,
        query: Query<'_>,
        first: FirstPlaces,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        let RankScratch { values, list, .. } = scratch;
        list.clear();
        if values.len() < self.segments.len() {
            values.resize_with(self.segments.len(), Default::default);
        }
        for (segment, values) in self.segments.iter().zip(&mut *values) {
            if !self.list_first(segment, query, first, values, list)? {
                self.list_all(segment, query, values, list)?;
            }
        }
        list.outside = self.known.outside(&query.problem, query.arch, self.uniform(values));
        self.order(query, first.count, values, list);
        if let Extent::First { beyond } = list.extent {
            if beyond.is_some_and(|beyond| self.may_lack(first.count, beyond, list)) {
                self.list_every(query, values, list)?;
                self.order(query, first.count, values, list);
            } else {
                list.truncate(first.count);
            }
        }
        Ok(())
    }

    /// Ranks the first `count` of all pairs of a kernel and a number of parts: as many of each number,
    /// merged. The smaller number goes first where nothing but the estimate distinguishes two pairs.
    fn rank_splits(
        &self,
        query: Query<'_>,
        count: usize,
        scratch: &mut RankScratch,
    ) -> Result<(), RankError> {
        let higher_is_better = self.model.spec().rank_by.higher_is_better();
        let before = |a: &Ranked, b: &Ranked| order(a.score, b.score, higher_is_better);
        let mut pairs = std::mem::take(&mut scratch.pairs);
        pairs.clear();
        let (mut outside, mut best) = (FieldSet::NONE, None::<Ranked>);
        let (mut first, mut extent) = (FirstPlaces { count, floor: f64::NEG_INFINITY }, Extent::Whole);
        let suits = |parts| self.kernels().any(|(_, kernel)| kernel.kind.admits(query.problem, parts));
        for definite in query.problem.each_split().filter(|definite| suits(definite.split_k())) {
            let query = Query { problem: query.problem.in_parts(&definite), ..query };
            self.rank_first(query, first, scratch)?;
            let list = &scratch.list;
            if !list.is_whole() {
                extent = Extent::First { beyond: None };
            }
            if let Some(last) = count.checked_sub(1).and_then(|last| list.places().get(last)) {
                first.floor = first.floor.max(last.score);
            }
            let head = list.places().first().copied();
            if head.is_some_and(|head| best.is_none_or(|best| before(&head, &best).is_lt())) {
                (best, outside) = (head, list.outside);
            }
            pairs.extend((0_u32..).zip(list.places().iter().copied()));
        }
        // Pairs of one number are in order already.
        pairs.sort_unstable_by(|(member, a), (other, b)| {
            before(a, b)
                .then_with(|| self.ties.before_times(a.index, b.index))
                .then_with(|| (a.split_k, member).cmp(&(b.split_k, other)))
        });
        let list = &mut scratch.list;
        if pairs.len() > count {
            extent = Extent::First { beyond: None };
        }
        list.ranking.clear();
        list.ranking.extend(pairs.iter().map(|(_, ranked)| *ranked));
        (scratch.pairs, list.outside, list.extent) = (pairs, outside, extent);
        list.truncate(count);
        Ok(())
    }

    /// Ranks all places, after a ranking of the first ones left its values in the scratch. They begin with
    /// those.
    fn rank_rest(&self, query: Query<'_>, scratch: &mut RankScratch) -> Result<(), RankError> {
        if query.problem.chooses_split() {
            return self.rank_splits(query, usize::MAX, scratch);
        }
        let RankScratch { values, list, .. } = scratch;
        if list.is_first() {
            for (segment, values) in self.segments.iter().zip(&mut *values) {
                if let segment::CompiledModel::Universal(_) = segment.compiled {
                    self.fill(segment, query, values)?;
                }
            }
            self.list_every(query, values, list)?;
        }
        self.order(query, usize::MAX, values, list);
        Ok(())
    }

    /// Refuses a problem that the model is not for.
    pub(super) fn check_key(&self, problem: &Problem, arch: Option<Arch>) -> Result<(), RankError> {
        if self.key.fit(problem, arch).is_none() {
            return Err(RankError::NotFor { key: self.key, misfits: self.key.misfits(problem, arch) });
        }
        Ok(())
    }

    /// The error of a problem that no kernel of the pool computes.
    pub(super) fn no_kernel(&self, problem: &Checked<'_>) -> RankError {
        Self::no_kernel_among(self.pool.iter(), *problem)
    }

    /// The error of a problem that none of some kernels computes: in the smallest number of parts, if that is
    /// to be chosen.
    pub fn no_kernel_among<'k>(
        kernels: impl Iterator<Item = &'k Kernel> + Clone,
        problem: Checked<'_>,
    ) -> RankError {
        let problem = problem.each_split().next().map_or(*problem, |definite| *definite);
        let closest = closest(kernels.clone(), &problem);
        let why = closest.and_then(|kernel| kernel.misfit(&problem));
        RankError::NoKernel {
            kernels: kernels.count(),
            asked: problem.summary(),
            closest: closest.map_or_else(String::new, |kernel| kernel.name.clone()),
            why: why.unwrap_or_else(|| "it has no estimate there".to_owned()),
        }
    }
}
