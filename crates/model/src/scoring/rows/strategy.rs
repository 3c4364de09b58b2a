//! How a block of rows is scored. All strategies add the same leaf values in the same order, so that a plan
//! changes the time and no bit.
//!
//! What a strategy costs is counted in nodes. A tree's nodes are visited once for a slab of up to 512 rows,
//! whatever the answers are; a row that walks alone visits a node a level, and waits for each of them. Rows
//! of one problem share most answers: a node that sends all rows the same way (`shared`) costs nothing once
//! the tree is pruned, and pruning visits each node that is left once more.

use std::ops::Range;

use super::alike::{self, Alike};
use super::compile::{Compiled, TreeParts};
use super::slab::{self, Slab};
use super::{KeptAlike, RowScratch, alike_of};
use crate::isa::Avx2;
use crate::scoring::compile::lanes::LANES;
use crate::scoring::compile::stair::Stair;
use crate::scoring::narrow::NarrowEvaluator;
use crate::scoring::scratch::{Positions, Scratch, Step, grow};
use crate::scoring::single::{self, Walks};

/// Most rows that small trees are sieved for: slabs of more rows are faster.
const SIEVED: usize = 96;

/// One way to score some rows, with what of the forest it reads.
enum Strategy<'a> {
    /// Small trees, for as many rows as a narrow pool has lanes at a time.
    Sieve(&'a NarrowEvaluator),
    /// Each row down its trees by itself: few rows that differ.
    Walk(&'a Walks),
    /// Up to [`alike::MOST`] rows that mostly go the same way.
    Alike(&'a Alike),
    /// Slabs of rows through trees without the nodes that send all rows the same way.
    Pruned,
    /// Slabs of rows through whole trees.
    Whole,
}

impl<'a> Strategy<'a> {
    /// The cheapest strategy for so many rows, of whose nodes `shared` gives those that send all rows the
    /// same way.
    #[inline(always)]
    fn plan(
        (compiled, kept): (&'a Compiled, &'a KeptAlike),
        (trees, rows): (usize, usize),
        shared: impl FnOnce() -> usize,
    ) -> Strategy<'a> {
        let has_all_trees = trees + 1 == compiled.starts.len();
        if let (Some(small), true) = (&compiled.small, has_all_trees && rows <= SIEVED) {
            return Strategy::Sieve(small);
        }
        let (nodes, shared) = (compiled.parts.nodes.len(), shared());
        let alone = rows * (nodes / 32 + 4 * trees);
        if let (Some(walks), true) = (&compiled.walks, alone < nodes && 2 * shared < nodes) {
            return Strategy::Walk(walks);
        }
        if 4 * shared <= nodes {
            return Strategy::Whole;
        }
        let is_short = has_all_trees && rows <= alike::MOST;
        let alike = if is_short { alike_of(compiled, kept) } else { None };
        alike.map_or(Strategy::Pruned, Strategy::Alike)
    }
}

/// Adds some trees to the sums of a block of rows, whose values `column` writes.
#[inline(always)]
pub(super) fn score(
    both: (&Compiled, &KeptAlike),
    trees: Range<usize>,
    mut column: impl FnMut(usize, &mut [f64]),
    scratch: &mut RowScratch,
    sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    let compiled = both.0;
    single::fit(compiled.questions, &mut scratch.answers);
    if let ([sum], Some(walks)) = (&mut *sums, &compiled.walks) {
        *sum = one_row((compiled, walks), trees, column, scratch);
        return;
    }
    scratch.positions.find(&compiled.stairs, sums.len(), &mut column);
    let shared = || compiled.shared_nodes(&scratch.positions.ranges);
    match Strategy::plan(both, (trees.len(), sums.len()), shared) {
        Strategy::Sieve(small) => sieve(compiled, small, scratch, sums),
        Strategy::Walk(walks) => walk(compiled, (walks, trees), scratch, sums),
        Strategy::Alike(alike) => {
            let RowScratch { positions, codes, steps, slab, queue, .. } = scratch;
            let answers = ask(compiled, sums.len(), (positions, codes, steps, slab), avx2);
            alike.sum_all(answers, queue, sums, avx2);
        }
        Strategy::Pruned => pruned(compiled, trees, scratch, sums, avx2),
        Strategy::Whole => whole(compiled, trees, scratch, sums, avx2),
    }
}

/// The sum of one row, which may share columns with the rows that this thread scored before.
#[inline(always)]
fn one_row(
    (compiled, walks): (&Compiled, &Walks),
    trees: Range<usize>,
    mut column: impl FnMut(usize, &mut [f64]),
    RowScratch { answers, lanes, run, .. }: &mut RowScratch,
) -> f64 {
    let value = |stair: &Stair| {
        let mut value = [0.0];
        column(stair.column, &mut value);
        value[0]
    };
    if trees.len() == walks.tops.len() {
        return run.sum(compiled, walks, value, &mut lanes.ends);
    }
    single::answer(&compiled.stairs, value, answers);
    walks.sum(&walks.tops[trees], answers, &mut lanes.ends)
}

/// Small trees, a narrow pool's number of rows at a time.
#[inline(always)]
fn sieve(
    compiled: &Compiled,
    small: &NarrowEvaluator,
    RowScratch { positions, lanes, .. }: &mut RowScratch,
    sums: &mut [f64],
) {
    small.fit(compiled.questions, lanes);
    for (first, sums) in (0..).step_by(LANES).zip(sums.chunks_mut(LANES)) {
        positions.lanes(&compiled.stairs, first, sums.len(), &mut lanes.answers);
        small.sum(sums.len(), lanes);
        sums.copy_from_slice(&lanes.sums[..sums.len()]);
    }
}

/// One row after the other.
#[inline(always)]
fn walk(
    compiled: &Compiled,
    (walks, trees): (&Walks, Range<usize>),
    RowScratch { positions, answers, lanes: Scratch { ends, .. }, .. }: &mut RowScratch,
    sums: &mut [f64],
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        positions.answers(&compiled.stairs, row, answers);
        *sum = walks.sum(&walks.tops[trees.clone()], answers, ends);
    }
}

/// Slabs through trees that are pruned for this block.
#[inline(always)]
fn pruned(
    compiled: &Compiled,
    trees: Range<usize>,
    RowScratch { positions, codes, steps, pruned, tasks, slab, .. }: &mut RowScratch,
    sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    grow(codes, compiled.questions);
    positions.codes(&compiled.stairs, sums.len(), codes, steps);
    pruned.clear();
    for part in compiled.parts_of(trees) {
        pruned.add_pruned(compiled.parts.get(part), codes, tasks);
    }
    slabs((pruned, 0..pruned.len()), (positions, steps), slab, sums, avx2);
}

/// Slabs through trees as they were compiled: all questions of all stairs are evaluated.
#[inline(always)]
fn whole(
    compiled: &Compiled,
    trees: Range<usize>,
    RowScratch { positions, steps, slab, .. }: &mut RowScratch,
    sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    steps.clear();
    for (number, stair) in compiled.stairs.iter().enumerate() {
        steps.extend((0..stair.questions.len()).map(|step| (number as u32, step as u8)));
    }
    slabs((&compiled.parts, compiled.parts_of(trees)), (positions, steps), slab, sums, avx2);
}

/// Sets the sums of those of a few rows that `pick` wants.
#[inline(always)]
pub(super) fn score_picked(
    (compiled, alike): (&Compiled, &Alike),
    column: impl FnMut(usize, &mut [f64]),
    pick: impl FnOnce(&[f64], f64) -> u64,
    scratch: &mut RowScratch,
    sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    let RowScratch { positions, codes, steps, slab, queue, .. } = scratch;
    positions.find(&compiled.stairs, sums.len(), column);
    let answers = ask(compiled, sums.len(), (positions, codes, steps, slab), avx2);
    alike.sum(answers, pick, queue, sums, avx2);
}

/// The codes of all questions about up to [`alike::MOST`] rows, and the masks by code.
#[inline(always)]
fn ask<'s>(
    compiled: &Compiled,
    rows: usize,
    (positions, codes, steps, slab): (&Positions, &'s mut Vec<u16>, &mut Vec<Step>, &'s mut Slab),
    avx2: Option<Avx2>,
) -> (&'s [u16], &'s [u64]) {
    grow(codes, compiled.questions);
    positions.codes(&compiled.stairs, rows, codes, steps);
    grow(&mut slab.masks, 2 + steps.len());
    // By codes: nobody, everybody, and those of the steps.
    slab.masks[..2].copy_from_slice(&[0, u64::MAX]);
    positions.masks(steps, 0, 1, &mut slab.masks[2..], avx2);
    (codes, &slab.masks)
}

/// Adds the trees of some parts to the sums, as many rows at a time as their rest needs words.
#[inline(always)]
fn slabs(
    (trees, parts): (&TreeParts, Range<usize>),
    (positions, steps): (&Positions, &[Step]),
    slab: &mut Slab,
    mut sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    let mut first = 0;
    while !sums.is_empty() {
        let words = [slab::WORDS, 4, 2, 1].into_iter().find(|words| sums.len() > words * 48).unwrap_or(1);
        let (now, rest) = sums.split_at_mut(sums.len().min(words * 64));
        let rows = (positions, steps, first);
        match words {
            1 => add_slab::<1>((trees, parts.clone()), rows, slab, now, avx2),
            2 => add_slab::<2>((trees, parts.clone()), rows, slab, now, avx2),
            4 => add_slab::<4>((trees, parts.clone()), rows, slab, now, avx2),
            _ => add_slab::<{ slab::WORDS }>((trees, parts.clone()), rows, slab, now, avx2),
        }
        first += now.len();
        sums = rest;
    }
}

#[inline(always)]
fn add_slab<const W: usize>(
    (trees, parts): (&TreeParts, Range<usize>),
    (positions, steps, first): (&Positions, &[Step], usize),
    slab: &mut Slab,
    sums: &mut [f64],
    avx2: Option<Avx2>,
) {
    grow(&mut slab.masks, steps.len() * W);
    positions.masks(steps, first, W, &mut slab.masks, avx2);
    slab.sum::<W>(trees, parts, sums, avx2);
}
