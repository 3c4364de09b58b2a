//! Pools of more than 32 lanes: a set of lanes is a row of words.
//!
//! ```text
//! answers[question] = none, all, or the number of the mask of lanes that answer yes  once a call
//! for each batch of trees:
//!     queue = (root of each tree, a set of all lanes)
//!     for (node, set) in queue, while it grows:
//!         if none or all answer yes: queue or leaf list += (the child, set)      16 at a time if the CPU can
//!         else: near = set & mask, far = set without mask, onwards with each that has lanes
//!     for (leaf, set) in leaf list, tree by tree:
//!         sums[set] += value of leaf
//! ```
//!
//! For one problem, most questions have one answer for the whole pool: those about the problem, and those
//! whose threshold is outside the range of the pool's values. They cost as much as in a pool of one kernel.
//!
//! Pools are cut into slabs, so that the sums and sets of one stay in the cache. Small trees are not walked
//! where there is AVX2.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod sieve;

use std::ops::AddAssign;

use crate::forest::Forest;
use crate::isa::Isa;
use crate::scoring::bits::low_bits;
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::cells::{
    Batch, CELL, Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION, TREE_SHIFT, leaf_value,
};
use crate::scoring::compile::ladder::{Ladder, Ladders};
use crate::scoring::compile::lanes::{Column, LANES, Lanes};
use crate::scoring::narrow;
use crate::scoring::scratch::{Scratch, grow};
use crate::scoring::shortlist::Scale;
use crate::scoring::unchecked::{get, set};
use crate::scoring::values::Values;
#[cfg(target_arch = "x86_64")]
use sieve::Sieve;

/// Trees per batch.
pub(in crate::scoring) const BATCH: usize = 16;
/// Maximum number of lanes of a slab.
const SLAB: usize = 8192;
/// Words per vector: sets consist of whole vectors.
pub(in crate::scoring) const VECTOR: usize = 8;

/// Answers that are the same for all lanes. Others are numbers of masks, starting at 2.
pub(in crate::scoring) const NONE: u32 = 0;
pub(in crate::scoring) const ALL: u32 = 1;
const FIRST_MASK: u32 = 2;

#[derive(Debug)]
pub(in crate::scoring) struct Wide {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // the walk's slabs have their own
    lanes: usize,
    ladders: Ladders,
    isa: Isa,
    evaluator: WideEvaluator,
}

/// How the forest is evaluated.
#[derive(Debug)]
enum WideEvaluator {
    /// Small trees.
    #[cfg(target_arch = "x86_64")]
    Sieve(Box<Sieve>),
    /// A walk.
    Walk { cells: Cells, slabs: Vec<Slab>, scale: Option<Scale> },
}

/// Consecutive lanes.
#[derive(Debug)]
struct Slab {
    first: usize,
    /// Words of a set.
    words: usize,
    all: Vec<u64>,
    /// Class, first lane and end of each run of lanes of one class.
    runs: Vec<(u32, usize, usize)>,
    /// Answers to the questions about kernels alone.
    answers: Vec<u32>,
    masks: Vec<u64>,
}

/// The data that the walk of a slab reads.
#[derive(Clone, Copy)]
pub(in crate::scoring) struct View<'a> {
    pub(in crate::scoring) cells: &'a Cells,
    pub(in crate::scoring) words: usize,
    pub(in crate::scoring) all: &'a [u64],
    /// Masks of questions about kernels. The scratch has the others, whose numbers follow.
    pub(in crate::scoring) masks: &'a [u64],
}

impl Wide {
    pub(in crate::scoring) fn new(
        forest: &Forest,
        cells: Cells,
        lanes: &Lanes,
        ladders: Ladders,
        answers: &KernelAnswers,
        isa: Isa,
    ) -> Wide {
        let scale = Scale::new(forest);
        #[cfg(target_arch = "x86_64")]
        if let (Some(scale), Some(avx2)) = (scale, isa.avx2())
            && let Some(sieve) = Sieve::new(avx2, &cells, &ladders, answers, lanes, scale)
        {
            return Wide {
                lanes: lanes.len(),
                ladders,
                isa,
                evaluator: WideEvaluator::Sieve(Box::new(sieve)),
            };
        }
        let count = lanes.len().div_ceil(SLAB).max(1);
        let size = lanes.len().div_ceil(count).next_multiple_of(64);
        let slab = |first| Slab::new(lanes, &ladders, answers, first, size.min(lanes.len() - first));
        let slabs = (0..lanes.len()).step_by(size).map(slab).collect();
        Wide { lanes: lanes.len(), ladders, isa, evaluator: WideEvaluator::Walk { cells, slabs, scale } }
    }

    /// How [`estimate`](Self::estimate) rounds; `None` if it cannot.
    pub(in crate::scoring) fn scale(&self) -> Option<Scale> {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => Some(sieve.scale),
            WideEvaluator::Walk { scale, .. } => *scale,
        }
    }

    /// The way of evaluation, for logs.
    pub(in crate::scoring) fn describe(&self) -> String {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(_) => "small trees of many kernels, avx2".to_owned(),
            WideEvaluator::Walk { .. } => format!("wide walk, {}", self.isa.name()),
        }
    }

    /// Grows a scratch to the needed size.
    pub(in crate::scoring) fn fit(&self, scratch: &mut Scratch) {
        let (room, ladders) = (self.room(), &self.ladders);
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => sieve.fit(ladders.questions, scratch),
            WideEvaluator::Walk { cells, slabs, .. } => {
                let words = slabs.iter().map(|slab| slab.words).max().unwrap_or(0);
                let runs = slabs.iter().map(|slab| slab.runs.len()).max().unwrap_or(0);
                let steps = |ladder: &Ladder| ladder.questions.len().min(runs);
                let masks: usize = ladders.in_scope(Column::Pair).map(steps).sum();
                // Some lanes are walked for as in a narrow pool.
                narrow::fit(cells, ladders.questions, scratch);
                grow(&mut scratch.masks, masks * words);
                grow(&mut scratch.sets, (cells.most_nodes + BATCH + 1) * words);
                // A leaf adds to a word at most once, and two leaves of a tree never add to the same lane.
                let leaves = cells.most_nodes + BATCH;
                let additions = (leaves * words).min(BATCH * words * 64) + VECTOR;
                grow(&mut scratch.add_to, additions);
                grow(&mut scratch.add_lanes, additions);
                grow(&mut scratch.add_value, additions);
                grow(&mut scratch.positions, runs);
            }
        }
        grow(&mut scratch.sums, room);
    }

    /// Number of sums that the slabs write, including the last one's padding.
    pub(in crate::scoring) fn room(&self) -> usize {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(_) => self.lanes,
            WideEvaluator::Walk { slabs, .. } => slabs.last().map_or(0, |slab| slab.first + slab.words * 64),
        }
    }

    /// The sums of all lanes in whole numbers, by the [`scale`](Self::scale), into `scratch.whole`; the sieve
    /// only bounds them from above, for [`refine`](Self::refine).
    pub(in crate::scoring) fn estimate(&self, values: &Values<'_>, scratch: &mut Scratch) {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => sieve.bound(&self.ladders, values, scratch),
            WideEvaluator::Walk { cells, slabs, scale } => {
                let factor = scale.map_or(0.0, |scale| scale.factor);
                let mut sums = std::mem::take(&mut scratch.whole);
                self.walk((cells, slabs), values, scratch, &mut sums, |view, scratch, sums| match self.isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512(isa) => avx512::sum_rounded(isa, view, scratch, sums, factor),
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the token proves that the CPU has the features.
                    Isa::Avx2(_) => unsafe { estimate_avx2(view, scratch, sums, factor) },
                    Isa::Portable => estimate_portable(view, scratch, sums, factor),
                });
                scratch.whole = sums;
            }
        }
    }

    /// The sums of all lanes, into `scratch.sums`.
    pub(in crate::scoring) fn score(&self, values: &Values<'_>, scratch: &mut Scratch) {
        self.fit(scratch);
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => {
                sieve.find(&self.ladders, values, scratch);
                sieve.sum(0..self.lanes, &scratch.found, &mut scratch.sums[..self.lanes]);
            }
            WideEvaluator::Walk { cells, slabs, .. } => {
                let mut sums = std::mem::take(&mut scratch.sums);
                self.walk((cells, slabs), values, scratch, &mut sums, |view, scratch, sums| match self.isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512(isa) => avx512::sum(isa, view, scratch, sums),
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the token proves that the CPU has the features.
                    Isa::Avx2(_) => unsafe { score_avx2(view, scratch, sums) },
                    Isa::Portable => score_portable(view, scratch, sums),
                });
                scratch.sums = sums;
            }
        }
    }

    /// Lets `add` add all trees to the sums of one slab after the other.
    fn walk<T: Copy + Default>(
        &self,
        (cells, slabs): (&Cells, &[Slab]),
        values: &Values<'_>,
        scratch: &mut Scratch,
        sums: &mut [T],
        add: impl Fn(View<'_>, &mut Scratch, &mut [T]),
    ) {
        for slab in slabs {
            slab.answer(&self.ladders, values, scratch);
            let view = View { cells, words: slab.words, all: &slab.all, masks: &slab.masks };
            // The next slab overwrites this one's padding.
            let part = &mut sums[slab.first..slab.first + slab.words * 64];
            part.fill(T::default());
            add(view, scratch, part);
        }
    }

    /// Replaces bounds of [`estimate`](Self::estimate) that are at least the cutoff by sums; false if there
    /// are none.
    #[allow(unused_variables)] // other architectures have no sieve
    pub(in crate::scoring) fn refine(&self, cutoff: i64, scratch: &mut Scratch) -> bool {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => sieve.refine(cutoff, scratch),
            WideEvaluator::Walk { .. } => false,
        }
    }

    /// The sums of some lanes, into `scratch.listed_sums`. [`estimate`](Self::estimate) or
    /// [`refine`](Self::refine) has found their leaves in small trees; a walk does not note them.
    pub(in crate::scoring) fn sum_some(
        &self,
        lanes: &Lanes,
        chosen: &[u32],
        values: &Values<'_>,
        scratch: &mut Scratch,
    ) {
        match &self.evaluator {
            #[cfg(target_arch = "x86_64")]
            WideEvaluator::Sieve(sieve) => {
                let sums = &mut scratch.listed_sums[..chosen.len()];
                sieve.sum(chosen.iter().map(|&lane| lane as usize), &scratch.found, sums);
            }
            WideEvaluator::Walk { cells, .. } => {
                for (group, chosen) in chosen.chunks(LANES).enumerate() {
                    narrow::answer_for(lanes, chosen, &self.ladders, values, &mut scratch.answers);
                    narrow::sum(self.isa, cells, chosen.len(), scratch);
                    let Scratch { listed_sums, sums, .. } = scratch;
                    listed_sums[group * LANES..][..chosen.len()].copy_from_slice(&sums[..chosen.len()]);
                }
            }
        }
    }
}

impl Slab {
    fn new(lanes: &Lanes, ladders: &Ladders, answers: &KernelAnswers, first: usize, count: usize) -> Slab {
        let words = count.div_ceil(64).next_multiple_of(VECTOR);
        let mut all = vec![0; words];
        fill(&mut all, 0, count);
        let mut runs: Vec<(u32, usize, usize)> = Vec::new();
        for (lane, &class) in lanes.classes[first..first + count].iter().enumerate() {
            match runs.last_mut() {
                Some(run) if run.0 == class => run.2 = lane + 1,
                _ => runs.push((class, lane, lane + 1)),
            }
        }
        let answers_of = vec![NONE; ladders.questions];
        let mut slab = Slab { first, words, all, runs, answers: answers_of, masks: Vec::new() };
        for ladder in ladders.in_scope(Column::Kernel) {
            slab.know(ladder, answers, count);
        }
        slab
    }

    /// Answers a ladder about kernels alone for good. Neighbouring questions that the same lanes answer with
    /// yes share a mask.
    fn know(&mut self, ladder: &Ladder, known: &KernelAnswers, count: usize) {
        // Whole vectors of words, as many as the slab has.
        let mut mask = vec![0; self.words];
        for question in ladder.questions.clone() {
            let yes = known.yes(question).unwrap_or_default();
            let own = &yes[self.first / 64..(self.first + count).div_ceil(64)];
            mask[..own.len()].copy_from_slice(own);
            self.answers[question] = if mask.iter().all(|&word| word == 0) {
                NONE
            } else if mask == self.all {
                ALL
            } else {
                if !self.masks.ends_with(&mask) {
                    self.masks.extend_from_slice(&mask);
                }
                self.last_mask(self.masks.len())
            };
        }
    }

    /// The answer that stands for the last mask of lists with this many words.
    fn last_mask(&self, words: usize) -> u32 {
        FIRST_MASK + (words / self.words) as u32 - 1
    }

    /// Answers all questions about one problem.
    fn answer(&self, ladders: &Ladders, values: &Values<'_>, scratch: &mut Scratch) {
        let mut end = 0;
        for ladder in &ladders.ladders {
            let answers = &mut scratch.answers[ladder.questions.clone()];
            match ladder.scope {
                Column::Uniform => {
                    let (no, yes) = answers.split_at_mut(ladder.position(values.uniform[ladder.column]));
                    no.fill(NONE);
                    yes.fill(ALL);
                }
                Column::Kernel => answers.copy_from_slice(&self.answers[ladder.questions.clone()]),
                Column::Pair => {
                    let runs = &mut scratch.positions[..self.runs.len()];
                    self.sort_runs(ladder, values.pair(ladder.column), runs);
                    end = self.answer_pair(runs, answers, &mut scratch.masks, end);
                }
            }
        }
    }

    /// The first question that each run answers with yes, with the number of the run, in ascending order.
    fn sort_runs(&self, ladder: &Ladder, values: &[f64], runs: &mut [(u32, u32)]) {
        let mut last = None;
        for (number, (to, run)) in (0..).zip(runs.iter_mut().zip(&self.runs)) {
            let value = values[run.0 as usize];
            let position = match last {
                Some((bits, position)) if bits == value.to_bits() => position,
                _ => ladder.position(value) as u32,
            };
            last = Some((value.to_bits(), position));
            *to = (position, number);
        }
        runs.sort_unstable();
    }

    /// Answers a ladder whose value differs from run to run. The lanes that answer yes only become more from
    /// question to question, so each mask is the one before it with the lanes of some runs. Appends masks to
    /// the list from `end` on, and returns the new end.
    fn answer_pair(
        &self,
        runs: &[(u32, u32)],
        answers: &mut [u32],
        masks: &mut [u64],
        mut end: usize,
    ) -> usize {
        let (start, mut answered, mut answer, mut left) = (end, 0, NONE, runs.len());
        for runs in runs.chunk_by(|run, next| run.0 == next.0) {
            let position = runs[0].0 as usize;
            if position >= answers.len() {
                break;
            }
            answers[answered..position].fill(answer);
            answered = position;
            left -= runs.len();
            if left == 0 {
                answer = ALL;
                break;
            }
            if end == start {
                masks[end..end + self.words].fill(0);
            } else {
                masks.copy_within(end - self.words..end, end);
            }
            for &(_, run) in runs {
                let (_, from, to) = self.runs[run as usize];
                fill(&mut masks[end..end + self.words], from, to);
            }
            end += self.words;
            answer = self.last_mask(self.masks.len() + end);
        }
        answers[answered..].fill(answer);
        end
    }
}

/// Sets the bits from `from` up to but not including `to`.
fn fill(words: &mut [u64], from: usize, to: usize) {
    for (number, word) in words.iter_mut().enumerate().take(to.div_ceil(64)).skip(from / 64) {
        let start = from.max(number * 64) - number * 64;
        let end = to.min(number * 64 + 64) - number * 64;
        *word |= low_bits(end) & !low_bits(start);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn score_avx2(view: View<'_>, scratch: &mut Scratch, sums: &mut [f64]) {
    score_portable(view, scratch, sums);
}

#[inline(always)]
fn score_portable(view: View<'_>, scratch: &mut Scratch, sums: &mut [f64]) {
    sum(view, scratch, sums, |value| value);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn estimate_avx2(view: View<'_>, scratch: &mut Scratch, sums: &mut [i32], factor: f64) {
    estimate_portable(view, scratch, sums, factor);
}

#[inline(always)]
fn estimate_portable(view: View<'_>, scratch: &mut Scratch, sums: &mut [i32], factor: f64) {
    sum(view, scratch, sums, |value| (value * factor).round_ties_even() as i32);
}

/// Adds `of` each leaf's value to the sums of its lanes, tree after tree.
#[inline(always)]
fn sum<T: Copy + AddAssign>(view: View<'_>, scratch: &mut Scratch, sums: &mut [T], of: impl Fn(f64) -> T) {
    for batch in &view.cells.batches {
        let leaves = walk(view, batch, scratch);
        by_tree(batch, scratch, leaves);
        for &leaf in &scratch.order[..leaves] {
            let (cells, position) = (&view.cells.cells[batch.start..], scratch.leaf_at[leaf as usize]);
            // SAFETY: the walk has reached this leaf.
            let value = of(unsafe { leaf_value(cells, position) });
            let words = scratch.leaf_set[leaf as usize] as usize * view.words;
            let words = &scratch.sets[words..words + view.words];
            for (&word, sums) in words.iter().zip(sums.chunks_exact_mut(64)) {
                add(word, sums, value);
            }
        }
    }
}

/// Adds the value to the sums whose bit is set.
#[inline(always)]
fn add<T: Copy + AddAssign>(word: u64, sums: &mut [T], value: T) {
    if word == u64::MAX {
        for sum in sums {
            *sum += value;
        }
        return;
    }
    let mut word = word;
    while word != 0 {
        sums[word.trailing_zeros() as usize] += value;
        word &= word - 1;
    }
}

/// Sorts the leaf list by tree, into `scratch.order`.
#[inline(always)]
pub(in crate::scoring) fn by_tree(batch: &Batch, scratch: &mut Scratch, leaves: usize) {
    let mut ends = [0u32; BATCH + 1];
    for position in &scratch.leaf_at[..leaves] {
        ends[(position >> TREE_SHIFT) as usize + 1] += 1;
    }
    for tree in 0..batch.trees {
        ends[tree + 1] += ends[tree];
    }
    for (leaf, position) in scratch.leaf_at[..leaves].iter().enumerate() {
        let end = &mut ends[(position >> TREE_SHIFT) as usize];
        scratch.order[*end as usize] = leaf as u32;
        *end += 1;
    }
}

/// Starts the lists of a batch, each tree with a set of all lanes. Returns the lengths of the queue and of
/// the leaf list.
pub(in crate::scoring) fn start(view: View<'_>, batch: &Batch, scratch: &mut Scratch) -> (usize, usize) {
    let roots = batch.roots.len();
    for set in scratch.sets.chunks_exact_mut(view.words).take(batch.trees) {
        set.copy_from_slice(view.all);
    }
    for (number, &root) in batch.roots.iter().enumerate() {
        (scratch.node_at[number], scratch.node_set[number]) = (root, number as u32);
    }
    for (number, &leaf) in batch.lone_leaves.iter().enumerate() {
        (scratch.leaf_at[number], scratch.leaf_set[number]) = (leaf, (roots + number) as u32);
    }
    (roots, batch.lone_leaves.len())
}

/// Fills the leaf list of a batch, and returns its length.
#[inline(always)]
fn walk(view: View<'_>, batch: &Batch, scratch: &mut Scratch) -> usize {
    let (mut tail, mut leaves) = start(view, batch, scratch);
    let cells = &view.cells.cells[batch.start..];
    let mut sets = batch.trees;
    let mut head = 0;
    while head < tail {
        // SAFETY: places lead to cells, and cells hold questions of this forest, of which there are as many
        // as answers (`Cells::new`, `Wide::fit`). Every node and every leaf of the batch is reached
        // at most once, so neither list outgrows the room for all of them.
        unsafe {
            let (node, lanes) = (get(&scratch.node_at, head), get(&scratch.node_set, head));
            head += 1;
            let cell = get(cells, (node & CELL) as usize);
            let answer = get(&scratch.answers, (cell & QUESTION) as usize);
            let far = node + ((cell >> FAR_SHIFT) & FAR_MAX as u32);
            let flipped = cell & FLIPPED != 0;
            let mut push = |node, lanes, leaf: u32| {
                if leaf == 0 {
                    set(&mut scratch.node_at, tail, node);
                    set(&mut scratch.node_set, tail, lanes);
                    tail += 1;
                } else {
                    set(&mut scratch.leaf_at, leaves, node);
                    set(&mut scratch.leaf_set, leaves, lanes);
                    leaves += 1;
                }
            };
            let (near, far) = ((node + 1, cell & NEAR_LEAF), (far, cell & FAR_LEAF));
            if answer <= ALL {
                let (node, leaf) = if (answer == ALL) == flipped { far } else { near };
                push(node, lanes, leaf);
                continue;
            }
            let mask = mask(view, &scratch.masks, answer);
            let (here, fresh) = scratch.sets.split_at_mut(sets * view.words);
            let here = &mut here[lanes as usize * view.words..][..view.words];
            let fresh = &mut fresh[..view.words];
            let (mut any_near, mut any_far) = (0, 0);
            let flip = if flipped { u64::MAX } else { 0 };
            for ((here, fresh), mask) in here.iter_mut().zip(fresh).zip(mask) {
                let yes = mask ^ flip;
                *fresh = *here & !yes;
                *here &= yes;
                any_near |= *here;
                any_far |= *fresh;
            }
            let far_set = sets as u32;
            if any_near != 0 {
                push(near.0, lanes, near.1);
            }
            if any_far != 0 {
                push(far.0, far_set, far.1);
                sets += 1;
            }
        }
    }
    leaves
}

/// The lanes that answer yes.
#[inline(always)]
pub(in crate::scoring) fn mask<'a>(view: View<'a>, masks: &'a [u64], answer: u32) -> &'a [u64] {
    let at = (answer - FIRST_MASK) as usize * view.words;
    let (masks, at) = if at < view.masks.len() { (view.masks, at) } else { (masks, at - view.masks.len()) };
    &masks[at..at + view.words]
}
