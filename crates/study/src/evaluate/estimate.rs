//! The estimate, judged like a model.

use std::sync::Arc;

use ck_select_model::estimate::{EstimateScratch, Estimator, PoolEstimate};
use ck_select_types::pool::Pool;
use ck_select_types::problem::FieldSet;
use rayon::prelude::*;

use super::{Coverage, EvaluateError, Evaluation, trials_of};
use crate::candidates::Trial;
use crate::judge::{JudgeError, Order};
use ck_select_data::measurements::Measurements;

impl Evaluation {
    /// Ranks every problem's measured kernels by the estimate and judges the choices.
    pub fn of_estimate(estimator: &Estimator, measurements: &Measurements) -> Result<Self, EvaluateError> {
        let trials = trials_of(measurements)?;
        let pool = Pool::new(measurements.kernels().to_vec()).map_err(JudgeError::Pool)?;
        let ranked = PoolEstimate::new(*estimator, Arc::new(pool));
        let orders = trials
            .par_iter()
            .map_init(EstimateScratch::default, |scratch, trial| order(&ranked, measurements, trial, scratch))
            .collect::<Result<Vec<Order>, EvaluateError>>()?;
        let coverage = Coverage { left_out_kernels: ranked.left_out().len(), ..Coverage::default() };
        let trained_files = vec![false; measurements.sources().len()];
        Ok(Self::new(measurements, trials, orders, coverage, trained_files))
    }
}

/// The order of one trial's candidates.
fn order(
    ranked: &PoolEstimate,
    measurements: &Measurements,
    trial: &Trial,
    scratch: &mut EstimateScratch,
) -> Result<Order, EvaluateError> {
    let problem = &measurements.problems()[trial.problem as usize];
    ranked
        .rank_with(problem, scratch)
        .map_err(|source| EvaluateError::Estimate { problem: problem.to_string(), source })?;
    let mut places = vec![None; measurements.kernels().len()];
    for (place, candidate) in trial.candidates.iter().enumerate() {
        places[candidate.kernel as usize] = Some(place);
    }
    let mut order = Order {
        places: Vec::with_capacity(trial.candidates.len()),
        unmeasured: None,
        predicted: vec![f64::NAN; trial.candidates.len()],
        outside: FieldSet::NONE,
    };
    for one in scratch.ranking() {
        if let Some(place) = places[one.index] {
            order.places.push(place);
            // Operations per microsecond are millions per second.
            order.predicted[place] = problem.flops() / one.time_us * 1e-6;
        }
    }
    Ok(order)
}
