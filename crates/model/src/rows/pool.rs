//! A forest prepared for the kernels of a table.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use ck_select_types::each_operation;
use ck_select_types::operation::OperationValue;
use ck_select_types::thread_scratch::ThreadScratch;

use super::entrance::{Entrance, RowProblem, RowValues};
use super::model::in_threads;
use super::operation::{GivenProblem, OperationRows as _};
use super::{RowModel, RowsError, with_room};
use crate::cells::Fields;
use crate::directory::Model;
use crate::estimate::{EstimatedKernels, Load};
use crate::features::{KernelTerms, ProblemTerms};
use crate::kernel::KernelKind;
use crate::problem::{InvalidField, Problem};
use crate::ranking::Ranked;
use crate::ranking::gpu::PerGpu;
use crate::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch};
use crate::table::Table;
use crate::ties::Ties;
use crate::vocab::Op;

/// The kernels of a table, prepared for one forest: everything that depends on them alone is computed once.
/// A pool is immutable, so any number of threads may rank at once. No thread waits for a lock, so a process
/// that is forked while others rank may continue to rank.
#[derive(Debug)]
pub struct RowPool {
    model: Arc<RowModel>,
    kernels: usize,
    /// The problems that the kernel of each row can serve; empty if all kernels serve all, and where absent cells are
    /// not errors, because upstream's engines do not look at that.
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
    Apart { kernels: Vec<(KernelTerms, RowProblem)> },
}

/// The problems that a row's kernel can serve.
#[derive(Debug)]
enum Serves {
    /// Any problem.
    Any,
    /// Problems of the kernel that the row names.
    Kernel(KernelKind),
    /// Problems that agree with the row in cells that problems have, too.
    Cells(Box<GivenProblem>),
}

fn served_by(op: Op) -> Option<&'static str> {
    each_operation!(op, Own => Own::SERVED_BY)
}

#[derive(Debug)]
struct Together {
    features: PoolFeatures,
    /// Compiled by the second call, because many pools are ranked once.
    scorer: OnceLock<PoolScorer>,
    calls: AtomicU32,
    /// The rows' own cells of the problem, which are the same for all rows.
    own: Option<RowProblem>,
}

impl RowPool {
    /// Prepares a forest for the kernels of a table. A row that names its kernel is described by the name,
    /// and its cells must agree; columns that describe neither a kernel nor a problem are ignored.
    pub fn new(model: Arc<RowModel>, table: &Table<'_>) -> Result<Self, RowsError> {
        let extractor = model.model().extractor();
        model.check_columns(table)?;
        let entrance = model.entrance().of_kernels(|name| table.has(name));
        let (count, share) = (table.len(), model.share(table.len()));
        let parts = in_threads((0..count).step_by(share), |first| {
            let mut part = RowKernels::with_room(share.min(count - first))?;
            for row in first..count.min(first + share) {
                let read = part.read(&entrance, model.model(), &table.row(row));
                read.map_err(|source| RowsError::Row { row, source })?;
            }
            Ok(part)
        })?;
        let RowKernels { terms, mut owns, mut serves, named: named_kernels, measured } =
            parts.into_iter().reduce(RowKernels::and).unwrap_or_default();
        let evaluator = if owns.windows(2).all(|pair| pair[0] == pair[1]) {
            let own = owns.pop();
            let features = PoolFeatures::new(extractor, &terms).map_err(|_| RowsError::Mixed)?;
            let (scorer, calls) = (OnceLock::new(), AtomicU32::new(0));
            PoolEvaluator::Together(Box::new(Together { features, scorer, calls, own }))
        } else {
            PoolEvaluator::Apart { kernels: terms.into_iter().zip(owns).collect() }
        };
        if serves.iter().all(|one| matches!(one, Serves::Any)) {
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
    pub fn rank(&self, problem: &dyn Fields, put: impl FnMut(Ranked)) -> Result<(), RowsError> {
        ThreadScratch::with(&KEPT, |scratch| {
            let done = self.rank_with(problem, scratch);
            scratch.ranking.iter().copied().for_each(put);
            done
        })
    }

    /// Kernels that cannot serve their problem, such as plain ones for a batch, or ones of another mask, have no
    /// score. There is one problem for all rows, or one for each.
    fn void_unfit(&self, asked: &GivenProblem, scratch: &mut RowScratch) -> Result<(), RowsError> {
        if self.serves.is_empty() {
            return Ok(());
        }
        let is_signed = each_operation!(asked, GivenProblem(given) as Own => Own::is_signed(given));
        let RowScratch { ranking, problems, .. } = scratch;
        for ranked in &mut *ranking {
            let problem = problems.get(ranked.index).or_else(|| problems.first());
            let (Some(problem), Some(serves)) = (problem, self.serves.get(ranked.index)) else { continue };
            let is_served = each_operation!(problem, Problem(problem) => match serves {
                Serves::Any => true,
                Serves::Kernel(kernel) => OperationValue::held_by(kernel)
                    .is_none_or(|kernel| problem.is_served_by(Ok(kernel), is_signed)),
                Serves::Cells(given) => OperationValue::held_by(given.as_ref())
                    .is_none_or(|given| problem.is_served_by(Err(given), is_signed)),
            });
            if !is_served {
                ranked.score = f64::NAN;
            }
        }
        if ranking.iter().any(|ranked| !ranked.score.is_nan()) {
            return Ok(());
        }
        let expected = served_by(self.model.model().extractor().schema.op()).unwrap_or_default();
        Err(RowsError::Problem(InvalidField::new("kernels", "none that can serve the problem", expected)))
    }

    /// The cells of a problem, which must not contradict the kernels' names.
    fn asked(&self, cells: &dyn Fields) -> Result<GivenProblem, InvalidField> {
        let entrance = self.model.entrance();
        let agree =
            |own: &RowProblem| entrance.agree(&own.by_name, cells, || "the kernels' names say".to_owned());
        match &self.evaluator {
            PoolEvaluator::Together(together) => together.own.iter().try_for_each(agree)?,
            PoolEvaluator::Apart { kernels } => kernels.iter().try_for_each(|(_, own)| agree(own))?,
        }
        entrance.refuse_hardware(cells)?;
        entrance.given(cells)
    }

    /// The problem for which a row is ranked, and what features know about it: upstream merges both, and the row
    /// takes precedence.
    fn problem(
        &self,
        own: &RowProblem,
        asked: &GivenProblem,
    ) -> Result<(Problem, ProblemTerms), InvalidField> {
        let entrance = self.model.entrance();
        let given = entrance.over(&entrance.over(&own.given, asked)?, &own.by_name)?;
        entrance.refuse_others(&given, &self.model.model().key())?;
        entrance.problem(&given)
    }

    /// The kernels on a problem's GPU, and the problem's side of their estimate; `None` if it has none.
    pub(super) fn estimated(&self, problem: Option<&Problem>) -> Option<(&EstimatedKernels, Load)> {
        let PoolEvaluator::Together(_) = &self.evaluator else { return None };
        let ((kernels, per_gpu), problem) = (self.estimated.as_ref()?, problem?);
        problem.validate().ok()?;
        let make = |device, _| EstimatedKernels::new(device, kernels.iter());
        let estimated = per_gpu.get(problem, None, make).ok()?;
        Some((estimated, estimated.estimator().load(problem)))
    }

    pub(super) fn rank_with(&self, problem: &dyn Fields, scratch: &mut RowScratch) -> Result<(), RowsError> {
        scratch.ranking.clear();
        if self.is_empty() {
            return Ok(());
        }
        let (model, target) = (self.model.model(), self.model.target());
        let asked = self.asked(problem).map_err(RowsError::Problem)?;
        let RowScratch { values, scratch: pool_scratch, scores, features: rows, problems, .. } = scratch;
        problems.clear();
        scores.resize(self.kernels, 0.0);
        match &self.evaluator {
            PoolEvaluator::Together(together) => {
                let Together { features, own, calls, .. } = together.as_ref();
                let Some(own) = own else { return Ok(()) };
                let (definite, terms) = self.problem(own, &asked).map_err(RowsError::Problem)?;
                problems.push(definite);
                if together.scorer.get().is_none() && calls.fetch_add(1, Relaxed) > 0 {
                    self.prepare()?;
                }
                features.fill(&terms, values);
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
                    let (definite, terms) = self.problem(own, &asked).map_err(RowsError::Problem)?;
                    problems.push(definite);
                    model.extractor().fill(&terms, kernel, row);
                    Ok(())
                })
            })?,
        }
        let ranked = |(index, &raw)| Ranked { index, split_k: 1, score: model.score(target, raw) };
        scratch.ranking.extend(scratch.scores.iter().enumerate().map(ranked));
        self.void_unfit(&asked, scratch)?;
        let RowScratch { ranking, times, problems, .. } = scratch;
        let estimated = OnceCell::new();
        self.ties.rank(ranking, usize::MAX, target.higher_is_better(), times, |tied, times| {
            let estimated = estimated.get_or_init(|| self.estimated(problems.first()));
            for &Ranked { index, .. } in tied {
                times[index] = estimated.as_ref().map_or(0.0, |(kernels, load)| kernels.time(load, index));
            }
        });
        Ok(())
    }
}

/// The contents of rows, one after the other.
#[derive(Default)]
struct RowKernels {
    terms: Vec<KernelTerms>,
    owns: Vec<RowProblem>,
    serves: Vec<Serves>,
    /// The kernels of rows that name one.
    named: Vec<KernelKind>,
    measured: Vec<bool>,
}

impl RowKernels {
    fn with_room(rows: usize) -> Result<Self, RowsError> {
        Ok(Self { terms: with_room(rows, 1)?, owns: with_room(rows, 1)?, ..Self::default() })
    }

    /// Adds a row.
    fn read(&mut self, entrance: &Entrance, model: &Model, cells: &dyn Fields) -> Result<(), InvalidField> {
        entrance.refuse_hardware(cells)?;
        let RowValues { problem, kernel } = entrance.row(cells)?;
        self.measured.push(is_measured(model, kernel.as_ref(), cells));
        if !entrance.is_lenient() && served_by(model.spec().op()).is_some() {
            self.serves.push(match &kernel {
                Some(kernel) => Serves::Kernel(kernel.clone()),
                None => {
                    entrance.signature(cells)?.map_or(Serves::Any, |given| Serves::Cells(Box::new(given)))
                }
            });
        }
        self.terms.push(entrance.kernel(kernel.as_ref(), cells)?);
        self.owns.push(problem);
        self.named.extend(kernel);
        Ok(())
    }

    /// The rows collected here, then those of another collector.
    fn and(mut self, mut others: Self) -> Self {
        self.terms.append(&mut others.terms);
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

/// Working memory for one call at a time.
#[derive(Debug, Default)]
pub(super) struct RowScratch {
    values: CallValues,
    scratch: Scratch,
    scores: Vec<f64>,
    features: Vec<f64>,
    /// Best first.
    pub(super) ranking: Vec<Ranked>,
    /// One for all rows, or one for each.
    pub(super) problems: Vec<Problem>,
    times: Vec<f64>,
}

thread_local! {
    /// The working memory of rankings.
    static KEPT: ThreadScratch<RowScratch> = const { ThreadScratch::new() };
}
