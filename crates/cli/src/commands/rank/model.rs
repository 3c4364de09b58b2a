//! `ckselect rank` by a model: its scores, and what its other forests predict.

use ck_select::directory::{Model, Target};
use ck_select::hardware::Hardware;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::ranking::{RankError, RankScratch, Ranked, Ranker, TargetScorer};

use super::super::gpu::reason;
use super::notes::{say_misfits, tie};
use super::{Args, LabelledProblem, Query, Ranking, TableRows, is_about_the_problem};
use crate::error::CliError;

pub(super) fn run(args: &Args, model: Model, pool: Pool) -> Result<(), CliError> {
    let (ranker, defaults) = args.ranker.ranker(model, pool)?;
    let query = Query::new(args, ranker.pool(), defaults)?;
    let others = other_targets(&ranker);
    let mut header = query.columns();
    header.push("score");
    let before = header.len();
    header.extend(others.iter().map(|scorer| match scorer.target() {
        Target::Latency => "latency_ms",
        Target::Bandwidth => "bandwidth_gb_s",
        other => other.as_str(),
    }));
    header.extend(["tie", "unmeasured", "out_of_range"]);
    if query.problem.is_some() {
        args.ranker.arch.check_known(ranker.model(), query.problem.iter(), ranker.pool().iter())?;
    }
    let ranking = ModelRanking { ranker: &ranker, query: &query, others, before };
    query.write(&ranking, header, hardware(&ranker))
}

/// The constants of the GPU that a model ranks for.
pub(super) fn hardware(ranker: &Ranker) -> Hardware {
    let model = ranker.model();
    model.device().map_or(model.extractor().hardware, |(device, _)| device.hardware)
}

/// The targets that do not rank.
fn other_targets(ranker: &Ranker) -> Vec<TargetScorer> {
    let others = [Target::Tflops, Target::Latency, Target::Bandwidth].into_iter();
    others
        .filter(|&target| target != ranker.model().spec().rank_by)
        .filter_map(|target| ranker.target(target))
        .collect()
}

struct ModelRanking<'a> {
    ranker: &'a Ranker,
    query: &'a Query<'a>,
    /// The targets that do not rank, one column each.
    others: Vec<TargetScorer>,
    /// Number of columns before those of the other targets.
    before: usize,
}

/// Buffers that a thread reuses for each problem.
#[derive(Default)]
struct Memory {
    scratch: RankScratch,
    /// Predictions of one of the other targets.
    predictions: Vec<f64>,
    /// The pairs of problem and kernel to predict by rows.
    pairs: Vec<(Problem, usize)>,
}

impl Ranking for ModelRanking<'_> {
    type Memory = Memory;

    fn say_of(&self, problem: &Problem) -> Result<(), CliError> {
        super::super::say_out_of_range(self.ranker, problem)?;
        let ranked = self.ranker.rank(problem)?;
        let left_out = self.ranker.left_out().iter().map(|one| one.index);
        let given = self.ranker.model().device().and_then(|(_, arch)| arch);
        let placed = problem.on(problem.arch().or(given));
        say_misfits(self.ranker.pool(), &placed, ranked.iter().map(|one| one.index).chain(left_out));
        Ok(())
    }

    fn rows(&self, problems: &[LabelledProblem], memory: &mut Memory) -> Result<TableRows, CliError> {
        let mut rows = Vec::new();
        memory.pairs.clear();
        for (label, problem) in problems {
            rows.extend(self.rank(label.as_deref(), problem, memory)?);
        }
        let Memory { predictions, pairs, .. } = memory;
        for (column, scorer) in (self.before..).zip(&self.others) {
            self.ranker.predict_rows(scorer, pairs, predictions)?;
            for (row, &value) in rows.iter_mut().zip(&*predictions) {
                row.insert(column, value.into());
            }
        }
        Ok(rows)
    }
}

impl ModelRanking<'_> {
    /// The rows of a problem without the other targets, and what to predict of them.
    fn rank(
        &self,
        label: Option<&str>,
        problem: &Problem,
        memory: &mut Memory,
    ) -> Result<TableRows, CliError> {
        let (Self { ranker, query, .. }, Memory { scratch, pairs, .. }) = (self, memory);
        // One more than is shown, since the last one may tie with the next.
        let count = query.top.saturating_add(1);
        let ranked = query.checked(problem).map_err(RankError::from);
        let ranking = match ranked.and_then(|problem| ranker.ranking(problem, None, count, scratch)) {
            Err(error) if is_about_the_problem(&error) => return query.notes.skip(label, reason(&error)),
            ranked => ranked?,
        };
        let out_of_range = query.notes.count(ranking.outside());
        let ranking = ranking.places();
        let shown = ranking.iter().enumerate().take(query.top);
        pairs.extend(shown.clone().map(|(_, one)| (problem.with_split(one.split_k), one.index)));
        let row = |(place, one): (usize, &Ranked)| {
            let mut row = query.cells(label, place, ranker.name(one.index), one.split_k);
            let unmeasured = Some(ranker.unmeasured(one.index)).filter(|words| !words.is_empty());
            row.extend([one.score.into(), tie(ranking, place), unmeasured.into(), out_of_range.clone()]);
            row
        };
        Ok(shown.map(row).collect())
    }
}
