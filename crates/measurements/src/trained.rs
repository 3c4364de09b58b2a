//! What a model was trained on, as its spec records it.

use std::collections::BTreeSet;
use std::path::Path;

use ck_select_model::directory::{FeatureSpec, TrainedFile, TrainedOn};
use ck_select_types::problem::{FieldSet, Problem};
use ck_select_types::vocab::Op;

use crate::digest;
use crate::read::{DataError, Measurements};

/// The digests of the measurements' files, in order.
pub fn digests(measurements: &Measurements) -> Result<Vec<String>, DataError> {
    measurements.sources().iter().map(|source| digest::of_file(&source.path)).collect()
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
        problems.insert((row.problem as usize, row.split_k));
        kernels.insert(row.kernel as usize);
    }
    let files = measurements.sources().iter().zip(digests).map(|(source, digest)| TrainedFile {
        file: source.file_name(),
        rows: source.rows,
        sha256: digest.clone(),
    });
    let problems =
        problems.into_iter().map(|(index, parts)| measurements.problems()[index].with_split(parts));
    let (own, others): (Vec<Problem>, Vec<Problem>) =
        problems.partition(|problem| problem.op() == measurements.scope().op);
    TrainedOn::new(
        own.iter().chain(&others),
        kernels.into_iter().map(|kernel| &measurements.kernels()[kernel].kind),
        files.collect(),
    )
}

/// The part of a card about the model's limits.
pub fn limits(op: Op, trained_on: &TrainedOn) -> String {
    let (mut varied, mut fixed) = (Vec::new(), Vec::new());
    for name in FieldSet::fields(op) {
        match trained_on.range(name) {
            Some([from, to]) if from == to => fixed.push(format!("{name} {from}")),
            Some([from, to]) => varied.push(format!("{name} {from} to {to}")),
            None => {
                let words = trained_on.words(name).collect::<Vec<_>>();
                match words.len() {
                    0 => {}
                    1 => fixed.push(format!("{name} {}", words[0])),
                    _ => varied.push(format!("{name} {}", words.join(" or "))),
                }
            }
        }
    }
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    format!(
        "\n## Limits\n\nOutside of what it was trained on the model guesses; a selection there is \
         flagged.\n\n\
         - varied: {}\n- fixed: {}\n- pipelines: {}; suffixes: {}\n",
        list(varied),
        list(fixed),
        list(trained_on.pipelines.iter().cloned().collect()),
        list(trained_on.suffixes.iter().cloned().collect()),
    )
}

/// Whether the model was trained on each file. No file is read if the spec records none.
pub fn were_trained_on<'p>(
    spec: &FeatureSpec,
    files: impl Iterator<Item = &'p Path>,
) -> Result<Vec<bool>, DataError> {
    let known = spec.trained_on.as_ref().map_or(&[][..], |trained| &trained.files);
    let is_known = |file: &Path| -> Result<bool, DataError> {
        if known.is_empty() {
            return Ok(false);
        }
        let digest = digest::of_file(file)?;
        Ok(known.iter().any(|known| known.sha256 == digest))
    };
    files.map(is_known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_shipped_models_say_what_their_specs_say() {
        let mut seen = 0;
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).unwrap() {
            let model = entry.unwrap().path();
            let Ok(spec) = std::fs::read(model.join(FeatureSpec::FILE)) else { continue };
            let spec = FeatureSpec::from_json("spec", &spec).unwrap();
            let Some(trained_on) = &spec.trained_on else {
                panic!("{}: it does not say what it was trained on", model.display());
            };
            if spec.prior.is_some() {
                continue;
            }
            let card = std::fs::read_to_string(model.join("MODEL_CARD.md")).unwrap();
            let limits = limits(spec.op(), trained_on);
            assert!(card.contains(&limits), "{}: its limits are{limits}", model.display());
            seen += 1;
        }
        assert!(seen >= 4, "{seen} models");
    }
}
