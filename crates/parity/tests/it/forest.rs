//! Forests against the real LightGBM: raw scores and predictions must be equal bit for bit, of the scalar
//! scorer and of the compiled form. The models are a table of parameters, trained when a test asks.

use std::iter;

use ck_select::forest::{FeatureUse, Forest};
use ck_select_parity::{Booster, Matrix, Output, synthetic};

use crate::compiled;

/// One model: what to train, on what, and how.
struct Case {
    name: String,
    params: String,
    iterations: usize,
    how: How,
}

/// How a model comes to be.
#[derive(Clone, Copy)]
enum How {
    AtOnce,
    /// Half of the iterations first, then the others with more parameters on top.
    Warm(&'static str),
    Ranking,
}

impl Case {
    fn new(name: impl Into<String>, iterations: usize, params: impl Into<String>) -> Case {
        Case { name: name.into(), params: params.into(), iterations, how: How::AtOnce }
    }

    fn how(self, how: How) -> Case {
        Case { how, ..self }
    }

    fn train(&self) -> Booster {
        const ROWS: usize = 2000;
        let data = match self.how {
            How::Ranking => synthetic::ranking(ROWS, 1),
            _ => synthetic::training(ROWS, 1),
        };
        let booster = match self.how {
            How::AtOnce | How::Ranking => Booster::train(&data, &self.params, self.iterations, None),
            How::Warm(params) => {
                let more: Matrix<'_> = synthetic::training(ROWS, 2);
                let half = self.iterations / 2;
                let start = Booster::train(&data, &self.params, half, None).unwrap();
                Booster::train(&more, &format!("{} {params}", self.params), half, Some(&start))
            }
        };
        booster.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

const CATEGORIES: &str = "categorical_feature=7,8";

/// Missing values x kinds of features x bins.
fn missing_values() -> Vec<Case> {
    let missing = [
        ("NaN missing", ""),
        ("nothing missing", "use_missing=false"),
        ("zero missing", "zero_as_missing=true"),
    ];
    let features = [
        ("numbers", ""),
        ("few categories", "categorical_feature=7"),
        ("many categories", CATEGORIES),
        ("many categories, one against all", "categorical_feature=7,8 max_cat_to_onehot=300"),
        (
            "wide category sets",
            "categorical_feature=7,8 max_cat_threshold=200 cat_smooth=0 cat_l2=0 min_data_per_group=1",
        ),
    ];
    let mut cases = Vec::new();
    for (missing_name, missing) in missing {
        for (features_name, features) in features {
            for bins in [15, 255, 1023] {
                let name = format!("{features_name}, {missing_name}, {bins} bins");
                let params = format!("max_bin={bins} num_leaves=31 min_data_in_leaf=5 {features} {missing}");
                cases.push(Case::new(name, 40, params));
            }
        }
    }
    cases
}

/// Every objective with one output, with `reg_sqrt` where it is kept and where it is not.
fn objectives() -> Vec<Case> {
    let plain =
        ["regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie"];
    let mut cases = Vec::new();
    for objective in plain {
        for sqrt in [false, true] {
            let params = format!("objective={objective} reg_sqrt={sqrt} num_leaves=15 {CATEGORIES}");
            cases.push(Case::new(format!("{objective}, reg_sqrt={sqrt}"), 30, params));
        }
    }
    for objective in ["lambdarank", "rank_xendcg"] {
        let params = format!("objective={objective} num_leaves=15 {CATEGORIES}");
        cases.push(Case::new(objective, 30, params).how(How::Ranking));
    }
    cases
}

/// Random forests, dart, sampling, warm starts, constraints.
fn boosting() -> Vec<Case> {
    let rf = "boosting=rf bagging_freq=1 bagging_fraction=0.6 feature_fraction=0.8";
    let case = |name: &str, params: &str| {
        Case::new(name, 60, format!("num_leaves=31 min_data_in_leaf=5 {CATEGORIES} {params}"))
    };
    vec![
        case("random forest", rf),
        case("random forest of square roots", &format!("{rf} reg_sqrt=true")),
        case("random forest, poisson", &format!("{rf} objective=poisson")),
        case("random forest, zero missing", &format!("{rf} zero_as_missing=true")),
        case("dart", "boosting=dart drop_rate=0.3"),
        case("dart, xgboost mode", "boosting=dart xgboost_dart_mode=true uniform_drop=true"),
        case("goss", "data_sample_strategy=goss"),
        case(
            "bagging and column sampling",
            "bagging_freq=2 bagging_fraction=0.5 feature_fraction_bynode=0.5",
        ),
        case("extra trees", "extra_trees=true"),
        case("monotone", "monotone_constraints=1,0,0,0,0,0,0,0,0,0 monotone_constraints_method=intermediate"),
        case(
            "path smoothing and regularization",
            "path_smooth=2 lambda_l1=0.1 lambda_l2=3 max_delta_step=0.3",
        ),
        case("quantized gradients", "use_quantized_grad=true"),
        case("no average at the start", "boost_from_average=false"),
        case("shallow", "max_depth=3"),
        case("warm start", "").how(How::Warm("")),
        case("warm start with other missing values", "").how(How::Warm("zero_as_missing=true max_bin=31")),
        case("warm start of another kind", "").how(How::Warm("boosting=dart")),
    ]
}

/// From no tree at all to deep and wide ones.
fn sizes() -> Vec<Case> {
    let mut cases = vec![
        Case::new("no trees", 0, ""),
        Case::new("a single leaf", 5, "min_data_in_leaf=100000"),
        Case::new("a single leaf, poisson", 5, "min_data_in_leaf=100000 objective=poisson"),
        Case::new("unbalanced", 3, "num_leaves=255 min_data_in_leaf=1 min_sum_hessian_in_leaf=0 lambda_l1=3"),
        Case::new("2000 stumps", 2000, "num_leaves=2"),
    ];
    for leaves in [2, 3, 15, 63, 255] {
        for iterations in [1, 7, 100] {
            let params = format!("num_leaves={leaves} min_data_in_leaf=1 {CATEGORIES}");
            cases.push(Case::new(format!("{iterations} x {leaves} leaves"), iterations, params));
        }
    }
    cases
}

/// As large as upstream trains by default.
fn largest() -> Vec<Case> {
    vec![Case::new("2000 x 255 leaves", 2000, format!("num_leaves=255 min_data_in_leaf=2 {CATEGORIES}"))]
}

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
    run(&missing_values());
}

#[test]
fn every_objective() {
    run(&objectives());
}

#[test]
fn every_way_of_boosting_and_of_carrying_on() {
    run(&boosting());
}

#[test]
fn from_a_single_leaf_to_many_leaves() {
    run(&sizes());
}

#[test]
fn upstreams_default_forest() {
    run(&largest());
}
