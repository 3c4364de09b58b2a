//! Small cases that were calculated by hand.

use super::*;
use crate::candidates::tests::trial;
use crate::survey::tests::measured;

fn order(places: &[usize]) -> Order {
    Order {
        signs: None,
        sure: None,
        unmeasured: None,
        places: places.to_vec(),
        predicted: Vec::new(),
        outside: ck_select_types::problem::FieldSet::NONE,
    }
}

#[test]
fn the_best_choice_is_one_and_the_worst_its_share() {
    let trial = trial(0, &[100.0, 200.0]);
    let good = Outcome::new(&trial, &order(&[1, 0]));
    assert_eq!((good.efficiency, good.oracle_rank, good.selected), (1.0, Some(0), Some(trial.candidates[1])));
    let bad = Outcome::new(&trial, &order(&[0, 1]));
    assert_eq!((bad.efficiency, bad.oracle_rank, bad.selected_tflops()), (0.5, Some(1), 100.0));
}

#[test]
fn an_unranked_problem_counts_as_nothing() {
    let outcome = Outcome::new(&trial(0, &[5.0]), &order(&[]));
    assert_eq!((outcome.efficiency, outcome.selected, outcome.oracle_rank), (0.0, None, None));
}

#[test]
fn figures_over_two_problems() {
    let rows = [(0, 32, 100.0), (0, 64, 200.0), (0, 128, 50.0), (0, 256, 150.0), (1, 32, 10.0), (1, 64, 5.0)];
    let rows = rows.map(|(problem, depth, speed)| (problem, 64 << problem, depth, Ok(speed)));
    let measurements = measured("a.csv", &rows);
    let orders = vec![order(&[2, 0, 3, 1]), order(&[0, 1])];
    let evaluation = Evaluation::new(&measurements, trials(&measurements), orders);
    assert_eq!((evaluation.efficiency.mean, evaluation.efficiency.min), (0.625, 0.25));
    assert_eq!([1, 3, 5].map(|within| evaluation.hit_rate(within)), [0.5, 0.5, 1.0]);
    assert_eq!(evaluation.top_k, [0.625, 0.75, 0.875, 1.0]);
    assert_eq!([3, 5].map(|count| evaluation.best_of_top(count)), [0.875, 1.0]);
    assert_eq!((evaluation.rows, evaluation.errors), (6, None));
    // Kernel 1: 200/200 and 5/10; kernel 3 did not run on the second problem.
    let baselines = &evaluation.baselines;
    assert_eq!((baselines.fixed_kernel, baselines.fixed_mean), (0, 0.75));
    assert_eq!(baselines.random_mean, 0.6875);
}

/// What is not measured is tried in vain, and all others after it.
#[test]
fn an_unmeasured_choice_takes_a_try() {
    let chosen = Order { unmeasured: Some("another".to_owned()), ..order(&[1, 0]) };
    assert_eq!(best_of_each_top(&[trial(0, &[100.0, 200.0])], &[chosen]), [0.0, 1.0, 1.0]);
}
