//! The estimate's ranking as a table, without a model: `ck_estimate_table`.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::estimate::{EstimateError, EstimateScratch, PoolEstimate};
use crate::problem::{InvalidField, Problem};
use crate::sureness::{Sure, judge_estimated};
use crate::ties::Ranked;

/// A problem's kernels by the estimate.
#[derive(Debug, Serialize)]
pub struct EstimateTable {
    /// A row a kernel, fastest first.
    pub rows: Vec<Map<String, Value>>,
    /// The number of kernels without a row, by reason.
    pub left_out: BTreeMap<String, usize>,
}

/// Why there is no [`EstimateTable`].
#[derive(Debug, thiserror::Error)]
pub enum EstimateTableError {
    /// The problem is invalid.
    #[error("problem: {0}")]
    Problem(#[from] InvalidField),
    /// No kernel has a time.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
}

impl PoolEstimate {
    /// The best `top` kernels for a problem on its architecture, with the terms of their times.
    pub fn table(&self, problem: &Problem, top: usize) -> Result<EstimateTable, EstimateTableError> {
        let mut scratch = EstimateScratch::default();
        self.rank(problem.checked()?, &mut scratch)?;
        let ranking = scratch.ranking();
        let ranked: HashSet<usize> = ranking.iter().map(|one| one.index).collect();
        let mut left_out = BTreeMap::new();
        for index in (0..self.pool().len()).filter(|index| !ranked.contains(index)) {
            *left_out.entry(self.reason(problem, index).unwrap_or_default()).or_default() += 1;
        }
        let sure = judge_estimated(problem, problem.arch(), self.kernels(), &scratch, 0);
        let row = |index: usize| self.row(problem, ranking, index, sure);
        Ok(EstimateTable { rows: (0..ranking.len().min(top)).map(row).collect(), left_out })
    }

    /// A row of a table, with the columns of `ckselect rank --model estimate`.
    fn row(
        &self,
        problem: &Problem,
        ranking: &[Ranked],
        position: usize,
        sure: Option<Sure>,
    ) -> Map<String, Value> {
        let Ranked { index, split_k, score } = ranking[position];
        let beside = [position.checked_sub(1), Some(position + 1)].into_iter().flatten();
        let is_tied = beside.filter_map(|other| ranking.get(other)).any(|other| other.score == score);
        let name = self.pool().get(index).map_or("", |kernel| &kernel.name);
        let mut row = Map::new();
        row.insert("rank".to_owned(), (position + 1).into());
        row.insert("kernel".to_owned(), name.into());
        if problem.chooses_split() {
            row.insert("split_k".to_owned(), split_k.into());
        }
        let slower = score / ranking[0].score;
        let loss = sure.map(|sure| sure.loss(slower));
        row.insert("time_us".to_owned(), score.into());
        row.insert("slower".to_owned(), slower.into());
        row.insert("loss".to_owned(), loss.into());
        let terms = self.terms(&problem.with_split(split_k), index);
        let terms = terms.iter().flat_map(|terms| &terms.named);
        row.extend(terms.map(|&(term, value)| (term.to_owned(), value.into())));
        row.insert("tie".to_owned(), is_tied.then_some("=").into());
        row
    }
}
