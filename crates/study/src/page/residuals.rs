//! Errors of predictions of held-out rows, by kind of row.

use std::collections::BTreeMap;

use crate::evaluate::slices::KINDS;
use ck_select_data::figures::mean;
use ck_select_data::measurements::Measurements;

use super::held_out::value;
use ck_select_train::{Objective, Trained};

/// Rows of one kind. A residual is ln(predicted / measured): 0.1 is a tenth too much, -0.1 a tenth too
/// little.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Residual {
    /// What these rows have in common.
    pub(crate) name: String,
    /// Number of rows.
    pub(crate) rows: usize,
    /// The mean residual.
    pub(crate) bias: f64,
    /// The standard deviation of residuals.
    pub(crate) spread: f64,
    /// The share of predictions within a tenth of the measurement.
    pub(crate) near: f64,
}

/// All residuals of a target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Residuals {
    /// The individual residuals.
    pub(crate) all: Vec<f64>,
    /// Number of rows whose prediction is not above 0 and so has no logarithm.
    pub(crate) without: usize,
    /// Classifications of rows, with their kinds; the first is all rows.
    pub(crate) kinds: Vec<(&'static str, Vec<Residual>)>,
}

impl Residuals {
    /// `None` for a forest that does not predict a value, or if nothing was held out.
    pub(crate) fn of(measurements: &Measurements, one: &Trained) -> Option<Self> {
        if !one.goal.objective.predicts() {
            return None;
        }
        let found: Vec<(usize, Option<f64>)> = (0..one.data.rows.len())
            .filter_map(|row| Some((row, residual(one, row, one.validation.predictions[row]?))))
            .collect();
        let told: Vec<(usize, f64)> = found.iter().filter_map(|&(row, found)| Some((row, found?))).collect();
        let all: Vec<f64> = told.iter().map(|told| told.1).collect();
        if all.is_empty() {
            return None;
        }
        let row = |row: usize| &measurements.rows()[one.data.rows[row] as usize];
        let problem = |place: usize| &measurements.problems()[row(place).problem as usize];
        let pipeline = |place: usize| measurements.kernels()[row(place).kernel as usize].kind.pipeline();
        let by = |kind: &dyn Fn(usize) -> Option<String>| {
            let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for &(place, residual) in &told {
                if let Some(name) = kind(place) {
                    lists.entry(name).or_default().push(residual);
                }
            }
            lists.into_iter().map(|(name, list)| Residual::of(name, &list)).collect::<Vec<_>>()
        };
        let mut kinds = vec![("rows", vec![Residual::of("all".to_owned(), &all)])];
        kinds.extend(KINDS.map(|kind| (kind.title, by(&|place| (kind.of)(problem(place))))));
        kinds.push(("pipeline", by(&|place| Some(pipeline(place).to_owned()))));
        kinds.retain(|(_, list)| !list.is_empty());
        Some(Self { without: found.len() - all.len(), all, kinds })
    }
}

impl Residual {
    fn of(name: String, residuals: &[f64]) -> Self {
        let bias = mean(residuals.iter().copied());
        let square = mean(residuals.iter().map(|residual| (residual - bias).powi(2)));
        let is_near = |residual: &&f64| (0.9_f64.ln()..=1.1_f64.ln()).contains(*residual);
        let near = residuals.iter().filter(is_near).count() as f64 / residuals.len() as f64;
        Self { name, rows: residuals.len(), bias, spread: square.sqrt(), near }
    }
}

/// ln(predicted / measured) of a row.
fn residual(one: &Trained, row: usize, prediction: f64) -> Option<f64> {
    if one.goal.objective == Objective::Relative {
        // The label is the logarithm of the efficiency.
        return Some(prediction - one.data.efficiency[row].ln());
    }
    let residual = (value(one.goal.objective, prediction) / one.data.measured[row]).ln();
    residual.is_finite().then_some(residual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bias_and_spread_are_of_logarithms() {
        let found = Residual::of("all".to_owned(), &[0.5, -0.5, 0.0, 1.0]);
        assert_eq!((found.rows, found.bias, found.spread), (4, 0.25, 0.3125_f64.sqrt()));
        assert_eq!(found.near, 0.25);
        let edges = Residual::of(String::new(), &[0.9_f64.ln(), 1.1_f64.ln(), 0.89_f64.ln(), 1.11_f64.ln()]);
        assert_eq!(edges.near, 0.5);
    }
}
