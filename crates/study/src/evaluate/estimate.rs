//! The estimate, judged like a model.

use std::sync::Arc;

use ck_select_model::estimate::{EstimateError, EstimateScratch, Estimator, PoolEstimate};
use ck_select_types::pool::Pool;
use ck_select_types::problem::{FieldSet, Splits};
use rayon::prelude::*;

use super::{Coverage, Evaluation, trials_of};
use crate::candidates::Trial;
use crate::error::StudyError;
use crate::judge::{Order, Places};
use ck_select_data::measurements::Measurements;

impl Evaluation {
    /// Ranks every problem's measured kernels by the estimate and judges the choices.
    pub fn of_estimate(estimator: &Estimator, measurements: &Measurements) -> Result<Self, StudyError> {
        let trials = trials_of(measurements)?;
        let pool = Pool::new(measurements.kernels().to_vec()).map_err(StudyError::new)?;
        let ranked = PoolEstimate::new(*estimator, Arc::new(pool));
        let splits = measurements.splits().map_err(StudyError::new)?;
        let orders = trials
            .par_iter()
            .map_init(EstimateScratch::default, |scratch, trial| {
                order(&ranked, measurements, trial, &splits, scratch)
            })
            .collect::<Result<Vec<Order>, StudyError>>()?;
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
    splits: &Splits,
    scratch: &mut EstimateScratch,
) -> Result<Order, StudyError> {
    let problem = &measurements.problems()[trial.problem as usize];
    problem
        .checked()
        .map_err(EstimateError::from)
        .and_then(|problem| ranked.rank_checked(problem.among(splits), scratch))
        .map_err(|source| StudyError::of(problem, source))?;
    let kernels = measurements.kernels().len();
    let measured = Places::new(trial, splits, kernels, |kernel| Some(kernel as usize));
    let mut order = Order {
        places: Vec::with_capacity(trial.candidates.len()),
        unmeasured: None,
        predicted: vec![f64::NAN; trial.candidates.len()],
        outside: FieldSet::NONE,
    };
    for one in scratch.ranking() {
        if let Some(place) = measured.get(one.index, one.split_k) {
            order.places.push(place);
            // Operations per microsecond are millions per second.
            order.predicted[place] = problem.flops() / one.time_us * 1e-6;
        }
    }
    Ok(order)
}
