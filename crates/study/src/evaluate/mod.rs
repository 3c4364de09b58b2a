//! How good a model's choices are, compared with the measured oracle.

mod coverage;
mod json;
pub(crate) mod slices;

use std::collections::BTreeMap;
use std::sync::Arc;

use ck_select_model::model::Model;
use ck_select_types::pool::Pool;

pub use coverage::{Coverage, FeatureCoverage, FieldCoverage};
pub use slices::{Slice, SliceGroup};

use crate::candidates::{Trial, distinct_problems, trials};
use crate::error::StudyError;
use crate::judge::{Judge, Order};
use crate::predictions::Predictions;
use ck_select_data::figures::{Errors, Spread, mean};
use ck_select_data::measurements::Measurements;
use ck_select_data::trained::were_trained_on;

/// The result of one problem's choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// Index of the fastest kernel into [`Measurements::kernels`].
    pub oracle: u32,
    /// The parts into which it split the reduction.
    pub oracle_split_k: i32,
    /// Its measured TFLOPS.
    pub oracle_tflops: f64,
    /// Index of the chosen kernel; `None` if none of the candidates was ranked, or another kernel was chosen.
    pub selected: Option<u32>,
    /// The parts into which it split the reduction.
    pub selected_split_k: Option<i32>,
    /// Its measured TFLOPS, or 0.
    pub selected_tflops: f64,
    /// Chosen over fastest.
    pub efficiency: f64,
    /// How many candidates are ranked before the fastest; `None` if it is not ranked.
    pub oracle_rank: Option<usize>,
    /// How many kernels ran.
    pub candidates: usize,
}

/// Shares and means over all problems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The spread of efficiencies.
    pub efficiency: Spread,
    /// The share of problems whose fastest kernel ranks first; upstream's name for it is `ndcg_at_1`.
    pub top1: f64,
    /// The share of problems whose fastest kernel is among the first 3.
    pub top3_hit_rate: f64,
    /// Among the first 5.
    pub top5_hit_rate: f64,
    /// Among the first 10.
    pub top10_hit_rate: f64,
    /// Mean efficiency of the best among the first 3: what measuring three kernels gives.
    pub best_of_top3_mean: f64,
    /// The same of the first 5.
    pub best_of_top5_mean: f64,
    /// The same of the first 10.
    pub best_of_top10_mean: f64,
    /// Errors of predicted TFLOPS, if the model predicts them.
    pub errors: Option<Errors>,
    /// Number of rows judged.
    pub rows: usize,
}

/// Results of choosing without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Baselines {
    /// The kernel with the best mean efficiency over all problems; problems on which it did not run count as
    /// 0.
    pub fixed_kernel: u32,
    /// The parts into which it splits the reduction.
    pub fixed_split_k: i32,
    /// Its mean efficiency.
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
    /// Figures over all problems.
    pub summary: Summary,
    /// Best-of-top-k efficiency for k from 1.
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
    /// For each file of the measurements, whether the model was trained on it, so that its figures are too
    /// good.
    pub trained_files: Vec<bool>,
}

/// The trials of measurements that have any.
fn trials_of(measurements: &Measurements) -> Result<Vec<Trial>, StudyError> {
    if measurements.rows().is_empty() {
        return Err(no_rows(measurements));
    }
    let trials = trials(measurements);
    if trials.is_empty() {
        return Err(StudyError::new(format_args!(
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
) -> Result<(Vec<Trial>, Vec<Order>, usize), StudyError> {
    let all = trials.len();
    let both = trials.into_iter().zip(orders).filter_map(|(trial, order)| Some((trial, order?)));
    let (trials, orders): (Vec<Trial>, Vec<Order>) = both.unzip();
    if trials.is_empty() {
        return Err(StudyError::new("none of the measured problems has a choice"));
    }
    let without = all - trials.len();
    Ok((trials, orders, without))
}

/// Why no row is left.
fn no_rows(measurements: &Measurements) -> StudyError {
    let wanted = measurements.wanted();
    let left_out = measurements.sources().iter().filter_map(|source| source.left_out(wanted));
    let left_out = left_out.collect::<Vec<_>>().join("; ");
    let text = if left_out.is_empty() { "the files have none".to_owned() } else { left_out };
    StudyError::new(format_args!("no row to evaluate: {text}"))
}

impl Evaluation {
    /// Ranks every problem's measured kernels, or those of a pool, by the model and judges the choices.
    pub fn of_model(
        model: &Arc<Model>,
        measurements: &Measurements,
        pool: Option<&Arc<Pool>>,
    ) -> Result<Self, StudyError> {
        let trials = trials_of(measurements)?;
        let judge = match pool {
            None => Judge::new(model, measurements)?,
            Some(pool) => Judge::with_pool(model, measurements, pool)?,
        };
        let orders = judge.orders(measurements, &trials)?;
        let (trials, orders, without) = chosen(trials, orders)?;
        let coverage = Coverage::of(judge.ranker(), measurements, &trials, &orders);
        let trained_files = were_trained_on(model.spec(), measurements).map_err(StudyError::new)?;
        let evaluation = Self::new(measurements, trials, orders, coverage, trained_files);
        Ok(Self { problems_without_choice: without, ..evaluation })
    }

    /// Judges the choices of a file.
    pub fn of_predictions(
        predictions: &Predictions,
        measurements: &Measurements,
    ) -> Result<Self, StudyError> {
        let trials = trials_of(measurements)?;
        let orders = trials.iter().map(|trial| predictions.order(measurements, trial)).collect();
        let (trials, orders, without) = chosen(trials, orders)?;
        let trained_files = vec![false; measurements.sources().len()];
        let evaluation = Self::new(measurements, trials, orders, Coverage::default(), trained_files);
        Ok(Self { problems_without_choice: without, ..evaluation })
    }

    /// Efficiencies of the choices that were measured, as averaged by upstream's validator; those of all
    /// count the others as 0. `None` if all were measured.
    pub fn of_measured_choices(&self) -> Option<Spread> {
        let measured = self.outcomes.iter().zip(&self.orders).filter(|(_, order)| order.unmeasured.is_none());
        let measured: Vec<f64> = measured.map(|(outcome, _)| outcome.efficiency).collect();
        (measured.len() < self.outcomes.len()).then(|| Spread::of(measured))
    }

    pub(crate) fn new(
        measurements: &Measurements,
        trials: Vec<Trial>,
        orders: Vec<Order>,
        coverage: Coverage,
        trained_files: Vec<bool>,
    ) -> Self {
        let outcomes: Vec<Outcome> =
            trials.iter().zip(&orders).map(|(trial, order)| Outcome::of(trial, order)).collect();
        let summary = Summary::of(&trials, &orders, &outcomes);
        let slices = slices::slices(measurements, &trials, &orders, &outcomes);
        let most = trials.iter().map(|trial| trial.candidates.len()).max().unwrap_or(0);
        Self {
            top_k: best_of_each_top(&trials, &orders, most),
            baselines: Baselines::of(&trials),
            problems_without_rows: measurements.problems().len() - distinct_problems(&trials),
            problems_without_choice: 0,
            invalid_rows: measurements.rows().iter().filter(|row| !row.is_valid).count(),
            trials,
            orders,
            outcomes,
            summary,
            slices,
            coverage,
            trained_files,
        }
    }
}

impl Outcome {
    /// Judges one order.
    pub fn of(trial: &Trial, order: &Order) -> Self {
        let selected = order.tries(1).next().map(|place| trial.candidates[place]);
        let before = usize::from(order.unmeasured.is_some());
        let selected_tflops = selected.map_or(0.0, |candidate| candidate.tflops);
        Self {
            problem: trial.problem,
            oracle: trial.candidates[trial.oracle].kernel,
            oracle_split_k: trial.candidates[trial.oracle].split_k,
            oracle_tflops: trial.oracle_tflops(),
            selected: selected.map(|candidate| candidate.kernel),
            selected_split_k: selected.map(|candidate| candidate.split_k),
            selected_tflops,
            efficiency: selected_tflops / trial.oracle_tflops(),
            oracle_rank: order
                .places
                .iter()
                .position(|&place| place == trial.oracle)
                .map(|place| place + before),
            candidates: trial.candidates.len(),
        }
    }
}

impl Summary {
    fn of(trials: &[Trial], orders: &[Order], outcomes: &[Outcome]) -> Self {
        let hits =
            |within: usize| {
                mean(outcomes.iter().map(|outcome| {
                    f64::from(u8::from(outcome.oracle_rank.is_some_and(|rank| rank < within)))
                }))
            };
        let pairs: Vec<(f64, f64)> = trials
            .iter()
            .zip(orders)
            .flat_map(|(trial, order)| {
                trial.candidates.iter().map(|candidate| candidate.tflops).zip(order.predicted.iter().copied())
            })
            .filter(|(_, predicted)| !predicted.is_nan())
            .collect();
        let best_of = best_of_each_top(trials, orders, 10);
        Self {
            efficiency: Spread::of(outcomes.iter().map(|outcome| outcome.efficiency).collect()),
            top1: hits(1),
            top3_hit_rate: hits(3),
            top5_hit_rate: hits(5),
            top10_hit_rate: hits(10),
            best_of_top3_mean: best_of[2],
            best_of_top5_mean: best_of[4],
            best_of_top10_mean: best_of[9],
            errors: Errors::of(&pairs),
            rows: trials.iter().map(|trial| trial.candidates.len()).sum(),
        }
    }
}

impl Baselines {
    fn of(trials: &[Trial]) -> Self {
        let mut sums: BTreeMap<(u32, i32), f64> = BTreeMap::new();
        let mut random = Vec::with_capacity(trials.len());
        for trial in trials {
            let efficiencies = (0..trial.candidates.len()).map(|place| trial.efficiency(place));
            random.push(mean(efficiencies.clone()));
            for (candidate, efficiency) in trial.candidates.iter().zip(efficiencies) {
                *sums.entry((candidate.kernel, candidate.split_k)).or_default() += efficiency;
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
            random_mean: mean(random),
        }
    }
}

/// Mean efficiency of the best among the first of each ranking, for every count from 1 to `most`.
fn best_of_each_top(trials: &[Trial], orders: &[Order], most: usize) -> Vec<f64> {
    let mut sums = vec![0.0; most];
    for (trial, order) in trials.iter().zip(orders) {
        // An unmeasured choice is tried first, for nothing.
        let wasted = order.unmeasured.iter().map(|_| 0.0);
        let mut tried = wasted.chain(order.places.iter().map(|&place| trial.efficiency(place)));
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
