//! The models and expected scores in `tests/golden/forest`, which the ordinary tests check without LightGBM.

use std::fmt::Write;
use std::path::PathBuf;
use std::{fs, io};

use ck_select::forest::Forest;

use crate::{Booster, LightGbmError, Output, synthetic};

/// Where the models and their scores are.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest");

const ROWS: usize = 60;

/// The models in the folder, in order.
pub fn models() -> io::Result<Vec<PathBuf>> {
    let mut models = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            models.push(path);
        }
    }
    models.sort();
    Ok(models)
}

/// Rows, and LightGBM's raw score and prediction for each of them, as text:
/// `raw prediction : value value ...`. Scores are the bits in hexadecimal, values are the shortest decimals
/// that read back as the same number.
pub fn scores(model: &str, forest: &Forest) -> Result<String, LightGbmError> {
    let booster = Booster::from_text(model)?;
    let values = synthetic::trouble(forest, ROWS, 7);
    let raw = booster.predict(&values, Output::RawScore)?;
    let predictions = booster.predict(&values, Output::Prediction)?;
    let mut text = String::from("# raw_score prediction : the row's values\n");
    for (row, (raw, prediction)) in
        values.chunks_exact(forest.num_features()).zip(raw.iter().zip(predictions))
    {
        let _ = write!(text, "{:016x} {:016x} :", raw.to_bits(), prediction.to_bits());
        for value in row {
            let _ = write!(text, " {value:?}");
        }
        text.push('\n');
    }
    Ok(text)
}
