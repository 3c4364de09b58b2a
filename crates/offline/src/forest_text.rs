//! The text of a model's forest, for continued training and for packing.

use std::io::Read as _;
use std::path::Path;

use ck_select_model::model::{Model, ModelError, Target};
use ck_select_types::files;

use crate::inflate::inflated;

/// The text of a target's forest in a model directory; `None` if the model has none. A packed forest is
/// refused, because its text cannot be recovered.
pub fn forest_text(directory: &Path, target: Target) -> Result<Option<String>, ModelError> {
    let Some(path) = Model::forest_file(directory, target)? else { return Ok(None) };
    let file = path.display().to_string();
    let extension = path.extension().unwrap_or_default();
    if extension == "packed" {
        let reason = "a packed forest, whose text is needed: name the model that it was packed from";
        return Err(ModelError::Mismatch { file, reason: reason.to_owned() });
    }
    let text = if extension == "gz" {
        let mut text = String::new();
        let inflated = files::open(&path).and_then(inflated);
        inflated.and_then(|mut inflated| inflated.read_to_string(&mut text)).map(|_| text)
    } else {
        files::read_to_string(&path)
    };
    text.map(Some).map_err(|source| ModelError::Io { file, source })
}
