//! Whether measurements are inside a model's training range.

use ck_select_model::ranking::Ranker;

use crate::candidates::Trial;
use crate::judge::Order;
use ck_select_measurements::Measurements;

/// A field in which problems are outside the training range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldCoverage {
    /// The field, or the feature of several fields.
    pub name: &'static str,
    /// The field's values in training.
    pub trained: String,
    /// Number of problems that are outside.
    pub outside: usize,
}

/// How much is inside the model's training range.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    /// Number of problems with at least one field outside.
    pub problems_outside: usize,
    /// Fields of problems outside, the one with the most problems first.
    pub fields: Vec<FieldCoverage>,
    /// Number of kernels that the model does not rank, because it cannot describe them or does not serve
    /// them.
    pub left_out_kernels: usize,
    /// Number of kernels with a pipeline or a suffix that no kernel measured for the model had.
    pub unmeasured_kernels: usize,
}

impl Coverage {
    pub(super) fn new(
        ranker: &Ranker,
        measurements: &Measurements,
        trials: &[Trial],
        orders: &[Order],
    ) -> Self {
        let kernels = 0..ranker.pool().len();
        Self {
            problems_outside: orders.iter().filter(|order| !order.outside.is_empty()).count(),
            fields: fields(ranker, measurements, trials, orders),
            left_out_kernels: ranker.left_out().len(),
            unmeasured_kernels: kernels.filter(|&kernel| !ranker.unmeasured(kernel).is_empty()).count(),
        }
    }
}

/// The fields in which problems are outside.
fn fields(
    ranker: &Ranker,
    measurements: &Measurements,
    trials: &[Trial],
    orders: &[Order],
) -> Vec<FieldCoverage> {
    let mut fields: Vec<FieldCoverage> = Vec::new();
    for (trial, _) in trials.iter().zip(orders).filter(|(_, order)| !order.outside.is_empty()) {
        let problem = &measurements.problems()[trial.problem as usize];
        for one in ranker.out_of_range(problem, None).unwrap_or_default() {
            match fields.iter_mut().find(|field| field.name == one.field) {
                Some(field) => field.outside += 1,
                None => fields.push(FieldCoverage { name: one.field, trained: one.trained, outside: 1 }),
            }
        }
    }
    fields.sort_by_key(|field| std::cmp::Reverse(field.outside));
    fields
}
