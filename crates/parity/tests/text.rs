//! What LightGBM's text may look like, and which of its models are no forests here.

use std::fs;

use ck_select::forest::{Forest, Transform};
use ck_select_parity::{Booster, Output, Training, golden, synthetic};

/// Scores of rows that look for trouble, as bits.
fn our_scores(forest: &Forest, values: &[f64]) -> Vec<u64> {
    values.chunks_exact(forest.num_features()).map(|row| forest.predict(row).unwrap().to_bits()).collect()
}

fn their_scores(booster: &Booster, values: &[f64]) -> Vec<u64> {
    booster.predict(values, Output::Prediction).unwrap().into_iter().map(f64::to_bits).collect()
}

/// The spellings that LightGBM itself reads are also compared with what it makes of them.
#[test]
fn spellings_of_a_text_do_not_change_its_scores() {
    let data = synthetic::training(2000, 1);
    let params = "num_leaves=31 categorical_feature=7,8 objective=poisson";
    let text = Training::new(&data, params, 20).run().unwrap().to_text().unwrap();
    let sizes = text.lines().find(|line| line.starts_with("tree_sizes=")).unwrap();
    let without_sizes = text.replace(&format!("{sizes}\n"), "");
    let spellings = [
        ("as LightGBM wrote it", text.clone(), true),
        ("without tree_sizes", without_sizes.clone(), true),
        ("with CRLF and without tree_sizes", without_sizes.replace('\n', "\r\n"), true),
        ("with CRLF", text.replace('\n', "\r\n"), false),
        ("with comments", text.replace("\nnum_cat=", "\n# counted = not at all\nnum_cat="), false),
        ("with a later version's keys", without_sizes.replace("\nnum_cat=", "\nlater=1 2 3\nnum_cat="), true),
    ];
    let values = synthetic::trouble(&Forest::parse(text.as_bytes()).unwrap(), 10_000, 5);
    let expected = their_scores(&Booster::from_text(&text).unwrap(), &values);
    for (name, spelling, lightgbm_reads_it) in spellings {
        let forest = Forest::parse(spelling.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(our_scores(&forest, &values) == expected, "{name}");
        if lightgbm_reads_it {
            let booster = Booster::from_text(&spelling).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(their_scores(&booster, &values) == expected, "{name}");
        }
    }
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

#[test]
fn models_of_another_kind_are_refused_by_name() {
    let cases = [
        (
            "objective=binary",
            "objective is `binary sigmoid:1`, which is not supported; supported: regression, ",
        ),
        ("objective=cross_entropy", "objective is `cross_entropy`, which is not supported; supported: "),
        ("objective=cross_entropy_lambda", "objective is `cross_entropy_lambda`, which is not supported; "),
        ("objective=multiclass num_class=3", "num_class is `3`, which is not supported; supported: 1, "),
        ("objective=multiclassova num_class=3", "num_class is `3`, which is not supported; supported: 1, "),
        (
            "linear_tree=true",
            "is_linear is `1`, which is not supported; supported: 0, leaves that are constants",
        ),
    ];
    for (params, expected) in cases {
        let mut data = synthetic::training(500, 1);
        for label in &mut data.labels {
            // Classes, and probabilities.
            *label = if params.contains("multi") {
                (*label * 7.0) % 3.0
            } else {
                f32::from(u8::from(*label > 5.0))
            };
            *label = label.floor();
        }
        let text = Training::new(&data, params, 3).run().unwrap().to_text().unwrap();
        let error = Forest::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{params}: {error}");
    }
}

#[test]
fn a_file_and_its_text_are_the_same_model() {
    for path in golden::models().unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let forest = Forest::parse(text.as_bytes()).unwrap();
        let values = synthetic::trouble(&forest, 100, 1);
        let booster = Booster::from_file(path.to_str().unwrap()).unwrap();
        assert!(our_scores(&forest, &values) == their_scores(&booster, &values), "{}", path.display());
    }
}

/// `cargo run -p ck-select-parity --example golden-forest` writes them anew.
#[test]
fn golden_scores_are_lightgbms() {
    assert!(golden::scores().unwrap() == fs::read_to_string(golden::SCORES).unwrap());
}
