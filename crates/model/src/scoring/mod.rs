//! A forest compiled for a pool: scores all kernels of the pool at once, with the forest's own bits.
//!
//! [`PoolScorer::compile`] does once what depends on forest and pool alone; [`PoolScorer::score`] then walks
//! every tree once for all kernels together. Each kernel's score is the sum of its leaf values in the order
//! of the trees, one `f64` addition each, and so equal to [`Forest::raw_score`] in every bit, on every CPU.
//!
//! A scorer is immutable: any number of threads may use one at the same time, each call with a [`Scratch`] of
//! its own.

// How the files divide the work. `compile` prepares a forest for a pool. `narrow` and `wide` walk the trees,
// for pools of up to 32 lanes and of more, each with a version for CPUs with AVX-512 (they share `vectors`).
// There, `narrow::rungs` answers the questions of narrow pools. `narrow::sieve` and `wide::sieve` evaluate
// small trees without a walk, with AVX-512 and with AVX2. `shortlist` finds only the best kernels of a wide
// pool. `single` walks for one kernel or row, `rows` scores rows of any problems. `crate::isa` says which
// loops this CPU can run.

// Loops are compiled once for each instruction set that calls them, so they must be inlined into the callers.
// Unpredictable branches are avoided by computing with booleans.
#![allow(clippy::inline_always, clippy::needless_bitwise_bool)]

mod bits;
mod compile;
mod error;
mod features;
mod narrow;
mod rows;
mod scratch;
mod shortlist;
mod single;
#[cfg(test)]
pub(crate) mod tests;
mod unchecked;
mod values;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod wide;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

pub use compile::lanes::{Column, PoolTable};
pub use error::{PoolError, SizeError};
pub use features::{CallValues, MixedPool, PoolFeatures, PoolRows};
pub use rows::{RowMajor, RowScorer, Rows};
pub use scratch::{Listed, Scratch};
pub use shortlist::BestKernels;

use crate::forest::{Forest, TOGETHER};
use crate::isa::Isa;
use compile::answers::KernelAnswers;
use compile::cells::Cells;
use compile::ladder::Ladders;
use compile::lanes::{LANES, Lanes};
use narrow::Narrow;
use scratch::grow;
use single::Single;
use values::Values;
use wide::Wide;

/// A forest compiled for a pool. See the [module](self).
#[derive(Debug)]
pub struct PoolScorer {
    columns: Vec<Column>,
    uniform_width: usize,
    pair_width: usize,
    classes: usize,
    lanes: Lanes,
    forest: Arc<Forest>,
    isa: Isa,
    /// Unset until a deferred scorer is compiled.
    evaluator: OnceLock<Evaluator>,
    /// Number of calls before that.
    calls: AtomicU32,
}

/// The code that computes the scores, by the size of the pool.
#[derive(Debug)]
enum Evaluator {
    /// One kernel.
    Single(Box<Single>),
    /// Up to 32 lanes.
    Narrow(Box<Narrow>),
    Wide(Wide),
    /// The forest as it was read, if cells cannot hold it.
    Uncompiled,
}

impl PoolScorer {
    /// Prepares everything that depends on forest and pool alone.
    pub fn compile(forest: &Arc<Forest>, pool: &PoolTable<'_>) -> Result<PoolScorer, PoolError> {
        PoolScorer::compile_for(forest, pool, Isa::best())
    }

    /// A scorer that compiles the forest for a pool of up to 32 lanes in the second call: the first one walks
    /// it as it was read, which is faster than compiling. Many processes only make one call.
    pub fn deferred(forest: &Arc<Forest>, pool: &PoolTable<'_>) -> Result<PoolScorer, PoolError> {
        let scorer = PoolScorer::uncompiled(forest, pool, Isa::best())?;
        if scorer.lanes.len() > LANES {
            scorer.prepare();
        }
        Ok(scorer)
    }

    /// A scorer that never compiles the forest: for few kernels beside many, which take longer anyway.
    pub fn as_read(forest: &Arc<Forest>, pool: &PoolTable<'_>) -> Result<PoolScorer, PoolError> {
        let scorer = PoolScorer::uncompiled(forest, pool, Isa::best())?;
        scorer.evaluator.get_or_init(|| Evaluator::Uncompiled);
        Ok(scorer)
    }

    /// One scorer for each instruction set of this CPU, for comparison.
    #[cfg(fuzzing)]
    pub fn compile_for_all(forest: &Arc<Forest>, pool: &PoolTable<'_>) -> Result<Vec<PoolScorer>, PoolError> {
        Isa::available().into_iter().map(|isa| PoolScorer::compile_for(forest, pool, isa)).collect()
    }

    fn compile_for(forest: &Arc<Forest>, pool: &PoolTable<'_>, isa: Isa) -> Result<PoolScorer, PoolError> {
        let scorer = PoolScorer::uncompiled(forest, pool, isa)?;
        scorer.prepare();
        Ok(scorer)
    }

    fn uncompiled(forest: &Arc<Forest>, pool: &PoolTable<'_>, isa: Isa) -> Result<PoolScorer, PoolError> {
        pool.validate(forest)?;
        Ok(PoolScorer {
            columns: pool.columns.to_vec(),
            uniform_width: pool.width(Column::Uniform),
            pair_width: pool.width(Column::Pair),
            classes: pool.classes.iter().max().map_or(0, |&last| last as usize + 1),
            lanes: Lanes::new(pool, forest),
            forest: Arc::clone(forest),
            isa,
            evaluator: OnceLock::new(),
            calls: AtomicU32::new(0),
        })
    }

    /// Compiles what was deferred.
    pub fn prepare(&self) {
        self.evaluator.get_or_init(|| Evaluator::new(self).unwrap_or(Evaluator::Uncompiled));
    }

    /// How this call finds its scores. The second call of a deferred scorer compiles; concurrent calls do not
    /// wait for it.
    fn evaluator(&self) -> &Evaluator {
        if self.evaluator.get().is_none() && self.calls.fetch_add(1, Ordering::Relaxed) == 1 {
            self.prepare();
        }
        self.evaluator.get().unwrap_or(&Evaluator::Uncompiled)
    }

    /// How many kernels the pool has.
    pub fn kernels(&self) -> usize {
        self.lanes.lane_of.len()
    }

    /// How many of them the forest can distinguish.
    pub fn distinct_kernels(&self) -> usize {
        self.lanes.len()
    }

    /// How many classes the pool has; a call needs pair values for each.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How scores are computed: the walk and its instructions, for logs.
    pub fn describe(&self) -> String {
        match self.evaluator.get() {
            Some(Evaluator::Single(_)) => "one kernel".to_owned(),
            Some(Evaluator::Narrow(narrow)) => narrow.describe(),
            Some(Evaluator::Wide(wide)) => wide.describe(),
            Some(Evaluator::Uncompiled) => "uncompiled".to_owned(),
            None => "to be compiled".to_owned(),
        }
    }

    /// The raw score of every kernel, in the pool's order.
    ///
    /// `uniform` has the [`Column::Uniform`] values; `pair` the [`Column::Pair`] values, column after column,
    /// with one value per class.
    pub fn score(
        &self,
        uniform: &[f64],
        pair: &[f64],
        scratch: &mut Scratch,
        scores: &mut [f64],
    ) -> Result<(), SizeError> {
        SizeError::check("scores", scores.len(), self.kernels())?;
        let values = self.values(uniform, pair)?;
        self.sum(&values, scratch);
        for (score, &lane) in scores.iter_mut().zip(&self.lanes.lane_of) {
            *score = scratch.sums[lane as usize];
        }
        Ok(())
    }

    /// Prefetches what a call reads first, while the problem's features are computed: after other work it is
    /// in main memory.
    pub(crate) fn fetch(&self) {
        if let Some(Evaluator::Narrow(narrow)) = self.evaluator.get() {
            narrow.fetch();
        }
    }

    fn values<'a>(&self, uniform: &'a [f64], pair: &'a [f64]) -> Result<Values<'a>, SizeError> {
        SizeError::check("uniform values", uniform.len(), self.uniform_width)?;
        SizeError::check("pair values", pair.len(), self.classes * self.pair_width)?;
        Ok(Values { uniform, pair, classes: self.classes })
    }

    /// The sum of each lane, into `scratch.sums`.
    fn sum(&self, values: &Values<'_>, scratch: &mut Scratch) {
        match self.evaluator() {
            Evaluator::Single(single) => single.score(values, scratch),
            Evaluator::Narrow(narrow) => narrow.score(values, scratch),
            Evaluator::Wide(wide) => wide.score(values, scratch),
            Evaluator::Uncompiled => self.sum_uncompiled(values, scratch),
        }
    }

    fn sum_uncompiled(&self, values: &Values<'_>, scratch: &mut Scratch) {
        let lanes = &self.lanes;
        grow(&mut scratch.sums, lanes.len());
        let Scratch { columns, waiting, sums, .. } = scratch;
        columns.resize(self.columns.len(), [0.0; TOGETHER]);
        for (first, sums) in (0..).step_by(TOGETHER).zip(sums[..lanes.len()].chunks_mut(TOGETHER)) {
            let mut uniform = values.uniform.iter();
            let (mut kernel, mut pair) = (0.., 0..);
            for (cells, column) in columns.iter_mut().zip(&self.columns) {
                let cells = &mut cells[..sums.len()];
                match column {
                    Column::Uniform => cells.fill(uniform.next().copied().unwrap_or(f64::NAN)),
                    Column::Kernel => {
                        let column = kernel.next().unwrap_or(0);
                        (first..).zip(cells).for_each(|(lane, cell)| *cell = lanes.value(lane, column));
                    }
                    Column::Pair => {
                        let pair = values.pair(pair.next().unwrap_or(0));
                        let classes = &lanes.classes[first..];
                        cells.iter_mut().zip(classes).for_each(|(cell, &class)| *cell = pair[class as usize]);
                    }
                }
            }
            let scores = self.forest.raw_scores(columns, sums.len(), waiting);
            sums.copy_from_slice(&scores[..sums.len()]);
        }
    }
}

impl Evaluator {
    fn new(scorer: &PoolScorer) -> Option<Evaluator> {
        let PoolScorer { forest, lanes, classes, isa, .. } = scorer;
        let (classes, isa) = (*classes, *isa);
        let (ladders, numbers) = Ladders::new(forest, &scorer.columns)?;
        if lanes.len() == 1 {
            return Single::new(forest, ladders, &numbers, lanes).map(Box::new).map(Evaluator::Single);
        }
        let answers = KernelAnswers::new(&ladders, lanes);
        if lanes.len() <= LANES {
            let cells = Cells::new(forest, &numbers, lanes, &answers, narrow::BATCH)?;
            let narrow = Narrow::new(lanes, ladders, &answers, cells, classes, isa);
            return Some(Evaluator::Narrow(Box::new(narrow)));
        }
        let cells = Cells::new(forest, &numbers, lanes, &answers, wide::BATCH)?;
        Some(Evaluator::Wide(Wide::new(forest, cells, lanes, ladders, &answers, isa)))
    }
}
