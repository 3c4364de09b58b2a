//! Pools of at most 32 lanes: a set of lanes is one word.
//!
//! ```text
//! answers[question] = lanes that answer yes                           once a call
//! for each batch of trees:
//!     queue = (root of each tree, all lanes)
//!     for (node, lanes) in queue, while it grows:                     16 at a time where the CPU can
//!         near = lanes & answers[question of node], far = lanes without near
//!         queue or leaf list += (child, its lanes), for each of the two with lanes
//!     for (leaf, lanes) in leaf list:
//!         row[tree of leaf][lanes] = value of leaf
//!     for tree in order: sums += row[tree]
//! ```
//!
//! 1. All trees of a batch share a first-in, first-out queue: its items do not depend on each other, so that
//!    the CPU overlaps their cache misses. One tree after the other, depth first, is a chain of dependent
//!    loads.
//! 2. Both children are always written after the queue's end, and the end only moves past those with lanes:
//!    no branch predictor can know whether a node splits its lanes.
//! 3. Leaves come out of order, but a tree's row is complete when the queue is empty, since every lane ends
//!    at exactly one leaf; the additions then take the rows in order, as the exact sum requires.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod rungs;
#[cfg(target_arch = "x86_64")]
pub(super) mod sieve;

use std::ops::Range;

use crate::forest::{Forest, Tree};
use crate::isa::Isa;
use crate::scoring::bits::low_bits;
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::cells::{
    Batch, CELL, Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION, TREE_SHIFT, leaf_value,
};
use crate::scoring::compile::ladder::{Ladder, Ladders, Numbers};
use crate::scoring::compile::lanes::{Column, LANES, Lanes};
use crate::scoring::scratch::{Scratch, grow};
use crate::scoring::unchecked::{get, set};
use crate::scoring::values::Values;
#[cfg(target_arch = "x86_64")]
use rungs::Rungs;
#[cfg(target_arch = "x86_64")]
use sieve::Sieve;

/// Room for answers after the last question's.
pub(in crate::scoring) const BEHIND: usize = 16;
/// Trees per batch.
pub(in crate::scoring) const BATCH: usize = 64;
/// Maximum number of leaves of a small tree.
pub(super) const SMALL: usize = 16;

#[derive(Debug)]
pub(in crate::scoring) struct Narrow {
    lanes: usize,
    /// The lanes of each class.
    classes: Vec<u32>,
    ladders: Ladders,
    /// Answers, filled in for the questions about kernels alone.
    answers: Vec<u32>,
    isa: Isa,
    /// Another form of the ladders, for AVX-512.
    #[cfg(target_arch = "x86_64")]
    rungs: Option<Rungs>,
    evaluator: NarrowEvaluator,
}

/// How the forest is evaluated.
#[derive(Debug)]
pub(in crate::scoring) enum NarrowEvaluator {
    /// Small trees.
    #[cfg(target_arch = "x86_64")]
    Sieve(Sieve),
    /// A walk.
    Walk { cells: Cells, isa: Isa },
}

impl NarrowEvaluator {
    #[allow(unused_variables)] // other architectures have one form
    fn new(isa: Isa, cells: Cells, answers: &KernelAnswers, lanes: usize) -> NarrowEvaluator {
        #[cfg(target_arch = "x86_64")]
        if let Some(sieve) = Sieve::new(isa, &cells, answers, lanes) {
            return NarrowEvaluator::Sieve(sieve);
        }
        NarrowEvaluator::Walk { cells, isa }
    }

    /// Small trees for [`LANES`] rows, of which nothing is known before a call; `None` for a walk.
    pub(in crate::scoring) fn small(
        forest: &Forest,
        ladders: &Ladders,
        numbers: &Numbers,
        isa: Isa,
    ) -> Option<NarrowEvaluator> {
        let trees = forest.trees().iter();
        let is_small =
            isa != Isa::Portable && trees.map(Tree::leaf_values).all(|leaves| leaves.len() <= SMALL);
        let lanes = Lanes::unknown();
        let answers = KernelAnswers::new(ladders, &lanes);
        let cells = is_small.then(|| Cells::new(forest, numbers, &lanes, &answers, BATCH))??;
        let evaluator = NarrowEvaluator::new(isa, cells, &answers, LANES);
        (!matches!(evaluator, NarrowEvaluator::Walk { .. })).then_some(evaluator)
    }

    /// Grows a scratch to the needed size.
    pub(in crate::scoring) fn fit(&self, questions: usize, scratch: &mut Scratch) {
        match self {
            #[cfg(target_arch = "x86_64")]
            NarrowEvaluator::Sieve(_) => {
                fit_answers(questions, scratch);
                grow(&mut scratch.leaf_of, BATCH);
            }
            NarrowEvaluator::Walk { cells, .. } => fit(cells, questions, scratch),
        }
    }

    /// Adds all trees to `scratch.sums`, for this many lanes whose answers are in the scratch.
    pub(in crate::scoring) fn sum(&self, lanes: usize, scratch: &mut Scratch) {
        match self {
            #[cfg(target_arch = "x86_64")]
            NarrowEvaluator::Sieve(sieve) => sieve.sum(lanes, scratch),
            NarrowEvaluator::Walk { cells, isa } => sum(*isa, cells, lanes, scratch),
        }
    }
}

impl Narrow {
    pub(in crate::scoring) fn new(
        lanes: &Lanes,
        ladders: Ladders,
        known: &KernelAnswers,
        cells: Cells,
        classes: usize,
        isa: Isa,
    ) -> Narrow {
        let mut masks = vec![0u32; classes];
        for (lane, &class) in lanes.classes.iter().enumerate() {
            masks[class as usize] |= 1 << lane;
        }
        let mut answers = vec![0; ladders.questions];
        for question in ladders.range(Column::Kernel) {
            let yes = known.yes(question).and_then(<[u64]>::first);
            answers[question] = yes.map_or(0, |&yes| yes as u32);
        }
        Narrow {
            lanes: lanes.len(),
            classes: masks,
            answers,
            isa,
            #[cfg(target_arch = "x86_64")]
            rungs: match isa {
                Isa::Avx512(_) => Rungs::new(&ladders, lanes, classes),
                _ => None,
            },
            ladders,
            evaluator: NarrowEvaluator::new(isa, cells, known, lanes.len()),
        }
    }

    /// Prefetches what a call reads first.
    #[cfg_attr(not(target_arch = "x86_64"), allow(irrefutable_let_patterns))]
    pub(in crate::scoring) fn fetch(&self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(rungs) = &self.rungs {
            rungs.fetch();
        }
        // Small trees are read in order, and prefetching them disturbs that.
        if let NarrowEvaluator::Walk { cells, .. } = &self.evaluator {
            cells.fetch(0);
        }
    }

    /// The way of evaluation, for logs.
    pub(in crate::scoring) fn describe(&self) -> String {
        let evaluator = if matches!(self.evaluator, NarrowEvaluator::Walk { .. }) {
            "narrow walk"
        } else {
            "small trees"
        };
        format!("{evaluator}, {}", self.isa.name())
    }

    /// The sums of all lanes, into `scratch.sums`.
    pub(in crate::scoring) fn score(&self, values: &Values<'_>, scratch: &mut Scratch) {
        self.evaluator.fit(self.ladders.questions, scratch);
        self.answer(values, &mut scratch.answers);
        self.evaluator.sum(self.lanes, scratch);
    }

    /// Answers all questions about one problem.
    fn answer(&self, values: &Values<'_>, answers: &mut [u32]) {
        #[cfg(target_arch = "x86_64")]
        if let (Isa::Avx512(isa), Some(rungs)) = (self.isa, &self.rungs) {
            rungs.answer(isa, self, values, answers);
            return;
        }
        for ladder in &self.ladders.ladders {
            self.answer_ladder(ladder, values, answers);
        }
    }

    /// Answers questions about kernels alone.
    pub(in crate::scoring) fn answer_kernel(&self, questions: Range<usize>, answers: &mut [u32]) {
        answers[questions.clone()].copy_from_slice(&self.answers[questions]);
    }

    pub(in crate::scoring) fn answer_ladder(
        &self,
        ladder: &Ladder,
        values: &Values<'_>,
        all_answers: &mut [u32],
    ) {
        let answers = &mut all_answers[ladder.questions.clone()];
        match ladder.scope {
            Column::Uniform => {
                let (no, yes) = answers.split_at_mut(ladder.position(values.uniform[ladder.column]));
                no.fill(0);
                // Also for lanes that there are not.
                yes.fill(u32::MAX);
            }
            Column::Kernel => self.answer_kernel(ladder.questions.clone(), all_answers),
            Column::Pair => {
                answers.fill(0);
                let mut last = None;
                for (&value, lanes) in values.pair(ladder.column).iter().zip(&self.classes) {
                    let position = match last {
                        Some((bits, position)) if bits == value.to_bits() => position,
                        _ => ladder.position(value),
                    };
                    last = Some((value.to_bits(), position));
                    if let Some(answer) = answers.get_mut(position) {
                        *answer |= lanes;
                    }
                }
                accumulate(answers);
            }
        }
    }
}

/// Lets lanes that answer a question with yes do so to those behind it, whose thresholds are higher.
pub(in crate::scoring) fn accumulate(answers: &mut [u32]) {
    let mut yes = 0;
    for answer in answers {
        yes |= *answer;
        *answer = yes;
    }
}

/// Grows a scratch to the size that a walk needs.
pub(in crate::scoring) fn fit(cells: &Cells, questions: usize, scratch: &mut Scratch) {
    fit_answers(questions, scratch);
    scratch.fit_lists(cells.most_nodes, BATCH);
    grow(&mut scratch.rows, BATCH);
}

fn fit_answers(questions: usize, scratch: &mut Scratch) {
    grow(&mut scratch.answers, questions + BEHIND);
    grow(&mut scratch.sums, LANES);
}

/// Adds all trees to `scratch.sums`, for this many lanes whose answers are in the scratch.
pub(in crate::scoring) fn sum(isa: Isa, cells: &Cells, lanes: usize, scratch: &mut Scratch) {
    let all = low_bits(lanes) as u32;
    scratch.sums[..LANES].fill(0.0);
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(isa) => avx512::sum(isa, cells, all, scratch),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => {
            // SAFETY: the token proves that the CPU has the features.
            unsafe { score_avx2(cells, all, scratch) }
        }
        Isa::Portable => score_portable(cells, all, scratch),
    }
}

/// Answers all questions about one problem for some lanes of a wide pool, at most as many as a narrow one
/// has.
pub(in crate::scoring) fn answer_for(
    lanes: &Lanes,
    chosen: &[u32],
    ladders: &Ladders,
    values: &Values<'_>,
    answers: &mut [u32],
) {
    let all = low_bits(chosen.len()) as u32;
    for ladder in &ladders.ladders {
        let answers = &mut answers[ladder.questions.clone()];
        let value = |lane: usize| {
            if ladder.scope == Column::Kernel {
                return lanes.value(lane, ladder.column);
            }
            values.pair(ladder.column)[lanes.classes[lane] as usize]
        };
        if ladder.scope == Column::Uniform {
            let (no, yes) = answers.split_at_mut(ladder.position(values.uniform[ladder.column]));
            no.fill(0);
            yes.fill(all);
            continue;
        }
        answers.fill(0);
        for (bit, &lane) in chosen.iter().enumerate() {
            if let Some(answer) = answers.get_mut(ladder.position(value(lane as usize))) {
                *answer |= 1 << bit;
            }
        }
        accumulate(answers);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn score_avx2(cells: &Cells, all: u32, scratch: &mut Scratch) {
    score_portable(cells, all, scratch);
}

#[inline(always)]
fn score_portable(cells: &Cells, all: u32, scratch: &mut Scratch) {
    for (number, batch) in cells.batches.iter().enumerate() {
        cells.fetch(number + 1);
        let leaves = walk(&cells.cells[batch.start..], batch, all, scratch);
        let rows = &mut scratch.rows[..batch.trees];
        for leaf in 0..leaves {
            let (position, mut lanes) = (scratch.leaf_at[leaf], scratch.leaf_set[leaf]);
            // SAFETY: the walk has reached this leaf.
            let value = unsafe { leaf_value(&cells.cells[batch.start..], position) };
            let row = &mut rows[(position >> TREE_SHIFT) as usize].0;
            while lanes != 0 {
                // SAFETY: a lane is below 32.
                unsafe { set(row, lanes.trailing_zeros() as usize, value) };
                lanes &= lanes - 1;
            }
        }
        let sums = &mut scratch.sums[..LANES];
        for row in rows {
            for (sum, value) in sums.iter_mut().zip(&row.0) {
                *sum += value;
            }
        }
    }
}

/// Fills the leaf list of a batch, and returns its length.
#[inline(always)]
fn walk(cells: &[u32], batch: &Batch, all: u32, scratch: &mut Scratch) -> usize {
    let Scratch { answers, node_at, node_set, leaf_at, leaf_set, .. } = scratch;
    let (mut tail, mut leaves) = (batch.roots.len(), batch.lone_leaves.len());
    node_at[..tail].copy_from_slice(&batch.roots);
    node_set[..tail].fill(all);
    leaf_at[..leaves].copy_from_slice(&batch.lone_leaves);
    leaf_set[..leaves].fill(all);
    let mut head = 0;
    while head < tail {
        // SAFETY: places lead to cells, and cells hold questions of this forest, of which there are as many
        // as answers (`Cells::new`, `fit`). Every node and every leaf of the batch is reached at
        // most once, so neither list outgrows the room for all of them and one more, which takes writes
        // without lanes.
        unsafe {
            let (node, lanes) = (get(node_at, head), get(node_set, head));
            head += 1;
            let cell = get(cells, (node & CELL) as usize);
            let yes = get(answers, (cell & QUESTION) as usize);
            let yes = if cell & FLIPPED == 0 { yes } else { !yes };
            let far = node + ((cell >> FAR_SHIFT) & FAR_MAX as u32);
            for (node, lanes, leaf) in
                [(node + 1, lanes & yes, cell & NEAR_LEAF), (far, lanes & !yes, cell & FAR_LEAF)]
            {
                set(node_at, tail, node);
                set(node_set, tail, lanes);
                set(leaf_at, leaves, node);
                set(leaf_set, leaves, lanes);
                let (some, leaf) = (usize::from(lanes != 0), usize::from(leaf != 0));
                tail += some & !leaf;
                leaves += some & leaf;
            }
        }
    }
    leaves
}
