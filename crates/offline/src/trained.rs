//! What a model was trained on, as its spec records it.

use std::collections::BTreeSet;
use std::path::Path;

use ck_select_model::model::{FeatureSpec, TrainedFile, TrainedOn};

use crate::digest;
use crate::measurements::{DataError, Measurements};

/// The digests of the files that measurements are from, in order.
pub fn digests(measurements: &Measurements) -> Result<Vec<String>, DataError> {
    let digest = |path: &Path| {
        digest::of_file(path).map_err(|error| DataError::io(&path.display().to_string(), error))
    };
    measurements.sources().iter().map(|source| digest(&source.path)).collect()
}

/// What some rows of the measurements teach a model.
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
    TrainedOn::new(
        problems.into_iter().map(|problem| &measurements.problems()[problem]),
        kernels.into_iter().map(|kernel| &measurements.kernels()[kernel].kind),
        files.collect(),
    )
}

/// For each file of the measurements, whether the model was trained on it. Nothing is read for a spec that records no
/// files.
pub fn were_trained_on(spec: &FeatureSpec, measurements: &Measurements) -> Result<Vec<bool>, DataError> {
    let known = spec.trained_on.as_ref().map_or(&[][..], TrainedOn::files);
    if known.is_empty() {
        return Ok(vec![false; measurements.sources().len()]);
    }
    let is_known = |digest: &String| known.iter().any(|file| file.sha256 == *digest);
    Ok(digests(measurements)?.iter().map(is_known).collect())
}
