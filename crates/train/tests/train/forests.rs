//! What the trained forests are: exact, repeatable, better than nothing.

use std::fmt::Write as _;

use ck_select_model::directory::Target;
use ck_select_train::lightgbm::{Booster, Output};
use ck_select_train::{Folds, Objective, Stop, TrainedForest, train};
use ck_select_types::vocab::Op;

use crate::sweep::{csv, goal, measurements, plan, read};

fn bits(values: impl IntoIterator<Item = f64>) -> Vec<u64> {
    values.into_iter().map(f64::to_bits).collect()
}

/// LightGBM's predictions for the rows that a forest was trained on, and ours.
fn both(one: &TrainedForest) -> (Vec<u64>, Vec<u64>) {
    let rows = 0..one.data.rows.len();
    let values: Vec<f64> = rows.clone().flat_map(|row| one.data.row(row)).copied().collect();
    let theirs = Booster::from_text(one.forest.text()).unwrap().predict(&values, Output::Prediction).unwrap();
    let ours = rows.map(|row| one.forest.predict(one.data.row(row)).unwrap());
    (bits(theirs), bits(ours))
}

#[test]
fn every_objective_trains_a_forest_that_both_read_alike_and_that_chooses_better_than_chance() {
    let measurements = measurements(40);
    for &objective in Objective::ALL {
        let target = if objective.only_ranks() { Target::Relative } else { Target::Tflops };
        let trained = train(&measurements, &plan(vec![goal(target, objective, &[])]), &()).unwrap();
        let [one] = trained.as_slice() else { panic!("one goal") };
        assert_eq!(one.forest.trees().len(), 20, "{objective}");
        assert_eq!(one.forest.feature_names(), one.data.names, "{objective}");
        let (theirs, ours) = both(one);
        assert!(theirs == ours, "{objective}");
        let mean_of_all = one.data.efficiency.iter().sum::<f64>() / one.data.efficiency.len() as f64;
        let held_out = one.validation.efficiency.as_ref().unwrap();
        assert_eq!(held_out.problems, one.data.problems.len(), "{objective}");
        assert!(
            held_out.mean > mean_of_all + 0.5 * (1.0 - mean_of_all),
            "{objective}: {} of {mean_of_all}",
            held_out.mean
        );
    }
}

/// LightGBM's own lambdarank takes 10,000 at most, and so did ours while its rows were in groups (f0168ae8).
#[test]
fn a_problem_may_have_more_than_ten_thousand_kernels() {
    let mut text: String = csv(1).lines().take(1).map(|head| head.to_owned() + "\n").collect();
    for index in 0..10_001 {
        let (m, n, k) = (16 * (1 + index % 22), 16 * (1 + index / 22 % 22), 16 * (1 + index / 484));
        let name = format!("grouped_conv_forward_bf16_2d_{m}x{n}x{k}_compv3");
        let _ = writeln!(
            text,
            "{name},0,1,64,64,1,14,14,3,3,1,1,1,1,{},{},1",
            1 + index,
            1.0 / f64::from(1 + index)
        );
    }
    let measurements = read(Op::Conv, &[("sweep.csv", &text)]);
    let mut plan = plan(vec![goal(Target::Relative, Objective::Lambdarank, &[("n_estimators", "1")])]);
    plan.folds = Folds::Count(1);
    let one = train(&measurements, &plan, &()).unwrap().remove(0);
    assert_eq!((one.data.rows.len(), one.forest.trees().len()), (10_001, 1));
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let measurements = measurements(30);
    let pairs = [("subsample", "0.7"), ("subsample_freq", "1"), ("colsample_bytree", "0.6")];
    for objective in [Objective::Relative, Objective::Listwise, Objective::Lambdarank] {
        let plan = plan(vec![goal(Target::Relative, objective, &pairs)]);
        let run = || train(&measurements, &plan, &()).unwrap().remove(0);
        let (first, second) = (run(), run());
        assert!(first.forest.text() == second.forest.text(), "{objective}");
        assert_eq!(first.validation.folds, second.validation.folds, "{objective}");
        let other = ck_select_train::Plan { seed: 43, ..plan.clone() };
        assert!(
            train(&measurements, &other, &()).unwrap()[0].forest.text() != first.forest.text(),
            "{objective}: the seed counts"
        );
    }
}

#[test]
fn extra_data_is_trained_on_and_never_held_out() {
    let text = csv(30);
    let lines: Vec<&str> = text.lines().collect();
    let part = |from: usize, to: usize| {
        let rows = lines[0..1].iter().chain(&lines[1 + from * 12..=to * 12]);
        rows.fold(String::new(), |text, line| text + line + "\n")
    };
    let (held, extra) = (part(0, 18), part(18, 30));
    let measurements = read(Op::Conv, &[("held.csv", &held), ("extra.csv", &extra)]);
    let mut plan = plan(vec![goal(Target::Relative, Objective::Relative, &[])]);
    plan.only_trains = vec![false, true];
    let one = train(&measurements, &plan, &()).unwrap().remove(0);
    for item in &one.data.problems {
        let predicted = one.validation.predictions[item.span.start].is_some();
        assert_eq!(predicted, !item.only_trains);
    }
    let extra: usize =
        one.data.problems.iter().filter(|item| item.only_trains).map(|item| item.span.len()).sum();
    assert!(extra > 0);
    for fold in &one.validation.folds {
        assert_eq!(fold.train_size + fold.val_size, one.data.rows.len());
        assert!(fold.train_size > extra);
    }
}

/// A line of a table with another speed.
fn with_speed(line: &str, change: impl Fn(f64) -> f64) -> String {
    let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
    cells[15] = change(cells[15].parse().unwrap()).to_string();
    cells.join(",") + "\n"
}

/// Sweeps of one problem are lists of their own, on one side of every fold.
#[test]
fn a_problem_that_was_measured_again_is_two_lists_in_one_fold() {
    let text = csv(30);
    let lines: Vec<&str> = text.lines().collect();
    // Problem 0 once more, 10 % slower throughout.
    let again = lines[1..13].iter().map(|line| with_speed(&line.replacen(",0,", ",30,", 1), |it| it * 0.9));
    let measurements = read(Op::Conv, &[("again.csv", &(text.clone() + &again.collect::<String>()))]);
    let plan = plan(vec![goal(Target::Relative, Objective::Relative, &[])]);
    let one = train(&measurements, &plan, &()).unwrap().remove(0);
    let problems = measurements.problems().len();
    assert_eq!(one.data.problems.len(), problems + 1);
    let lists: Vec<_> = one.data.problems.iter().filter(|item| item.problem == 0).collect();
    assert_eq!(lists.iter().map(|item| item.span.len()).collect::<Vec<_>>(), [12, 12]);
    for list in &lists {
        let best = one.data.efficiency[list.span.clone()].iter().copied().fold(0.0, f64::max);
        assert_eq!(best, 1.0);
    }
    let fold = |item: &ck_select_train::Item| one.validation.fold_of_row[item.span.start];
    assert!(fold(lists[0]).is_some());
    assert_eq!(fold(lists[0]), fold(lists[1]));
    assert_eq!(one.validation.efficiency.unwrap().problems, problems + 1);
}

/// What is only trained on is not trained on either where its problem is held out.
#[test]
fn extra_data_of_a_problem_is_held_out_with_it() {
    let text = csv(30);
    let lines: Vec<&str> = text.lines().collect();
    // The extra file measures problem 0 again, slower.
    let extra = lines[1..13].iter().map(|line| with_speed(line, |speed| speed * 0.9));
    let extra = lines[0].to_owned() + "\n" + &extra.collect::<String>();
    let measurements = read(Op::Conv, &[("data.csv", &text), ("extra.csv", &extra)]);
    let mut plan = plan(vec![goal(Target::Relative, Objective::Relative, &[])]);
    plan.only_trains = vec![false, true];
    let one = train(&measurements, &plan, &()).unwrap().remove(0);
    let lists: Vec<_> = one.data.problems.iter().filter(|item| item.problem == 0).collect();
    assert_eq!(lists.iter().map(|item| item.only_trains).collect::<Vec<_>>(), [false, true]);
    let fold = one.validation.fold_of_row[lists[0].span.start].unwrap();
    assert_eq!(one.validation.fold_of_row[lists[1].span.start], None);
    let rows = one.data.rows.len();
    for metrics in &one.validation.folds {
        let missing = rows - metrics.train_size - metrics.val_size;
        assert_eq!(missing, if metrics.fold == fold as usize { 12 } else { 0 });
    }
}

#[test]
fn training_stops_early_and_the_last_forest_has_the_mean_of_the_folds_trees() {
    let measurements = measurements(40);
    let pairs = [
        ("n_estimators", "400"),
        ("early_stopping_rounds", "5"),
        ("learning_rate", "0.5"),
        ("num_leaves", "31"),
    ];
    for stop in [Stop::HeldOut, Stop::Inner] {
        for objective in [Objective::Relative, Objective::Listwise] {
            let mut plan = plan(vec![goal(Target::Relative, objective, &pairs)]);
            plan.stop = stop;
            let one = train(&measurements, &plan, &()).unwrap().remove(0);
            let trees: Vec<usize> = one.validation.folds.iter().map(|fold| fold.best_iteration).collect();
            let mean = trees.iter().sum::<usize>() as f64 / trees.len() as f64;
            assert!(trees.iter().all(|&trees| trees < 400), "{stop:?} {objective}: {trees:?}");
            assert_eq!(one.forest.trees().len(), mean.round() as usize, "{stop:?} {objective}: {trees:?}");
        }
    }
}

/// Weights and numbers of trees are chosen without the problems that are held out: what a fold says of a
/// problem must not change when only that problem's figures do.
#[test]
fn a_held_out_problem_has_no_say_in_its_own_prediction() {
    let text = csv(24);
    let changed: String = text
        .lines()
        .enumerate()
        .map(|(line, row)| match line {
            // The first problem's, turned around.
            1..=12 => with_speed(row, |speed| 100.0 / speed),
            _ => format!("{row}\n"),
        })
        .collect();
    let run = |text: &str, stop: Stop| {
        let measurements = read(Op::Conv, &[("sweep.csv", text)]);
        let mut plan =
            plan(vec![goal(Target::Relative, Objective::Listwise, &[("early_stopping_rounds", "3")])]);
        plan.stop = stop;
        let one = train(&measurements, &plan, &()).unwrap().remove(0);
        one.validation.predictions[..12].iter().map(|p| p.unwrap().to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(run(&text, Stop::Inner), run(&changed, Stop::Inner));
}

/// What is trained on without a fold may be one problem only, of which nothing can be held out: LightGBM was
/// asked for a forest of no rows (b21fa563).
#[test]
fn a_problem_that_was_measured_five_times_decides_nothing() {
    let text = csv(2);
    let lines: Vec<&str> = text.lines().collect();
    let again = (0..50).step_by(10).flat_map(|number| {
        let numbered = move |place: usize, line: &str| {
            let own = place / 12;
            line.replacen(&format!(",{own},"), &format!(",{},", own + number), 1) + "\n"
        };
        lines[1..].iter().enumerate().map(move |(place, line)| numbered(place, line)).collect::<Vec<_>>()
    });
    let text = lines[0].to_owned() + "\n" + &again.collect::<String>();
    let measurements = read(Op::Conv, &[("again.csv", &text)]);
    let mut plan = plan(vec![goal(Target::Relative, Objective::Listwise, &[("n_estimators", "3")])]);
    (plan.folds, plan.stop) = (Folds::Count(2), Stop::Inner);
    let one = train(&measurements, &plan, &()).unwrap().remove(0);
    assert_eq!((one.data.problems.len(), one.validation.rounds), (10, vec![None, None]));
}
