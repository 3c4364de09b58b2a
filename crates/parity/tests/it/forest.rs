//! Forests against the real LightGBM: raw scores and predictions must be equal bit for bit, of the scalar
//! scorer and of the compiled form.

use std::iter;

use ck_select::forest::{FeatureUse, Forest};
use ck_select_parity::{Booster, Output, synthetic};

use crate::cases::{self, Case};
use crate::compiled;

/// Compares one model's scores on rows that look for trouble, and on the way what else the two must agree on.
fn compare(name: &str, booster: &Booster) {
    let text = booster.to_text().unwrap();
    let forest = Forest::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let values = synthetic::trouble(&forest, 10_000, 11);
    let raw = booster.predict(&values, Output::RawScore).unwrap();
    // A prediction is a function of the raw score.
    let predictions = booster.predict(&values[..1_000 * forest.num_features()], Output::Prediction).unwrap();
    for (index, row) in values.chunks_exact(forest.num_features()).enumerate() {
        let checked = forest.row(row).unwrap();
        let prediction =
            predictions.get(index).map(|&theirs| (Output::Prediction, checked.predict(), theirs));
        for (output, ours, theirs) in
            iter::once((Output::RawScore, checked.raw_score(), raw[index])).chain(prediction)
        {
            assert!(
                ours.to_bits() == theirs.to_bits(),
                "{name}: row {index}, {output:?}: ours {ours:e} ({:016x}), LightGBM's {theirs:e} ({:016x})\n\
                 {row:?}",
                ours.to_bits(),
                theirs.to_bits(),
            );
        }
        if index < 500 {
            let parts = checked.contributions();
            assert_eq!(
                parts.raw_score().to_bits(),
                raw[index].to_bits(),
                "{name}: row {index}: contributions"
            );
        }
    }
    compiled::compare(name, booster, &forest);
    assert_importances(name, &text, &forest);
    println!(
        "{name}: {} rows, {} trees, {} leaves, depth {}",
        raw.len(),
        forest.trees().len(),
        forest.leaf_count(),
        forest.max_depth()
    );
}

/// The text says itself how often each feature is split on.
fn assert_importances(name: &str, text: &str, forest: &Forest) {
    let (_, section) = text.split_once("\nfeature_importances:\n").unwrap();
    let written: Vec<(&str, u64)> = section
        .lines()
        .map_while(|line| line.split_once('='))
        .map(|(feature, splits)| (feature, splits.parse().unwrap()))
        .collect();
    let uses = forest.feature_uses();
    let mut used = 0;
    for (feature, FeatureUse { splits, .. }) in forest.feature_names().iter().zip(uses) {
        if splits > 0 {
            let both = written.contains(&(feature, splits));
            assert!(both, "{name}: {feature} has {splits} splits, not as in {written:?}");
            used += 1;
        }
    }
    assert_eq!(used, written.len(), "{name}");
}

fn run(cases: &[Case]) {
    assert!(!cases.is_empty());
    for case in cases {
        compare(&case.name, &case.train());
    }
}

#[test]
fn every_way_of_missing_with_every_kind_of_feature() {
    run(&cases::missing_values());
}

#[test]
fn every_objective() {
    run(&cases::objectives());
}

#[test]
fn every_way_of_boosting_and_of_carrying_on() {
    run(&cases::boosting());
}

#[test]
fn from_a_single_leaf_to_many_leaves() {
    run(&cases::sizes());
}

#[test]
fn upstreams_default_forest() {
    run(&cases::largest());
}
