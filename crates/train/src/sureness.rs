//! How sure a model's choices are, learned from choices that were judged.
//!
//! Two fits, of which the second sees the first's expectations of choices that it did not learn from:
//!
//! ```text
//! forest:  signs of a choice ──> its loss            Poisson, since a loss is positive and mostly small
//! curves:  ln(expected loss) ──> chance that the best of the first k is within 2 %, one logistic curve a k
//! ```
//!
//! Choices come in groups, such as the tables of a GPU. The forest that expects a choice's loss for the curves was
//! fitted without the choice's group, so that the curves state what holds on data that nobody has seen.

use std::borrow::Cow;

use ck_select_measurements::Measurements;
use ck_select_model::directory::Target;
use ck_select_model::estimate::Estimator;
use ck_select_model::forest::Forest;
use ck_select_model::sureness::{
    Chance, JudgedOn, LogTime, MOST_LEAVES, MOST_TREES, Signs, SurenessFile, TimeFit, WITHIN, column_names,
};
use ck_select_model::ties;

use super::combine;
use super::data::{Item, TrainingData};
use super::error::TrainError;
use super::plan::Plan;
use super::trained::TrainedForest;
use crate::lightgbm::{Booster, Matrix};
use ck_select_types::vocab::Op;

/// A choice that was judged by measurements.
#[derive(Debug, Clone)]
struct JudgedChoice {
    /// The signs that were known when choosing.
    signs: Signs,
    /// The loss of the best of the first kernels: of one, of two, and so on.
    losses: Vec<f64>,
    /// The logarithm of the chosen kernel's time over what was predicted for it, if anything was.
    log_time_error: Option<f64>,
    /// Choices that have more in common than others, such as those of a table.
    group: usize,
}

impl JudgedChoice {
    /// A choice whose kernels have these efficiencies, in the order of the ranking.
    fn new(
        signs: &Signs,
        efficiencies: impl Iterator<Item = f64>,
        log_time_error: Option<f64>,
        group: usize,
    ) -> Self {
        let best = |best: &mut f64, efficiency: f64| {
            *best = best.max(efficiency);
            Some((1.0 - *best).max(0.0))
        };
        Self { signs: *signs, losses: efficiencies.scan(0.0, best).collect(), log_time_error, group }
    }

    /// The loss of the best of the first kernels.
    fn loss(&self, first: usize) -> f64 {
        let rank = first.min(self.losses.len()).saturating_sub(1);
        self.losses.get(rank).copied().unwrap_or(1.0)
    }
}

/// Fewer choices teach nothing.
const LEAST: usize = 100;
/// Groups without which the forest is fitted in turn; with fewer, choices are dealt out.
const GROUPS: usize = 4;
/// The numbers of kernels that have a curve.
const FIRST: [usize; 10] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100];
/// Measurements say nothing about smaller losses.
const LEAST_LOSS: f64 = 1e-3;

/// The sureness learned from judged choices of an operation; `None` if there are too few. `log_time` is the logarithm
/// of time per unit of the model's score, if its scores have no unit of their own, and `judged_on` the types and
/// architectures for which the choices are valid, if the model's key does not say them.
fn learn(
    op: Op,
    choices: &[JudgedChoice],
    log_time: Option<f64>,
    judged_on: JudgedOn,
) -> Result<Option<SurenessFile>, TrainError> {
    let mean_loss = choices.iter().map(|choice| choice.loss(1)).sum::<f64>() / choices.len().max(1) as f64;
    if choices.len() < LEAST {
        return Ok(None);
    }
    let weights = weights(choices);
    let all: Vec<usize> = (0..choices.len()).collect();
    let expected = out_of_group(op, choices, &weights)?;
    let chance = |first| chance(first, choices, &expected, &weights);
    Ok(Some(SurenessFile {
        version: SurenessFile::VERSION,
        judged_on,
        choices: choices.len(),
        mean_loss,
        log_time,
        times: TimeFit::new(&choices.iter().zip(&weights).filter_map(time_error).collect::<Vec<_>>()),
        chances: FIRST.into_iter().map(chance).collect(),
        loss: forest(op, choices, &weights, &all)?,
    }))
}

/// How far off the time of a choice was, with the choice's weight.
fn time_error((choice, weight): (&JudgedChoice, &f64)) -> Option<(f64, f64)> {
    Some((choice.log_time_error.filter(|error| error.is_finite())?, *weight))
}

/// A large group counts less than in proportion, or it would decide alone.
fn weights(choices: &[JudgedChoice]) -> Vec<f64> {
    let groups = choices.iter().map(|choice| choice.group).max().unwrap_or_default() + 1;
    let mut sizes = vec![0_u32; groups];
    for choice in choices {
        sizes[choice.group] += 1;
    }
    choices.iter().map(|choice| f64::from(sizes[choice.group]).sqrt().recip()).collect()
}

/// The loss to expect of each choice, by a forest that has not seen its group.
fn out_of_group(op: Op, choices: &[JudgedChoice], weights: &[f64]) -> Result<Vec<f64>, TrainError> {
    let mut groups: Vec<usize> = choices.iter().map(|choice| choice.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let few = groups.len() < GROUPS;
    let group = |choice: usize| if few { choice % (GROUPS + 1) } else { choices[choice].group };
    let mut expected = vec![0.0; choices.len()];
    for left_out in if few { (0..=GROUPS).collect() } else { groups } {
        let (held, rest): (Vec<usize>, Vec<usize>) =
            (0..choices.len()).partition(|&choice| group(choice) == left_out);
        let text = forest(op, choices, weights, &rest)?;
        let forest = Forest::parse(text.as_bytes()).map_err(TrainError::refused)?;
        for choice in held {
            let row = choices[choice].signs.columns();
            expected[choice] =
                forest.predict(&row[..forest.num_features()]).map_err(TrainError::refused)?.clamp(1e-6, 1.0);
        }
    }
    Ok(expected)
}

/// LightGBM's text of a forest that expects the loss of some choices.
fn forest(op: Op, choices: &[JudgedChoice], weights: &[f64], some: &[usize]) -> Result<String, TrainError> {
    let names = column_names(op);
    let leaf = (some.len() / 12).clamp(10, 60);
    let params = format!(
        "objective=poisson num_leaves={MOST_LEAVES} learning_rate=0.1 min_data_in_leaf={leaf} lambda_l2=5 seed=3 \
         bagging_fraction=0.7 bagging_freq=1 feature_fraction=0.5 deterministic=true force_row_wise=true"
    );
    let row = |&choice: &usize| choices[choice].signs.columns().iter().copied().take(names.len());
    let values: Vec<f64> = some.iter().flat_map(row).collect();
    let matrix = Matrix {
        width: names.len(),
        blocks: vec![Cow::Owned(values)],
        labels: some.iter().map(|&choice| choices[choice].loss(1).max(LEAST_LOSS) as f32).collect(),
        weights: some.iter().map(|&choice| weights[choice] as f32).collect(),
        names,
        ..Matrix::default()
    };
    let booster = Booster::train(&matrix, &params, MOST_TREES, None).map_err(TrainError::refused)?;
    let text = booster.to_text().map_err(TrainError::refused)?;
    combine::lean(&text).map_err(TrainError::refused)
}

/// The logistic curve of the chance that the best of the first kernels is within [`WITHIN`], by Newton's method
/// with a small penalty, so that it has an end where all of them are.
fn chance(first: usize, choices: &[JudgedChoice], expected: &[f64], weights: &[f64]) -> Chance {
    const PENALTY: f64 = 0.5;
    let (mut at_within, mut slope) = (0.0_f64, 0.0_f64);
    for _ in 0..50 {
        let (mut gradient, mut curvature) = ([0.0, -PENALTY * slope], [PENALTY, 0.0, PENALTY]);
        for ((choice, loss), weight) in choices.iter().zip(expected).zip(weights) {
            let x = (loss / WITHIN).ln();
            let chance = 1.0 / (1.0 + (-(at_within + slope * x)).exp());
            let error = weight * (f64::from(u8::from(choice.loss(first) <= WITHIN)) - chance);
            let spread = weight * chance * (1.0 - chance);
            gradient = [gradient[0] + error, gradient[1] + error * x];
            curvature = [curvature[0] + spread, curvature[1] + spread * x, curvature[2] + spread * x * x];
        }
        let [a, b, c] = curvature;
        let determinant = a * c - b * b;
        let step = |value: f64| if value.is_finite() { value.clamp(-2.0, 2.0) } else { 0.0 };
        at_within += step((c * gradient[0] - b * gradient[1]) / determinant);
        slope += step((a * gradient[1] - b * gradient[0]) / determinant);
    }
    // More loss to expect never makes a choice better.
    Chance { first, at_within, slope: slope.min(0.0) }
}

/// The sureness learned from the choices of a training's folds. `None` without folds, and for winners of tables,
/// which have no losses.
pub(super) fn from_folds(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
) -> Result<Option<SurenessFile>, TrainError> {
    let Some(one) = plan.ranking(trained).filter(|_| plan.mode.has_losses()) else { return Ok(None) };
    let runs: Vec<FoldChoice> =
        one.data.problems.iter().filter_map(|item| FoldChoice::new(one, item)).collect();
    let log_time = match (one.prior, one.goal.target) {
        (Some(prior), _) => Some(prior.recip()),
        (None, Target::Relative) => Some(unit(&one.data, &runs)),
        (None, _) => None,
    };
    let choices: Vec<JudgedChoice> = runs.iter().map(|run| run.judged(measurements, one, log_time)).collect();
    // What the model's key says, as well.
    let is_of_one = plan.extractor.arch.is_some() && matches!(measurements.common_dtype(), Ok(Some(_)));
    let judged_on = if is_of_one { JudgedOn::new() } else { judged_on(measurements, &one.data) };
    learn(plan.extractor.schema.op(), &choices, log_time.filter(|_| one.prior.is_none()), judged_on)
}

/// The types of the measured problems, by operation and architecture; empty if a problem names no architecture.
fn judged_on(measurements: &Measurements, data: &TrainingData) -> JudgedOn {
    let mut judged_on = JudgedOn::new();
    for item in &data.problems {
        let Some(arch) = item.arch else { return JudgedOn::new() };
        let problem = &measurements.problems()[item.problem as usize];
        let archs = judged_on.entry(problem.op()).or_default();
        archs.entry(arch).or_default().insert(problem.dtype());
    }
    judged_on
}

/// A problem of the folds with its rows, best first.
struct FoldChoice<'t> {
    item: &'t Item,
    rows: Vec<usize>,
    scores: Vec<f64>,
}

impl<'t> FoldChoice<'t> {
    fn new(one: &TrainedForest, item: &'t Item) -> Option<Self> {
        let score = |row: usize| one.validation.predictions[row];
        let mut rows: Vec<(usize, f64)> =
            item.span.clone().map(|row| Some((row, score(row)?))).collect::<Option<_>>()?;
        let higher_is_better = one.goal.target.higher_is_better();
        rows.sort_by(|a, b| ties::order(a.1, b.1, higher_is_better));
        let (rows, scores) = rows.into_iter().unzip();
        Some(Self { item, rows, scores })
    }

    fn judged(
        &self,
        measurements: &Measurements,
        one: &TrainedForest,
        log_time: Option<f64>,
    ) -> JudgedChoice {
        let first = self.scores[0];
        // Scores that have a unit of their own are compared as they are.
        let value = |score: f64| if log_time.is_some() { score } else { one.goal.objective.value(score) };
        let unit = match (log_time, one.goal.target) {
            (Some(unit), _) => LogTime::PerUnit(unit),
            (None, target) => target.log_time().unwrap_or(LogTime::OfBandwidth),
        };
        let behind = self.scores[1..].iter().map(|&score| unit.behind(value(first), value(score)));
        let mut signs = Signs::new(self.rows.len(), behind);
        let row = &measurements.rows()[one.data.rows[self.rows[0]] as usize];
        if let Some(arch) = self.item.arch
            && let Ok(device) = measurements.device_of_file(self.item.file, arch)
        {
            let estimator = Estimator::new(device);
            let kernel = &measurements.kernels()[row.kernel as usize].kind;
            if let Ok(shape) = estimator.shape(kernel) {
                let load = estimator.load(&measurements.problem_of(row));
                signs = signs.with_estimate(&estimator, &load, &shape);
            }
        }
        let flops = measurements.problem_of(row).flops();
        let expected = unit.time_us(value(first), flops).map_or_else(|| signs.log_time(), f64::ln);
        let error = Some((flops / (row.tflops * 1e6)).ln() - expected);
        let efficiencies = self.rows.iter().map(|&row| one.data.efficiency[row]);
        JudgedChoice::new(&signs, efficiencies, error, self.item.file)
    }
}

/// Logarithm of time per unit of a score, by the first kernels of each problem: the line through the first one.
fn unit(data: &TrainingData, runs: &[FoldChoice]) -> f64 {
    const LOOKED_AT: usize = 8;
    let (mut xy, mut xx) = (0.0, 0.0);
    for run in runs {
        for (row, score) in run.rows.iter().zip(&run.scores).skip(1).take(LOOKED_AT) {
            let behind = run.scores[0] - score;
            let slower = (data.efficiency[run.rows[0]] / data.efficiency[*row]).ln();
            (xy, xx) = (xy + behind * slower, xx + behind * behind);
        }
    }
    if xx > 0.0 { (xy / xx).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice whose second kernel is so far behind, and whose loss is what it should teach.
    fn choice(number: usize) -> JudgedChoice {
        let is_close = number.is_multiple_of(2);
        let behind = if is_close { 0.001 } else { 0.5 };
        let signs = Signs::new(3, [behind, behind, behind].into_iter());
        let first = if is_close && number.is_multiple_of(4) { 0.8 } else { 1.0 };
        // Half of the times are as predicted, the others twice as long.
        let error = if is_close { 0.0 } else { 2.0_f64.ln() };
        JudgedChoice::new(&signs, [first, 1.0, 0.5].into_iter(), Some(error), number % 5)
    }

    #[test]
    fn close_kernels_teach_doubt() {
        let choices: Vec<JudgedChoice> = (0..600).map(choice).collect();
        let file = learn(Op::Conv, &choices, None, JudgedOn::new()).unwrap().unwrap();
        let half = 2.0_f64.ln() / 2.0;
        let TimeFit { log_bias, log_spread } = file.times.unwrap();
        assert!((log_bias - half).abs() < 1e-12 && (log_spread - half).abs() < 1e-12, "{:?}", file.times);
        let sureness = file.read(Op::Conv).unwrap();
        let [doubtful, sure] = [0, 1].map(|index| sureness.judge(&choices[index].signs));
        // Half of the close ones lose a fifth; 40 trees at a rate of 0.1 come near.
        assert!((0.06..0.11).contains(&doubtful.expected_loss), "{doubtful:?}");
        assert!(sure.expected_loss < doubtful.expected_loss / 2.0, "{sure:?}");
        assert!((0.3..0.7).contains(&doubtful.chance) && sure.chance > 0.9, "{doubtful:?} {sure:?}");
        assert_eq!((doubtful.sure_within[0], sure.sure_within[0]), (2, 1));
    }

    #[test]
    fn few_choices_teach_nothing() {
        let choices: Vec<JudgedChoice> = (0..LEAST - 1).map(choice).collect();
        assert!(learn(Op::Conv, &choices, None, JudgedOn::new()).unwrap().is_none());
    }
}
