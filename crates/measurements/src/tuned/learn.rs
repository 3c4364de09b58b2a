//! Winners as rows to train on.
//!
//! A tuned table says which kernel won, not how fast the others are, so what is learned is a share of the win:
//! 1 for the winner, nearly as much for a kernel that was timed within a few percent of it, 0 for a kernel of
//! the pool without a time. A kernel that does not compute the shape did not lose, and has no row of it.

use std::collections::BTreeMap;

use ck_select_model::estimate::GpuOverride;
use ck_select_types::map_operation;
use ck_select_types::pool::Pool;
use ck_select_types::problem::Problem;

use super::shapes::{TunedGpu, TunedShape, Winners};
use crate::operation::OperationData as _;
use crate::read::{DataError, FileBuilder, Measurements, ReadOptions, Row, RowScope, SourceFile};

/// Winners as measurements.
#[derive(Debug)]
pub struct WinnerRows {
    /// A row for each kernel of a shape's pool that computes it.
    pub measurements: Measurements,
    /// The shape of each sweep.
    shapes: Vec<usize>,
}

impl WinnerRows {
    /// The shape of a row, by its index.
    pub fn shape_of(&self, row: u32) -> Option<usize> {
        self.shapes.get(self.measurements.rows().get(row as usize)?.sweep as usize).copied()
    }
}

/// The exponent that makes a timed kernel's speed relative to the winner's its share of the win: two kernels
/// within two percent are about equal, since the same configuration, timed again, moves by as much; with 5 %
/// less speed it is a third.
const SHARPNESS: i32 = 20;

/// The largest share of the win for a kernel that did not win: only one did.
const ALMOST: f64 = 0.99;

/// The speed of a kernel without a time as a share of the winner's, where a number is needed: slower than any
/// other.
const UNTIMED: f64 = 1e-3;

impl Winners {
    /// Measurements to train on: a row for each kernel of a shape's pool that computes it, with a time where
    /// there is one. There is a pool for each file, or one for all. Each file's rows on a GPU are those of a
    /// file. `gpu` has the constants of its architecture's GPUs that rows do not record.
    pub fn completed(
        &self,
        wanted: RowScope,
        gpu: Option<GpuOverride>,
        pools: &[&Pool],
    ) -> Result<WinnerRows, DataError> {
        let places: Vec<_> = pools.iter().map(|pool| self.places_in(pool)).collect();
        let options = ReadOptions { gpu, of_several_gpus: true, ..ReadOptions::default() };
        let mut all = Measurements::with(wanted, options);
        let mut shapes = Vec::new();
        let mut sources: BTreeMap<(usize, TunedGpu), Vec<usize>> = BTreeMap::new();
        for (shape_index, shape) in self.shapes.iter().enumerate() {
            sources.entry((shape.file, shape.gpu())).or_default().push(shape_index);
        }
        for ((file, gpu), own) in sources {
            let mut rows = FileBuilder::new(&mut all);
            let arch = gpu.arch.or(wanted.arch);
            if let Some(units) = gpu.units {
                rows.constant(arch, "num_cus", units);
            }
            for &index in &own {
                let shape = &self.shapes[index];
                let (pool, winner) = self.pool_of(shape, &places, pools)?;
                add_shape(&mut rows, shape, (pools[pool], &places[pool]), winner);
            }
            shapes.extend(own);
            rows.finish(SourceFile { path: self.files[file].clone(), ..SourceFile::default() });
        }
        Ok(WinnerRows { measurements: all, shapes })
    }
}

/// Adds the rows of a shape: of its winner, and of the kernels of the pool that lost. `places` has the index
/// in the pool of each kernel of the tables.
fn add_shape(
    rows: &mut FileBuilder<'_>,
    shape: &TunedShape,
    (pool, places): (&Pool, &[Option<usize>]),
    winner: usize,
) {
    let mut times = vec![f64::NAN; pool.len()];
    for timed in &shape.configs {
        if let Some(column) = places[timed.kernel as usize] {
            times[column] = times[column].min(timed.us);
        }
    }
    let flops = shape.problem.flops();
    // Without a time, what counts is who won.
    let of_winner = shape.us_of(shape.fastest().kernel).unwrap_or(1.0);
    let problem = rows.problem(&read_by_all(&shape.problem, pool));
    let sweep = rows.sweep(problem, None);
    for (index, (kernel, us)) in pool.iter().zip(times).enumerate() {
        // The kernel did not lose: nobody can choose it there.
        if index != winner && us.is_nan() && !kernel.matches(&shape.problem) {
            continue;
        }
        let share = match index {
            _ if index == winner => 1.0,
            _ if us.is_nan() => 0.0,
            _ => (of_winner / us).powi(SHARPNESS).min(ALMOST),
        };
        let assumed = if index == winner { of_winner } else { of_winner / UNTIMED };
        let kernel = rows.kernel(kernel);
        rows.push(Row {
            problem,
            kernel,
            split_k: 1,
            sweep,
            tflops: flops / if us.is_nan() { assumed } else { us } / 1e6,
            latency_ms: us / 1e3,
            bandwidth_gb_s: f64::NAN,
            is_valid: true,
            failure: 0,
            share: Some(share as f32),
        });
    }
}

/// A problem as the kernels of its pool read their operands.
fn read_by_all(problem: &Problem, pool: &Pool) -> Problem {
    if pool.is_shuffled() {
        map_operation!(*problem, Problem(of) => Problem(of.shuffled()))
    } else {
        *problem
    }
}
