//! Parameters of a training, with the names of LightGBM's scikit-learn interface.

use serde_json::{Number, Value};

use super::error::TrainError;
use super::lambdarank::PLACES;
use super::objective::Objective;

/// The valid values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A whole number in this range.
    Whole(i64, i64),
    /// A number in this range.
    Real(f64, f64),
    /// 0 or 1, which LightGBM takes as a word.
    Switch,
}

/// One line per parameter: its name, LightGBM's own name, its range.
type Parameter = (&'static str, &'static str, Kind);

const ANY: f64 = 1e9;

/// How many of the known parameters, the first ones, are ours and not LightGBM's.
const OURS: usize = 4;

const KNOWN: &[Parameter] = &[
    ("n_estimators", "num_iterations", Kind::Whole(1, MAX_TREES)),
    ("early_stopping_rounds", "early_stopping_round", Kind::Whole(1, MAX_TREES)),
    ("sharpness", "sharpness", Kind::Real(1e-3, 1e3)),
    ("problems_a_tree", "problems_a_tree", Kind::Real(1e-3, 1e6)),
    ("learning_rate", "learning_rate", Kind::Real(1e-6, 1.0)),
    ("num_leaves", "num_leaves", Kind::Whole(2, 131_072)),
    ("max_depth", "max_depth", Kind::Whole(-1, 1000)),
    ("min_child_samples", "min_data_in_leaf", Kind::Whole(0, i32::MAX as i64)),
    ("min_child_weight", "min_sum_hessian_in_leaf", Kind::Real(0.0, ANY)),
    ("min_split_gain", "min_gain_to_split", Kind::Real(0.0, ANY)),
    ("subsample", "bagging_fraction", Kind::Real(1e-3, 1.0)),
    ("subsample_freq", "bagging_freq", Kind::Whole(0, 1000)),
    ("colsample_bytree", "feature_fraction", Kind::Real(1e-3, 1.0)),
    ("colsample_bynode", "feature_fraction_bynode", Kind::Real(1e-3, 1.0)),
    ("reg_alpha", "lambda_l1", Kind::Real(0.0, ANY)),
    ("reg_lambda", "lambda_l2", Kind::Real(0.0, ANY)),
    ("max_bin", "max_bin", Kind::Whole(2, 255)),
    ("min_data_in_bin", "min_data_in_bin", Kind::Whole(1, i32::MAX as i64)),
    ("extra_trees", "extra_trees", Kind::Switch),
    ("path_smooth", "path_smooth", Kind::Real(0.0, ANY)),
    ("max_delta_step", "max_delta_step", Kind::Real(0.0, ANY)),
    ("cat_smooth", "cat_smooth", Kind::Real(0.0, ANY)),
    ("cat_l2", "cat_l2", Kind::Real(0.0, ANY)),
    ("min_data_per_group", "min_data_per_group", Kind::Whole(1, i32::MAX as i64)),
    ("max_cat_to_onehot", "max_cat_to_onehot", Kind::Whole(1, 255)),
    ("lambdarank_truncation_level", "lambdarank_truncation_level", Kind::Whole(1, 10_000)),
    ("use_quantized_grad", "use_quantized_grad", Kind::Switch),
];

/// Maximum number of trees of one training; upstream's limit.
pub const MAX_TREES: i64 = 5000;

/// The most kernels of a small pool. Measured were pools of up to thirty kernels, and one of 546.
const LARGE_POOL: usize = 100;

/// How many small trees a forest has, and the step of each.
const SMALL_TREES: [f64; 2] = [800.0, 0.05];

/// The parameters of one training.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Name and value, in the order of the table of known parameters.
    values: Vec<(&'static str, f64)>,
    /// The parameters that the caller set.
    given: Vec<&'static str>,
}

impl Params {
    /// The defaults: upstream's parameters for its own objectives, and a forest of small trees for those that
    /// only rank, which is both more accurate and faster.
    ///
    /// Upstream lists a `subsample` of 0.85 that has no effect, because LightGBM's `bagging_freq` stays 0.
    /// Here it is 1, as upstream's models were actually trained.
    pub fn new(objective: Objective) -> Self {
        let common = [("early_stopping_rounds", 50.0), ("subsample", 1.0), ("subsample_freq", 0.0)];
        let values = if objective.only_ranks() {
            [
                ("n_estimators", SMALL_TREES[0]),
                ("learning_rate", SMALL_TREES[1]),
                ("num_leaves", 15.0),
                ("max_depth", -1.0),
                ("min_child_samples", 20.0),
                ("colsample_bytree", 1.0),
                ("reg_alpha", 0.0),
                ("reg_lambda", 0.0),
            ]
        } else {
            [
                ("n_estimators", 2000.0),
                ("learning_rate", 0.02),
                ("num_leaves", 255.0),
                ("max_depth", 15.0),
                ("min_child_samples", 10.0),
                ("colsample_bytree", 0.85),
                ("reg_alpha", 0.05),
                ("reg_lambda", 0.5),
            ]
        };
        let params = Self { values: Vec::new(), given: Vec::new() }.with(&common).with(&values);
        if objective == Objective::Listwise { params.with(&[("sharpness", 5.0)]) } else { params }
    }

    /// The parameters of a universal model, chosen on the H200's data, the MI355X training sweep and Triton's
    /// GEMMs. Trees that see all columns fit those devices better, and others worse; so do many trees on few
    /// problems.
    pub fn universal() -> Self {
        Self::new(Objective::Listwise).with(&[
            ("n_estimators", 500.0),
            ("learning_rate", 0.15),
            ("num_leaves", 31.0),
            ("sharpness", 10.0),
            ("problems_a_tree", 8.0),
            ("min_child_samples", 100.0),
            ("colsample_bytree", 0.3),
            ("reg_lambda", 5.0),
        ])
    }

    /// The parameters of a training on winners of tuned tables. Few trees, so that the shipped models are
    /// small. A winner's share says already how sharp it is.
    pub fn for_winners(objective: Objective) -> Self {
        let values =
            [("n_estimators", 105.0), ("learning_rate", 0.1), ("num_leaves", 24.0), ("reg_lambda", 1.0)];
        let params = Self::new(objective).with(&values);
        if objective == Objective::Listwise { params.with(&[("sharpness", 1.0)]) } else { params }
    }

    /// A parameter's own name, if this is its other one.
    pub fn name(name: &str) -> &str {
        KNOWN.iter().find(|known| known.1 == name).map_or(name, |known| known.0)
    }

    /// The parameters with defaults for the largest number of kernels of a problem, where none was set. In pools of
    /// hundreds, pairs below the first few places teach nothing, and half as many trees, of twice the step, are as
    /// good (docs/results.md); they are nearly all of the work.
    pub(super) fn for_pool(mut self, objective: Objective, kernels: usize) -> Self {
        if kernels <= LARGE_POOL {
            return self;
        }
        if objective == Objective::Lambdarank && self.get("lambdarank_truncation_level").is_none() {
            self.put("lambdarank_truncation_level", 5.0);
        }
        let steps = ["n_estimators", "learning_rate"];
        let are_small_trees = steps.map(|name| self.get(name)) == SMALL_TREES.map(Some);
        // Two bits of a derivative are as good for a forest that predicts; one that ranks chooses worse by
        // them.
        if are_small_trees && !objective.only_ranks() && self.get("use_quantized_grad").is_none() {
            self.put("use_quantized_grad", 1.0);
        }
        if are_small_trees && !steps.iter().any(|name| self.given.contains(name)) {
            self.put("n_estimators", SMALL_TREES[0] / 2.0);
            self.put("learning_rate", SMALL_TREES[1] * 2.0);
        }
        self
    }

    /// Sets a parameter from text, by either of its names.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), TrainError> {
        let known = KNOWN.iter().find(|known| known.0 == name || known.1 == name);
        let Some(&(name, _, kind)) = known else {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.0).collect();
            return Err(TrainError::param(name, "no parameter", format!("one of {}", names.join(", "))));
        };
        let whole = |low: i64, high: i64| {
            let value = text.parse().ok().filter(|value| (low..=high).contains(value));
            (value.map(|value| value as f64), format!("a whole number from {low} to {high}"))
        };
        let (value, expected) = match kind {
            Kind::Whole(low, high) => whole(low, high),
            Kind::Switch => whole(0, 1),
            Kind::Real(low, high) => (
                text.parse().ok().filter(|value| (low..=high).contains(value)),
                format!("a number from {low} to {high}"),
            ),
        };
        let value = value.ok_or_else(|| TrainError::param(name, format!("'{text}'"), expected))?;
        self.put(name, value);
        self.given.push(name);
        Ok(())
    }

    /// Checks the combination of parameters.
    pub fn validate(&self) -> Result<(), TrainError> {
        let share = self.get("subsample").unwrap_or(1.0);
        if share < 1.0 && self.get("subsample_freq").unwrap_or(0.0) == 0.0 {
            let expected = "subsample_freq of at least 1 beside it; without, LightGBM takes all rows";
            return Err(TrainError::param("subsample", share, expected));
        }
        Ok(())
    }

    /// Maximum number of trees.
    pub fn trees(&self) -> usize {
        self.get("n_estimators").unwrap_or(1.0) as usize
    }

    /// Maximum number of trees for this many problems.
    pub fn trees_for(&self, problems: usize) -> usize {
        let most = self.get("problems_a_tree").map_or(f64::INFINITY, |each| (problems as f64 / each).ceil());
        self.trees().min(most.max(1.0) as usize)
    }

    /// The parameters with a different number of trees.
    pub fn with_trees(self, trees: usize) -> Self {
        self.with(&[("n_estimators", trees as f64)])
    }

    /// Number of iterations without improvement before early stopping.
    pub fn patience(&self) -> usize {
        self.get("early_stopping_rounds").unwrap_or(50.0) as usize
    }

    /// The exponent of [`Objective::Listwise`].
    pub fn sharpness(&self) -> f64 {
        self.get("sharpness").unwrap_or(5.0)
    }

    /// The number of first ranks whose kernels [`Objective::Lambdarank`] compares with all others.
    pub(super) fn ranked_places(&self) -> usize {
        self.get("lambdarank_truncation_level").unwrap_or(PLACES) as usize
    }

    /// The parameters in LightGBM's form.
    pub(super) fn to_lightgbm(&self) -> String {
        let pair = |&(name, own, kind): &Parameter| {
            let value = self.get(name)?;
            let is_switch = kind == Kind::Switch;
            Some(if is_switch { format!("{own}={}", value > 0.0) } else { format!("{own}={value}") })
        };
        KNOWN[OURS..].iter().filter_map(pair).collect::<Vec<_>>().join(" ")
    }

    /// The parameters in the form of a spec.
    pub fn to_json(&self) -> Value {
        let number = |value: f64| {
            if value.fract() == 0.0 { Some(Number::from(value as i64)) } else { Number::from_f64(value) }
        };
        let pairs = self
            .values
            .iter()
            .map(|&(name, value)| (name.to_owned(), number(value).map_or(Value::Null, Value::Number)));
        pairs.collect()
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// The parameters, with `values` in place of their own.
    pub(super) fn with(mut self, values: &[(&str, f64)]) -> Self {
        for &(name, value) in values {
            self.put(name, value);
        }
        self
    }

    fn put(&mut self, name: &str, value: f64) {
        let index = |name: &str| KNOWN.iter().position(|known| known.0 == name);
        let Some(known) = index(name) else { return };
        if let Some(slot) = self.values.iter_mut().find(|(have, _)| *have == name) {
            slot.1 = value;
        } else {
            self.values.push((KNOWN[known].0, value));
            self.values.sort_by_key(|&(name, _)| index(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_name_sets_a_parameter_and_lightgbm_gets_its_own() {
        let mut params = Params::new(Objective::Relative);
        params.set("feature_fraction", "0.5").unwrap();
        params.set("num_leaves", "31").unwrap();
        let text = params.to_lightgbm();
        assert!(text.contains("feature_fraction=0.5") && text.contains("num_leaves=31"), "{text}");
        assert!(!text.contains("sharpness") && !text.contains("n_estimators"), "{text}");
        // LightGBM refused `extra_trees=1`.
        params.set("extra_trees", "1").unwrap();
        assert!(params.to_lightgbm().contains("extra_trees=true"));
        assert_eq!(params.to_json()["colsample_bytree"], 0.5);
        assert_eq!(params.to_json()["n_estimators"], 800);
    }

    #[test]
    fn large_pools_compare_the_first_few_places_and_take_large_steps() {
        let names = ["lambdarank_truncation_level", "n_estimators", "learning_rate"];
        let of = |params: &Params, objective, kernels| {
            let params = params.clone().for_pool(objective, kernels);
            names.map(|name| params.get(name))
        };
        let (small, half) = ([800.0, 0.05].map(Some), [400.0, 0.1].map(Some));
        let params = Params::new(Objective::Lambdarank);
        for (objective, kernels, level, [trees, step]) in [
            (Objective::Lambdarank, 100, None, small),
            (Objective::Lambdarank, 546, Some(5.0), half),
            (Objective::Listwise, 546, None, half),
        ] {
            assert_eq!(of(&params, objective, kernels), [level, trees, step], "{kernels}");
        }
        let quantized = |objective, kernels| {
            let params = Params::new(Objective::Relative).for_pool(objective, kernels);
            params.to_lightgbm().contains("use_quantized_grad=true")
        };
        assert!(quantized(Objective::Log1p, 546) && !quantized(Objective::Log1p, 100));
        assert!(!quantized(Objective::Relative, 546) && !quantized(Objective::Lambdarank, 546));
        let mut given = params.clone();
        given.set("lambdarank_truncation_level", "30").unwrap();
        given.set("n_estimators", "800").unwrap();
        assert_eq!(of(&given, Objective::Lambdarank, 546), [Some(30.0), Some(800.0), Some(0.05)]);
        let universal = Params::universal();
        assert_eq!(universal.clone().for_pool(Objective::Listwise, 546), universal);
    }
}
