//! Writes the models of tests/golden/forest and their scores, which the ordinary tests check:
//! `cargo run -p ck-select-parity --example golden-forest`.

use std::error::Error;
use std::fs;
use std::path::Path;

use ck_select_parity::{Booster, golden, synthetic};

/// One row a model: the file's name, parameters, iterations.
const MODELS: [(&str, &str, usize); 9] = [
    ("numbers", "num_leaves=15", 4),
    ("categories", "num_leaves=15 categorical_feature=7,8 min_data_per_group=5", 4),
    ("one-against-all", "num_leaves=15 categorical_feature=7,8 max_cat_to_onehot=300", 4),
    ("nothing-missing", "num_leaves=15 categorical_feature=7,8 use_missing=false", 4),
    ("zero-missing", "num_leaves=15 categorical_feature=7,8 zero_as_missing=true", 4),
    ("random-forest", "num_leaves=7 boosting=rf bagging_freq=1 bagging_fraction=0.5 reg_sqrt=true", 7),
    ("dart-l1", "num_leaves=7 boosting=dart objective=regression_l1 drop_rate=0.5", 7),
    ("poisson", "num_leaves=7 objective=poisson", 7),
    ("single-leaf", "min_data_in_leaf=100000", 1),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(golden::FOLDER);
    let data = synthetic::training(1000, 3);
    for (name, params, iterations) in MODELS {
        let params = format!("min_data_in_leaf=3 learning_rate=0.3 {params}");
        fs::write(
            folder.join(name).with_extension("txt"),
            Booster::train(&data, &params, iterations, None)?.to_text()?,
        )?;
    }
    fs::write(golden::SCORES, golden::scores()?)?;
    Ok(())
}
