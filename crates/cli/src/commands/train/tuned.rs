//! Winners of tuned tables as rows of a training, and where the winners that were held out stand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ck_select::directory::Target;
use ck_select::pool::Pool;
use ck_select_measurements::places::{GpuFigures, WinnerPlace};
use ck_select_measurements::{RowScope, WinnerRows, Winners};
use ck_select_train::TrainedForest;

use super::super::gpu::Gpu;
use super::super::winners;
use crate::error::CliError;

/// Shapes of a pair that are trained on.
const MAX_SHAPES_PER_PAIR: usize = 40;

/// Shapes of tuned tables, with a row for each kernel of a shape's pool.
pub(super) struct TunedRows<'a> {
    winners: Box<Winners>,
    pools: &'a [Arc<Pool>],
    pub(super) rows: WinnerRows,
}

impl<'a> TunedRows<'a> {
    pub(super) fn read(
        tables: &[PathBuf],
        pools: &'a [Arc<Pool>],
        wanted: RowScope,
        gpu: &Gpu,
    ) -> Result<Self, CliError> {
        let winners = winners::among(winners::read(tables, &wanted, gpu)?, pools)?;
        let winners = winners.thinned(MAX_SHAPES_PER_PAIR);
        let each: Vec<&Pool> = pools.iter().map(AsRef::as_ref).collect();
        let rows = winners.completed(wanted, gpu.described()?, &each)?;
        if rows.measurements.rows().is_empty() {
            fail!("the tables have no shape of what was asked for");
        }
        Ok(Self { winners: Box::new(winners), pools, rows })
    }

    /// The ranks of the winners of held-out pairs, summed up by table and GPU.
    pub(super) fn judged(&self, trained: &[TrainedForest]) -> Vec<GpuFigures> {
        let mut placed: BTreeMap<String, (usize, Vec<WinnerPlace>)> = BTreeMap::new();
        let Some(ranking) = trained.iter().find(|one| one.goal.target == Target::Relative) else {
            return Vec::new();
        };
        let rows = self.rows.measurements.rows();
        for item in &ranking.data.problems {
            let row = |row: usize| &rows[ranking.data.rows[row] as usize];
            let score = |index: usize| ranking.validation.predictions[index];
            let winner = item.span.clone().find(|&row_index| row(row_index).share == Some(1.0));
            let shape = self.rows.shape_of(ranking.data.rows[item.span.start]);
            let (Some(winner), Some(shape)) = (winner, shape) else { continue };
            let shape = &self.winners.shapes[shape];
            if shape.winner.is_none() || score(winner).is_none() {
                continue;
            }
            // Equal scores are in the pool's order, as in selections.
            let score = |index| score(index).unwrap_or(f64::NEG_INFINITY);
            let mut order: Vec<usize> = item.span.clone().collect();
            order.sort_by(|&one, &other| score(other).total_cmp(&score(one)));
            let before = order.iter().position(|&index| index == winner);
            let first = order.first();
            let us = first.map(|&index| row(index).latency_ms * 1e3).filter(|us| *us > 0.0);
            let name = format!("{} {}", winners::stem(self.winners.file(shape)), shape.gpu());
            let (kernels, all) = placed.entry(name).or_default();
            *kernels = self.pools[Winners::pool_among(shape, self.pools.len())].len();
            all.push(WinnerPlace::new(shape, before, us));
        }
        placed.into_iter().filter_map(|(name, (kernels, all))| GpuFigures::new(name, kernels, &all)).collect()
    }
}
