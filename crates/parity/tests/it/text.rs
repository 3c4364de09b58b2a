//! Objectives by every name, and the golden scores.

use std::fs;

use ck_select::forest::{Forest, Transform};
use ck_select_parity::{Booster, Output, golden, synthetic};

/// Scores of rows that look for trouble, as bits.
fn our_scores(forest: &Forest, values: &[f64]) -> Vec<u64> {
    values.chunks_exact(forest.num_features()).map(|row| forest.predict(row).unwrap().to_bits()).collect()
}

fn their_scores(booster: &Booster, values: &[f64]) -> Vec<u64> {
    booster.predict(values, Output::Prediction).unwrap().into_iter().map(f64::to_bits).collect()
}

/// Objectives that no training writes in this form, in texts that LightGBM reads.
#[test]
fn objectives_are_read_by_every_name() {
    let text = fs::read_to_string(format!("{}/numbers.txt", golden::FOLDER)).unwrap();
    let values = synthetic::trouble(&Forest::parse(text.as_bytes()).unwrap(), 1000, 5);
    let names = [
        "regression", "regression_l2", "mean_squared_error", "mse", "l2", "l2_root",
        "root_mean_squared_error", "rmse", "regression_l1", "mean_absolute_error", "l1", "mae", "huber",
        "fair", "poisson", "quantile", "mape", "mean_absolute_percentage_error", "gamma", "tweedie",
        "lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart", "custom", "none",
        "null", "na",
    ];
    for name in names {
        for words in ["", " sqrt", " tweedie_variance_power:1.2 sqrt"] {
            let line = format!("objective={name}{words}\n");
            let text = text.replace("objective=regression\n", &line);
            let (ours, theirs) = (Forest::parse(text.as_bytes()), Booster::from_text(&text));
            match (ours, theirs) {
                (Ok(forest), Ok(booster)) => {
                    assert!(our_scores(&forest, &values) == their_scores(&booster, &values), "{line}");
                }
                (ours, theirs) => assert_eq!(ours.is_ok(), theirs.is_ok(), "{line}"),
            }
        }
    }
    let without = text.replace("objective=regression\n", "");
    let forest = Forest::parse(without.as_bytes()).unwrap();
    assert_eq!(forest.objective().transform(), Transform::Identity);
    assert!(our_scores(&forest, &values) == their_scores(&Booster::from_text(&without).unwrap(), &values));
}

/// `cargo run -p ck-select-parity --example golden-forest` writes them anew.
#[test]
fn golden_scores_are_lightgbms() {
    assert!(golden::scores().unwrap() == fs::read_to_string(golden::SCORES).unwrap());
}
