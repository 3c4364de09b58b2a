//! How good a model's choices are, compared with the measured oracle.

mod conv;
mod coverage;
mod expected;
mod json;
mod slices;

use std::collections::BTreeMap;
use std::sync::Arc;

use ck_select_model::directory::Model;
use ck_select_types::pool::Pool;

pub use coverage::{Coverage, FieldCoverage};
pub use expected::{Expected, Losses, Refined};
pub use slices::{Slice, SliceGroup};

use crate::EvaluateError;
use crate::candidates::{Candidate, Trial, distinct_problems, random_choice, trials};
use crate::judge::{Judge, Order};
use crate::predictions::Predictions;
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::{Errors, Spread};
use ck_select_measurements::trained::were_trained_on;

/// The result of one problem's choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// The fastest kernel.
    pub oracle: Candidate,
    /// The chosen kernel; `None` if none of the candidates was ranked, or another kernel was chosen.
    pub selected: Option<Candidate>,
    /// Chosen over fastest.
    pub efficiency: f64,
    /// How many candidates are ranked before the fastest; `None` if it is not ranked.
    pub oracle_rank: Option<usize>,
    /// How many kernels ran.
    pub candidates: usize,
}

/// Results of choosing without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Baselines {
    /// The kernel with the best mean efficiency over all problems; problems on which it did not run count as
    /// 0.
    pub fixed_kernel: u32,
    /// The parts into which it splits the reduction.
    pub fixed_split_k: i32,
    /// The fixed kernel's mean efficiency.
    pub fixed_mean: f64,
    /// Mean efficiency of a random choice.
    pub random_mean: f64,
}

/// A model judged on measurements.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The problems with their candidates.
    pub trials: Vec<Trial>,
    /// The model's rankings.
    pub orders: Vec<Order>,
    /// The result of each problem, in the same order.
    pub outcomes: Vec<Outcome>,
    /// The spread of efficiencies.
    pub efficiency: Spread,
    /// Errors of predicted TFLOPS, if the model predicts them.
    pub errors: Option<Errors>,
    /// Number of rows judged.
    pub rows: usize,
    /// Mean efficiency of the best among the first k, for k from 1: what measuring k kernels gives.
    pub top_k: Vec<f64>,
    /// Results of choosing without a model.
    pub baselines: Baselines,
    /// Problems without any valid row.
    pub problems_without_rows: usize,
    /// Problems without a choice, which have no outcome.
    pub problems_without_choice: usize,
    /// Rows that are not valid.
    pub invalid_rows: usize,
    /// Figures by kind of problem.
    pub slices: Vec<SliceGroup>,
    /// How much of the measurements is inside the model's training range.
    pub coverage: Coverage,
    /// Expected losses beside the observed ones, if the model has expectations.
    pub expected: Option<Expected>,
    /// For each file of the measurements, whether the model was trained on it, so that its figures are too
    /// good.
    pub trained_files: Vec<bool>,
}

/// The trials of measurements that have any.
fn trials_of(measurements: &Measurements) -> Result<Vec<Trial>, EvaluateError> {
    if measurements.rows().is_empty() {
        return Err(no_rows(measurements));
    }
    let trials = trials(measurements);
    if trials.is_empty() {
        return Err(EvaluateError::new(format_args!(
            "no valid measurement: {} rows, all of them failed or without TFLOPS",
            measurements.rows().len()
        )));
    }
    Ok(trials)
}

/// The trials with a choice, their orders, and the number of others.
fn chosen(
    trials: Vec<Trial>,
    orders: Vec<Option<Order>>,
) -> Result<(Vec<Trial>, Vec<Order>, usize), EvaluateError> {
    let all = trials.len();
    let both = trials.into_iter().zip(orders).filter_map(|(trial, order)| Some((trial, order?)));
    let (trials, orders): (Vec<Trial>, Vec<Order>) = both.unzip();
    if trials.is_empty() {
        return Err(EvaluateError::new("none of the measured problems has a choice"));
    }
    let without = all - trials.len();
    Ok((trials, orders, without))
}

/// Why no row is left.
fn no_rows(measurements: &Measurements) -> EvaluateError {
    let wanted = measurements.scope();
    let left_out = measurements.sources().iter().filter_map(|source| source.left_out(wanted));
    let left_out = left_out.collect::<Vec<_>>().join("; ");
    let text = if left_out.is_empty() { "the files have none".to_owned() } else { left_out };
    EvaluateError::new(format_args!("no row to evaluate: {text}"))
}

impl Evaluation {
    /// Ranks every problem's measured kernels, or those of a pool, by the model and judges the choices.
    pub fn from_model(
        model: &Arc<Model>,
        measurements: &Measurements,
        pool: Option<&Arc<Pool>>,
    ) -> Result<Self, EvaluateError> {
        let trials = trials_of(measurements)?;
        let judge = match pool {
            None => Judge::new(model, measurements)?,
            Some(pool) => Judge::with_pool(model, measurements, pool)?,
        };
        let orders = judge.orders(measurements, &trials)?;
        let (trials, orders, without) = chosen(trials, orders)?;
        let coverage = Coverage::new(judge.ranker(), measurements, &trials, &orders);
        let trained_files =
            were_trained_on(model.spec(), measurements.paths()).map_err(EvaluateError::new)?;
        let evaluation = Self::new(measurements, trials, orders);
        Ok(Self { problems_without_choice: without, coverage, trained_files, ..evaluation })
    }

    /// Judges the choices of a file.
    pub fn from_predictions(
        predictions: &Predictions,
        measurements: &Measurements,
    ) -> Result<Self, EvaluateError> {
        let trials = trials_of(measurements)?;
        let orders = trials.iter().map(|trial| predictions.order(measurements, trial)).collect();
        let (trials, orders, without) = chosen(trials, orders)?;
        Ok(Self { problems_without_choice: without, ..Self::new(measurements, trials, orders) })
    }

    /// Efficiencies of the choices that were measured, as averaged by upstream's validator; those of all
    /// count the others as 0. `None` if all were measured.
    pub fn measured_choices(&self) -> Option<Spread> {
        let measured = self.outcomes.iter().zip(&self.orders).filter(|(_, order)| order.unmeasured.is_none());
        let measured: Vec<f64> = measured.map(|(outcome, _)| outcome.efficiency).collect();
        (measured.len() < self.outcomes.len()).then(|| Spread::new(measured))
    }

    /// The number of choices that nothing was learned about, such as those on a GPU of another kind, so that their
    /// expected loss is unknown.
    pub fn unknown_losses(&self) -> usize {
        self.orders.iter().filter(|order| order.signs.is_some() && order.sure.is_none()).count()
    }

    /// The share of problems whose fastest kernel is among the first ones.
    pub fn hit_rate(&self, within: usize) -> f64 {
        let is_hit = |outcome: &Outcome| outcome.oracle_rank.is_some_and(|rank| rank < within);
        self.outcomes.iter().filter(|outcome| is_hit(outcome)).count() as f64 / self.outcomes.len() as f64
    }

    /// Mean efficiency of the best among the first `count`, or of all that there are.
    pub fn best_of_top(&self, count: usize) -> f64 {
        self.top_k[..count.min(self.top_k.len())].last().copied().unwrap_or(f64::NAN)
    }

    /// Judges choices, at least one, of a model that was not trained on the measurements, as far as is known.
    pub(crate) fn new(measurements: &Measurements, trials: Vec<Trial>, orders: Vec<Order>) -> Self {
        let outcomes: Vec<Outcome> =
            trials.iter().zip(&orders).map(|(trial, order)| Outcome::new(trial, order)).collect();
        let loss = |problem: usize, first| loss(&trials[problem], &orders[problem], first);
        let top_k = best_of_each_top(&trials, &orders);
        Self {
            expected: Expected::new(&orders, &top_k, loss),
            efficiency: Spread::new(outcomes.iter().map(|outcome| outcome.efficiency).collect()),
            errors: errors(&trials, &orders),
            rows: trials.iter().map(|trial| trial.candidates.len()).sum(),
            top_k,
            baselines: Baselines::new(&trials),
            problems_without_rows: measurements.problems().len() - distinct_problems(&trials),
            problems_without_choice: 0,
            invalid_rows: measurements.rows().iter().filter(|row| !row.is_valid).count(),
            slices: slices::slices(measurements, &trials, &orders, &outcomes),
            coverage: Coverage::default(),
            trained_files: vec![false; measurements.sources().len()],
            trials,
            orders,
            outcomes,
        }
    }
}

impl Outcome {
    /// Judges one order.
    pub fn new(trial: &Trial, order: &Order) -> Self {
        let first = order.places.first().filter(|_| order.unmeasured.is_none());
        let selected = first.map(|&candidate| trial.candidates[candidate]);
        let before = usize::from(order.unmeasured.is_some());
        let oracle_rank = order.places.iter().position(|&candidate| candidate == trial.oracle);
        Self {
            problem: trial.problem,
            oracle: trial.candidates[trial.oracle],
            selected,
            efficiency: selected.map_or(0.0, |chosen| chosen.tflops) / trial.oracle_tflops(),
            oracle_rank: oracle_rank.map(|rank| rank + before),
            candidates: trial.candidates.len(),
        }
    }

    /// Measured TFLOPS of the chosen kernel, or 0.
    pub fn selected_tflops(&self) -> f64 {
        self.selected.map_or(0.0, |chosen| chosen.tflops)
    }
}

/// The loss of the best of the first kernels against the best of all.
fn loss(trial: &Trial, order: &Order, first: usize) -> f64 {
    let measured = first - usize::from(order.unmeasured.is_some());
    let first = order.places.iter().take(measured);
    1.0 - first.map(|&candidate| trial.efficiency(candidate)).fold(0.0, f64::max)
}

/// Errors of the predicted speeds, where there are any.
fn errors(trials: &[Trial], orders: &[Order]) -> Option<Errors> {
    let of_trial = |(trial, order): (&Trial, &Order)| {
        let measured = trial.candidates.iter().map(|candidate| candidate.tflops);
        measured.zip(order.predicted.iter().copied()).collect::<Vec<_>>()
    };
    let pairs = trials.iter().zip(orders).flat_map(of_trial).filter(|(_, predicted)| !predicted.is_nan());
    Errors::new(&pairs.collect::<Vec<_>>())
}

impl Baselines {
    fn new(trials: &[Trial]) -> Self {
        let mut sums: BTreeMap<(u32, i32), f64> = BTreeMap::new();
        for trial in trials {
            for (index, candidate) in trial.candidates.iter().enumerate() {
                *sums.entry((candidate.kernel, candidate.split_k)).or_default() += trial.efficiency(index);
            }
        }
        let (mut fixed, mut best) = ((0, 1), f64::NEG_INFINITY);
        for (pair, sum) in sums {
            if sum > best {
                (fixed, best) = (pair, sum);
            }
        }
        let (fixed_kernel, fixed_split_k) = fixed;
        Self {
            fixed_kernel,
            fixed_split_k,
            fixed_mean: best / trials.len() as f64,
            random_mean: random_choice(trials),
        }
    }
}

/// Mean efficiency of the best among the first k of each ranking, for every k.
fn best_of_each_top(trials: &[Trial], orders: &[Order]) -> Vec<f64> {
    let both = || trials.iter().zip(orders);
    // An unmeasured choice is tried first, for nothing.
    let wasted = |order: &Order| usize::from(order.unmeasured.is_some());
    let most = both().map(|(trial, order)| trial.candidates.len() + wasted(order)).max().unwrap_or(0);
    let mut sums = vec![0.0; most];
    for (trial, order) in both() {
        let efficiencies = order.places.iter().map(|&candidate| trial.efficiency(candidate));
        let mut tried = std::iter::repeat_n(0.0, wasted(order)).chain(efficiencies);
        let mut best = 0.0f64;
        for sum in &mut sums {
            best = tried.next().map_or(best, |efficiency| best.max(efficiency));
            *sum += best;
        }
    }
    sums.into_iter().map(|sum| sum / trials.len() as f64).collect()
}

#[cfg(test)]
mod tests;
