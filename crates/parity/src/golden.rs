//! The models in `tests/golden` and the expected scores of its forests, which the ordinary tests check
//! without LightGBM.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::{fs, io};

use ck_select::forest::Forest;

use crate::{Booster, Output, synthetic};

/// The folder of the models.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest");
/// The table of the models' scores.
pub const SCORES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest_scores.txt");

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

/// The text of a forest of `tests/golden/models`, such as `conv_small/model_tflops`.
pub fn unpacked(forest: &str) -> io::Result<String> {
    let packed = fs::File::open(format!("{FOLDER}/../models/{forest}.lgbm.gz"))?;
    io::read_to_string(flate2::read::GzDecoder::new(packed))
}

/// Rows of each model, and LightGBM's raw score and prediction for each of them, as text:
/// `model raw prediction : value value ...`. Scores are the bits in hexadecimal, values are the shortest
/// decimals that read back as the same number.
pub fn scores() -> Result<String, Box<dyn Error>> {
    let mut text = String::from("# model raw_score prediction : the row's values\n");
    for path in models()? {
        let name = path.file_stem().unwrap_or_default().display();
        let model = fs::read_to_string(&path)?;
        let forest = Forest::parse(model.as_bytes())?;
        let booster = Booster::from_text(&model)?;
        let values = synthetic::trouble(&forest, ROWS, 7);
        let raw = booster.predict(&values, Output::RawScore)?;
        let predictions = booster.predict(&values, Output::Prediction)?;
        for (row, (raw, prediction)) in
            values.chunks_exact(forest.num_features()).zip(raw.iter().zip(predictions))
        {
            write!(text, "{name} {:016x} {:016x} :", raw.to_bits(), prediction.to_bits())?;
            for value in row {
                write!(text, " {value:?}")?;
            }
            text.push('\n');
        }
    }
    Ok(text)
}
