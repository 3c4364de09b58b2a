//! Objectives by every name, and the golden scores and rankings.

use std::fmt::Write as _;
use std::fs;

use ck_select::directory::Model;
use ck_select::forest::{Forest, Transform};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};
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

/// What the ordinary tests expect of the small models is what LightGBM's predictions, `expm1` and a stable
/// sort make of the same rows.
#[test]
fn golden_rankings_are_lightgbms() {
    for (name, pool) in [
        ("conv_small", "../../configs/forward_bf16.txt"),
        ("gemm_small", "models/gemm_small/pool.txt"),
        ("fmha_small", "models/fmha_small/pool.txt"),
    ] {
        let golden = |file: &str| format!("{}/../{file}", golden::FOLDER);
        let model = Model::load(golden(&format!("models/{name}"))).unwrap();
        let pool = Pool::read(golden(pool)).unwrap();
        let text = golden::unpacked(&format!("{name}/model_tflops")).unwrap();
        let booster = Booster::from_text(&text).unwrap();
        let expected = fs::read_to_string(golden(&format!("models/{name}/rankings.csv"))).unwrap();
        let mut asked: Vec<&str> = expected.lines().filter_map(|line| line.split('"').nth(1)).collect();
        asked.dedup();
        let mut made = "problem,target,rank,kernel,score_bits\n".to_owned();
        for text in asked {
            let op = model.spec().op();
            let problem = Problem::parse(op, text, &ProblemDefaults::new(op)).unwrap();
            let rows = pool.iter().flat_map(|one| model.extractor().row(&problem, &one.kind).unwrap());
            let scores = booster.predict(&rows.collect::<Vec<_>>(), Output::Prediction).unwrap();
            let mut ranking: Vec<_> = scores.into_iter().map(f64::exp_m1).zip(&pool).collect();
            ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (place, (score, kernel)) in ranking.into_iter().enumerate() {
                let (place, bits) = (place + 1, score.to_bits());
                writeln!(made, "\"{text}\",tflops,{place},{},{bits:016x}", kernel.name).unwrap();
            }
        }
        assert!(made == expected, "{name}");
    }
}
