//! A forest prepared for the kernels of a table.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use ck_select_types::each_operation;
use ck_select_types::operation::VariantOf;
use ck_select_types::thread_scratch::ThreadScratch;

use super::model::{in_threads, problem_inputs, refuse_others};
use super::{Object, RowModel, RowsError, with_room};
use crate::cells::Fields;
use crate::directory::Model;
use crate::estimate::{EstimatedKernels, Load};
use crate::features::{
    FieldError, KernelTerms, Named, NamedProblem, OperationTerms as _, Overlay, ProblemTerms, Uncoded,
    asked_problem,
};
use crate::inputs;
use crate::kernel::KernelKind;
use crate::listing::StatedFields;
use crate::problem::{InvalidField, Problem};
use crate::ranking::Ranked;
use crate::ranking::gpu::PerGpu;
use crate::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch};
use crate::table::Table;
use crate::ties::Ties;
use crate::vocab::Op;

/// The kernels of a table, prepared for one forest: everything that depends on them alone is computed once.
/// It is immutable, so any number of threads may rank at once. No thread waits for a lock, so a process that
/// is forked while others rank may continue to rank.
#[derive(Debug)]
pub struct RowPool {
    model: Arc<RowModel>,
    kernels: usize,
    /// What says which problems a kernel can serve, by row; empty if all can, and where absent cells are not
    /// errors, because upstream's engines do not look at that.
    serves: Vec<Serves>,
    ties: Ties,
    /// The kernels on each GPU, if every row names its own.
    estimated: Option<(Vec<KernelKind>, PerGpu<EstimatedKernels>)>,
    evaluator: PoolEvaluator,
}

#[derive(Debug)]
enum PoolEvaluator {
    /// One problem per call for all kernels.
    Together(Box<Together>),
    /// Rows whose problem cells differ: each has a problem of its own.
    Apart { kernels: Vec<(KernelTerms, Own)> },
}

/// What a row says about the problems that its kernel can serve.
#[derive(Debug)]
struct Serves {
    /// By its name.
    kernel: Option<KernelKind>,
    /// By cells that problems have, too.
    cells: Object,
}

fn served_by(op: Op) -> Option<&'static str> {
    each_operation!(op, Own => Own::SERVED_BY)
}

/// What a row says about the problem.
#[derive(Debug, Clone, Default, PartialEq)]
struct Own {
    /// In cells.
    cells: Object,
    /// With its kernel's name.
    named: NamedProblem,
}

#[derive(Debug)]
struct Together {
    features: PoolFeatures,
    /// Compiled by the second call, because many pools are ranked once.
    scorer: OnceLock<PoolScorer>,
    calls: AtomicU32,
    /// What the rows say about the problem, which is the same for all.
    own: Own,
}

/// A row's own cells, then the problem's: upstream merges the two, and the row takes precedence.
const fn merged<'a>(own: &'a Object, problem: &'a dyn Fields) -> Overlay<'a> {
    Overlay { first: own, then: problem }
}

impl RowPool {
    /// Prepares a forest for the kernels of a table. A row that names its kernel is described by the name,
    /// and its cells must agree; columns that describe neither a kernel nor a problem are ignored.
    pub fn new(model: Arc<RowModel>, table: &Table<'_>) -> Result<Self, RowsError> {
        let extractor = model.model().extractor();
        let inputs = table.among(problem_inputs(extractor));
        model.check_columns(table)?;
        let shared = inputs::of_both(extractor.schema.op());
        let (count, share) = (table.len(), model.share(table.len()));
        let parts = in_threads((0..count).step_by(share), |first| {
            let mut part = RowKernels::with_room(share.min(count - first))?;
            for row in first..count.min(first + share) {
                let read = part.read(&model, &table.row(row), &inputs, &shared);
                read.map_err(|source| RowsError::Row { row, source })?;
            }
            Ok(part)
        })?;
        let RowKernels { sides, mut owns, mut serves, named: named_kernels, measured } =
            parts.into_iter().reduce(RowKernels::and).unwrap_or_default();
        let evaluator = if owns.windows(2).all(|pair| pair[0] == pair[1]) {
            let own = owns.pop().unwrap_or_default();
            let features = PoolFeatures::new(extractor, &sides).map_err(|_| RowsError::Mixed)?;
            let (scorer, calls) = (OnceLock::new(), AtomicU32::new(0));
            PoolEvaluator::Together(Box::new(Together { features, scorer, calls, own }))
        } else {
            PoolEvaluator::Apart { kernels: sides.into_iter().zip(owns).collect() }
        };
        if serves.iter().all(|one| one.kernel.is_none() && one.cells.is_empty()) {
            serves.clear();
        }
        let ties = Ties::new(0..count, |row| measured[row], |_| 0);
        let estimated = (named_kernels.len() == count).then(|| {
            let per_gpu = PerGpu::new(model.model(), None, named_kernels.iter().map(KernelKind::arch));
            (named_kernels, per_gpu)
        });
        Ok(Self { model, kernels: count, serves, ties, estimated, evaluator })
    }

    /// The model.
    pub fn model(&self) -> &RowModel {
        &self.model
    }

    /// How many kernels there are.
    pub const fn len(&self) -> usize {
        self.kernels
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.kernels == 0
    }

    /// Compiles the forest for the kernels, as the second ranking would. Does nothing where rows have
    /// problems of their own.
    pub fn prepare(&self) -> Result<(), RowsError> {
        if let PoolEvaluator::Together(together) = &self.evaluator
            && together.scorer.get().is_none()
        {
            let made = PoolScorer::compile(self.model.forest(), &together.features.table());
            // If two threads compile at once, the first one's result stays.
            let _ = together.scorer.set(made.map_err(|_| RowsError::Mixed)?);
        }
        Ok(())
    }

    /// Ranks all kernels for a problem, best first, and passes each place to `place`. Equal scores are in the
    /// order of [`Ties`]; NaN comes last.
    pub fn rank(&self, problem: &dyn Fields, place: impl FnMut(Ranked)) -> Result<(), RowsError> {
        ThreadScratch::with(&KEPT, |scratch| {
            let done = self.rank_with(problem, scratch);
            scratch.ranking.iter().copied().for_each(place);
            done
        })
    }

    /// Kernels that cannot serve the problem, such as plain ones for a batch, or ones of another mask,
    /// have no score.
    fn void_unfit(&self, problem: &dyn Fields, ranking: &mut [Ranked]) -> Result<(), RowsError> {
        if self.serves.is_empty() {
            return Ok(());
        }
        let signature = StatedFields::by(problem).signature;
        let extractor = self.model.model().extractor();
        let read = |own: &Own| self.problem(own, problem);
        let mut asked = None;
        for ranked in &mut *ranking {
            let Some(Serves { kernel, cells }) = self.serves.get(ranked.index) else { continue };
            let own = match &self.evaluator {
                PoolEvaluator::Together(together) => &together.own,
                PoolEvaluator::Apart { kernels } => match kernels.get(ranked.index) {
                    Some((_, own)) => own,
                    None => continue,
                },
            };
            let problem = match (asked, &self.evaluator) {
                (Some(problem), PoolEvaluator::Together(_)) => problem,
                _ => read(own)?,
            };
            asked = Some(problem);
            let fits = each_operation!(&problem, Problem(asked) => {
                asked.is_served_by(kernel.as_ref().and_then(VariantOf::of), cells, signature)
            });
            if !fits.map_err(RowsError::Problem)? {
                ranked.score = f64::NAN;
            }
        }
        if ranking.iter().any(|ranked| !ranked.score.is_nan()) {
            return Ok(());
        }
        let expected = served_by(extractor.schema.op()).unwrap_or_default();
        Err(RowsError::Problem(InvalidField::new("kernels", "none that can serve the problem", expected)))
    }

    /// A problem with what a row says about it.
    fn problem(&self, own: &Own, problem: &dyn Fields) -> Result<Problem, RowsError> {
        let extractor = self.model.model().extractor();
        own.named
            .over(&merged(&own.cells, problem), |all| asked_problem(extractor, all))
            .map_err(RowsError::Problem)
    }

    /// The kernels on a problem's GPU, and the problem's side of their estimate; `None` if it has none.
    fn estimated(&self, problem: &dyn Fields) -> Option<(&EstimatedKernels, Load)> {
        let PoolEvaluator::Together(together) = &self.evaluator else { return None };
        let (kernels, per_gpu) = self.estimated.as_ref()?;
        let problem = self.problem(&together.own, problem).ok()?;
        let make = |device, _| EstimatedKernels::new(device, kernels.iter());
        let estimated = per_gpu.get(&problem, None, make).ok()?;
        Some((estimated, estimated.estimator().load(&problem)))
    }

    fn rank_with(&self, problem: &dyn Fields, scratch: &mut RowScratch) -> Result<(), RowsError> {
        scratch.ranking.clear();
        if self.is_empty() {
            return Ok(());
        }
        let (model, target) = (self.model.model(), self.model.target());
        let RowScratch { values, scratch: pool_scratch, scores, features: rows, .. } = scratch;
        scores.resize(self.kernels, 0.0);
        match &self.evaluator {
            PoolEvaluator::Together(together) => {
                let Together { features, own, calls, .. } = together.as_ref();
                let side = problem_side(model, own, problem)?;
                if together.scorer.get().is_none() && calls.fetch_add(1, Relaxed) > 0 {
                    self.prepare()?;
                }
                features.fill(&side, values);
                if let Some(scorer) = together.scorer.get() {
                    scorer.score(&values.uniform, &values.pair, pool_scratch, scores)?;
                    for score in &mut *scores {
                        *score = self.model.forest().finish(*score);
                    }
                } else {
                    let (values, share) = (&*values, self.model.share(self.kernels));
                    in_threads((0..).step_by(share).zip(scores.chunks_mut(share)), |(first, scores)| {
                        self.model.score_rows(&features.filled(values, first..first + scores.len()), scores);
                        Ok(())
                    })?;
                }
            }
            PoolEvaluator::Apart { kernels } => self.model.score(scores, rows, |range, rows| {
                let width = model.extractor().schema.len().max(1);
                let kernels = kernels.get(range).unwrap_or_default();
                kernels.iter().zip(rows.chunks_exact_mut(width)).try_for_each(|((kernel, own), row)| {
                    model.extractor().fill(&problem_side(model, own, problem)?, kernel, row);
                    Ok(())
                })
            })?,
        }
        let ranked = |(index, &raw)| Ranked { index, split_k: 1, score: model.score(target, raw) };
        scratch.ranking.extend(scratch.scores.iter().enumerate().map(ranked));
        self.void_unfit(problem, &mut scratch.ranking)?;
        let RowScratch { ranking, times, .. } = scratch;
        let estimated = OnceCell::new();
        self.ties.rank(ranking, usize::MAX, target.higher_is_better(), times, |tied, times| {
            let estimated = estimated.get_or_init(|| self.estimated(problem));
            for &Ranked { index, .. } in tied {
                times[index] = estimated.as_ref().map_or(0.0, |(kernels, load)| kernels.time(load, index));
            }
        });
        Ok(())
    }
}

/// What rows say, one after the other.
#[derive(Default)]
struct RowKernels {
    sides: Vec<KernelTerms>,
    owns: Vec<Own>,
    serves: Vec<Serves>,
    /// Of the rows with a kernel's name.
    named: Vec<KernelKind>,
    measured: Vec<bool>,
}

impl RowKernels {
    fn with_room(rows: usize) -> Result<Self, RowsError> {
        Ok(Self { sides: with_room(rows, 1)?, owns: with_room(rows, 1)?, ..Self::default() })
    }

    /// Adds a row. `inputs` are the cells of problems, `shared` those that a problem must share.
    fn read(
        &mut self,
        model: &RowModel,
        row: &dyn Fields,
        inputs: &[&str],
        shared: &[&str],
    ) -> Result<(), FieldError> {
        let (model, extractor) = (model.model(), model.model().extractor());
        let named = Named::read(extractor, row)?;
        let kernel = named.as_ref().map(|named| named.kernel().clone());
        self.measured.push(is_measured(model, kernel.as_ref(), row));
        if extractor.rules.uncoded == Uncoded::Error && served_by(extractor.schema.op()).is_some() {
            let cells = if kernel.is_none() { Object::new(row, shared) } else { Object::default() };
            self.serves.push(Serves { kernel: kernel.clone(), cells });
        }
        self.sides.push(match &named {
            Some(named) => named.side(extractor)?,
            None => KernelTerms::read_cells(extractor, row)?,
        });
        let named = named.map(Named::into_problem).unwrap_or_default();
        self.owns.push(Own { cells: Object::new(row, inputs), named });
        self.named.extend(kernel);
        Ok(())
    }

    /// These rows, then others.
    fn and(mut self, mut others: Self) -> Self {
        self.sides.append(&mut others.sides);
        self.owns.append(&mut others.owns);
        self.serves.append(&mut others.serves);
        self.named.append(&mut others.named);
        self.measured.append(&mut others.measured);
        self
    }
}

/// Whether kernels like a row's were measured for the model, as far as its name or its pipeline tells.
fn is_measured(model: &Model, kernel: Option<&KernelKind>, row: &dyn Fields) -> bool {
    let Some(trained) = &model.spec().trained_on else { return true };
    match (kernel, row.get("pipeline")) {
        (Some(kernel), _) => trained.unmeasured(kernel).is_none(),
        (None, Some(pipeline)) => trained.pipelines.is_empty() || trained.pipelines.contains(pipeline),
        (None, None) => true,
    }
}

fn problem_side(model: &Model, own: &Own, problem: &dyn Fields) -> Result<ProblemTerms, RowsError> {
    let Own { cells, named } = own;
    let extractor = model.extractor();
    let read = |fields: &dyn Fields| {
        named.over(fields, |all| refuse_others(model, all))?;
        named.complete(extractor, fields)
    };
    let side = || {
        named.check(extractor, problem)?;
        if cells.is_empty() { read(problem) } else { read(&merged(cells, problem)) }
    };
    side().map_err(RowsError::Problem)
}

/// Working memory for one call at a time.
#[derive(Debug, Default)]
struct RowScratch {
    values: CallValues,
    scratch: Scratch,
    scores: Vec<f64>,
    features: Vec<f64>,
    ranking: Vec<Ranked>,
    times: Vec<f64>,
}

thread_local! {
    /// The working memory of rankings.
    static KEPT: ThreadScratch<RowScratch> = const { ThreadScratch::new() };
}
