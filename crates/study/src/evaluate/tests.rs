//! Small cases that were calculated by hand.

use super::*;
use crate::candidates::Candidate;

fn trial(problem: u32, speeds: &[f64]) -> Trial {
    let oracle =
        (0..speeds.len()).fold(0, |best, place| if speeds[place] > speeds[best] { place } else { best });
    let candidates =
        (0u32..).zip(speeds).map(|(kernel, &tflops)| Candidate { kernel, split_k: 1, tflops }).collect();
    Trial { problem, number: None, candidates, oracle }
}

fn order(places: &[usize]) -> Order {
    Order {
        unmeasured: None,
        places: places.to_vec(),
        predicted: Vec::new(),
        outside: ck_select_types::problem::FieldSet::NONE,
    }
}

#[test]
fn the_best_choice_is_one_and_the_worst_its_share() {
    let trial = trial(0, &[100.0, 200.0]);
    let good = Outcome::of(&trial, &order(&[1, 0]));
    assert_eq!((good.efficiency, good.oracle_rank, good.selected), (1.0, Some(0), Some(1)));
    let bad = Outcome::of(&trial, &order(&[0, 1]));
    assert_eq!((bad.efficiency, bad.oracle_rank, bad.selected_tflops), (0.5, Some(1), 100.0));
}

#[test]
fn an_unranked_problem_counts_as_nothing() {
    let outcome = Outcome::of(&trial(0, &[5.0]), &order(&[]));
    assert_eq!((outcome.efficiency, outcome.selected, outcome.oracle_rank), (0.0, None, None));
}

#[test]
fn figures_over_two_problems() {
    let trials = vec![trial(0, &[100.0, 200.0, 50.0, 150.0]), trial(1, &[10.0, 5.0])];
    let orders = vec![order(&[2, 0, 3, 1]), order(&[0, 1])];
    let outcomes: Vec<Outcome> =
        trials.iter().zip(&orders).map(|(trial, order)| Outcome::of(trial, order)).collect();
    let summary = Summary::of(&trials, &orders, &outcomes);
    assert_eq!((summary.efficiency.mean, summary.efficiency.min), (0.625, 0.25));
    assert_eq!((summary.top1, summary.top3_hit_rate, summary.top5_hit_rate), (0.5, 0.5, 1.0));
    assert_eq!((summary.best_of_top3_mean, summary.best_of_top5_mean), (0.875, 1.0));
    assert_eq!(best_of_each_top(&trials, &orders, 5), [0.625, 0.75, 0.875, 1.0, 1.0]);
    assert_eq!((summary.rows, summary.errors), (6, None));
    // Kernel 1: 200/200 and 5/10; kernel 3 did not run on the second problem.
    let baselines = Baselines::of(&trials);
    assert_eq!((baselines.fixed_kernel, baselines.fixed_mean), (0, 0.75));
    assert_eq!(baselines.random_mean, 0.6875);
}

#[test]
fn a_tie_goes_to_the_first() {
    assert_eq!(trial(0, &[7.0, 7.0]).oracle, 0);
}
