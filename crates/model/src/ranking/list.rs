//! The kernels of a ranking: which of a segment are listed, with which scores, and their order.

use super::order::{Extent, FirstPlaces, List, Query};
use super::segment::{CompiledModel, Segment, Values};
use super::universal::Universal;
use super::{RankError, Ranker};
use crate::estimate::Place;
use crate::scoring::{BestKernels, PoolScorer};
use crate::ties::Ranked;
use crate::vocab::Op;
use ck_select_types::operation::Operation;

/// The fewest kernels that the forest distinguishes for which a shortlist is worth it: with fewer, the whole ranking
/// takes no longer.
const SHORTLIST_FROM: usize = 256;

impl Ranker {
    /// Lists the kernels of a segment that can be among the first places, which are none if those of other
    /// numbers of parts are better; `false`, with the values filled in, if all have to be scored.
    pub(super) fn list_first(
        &self,
        segment: &Segment,
        query: Query<'_>,
        first: FirstPlaces,
        values: &mut Values,
        list: &mut List,
    ) -> Result<bool, RankError> {
        match &segment.compiled {
            CompiledModel::Universal(universal) => {
                let split_k = query.problem.split_k();
                let push = |member: Place, score| {
                    let index = segment.ranked.get(member.get());
                    list.ranking.extend(index.map(|&index| Ranked { index, split_k, score }));
                };
                let (may_choose, finish) = (may_choose(segment, universal, query), |sum| self.score(sum));
                if universal.shortlist(query, may_choose, first, finish, &mut values.universal, push)? {
                    list.extent = Extent::First { beyond: None };
                    return Ok(true);
                }
                self.fill(segment, query, values)?;
                Ok(false)
            }
            CompiledModel::Trained { scorer, .. } => {
                self.fill(segment, query, values)?;
                self.shortlist(segment, scorer, query, first.count, values, list)
            }
        }
    }

    /// [`Ranker::list_first`] by a trained model, from the values that were filled in.
    fn shortlist(
        &self,
        segment: &Segment,
        scorer: &PoolScorer,
        query: Query<'_>,
        count: usize,
        values: &Values,
        list: &mut List,
    ) -> Result<bool, RankError> {
        if scorer.distinct_kernels() < SHORTLIST_FROM {
            return Ok(false);
        }
        let List { scratch, ranking, .. } = list;
        let best = BestKernels { count, highest: self.model.spec().rank_by.higher_is_better() };
        let is_listed = |at: usize| self.is_listed(segment, at, query);
        if !scorer.shortlist(&values.own.uniform, &values.own.pair, best, is_listed, scratch)? {
            return Ok(false);
        }
        ranking.extend(scratch.shortlist().iter().filter_map(|listed| {
            let &index = segment.ranked.get(listed.kernel)?;
            Some(Ranked { index, split_k: query.problem.split_k(), score: self.score(listed.score) })
        }));
        list.extent = Extent::First { beyond: Some(self.score(scratch.beyond())) };
        Ok(true)
    }

    /// Whether kernels that are not listed, whose scores are no better than `beyond`, can be among the first
    /// places. Different scores may become equal once logarithms are undone, and then
    /// [`Ties`](crate::ties::Ties) decide. So those kernels must be worse by more than the error of `exp` and
    /// the like.
    pub(super) fn may_lack(&self, count: usize, beyond: f64, list: &List) -> bool {
        let last = list.ranking.get(count - 1).map_or(f64::NAN, |last| last.score);
        let slack = last.abs().max(beyond.abs()) * f64::exp2(-40.0);
        let are_worse = if self.model.spec().rank_by.higher_is_better() {
            beyond + slack < last
        } else {
            beyond - slack > last
        };
        !are_worse
    }

    /// Lists all kernels that compute the problem, from the values that were filled in.
    pub(super) fn list_every(
        &self,
        query: Query<'_>,
        values: &mut [Values],
        list: &mut List,
    ) -> Result<(), RankError> {
        list.clear();
        let mut segments = self.segments.iter().zip(values);
        segments.try_for_each(|(segment, values)| self.list_all(segment, query, values, list))
    }

    /// Lists all those of a segment.
    pub(super) fn list_all(
        &self,
        segment: &Segment,
        query: Query<'_>,
        values: &mut Values,
        list: &mut List,
    ) -> Result<(), RankError> {
        let List { scratch, scores, ranking, .. } = list;
        let Query { problem, arch } = query;
        let mut push = |index, score| ranking.push(Ranked { index, split_k: problem.split_k(), score });
        match &segment.compiled {
            CompiledModel::Universal(own) => {
                let (device, values) = (own.on(&problem, arch)?, &mut values.universal);
                if own.score_all(device, |sum| self.score(sum), values, scratch)? {
                    let scores = segment.ranked.iter().zip(Universal::scores(device, values));
                    scores.for_each(|(&index, score)| score.into_iter().for_each(|score| push(index, score)));
                }
            }
            CompiledModel::Trained { scorer, .. } => {
                scores.resize(segment.ranked.len(), 0.0);
                scorer.score(&values.own.uniform, &values.own.pair, scratch, scores)?;
                let all = segment.ranked.iter().zip(&*scores).enumerate();
                let ranked = all.filter(|(at, _)| self.is_listed(segment, *at, query));
                ranked.for_each(|(_, (&index, &sum))| push(index, self.score(sum)));
            }
        }
        Ok(())
    }

    /// Whether rankings list kernels of the problem's types and layout alone. They do not where names tell no
    /// types, nor by a model that is forced.
    pub fn matches_types(&self, op: Op) -> bool {
        Operation::get(op).names_tell_types && !self.model.is_forced()
    }

    /// Whether rankings list a kernel of a segment: all that compute the problem in its number of parts. What a
    /// problem asks for beyond what names tell is reported as out of range. Whoever forces a model knows that
    /// its kernels are of other types.
    fn is_listed(&self, segment: &Segment, at: usize, Query { problem, arch }: Query<'_>) -> bool {
        let any_type = !self.matches_types(problem.op());
        segment.kernels.get(at).zip(segment.limits.get(at)).is_some_and(|(kernel, limits)| {
            kernel.matches_request(&problem)
                && (any_type || kernel.matches_types(&problem))
                && kernel.kind.admits(problem, problem.split_k())
                && !kernel.kind.is_refused(limits, &problem, arch.or(self.key.arch))
        })
    }

    /// Fills in a problem's values for a segment.
    pub(super) fn fill(
        &self,
        segment: &Segment,
        query: Query<'_>,
        values: &mut Values,
    ) -> Result<(), RankError> {
        let Query { problem, arch } = query;
        match &segment.compiled {
            CompiledModel::Universal(universal) => {
                let may_choose = may_choose(segment, universal, query);
                universal.fill(&problem, arch, may_choose, &mut values.universal)?;
            }
            CompiledModel::Trained { features, scorer, .. } => {
                scorer.fetch();
                features.fill(&self.problem_terms(&problem)?, &mut values.own);
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

    /// Puts the `count` best of a list in order.
    pub(super) fn order(&self, query: Query<'_>, count: usize, values: &[Values], list: &mut List) {
        let higher_is_better = self.model.spec().rank_by.higher_is_better();
        let List { ranking, ordered, times, .. } = list;
        self.ties.rank(ranking, count, higher_is_better, times, |tied, times| {
            for (segment, values) in self.segments.iter().zip(values) {
                let own = tied.iter().filter(|ranked| segment.indices.contains(&ranked.index));
                let own = own.filter_map(|&Ranked { index, .. }| Some((index, segment.place(index)?)));
                fill_times(query, segment, own, values, times);
            }
        });
        *ordered = count.min(ranking.len());
    }
}

/// The estimated times of some kernels of a segment, by index in the pool; all 0 where nothing names a GPU.
fn fill_times(
    Query { problem, arch }: Query<'_>,
    segment: &Segment,
    of: impl Iterator<Item = (usize, Place)>,
    values: &Values,
    times: &mut [f64],
) {
    if let CompiledModel::Universal(_) = segment.compiled {
        let log_times = &values.universal.log_times;
        of.for_each(|(index, member)| times[index] = log_times.get(member.get()).copied().unwrap_or(0.0));
    } else if let Some(estimated) = segment.estimated(&problem, arch) {
        let load = estimated.estimator().load(&problem);
        of.for_each(|(index, member)| times[index] = estimated.time(&load, member.get()));
    } else {
        of.for_each(|(index, _)| times[index] = 0.0);
    }
}

/// Whether a universal model may choose a kernel of a segment: it serves all types and layouts, but a kernel
/// only its own.
fn may_choose<'c>(
    segment: &'c Segment,
    universal: &Universal,
    Query { problem, arch }: Query<'c>,
) -> impl Fn(Place) -> bool + 'c {
    let arch_of_gpu = universal.arch_for(&problem, arch);
    move |member| {
        let pair = segment.kernels.get(member.get()).zip(segment.limits.get(member.get()));
        pair.is_some_and(|(kernel, limits)| {
            kernel.matches_within(limits, &problem, arch_of_gpu)
                && kernel.runs_on(arch_of_gpu)
                && kernel.kind.admits(problem, problem.split_k())
        })
    }
}
