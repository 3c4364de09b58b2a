//! The rows of a ranking, by a model or by the estimate as a model.

use ck_select::hardware::Hardware;
use ck_select::problem::Problem;
use ck_select::ranking::{RankError, RankScratch, Ranked, Ranker, Ranking, TargetScorer};
use ck_select::vocab::Arch;

use super::super::gpu::{check_arch, reason};
use super::columns::{Column, Columns, Line};
use super::notes::say_misfits;
use super::{LabelledProblem, Query, TableRows, is_about_the_problem};
use crate::error::CliError;
use crate::table::Cell;

/// The constants of the GPU that a model ranks for.
pub(super) fn hardware(ranker: &Ranker) -> Hardware {
    let model = ranker.model();
    model.device().map_or(model.extractor().hardware, |(device, _)| device.hardware)
}

/// A ranker with the columns of its rows.
pub(super) struct Rows<'a> {
    pub(super) ranker: &'a Ranker,
    pub(super) query: &'a Query<'a>,
    pub(super) columns: Columns,
    /// The targets that do not rank and have a column.
    pub(super) others: Vec<TargetScorer>,
    /// The architecture of the estimate, if that ranks.
    pub(super) estimate: Option<Arch>,
}

/// Buffers that a thread reuses for each problem.
#[derive(Default)]
pub(super) struct Memory {
    scratch: RankScratch,
    /// Predictions of one of the other targets.
    predictions: Vec<f64>,
    /// The pairs of problem and kernel to predict by rows.
    pairs: Vec<(Problem, usize)>,
}

impl Rows<'_> {
    /// Prints what the rows of the only problem do not say: who answers and how sure, and what is not ranked.
    pub(super) fn say_of(&self, problem: &Problem) -> Result<(), CliError> {
        let problem = self.placed(problem).map_err(CliError::Failed)?;
        let ranker = self.ranker;
        super::super::say_out_of_range(ranker, &problem)?;
        let mut scratch = RankScratch::default();
        let ranking = self.ranking(&problem, usize::MAX, &mut scratch)?;
        let left_out = ranker.left_out().iter().map(|one| one.index);
        let given = ranker.model().device().and_then(|(_, arch)| arch);
        let ranked = ranking.places().iter().map(|one| one.index);
        say_misfits(ranker.pool(), &problem.on(problem.arch().or(given)), ranked.chain(left_out));
        if let Some(outlook) = ranking.outlook() {
            say!("ckselect: {}", ranking.heading(&outlook));
        }
        Ok(())
    }

    /// All rows of some problems. Problems with a label may be skipped.
    pub(super) fn rows(
        &self,
        problems: &[LabelledProblem],
        memory: &mut Memory,
    ) -> Result<TableRows, CliError> {
        let mut rows = Vec::new();
        memory.pairs.clear();
        for (label, problem) in problems {
            rows.extend(self.rank(label.as_deref(), problem, memory)?);
        }
        let Memory { predictions, pairs, .. } = memory;
        for scorer in &self.others {
            let is_its = |column: &Column| *column == Column::Other(scorer.target());
            let Some(column) = self.columns.columns.iter().position(is_its) else { continue };
            self.ranker.predict_rows(scorer, pairs, predictions)?;
            for (row, &value) in rows.iter_mut().zip(&*predictions) {
                row[column] = value.into();
            }
        }
        Ok(rows)
    }

    /// The problem on the architecture of the estimate, if that ranks.
    fn placed(&self, problem: &Problem) -> Result<Problem, String> {
        let Some(arch) = self.estimate else { return Ok(*problem) };
        check_arch(arch, problem)?;
        Ok(problem.on(Some(arch)))
    }

    fn ranking<'r, 'w>(
        &'r self,
        problem: &'r Problem,
        count: usize,
        scratch: &'w mut RankScratch,
    ) -> Result<Ranking<'r, 'w>, RankError> {
        self.ranker.ranking(self.query.checked(problem)?, None, count, scratch)
    }

    /// The rows of a problem without the other targets, and what to predict of them.
    fn rank(
        &self,
        label: Option<&str>,
        problem: &Problem,
        memory: &mut Memory,
    ) -> Result<TableRows, CliError> {
        let (Self { ranker, query, .. }, Memory { scratch, pairs, .. }) = (self, memory);
        let problem = match self.placed(problem) {
            Err(reason) => return query.notes.skip(label, reason),
            Ok(placed) => placed,
        };
        // One more than is shown, since the last one may tie with the next.
        let count = query.top.saturating_add(1).max(Ranker::LOOKED_AT);
        let mut ranking = match self.ranking(&problem, count, scratch) {
            Err(error) if is_about_the_problem(&error) => return query.notes.skip(label, reason(&error)),
            ranked => ranked?,
        };
        let out_of_range = query.notes.count(ranking.outside());
        let Some(outlook) = ranking.outlook() else { return Ok(Vec::new()) };
        query.notes.expect(&outlook);
        let lines = self.lines(&mut ranking)?;
        let has_terms = self.columns.any(|column| matches!(column, Column::Term(..)));
        let row = |&(rank, ranked, equal, is_tied): &Grouped| {
            pairs.push((problem.with_split(ranked.split_k), ranked.index));
            let terms = if has_terms {
                ranker.terms(&problem.with_split(ranked.split_k), ranked.index)
            } else {
                None
            };
            let line = Line {
                label,
                rank,
                ranked,
                equal,
                kernel: ranker.name(ranked.index),
                unmeasured: ranker.unmeasured(ranked.index),
                is_tied,
                out_of_range: &out_of_range,
                outlook: &outlook,
                estimated_us: self.estimate.and_then(|_| ranking.estimated_us(&ranked)),
                terms: terms.as_ref().map_or(&[], |terms| &terms.named),
            };
            let cell = |&column: &Column| line.cell(column, self.columns.is_for_people);
            self.columns.columns.iter().map(cell).collect::<Vec<Cell>>()
        };
        Ok(lines.iter().map(row).collect())
    }

    /// The shown places, each with the number of equal ones that follow in its line, and whether one beside it has
    /// its score, so that the order of both says nothing.
    fn lines(&self, ranking: &mut Ranking<'_, '_>) -> Result<Vec<Grouped>, RankError> {
        let mut lines: Vec<Grouped> = Vec::new();
        for (index, ranked) in ranking.enumerate() {
            let ranked = ranked?;
            let last = lines.last_mut().filter(|(_, before, ..)| before.score == ranked.score);
            let is_tied = last.is_some();
            if let Some((_, _, equal, tied)) = last {
                *tied = true;
                if self.columns.is_for_people {
                    *equal += 1;
                    continue;
                }
            }
            if lines.len() == self.query.top {
                break;
            }
            lines.push((index, ranked, 0, is_tied));
        }
        Ok(lines)
    }
}

/// A place with its kernel, the number of equal ones after it, and whether it is tied.
type Grouped = (usize, Ranked, usize, bool);
