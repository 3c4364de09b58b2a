//! The text of a model's forest, for continued training and for packing.

use std::io::{BufReader, Read as _};
use std::path::Path;

use ck_select_types::files;

use super::{Model, ModelError, Target};
use crate::forest::Forest;
use crate::inflate::inflated;

/// The text of a target's forest in a model directory; `None` if the model has none.
pub fn forest_text(directory: &Path, target: Target) -> Result<Option<String>, ModelError> {
    let Some(path) = Model::forest_file(directory, target)? else { return Ok(None) };
    let file = path.display().to_string();
    let extension = path.extension().unwrap_or_default();
    let text = if extension == "packed" {
        let packed = files::read(&path).map_err(|source| ModelError::Io { file: file.clone(), source })?;
        return Forest::packed_text(&packed)
            .map(Some)
            .map_err(|source| ModelError::Forest { file, source: Box::new(source) });
    } else if extension == "gz" {
        let mut text = String::new();
        files::open(&path)
            .and_then(|packed| {
                let size = packed.metadata()?.len();
                inflated(BufReader::new(packed), size).read_to_string(&mut text)
            })
            .map(|_| text)
    } else {
        files::read_to_string(&path)
    };
    text.map(Some).map_err(|source| ModelError::Io { file, source })
}
