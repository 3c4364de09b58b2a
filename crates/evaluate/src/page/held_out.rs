//! The results of choices on held-out problems, in the form of an evaluation.

use std::collections::HashMap;

use ck_select_model::directory::Target;
use ck_select_model::ties;
use ck_select_types::problem::FieldSet;

use crate::candidates::{Candidate, Trial};
use crate::evaluation::Evaluation;
use crate::judge::Order;
use ck_select_measurements::{Measurements, Row};

use ck_select_train::{Plan, TrainedForest};

/// Judges the choices by out-of-fold predictions. Each row is a candidate, as in the figures of the folds.
/// `None` if the target that ranks does not choose, or if nothing was held out.
pub(crate) fn evaluation(
    measurements: &Measurements,
    plan: &Plan,
    trained: &[TrainedForest],
) -> Option<Evaluation> {
    let ranking = plan.ranking(trained)?;
    ranking.validation.efficiency.as_ref()?;
    let speeds = trained.iter().find(|one| one.goal.target == Target::Tflops).map(speeds).unwrap_or_default();
    let data = &ranking.data;
    let (mut trials, mut orders) = (Vec::new(), Vec::new());
    for item in &data.problems {
        let scores: Option<Vec<f64>> =
            item.span.clone().map(|row| ranking.validation.predictions[row]).collect();
        let Some(scores) = scores else { continue };
        let candidate = |row: usize| {
            let Row { kernel, split_k, .. } = measurements.rows()[data.rows[row] as usize];
            Candidate { kernel, split_k, tflops: data.tflops[row] }
        };
        let candidates: Vec<Candidate> = item.span.clone().map(candidate).collect();
        let Some(trial) = Trial::new(item.problem, None, candidates) else { continue };
        let mut places: Vec<usize> = (0..scores.len()).collect();
        places.sort_by(|&a, &b| ties::order(scores[a], scores[b], true));
        let predicted = item.span.clone().map(|row| speeds.get(&data.rows[row]).copied().unwrap_or(f64::NAN));
        orders.push(Order {
            places,
            unmeasured: None,
            predicted: predicted.collect(),
            outside: FieldSet::default(),
            signs: None,
            sure: None,
        });
        trials.push(trial);
    }
    if trials.is_empty() {
        return None;
    }
    Some(Evaluation::new(measurements, trials, orders))
}

/// Out-of-fold predictions of rows, in TFLOPS.
fn speeds(one: &TrainedForest) -> HashMap<u32, f64> {
    let predictions = one.data.rows.iter().zip(&one.validation.predictions);
    predictions
        .filter_map(|(&row, prediction)| Some((row, one.goal.objective.value((*prediction)?))))
        .collect()
}
