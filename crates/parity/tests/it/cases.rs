//! The models to compare: a table of parameters, trained when a test asks.

use ck_select_parity::{Booster, Matrix, Training, synthetic};

/// One model: what to train, on what, and how.
pub(crate) struct Case {
    pub(crate) name: String,
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

    pub(crate) fn train(&self) -> Booster {
        const ROWS: usize = 2000;
        let data = match self.how {
            How::Ranking => synthetic::ranking(ROWS, 1),
            _ => synthetic::training(ROWS, 1),
        };
        let training = Training::new(&data, &self.params, self.iterations);
        let booster = match self.how {
            How::AtOnce | How::Ranking => training.run(),
            How::Warm(params) => {
                let more: Matrix<'_> = synthetic::training(ROWS, 2);
                let start = Training { iterations: self.iterations / 2, ..training }.run().unwrap();
                let params = format!("{} {params}", self.params);
                Training { start: Some(&start), ..Training::new(&more, &params, self.iterations / 2) }.run()
            }
        };
        booster.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

const CATEGORIES: &str = "categorical_feature=7,8";

/// Missing values x kinds of features x bins.
pub(crate) fn missing_values() -> Vec<Case> {
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
pub(crate) fn objectives() -> Vec<Case> {
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
pub(crate) fn boosting() -> Vec<Case> {
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
pub(crate) fn sizes() -> Vec<Case> {
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
pub(crate) fn largest() -> Vec<Case> {
    vec![Case::new("2000 x 255 leaves", 2000, format!("num_leaves=255 min_data_in_leaf=2 {CATEGORIES}"))]
}
