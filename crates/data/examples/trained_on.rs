//! Writes what a model was trained on into its spec (`ck_select.trained_on`) and card, if it was trained
//! before these recorded it, from the files that it was trained on:
//!
//! ```console
//! $ cargo run --release -p ck-select-data --example trained_on -- MODEL_DIR FILE…
//! ```
//!
//! The files are those that the model's card names, by their digests. As a check, the recorded ranges of the
//! features that are numbers of the problem must come out again. Forests and all else stay as they are.

use std::error::Error;
use std::path::{Path, PathBuf};

use ck_select_data::measurements::{Measurements, Wanted};
use ck_select_data::trained::{digests, limits, trained_on};
use ck_select_model::model::{FeatureSpec, TrainedOn};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let model = arguments.next().ok_or("usage: trained_on MODEL_DIR FILE…")?;
    let files: Vec<PathBuf> = arguments.collect();
    record(&model, &files)
}

fn record(model: &Path, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let path = model.join("feature_spec.json");
    let text = std::fs::read(&path)?;
    let spec = FeatureSpec::from_json(&path.display().to_string(), &text)?;
    let wanted = Wanted { op: spec.op(), direction: spec.direction, dtype: spec.dtype, arch: spec.arch };
    let measurements = Measurements::read(files, wanted)?;
    let digests = digests(&measurements)?;
    let card_path = model.join("MODEL_CARD.md");
    let card = std::fs::read_to_string(&card_path)?;
    for (source, digest) in measurements.sources().iter().zip(&digests) {
        if !card.contains(digest) {
            return Err(
                format!("{}: the card does not have its digest {digest}", source.path.display()).into()
            );
        }
    }
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = card.split('`').filter(|word| is_digest(word)).count();
    if named != files.len() {
        return Err(format!("the card names {named} files, {} are given", files.len()).into());
    }
    let valid = (0u32..).zip(measurements.rows()).filter(|(_, row)| row.tflops > 0.0);
    let trained = trained_on(&measurements, valid.map(|(index, _)| index), &digests);
    for (field, recorded) in ck_select_types::problem::FieldSet::fields(spec.op())
        .filter_map(|field| Some((field, spec.trained_range.as_ref()?.get(field)?)))
    {
        let found = trained.range(field).map(|range| range.map(|value| value as f64));
        if found != Some(recorded) {
            return Err(format!("{field}: the spec has {recorded:?}, the files have {found:?}").into());
        }
    }
    let mut document: Value = serde_json::from_slice(&text)?;
    let own =
        document.get_mut("ck_select").and_then(Value::as_object_mut).ok_or("the spec has no ck_select")?;
    own.insert(TrainedOn::KEY.to_owned(), serde_json::to_value(&trained)?);
    std::fs::write(&path, format!("{document:#}\n"))?;

    let (before, rest) = card.split_once("\n## Limits\n").ok_or("the card has no section `Limits`")?;
    let ends = ["\nScores of", "\nHardware constants:"].into_iter().filter_map(|end| rest.find(end));
    let end = ends.min().ok_or("the card's section `Limits` has no hardware constants")?;
    let range = spec.trained_range.unwrap_or_default();
    let limits = limits(&spec.extractor.schema, &trained, &range);
    std::fs::write(&card_path, format!("{before}{limits}{}", &rest[end..]))?;
    println!("{}", model.display());
    Ok(())
}
