//! What a model was trained on, as its spec records it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use ck_select_model::features::Schema;
use ck_select_model::model::{FeatureSpec, TrainedFile, TrainedOn, TrainedRange};
use ck_select_types::problem::FieldSet;

use crate::digest;
use crate::measurements::{DataError, Measurements};

/// The digests of the measurements' files, in order.
pub fn digests(measurements: &Measurements) -> Result<Vec<String>, DataError> {
    let digest = |path: &Path| {
        digest::of_file(path).map_err(|error| DataError::io(&path.display().to_string(), error))
    };
    measurements.sources().iter().map(|source| digest(&source.path)).collect()
}

/// The record of training on some rows of the measurements.
pub fn trained_on(
    measurements: &Measurements,
    rows: impl IntoIterator<Item = u32>,
    digests: &[String],
) -> TrainedOn {
    let (mut problems, mut kernels) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let row = &measurements.rows()[row as usize];
        problems.insert(row.problem as usize);
        kernels.insert(row.kernel as usize);
    }
    let files = measurements.sources().iter().zip(digests).map(|(source, digest)| TrainedFile {
        file: source.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        rows: source.rows,
        sha256: digest.clone(),
    });
    let problem = |place: usize| &measurements.problems()[place];
    let (own, others): (Vec<usize>, Vec<usize>) =
        problems.into_iter().partition(|&place| problem(place).op() == measurements.wanted().op);
    TrainedOn::new(
        own.into_iter().chain(others).map(problem),
        kernels.into_iter().map(|kernel| &measurements.kernels()[kernel].kind),
        files.collect(),
    )
}

/// The part of a card about the model's limits.
pub fn limits(schema: &Schema, trained_on: &TrainedOn, range: &TrainedRange) -> String {
    let mut text = String::from(
        "\n## Limits\n\nOutside of these ranges the model guesses; a selection there is flagged.\n\n\
         | field of the problem | trained on |\n|---|---|\n",
    );
    for name in FieldSet::fields(schema.op()) {
        let seen = match trained_on.range(name) {
            Some([from, to]) if from == to => format!("{from} only"),
            Some([from, to]) => format!("{from} to {to}"),
            None => trained_on.words(name).collect::<Vec<_>>().join(", "),
        };
        if !seen.is_empty() {
            let _ = writeln!(text, "| {name} | {seen} |");
        }
    }
    let pipelines = trained_on.pipelines().collect::<Vec<_>>().join(", ");
    let suffixes = trained_on.suffixes().collect::<Vec<_>>().join(", ");
    let suffixes = if suffixes.is_empty() { "none" } else { suffixes.as_str() };
    let _ = writeln!(
        text,
        "\nKernels with other pipelines or suffixes are marked. Pipelines: {pipelines}. Suffixes: \
         {suffixes}.\n\n\
         Features of the problem, as it was trained:\n\n| feature | from | to |\n|---|---|---|"
    );
    for (name, scope) in schema.names().into_iter().zip(schema.scopes()) {
        if let (Some([from, to]), "problem") = (range.get(name), scope) {
            let _ = writeln!(text, "| {name} | {from} | {to} |");
        }
    }
    text
}

/// For each file of the measurements, whether the model was trained on it. No file is read if the spec
/// records none.
pub fn were_trained_on(spec: &FeatureSpec, measurements: &Measurements) -> Result<Vec<bool>, DataError> {
    let known = spec.trained_on.as_ref().map_or(&[][..], TrainedOn::files);
    if known.is_empty() {
        return Ok(vec![false; measurements.sources().len()]);
    }
    let is_known = |digest: &String| known.iter().any(|file| file.sha256 == *digest);
    Ok(digests(measurements)?.iter().map(is_known).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_shipped_models_say_what_their_specs_say() {
        let mut seen = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).unwrap() {
            let model = entry.unwrap().path();
            let Ok(spec) = std::fs::read(model.join("feature_spec.json")) else { continue };
            let spec = FeatureSpec::from_json("spec", &spec).unwrap();
            let (Some(trained_on), Some(range)) = (&spec.trained_on, &spec.trained_range) else {
                panic!("{}: it does not say what it was trained on", model.display());
            };
            if spec.prior.is_some() {
                continue;
            }
            let card = std::fs::read_to_string(model.join("MODEL_CARD.md")).unwrap();
            let limits = limits(&spec.extractor.schema, trained_on, range);
            assert!(card.contains(&limits), "{}: make trained-on writes it", model.display());
            seen += 1;
        }
        assert!(seen >= 4, "{seen} models");
    }
}
