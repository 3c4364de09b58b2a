//! Rows that need not have anything in common: a forest compiled for itself, with the bits of
//! [`Forest::raw_score`].
//!
//! ```text
//! for each stair: position[row] = thresholds below the row's value                one byte
//! for each question: mask[question] = the rows that answer yes                     one bit
//! for each tree:
//!     set[root] = all rows
//!     for each node: set[yes] = set[node] & mask, set[no] = set[node] & !mask      512 rows in a few vectors
//!     leaf[row] = the bits of its number, ORed from the sets of leaves
//! for each row: sum += value[tree][leaf[row]], in the order of the trees
//! ```
//!
//! Nothing of it branches on a value. Where rows share columns, most questions have the same answer for all
//! of them: such nodes are taken out of the trees first, once a call. One row alone walks down several trees
//! at a time.

// `strategy` decides how a block of rows is scored. `compile` lays out the trees and prunes them, `bins` finds
// positions and makes masks of them, `slab` evaluates the trees for rows, `alike` for a few rows of which not
// all need exact sums, and `super::single` for one row; `run` knows what that row shares with those of the
// calls before.

// Iterators over arrays are functions, which are not always inlined where the CPU's features differ.
#![allow(clippy::needless_range_loop)]

mod alike;
mod bins;
mod compile;
mod run;
mod slab;
mod strategy;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ck_select_types::thread_scratch::ThreadScratch;

use super::scratch::{Answer, Positions, Scratch, Step};
use crate::forest::Forest;
#[cfg(target_arch = "x86_64")]
use crate::isa::Avx2;
use crate::isa::Isa;
use alike::Alike;
use compile::{Compiled, TreeParts};
#[cfg(target_arch = "x86_64")]
pub(super) use compile::{EVERYBODY, NOBODY, SOME};
use run::Run;
use slab::Slab;

/// Rows whose positions are in memory at once.
const BLOCK: usize = 1 << 13;

/// Rows in the caller's memory.
pub trait Rows {
    /// How many there are.
    fn len(&self) -> usize;

    /// Writes the values of a feature, for as many rows as there is room for, from `first` on.
    fn column(&self, feature: usize, first: usize, values: &mut [f64]);

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Rows one after the other.
#[derive(Debug, Clone, Copy)]
pub struct RowMajor<'a> {
    /// The values of the first row, of the second, and so on.
    pub values: &'a [f64],
    /// How many a row has; not 0.
    pub width: usize,
}

impl Rows for RowMajor<'_> {
    fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        let rows = self.values.chunks_exact(self.width).skip(first);
        values.iter_mut().zip(rows).for_each(|(to, row)| *to = row[feature]);
    }
}

/// A forest that scores rows. It is compiled by the second call, or the first with more than a few rows.
#[derive(Debug)]
pub struct RowScorer {
    forest: Arc<Forest>,
    isa: Isa,
    /// `None` if its trees or questions are too many.
    compiled: OnceLock<Option<Compiled>>,
    alike: KeptAlike,
    calls: AtomicU32,
}

/// Working memory for one call at a time. It grows and is not freed in between.
#[derive(Debug, Default)]
struct RowScratch {
    positions: Positions,
    codes: Vec<u16>,
    steps: Vec<Step>,
    pruned: TreeParts,
    tasks: Vec<(u16, u32, usize)>,
    slab: Slab,
    run: Run,
    queue: alike::Queue,
    answers: Vec<Answer>,
    lanes: Scratch,
    row: Vec<f64>,
}

thread_local! {
    /// The working memory of scores.
    static KEPT: ThreadScratch<RowScratch> = const { ThreadScratch::new() };
}

/// First calls of more rows than this compile.
const FEW: usize = 8;

impl RowScorer {
    /// A scorer.
    pub fn new(forest: Arc<Forest>) -> RowScorer {
        RowScorer::with(forest, Isa::best())
    }

    pub(super) fn with(forest: Arc<Forest>, isa: Isa) -> RowScorer {
        RowScorer { forest, isa, compiled: OnceLock::new(), alike: OnceLock::new(), calls: AtomicU32::new(0) }
    }

    /// The forest.
    pub fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }

    /// The sum of the leaf values of some trees, for each row: [`raw_score`](Forest::raw_score) for all
    /// trees. Trees that the forest does not have add nothing.
    pub fn score(&self, rows: &impl Rows, trees: Range<usize>, sums: &mut [f64]) {
        let trees = trees.start.min(self.forest.trees().len())..trees.end.min(self.forest.trees().len());
        let count = rows.len().min(sums.len());
        sums.fill(0.0);
        if trees.is_empty() || count == 0 {
            return;
        }
        ThreadScratch::with(&KEPT, |scratch| match self.compiled(count) {
            Some(compiled) => self.score_compiled(compiled, rows, trees, scratch, &mut sums[..count]),
            None => self.score_uncompiled(rows, trees, scratch, &mut sums[..count]),
        });
    }

    /// The sums of all trees for those of up to 64 rows that `pick` wants, a bit each; those of others are
    /// NaN. `pick` gets approximate sums of all rows, and how far the exact ones can be from them. Where
    /// that is no cheaper, it is not called and all rows are scored.
    pub fn score_some(&self, rows: &impl Rows, pick: impl FnOnce(&[f64], f64) -> u64, sums: &mut [f64]) {
        let count = rows.len().min(sums.len());
        let is_worth_it =
            (1..=alike::MOST).contains(&count) && (count > FEW || self.compiled.get().is_some());
        let compiled = if is_worth_it { self.compiled(count) } else { None };
        let alike = compiled.and_then(|compiled| Some((compiled, alike_of(compiled, &self.alike)?)));
        let Some((compiled, alike)) = alike else {
            return self.score(rows, 0..usize::MAX, sums);
        };
        let column = |feature: usize, values: &mut [f64]| rows.column(feature, 0, values);
        let (both, sums) = ((compiled, alike), &mut sums[..count]);
        ThreadScratch::with(&KEPT, |scratch| match self.isa.avx2() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the token proves that the CPU has the features.
            Some(avx2) => unsafe { score_picked_avx2(both, column, pick, scratch, sums, avx2) },
            _ => strategy::score_picked(both, column, pick, scratch, sums, None),
        });
    }

    fn score_compiled(
        &self,
        compiled: &Compiled,
        rows: &impl Rows,
        trees: Range<usize>,
        scratch: &mut RowScratch,
        sums: &mut [f64],
    ) {
        let both = (compiled, &self.alike);
        for (first, sums) in (0..).step_by(BLOCK).zip(sums.chunks_mut(BLOCK)) {
            let column = |feature: usize, values: &mut [f64]| rows.column(feature, first, values);
            match self.isa.avx2() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the token proves that the CPU has the features. Wider vectors are hardly faster.
                Some(avx2) => unsafe { score_avx2(both, trees.clone(), column, scratch, sums, avx2) },
                _ => strategy::score(both, trees.clone(), column, scratch, sums, None),
            }
        }
    }

    fn compiled(&self, rows: usize) -> Option<&Compiled> {
        let is_first = self.compiled.get().is_none() && self.calls.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first && rows <= FEW {
            return None;
        }
        self.compiled.get_or_init(|| Compiled::new(&self.forest, self.isa)).as_ref()
    }

    fn score_uncompiled(
        &self,
        rows: &impl Rows,
        trees: Range<usize>,
        scratch: &mut RowScratch,
        sums: &mut [f64],
    ) {
        scratch.row.resize(self.forest.num_features(), 0.0);
        for (number, sum) in sums.iter_mut().enumerate() {
            for (feature, value) in scratch.row.iter_mut().enumerate() {
                rows.column(feature, number, std::slice::from_mut(value));
            }
            // The row has the forest's width.
            *sum = self.forest.row(&scratch.row).map_or(f64::NAN, |row| row.raw_score_of(trees.clone()));
        }
    }
}

/// Made by the first call that needs it; `None` if the trees are too large.
type KeptAlike = OnceLock<Option<Alike>>;

fn alike_of<'k>(compiled: &Compiled, kept: &'k KeptAlike) -> Option<&'k Alike> {
    kept.get_or_init(|| Alike::new(&compiled.parts, &compiled.starts)).as_ref()
}

/// [`strategy::score`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn score_avx2(
    both: (&Compiled, &KeptAlike),
    trees: Range<usize>,
    column: impl FnMut(usize, &mut [f64]),
    scratch: &mut RowScratch,
    sums: &mut [f64],
    avx2: Avx2,
) {
    strategy::score(both, trees, column, scratch, sums, Some(avx2));
}

/// [`strategy::score_picked`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn score_picked_avx2(
    both: (&Compiled, &Alike),
    column: impl FnMut(usize, &mut [f64]),
    pick: impl FnOnce(&[f64], f64) -> u64,
    scratch: &mut RowScratch,
    sums: &mut [f64],
    avx2: Avx2,
) {
    strategy::score_picked(both, column, pick, scratch, sums, Some(avx2));
}
