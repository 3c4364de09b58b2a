//! A ranking, read place by place.

use super::{Ranker, segment};
use crate::problem::{Checked, FieldSet};
use crate::scoring::Scratch;
use crate::ties::Ranked;
use crate::vocab::Arch;

/// The ranking of a pool for one problem, best first: an iterator over its places. The first ones, as many as
/// were asked for, are known; in a large pool they take a fraction of the time of all, and the rest is ranked
/// if it is reached.
#[derive(Debug)]
pub struct Ranking<'r, 'w> {
    pub(super) ranker: &'r Ranker,
    pub(super) problem: Checked<'r>,
    pub(super) scratch: &'w mut RankScratch,
    pub(super) next: usize,
    /// Whether all places are in the scratch.
    pub(super) is_whole: bool,
}

impl Ranking<'_, '_> {
    /// The fields of the problem that are outside the model's training range.
    pub const fn outside(&self) -> FieldSet {
        self.scratch.outside
    }
}

impl Iterator for Ranking<'_, '_> {
    type Item = Ranked;

    fn next(&mut self) -> Option<Ranked> {
        if self.next == self.scratch.ordered && !self.is_whole {
            self.is_whole = true;
            self.ranker.rank_rest(self.problem, self.scratch).ok()?;
        }
        let ranked = self.scratch.ranking().get(self.next).copied();
        self.next += 1;
        ranked
    }
}

/// Working memory for one call at a time; calls after the first do not allocate. Works with any ranker.
#[derive(Debug, Default)]
pub struct RankScratch {
    /// By segment.
    pub(super) values: Vec<segment::Values>,
    pub(super) scratch: Scratch,
    pub(super) scores: Vec<f64>,
    /// All kernels, or a shortlist.
    pub(super) ranking: Vec<Ranked>,
    pub(super) is_shortlist: bool,
    /// No kernel that is not on the shortlist has a better score than this, if any is left out for its score.
    pub(super) beyond: Option<f64>,
    /// How many places are in order; the rest are worse.
    pub(super) ordered: usize,
    pub(super) outside: FieldSet,
    /// Kernels with numbers of parts, where these are chosen, each with its place among those of its number.
    pub(super) pairs: Vec<(u32, Ranked)>,
    /// Places with lower scores are not wanted.
    pub(super) floor: f64,
    /// The architecture that the caller named for the problem, and the times of kernels of equal scores, by
    /// index in the pool.
    pub(super) arch: Option<Arch>,
    pub(super) times: Vec<f64>,
}

impl RankScratch {
    /// The ranking of the last call, best first.
    pub fn ranking(&self) -> &[Ranked] {
        self.ranking.get(..self.ordered).unwrap_or_default()
    }

    /// Begins a ranking.
    pub(super) fn start(&mut self, arch: Option<Arch>, segments: usize) {
        (self.arch, self.is_shortlist, self.beyond) = (arch, false, None);
        self.ranking.clear();
        if self.values.len() < segments {
            self.values.resize_with(segments, Default::default);
        }
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.ranking.truncate(count);
        self.ordered = self.ranking.len();
    }

    /// The fields of the last call's problem that are outside the model's training range.
    pub const fn outside(&self) -> FieldSet {
        self.outside
    }
}
