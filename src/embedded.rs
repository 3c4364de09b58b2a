//! The models inside the library, for programs that ship without model files.
//!
//! The build script takes every directory of `models/`, unless the cargo feature `embedded-models` is off.

use std::path::Path;

#[cfg(feature = "embedded-models")]
use crate::directory::Target;
use crate::directory::{EmbeddedModel, Model, ModelError};

static MODELS: &[EmbeddedModel] = include!(concat!(env!("OUT_DIR"), "/embedded_models.rs"));

/// All models of this build, by name; none if it was built without them.
pub fn all() -> &'static [EmbeddedModel] {
    MODELS
}

/// The model with this name.
pub fn find(name: &str) -> Result<&'static EmbeddedModel, ModelError> {
    find_in(MODELS, name)
}

/// The model of `embedded:NAME`, or `None` if the text is something else.
pub fn named(path: &Path) -> Option<Result<&'static EmbeddedModel, ModelError>> {
    path.to_str()?.strip_prefix(EmbeddedModel::PREFIX).map(find)
}

/// Loads an embedded model by `embedded:NAME`, a model directory by anything else.
///
/// ```
/// let model = ck_select::embedded::open("embedded:grouped_conv_forward_bf16_gfx950")?;
/// assert!(model.ranking_forest().is_some());
/// # Ok::<(), ck_select::directory::ModelError>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Model, ModelError> {
    let path = path.as_ref();
    named(path).map_or_else(|| Model::load(path), |model| model?.load())
}

fn find_in(models: &'static [EmbeddedModel], name: &str) -> Result<&'static EmbeddedModel, ModelError> {
    models.iter().find(|model| model.name() == name).ok_or_else(|| ModelError::NotEmbedded {
        model: name.to_owned(),
        known: models.iter().map(EmbeddedModel::name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: &[EmbeddedModel] = &[EmbeddedModel::new(c"conv_small", b"{}", &[], None)];

    /// Bit by bit: the debug form of a forest has all of its numbers, and distinguishes the two zeros.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn an_embedded_model_is_the_model_of_its_directory() {
        for embedded in all() {
            let directory = format!("{}/models/{}", env!("CARGO_MANIFEST_DIR"), embedded.name());
            let path = format!("embedded:{}", embedded.name());
            let (inside, outside) = (open(&path).unwrap(), Model::load(&directory).unwrap());
            assert_eq!(inside.name(), path);
            let (name, bytes) = embedded.files().next().unwrap();
            let spec = std::fs::read(format!("{directory}/feature_spec.json")).unwrap();
            assert_eq!((name.as_str(), spec), ("feature_spec.json", bytes.to_vec()));
            assert_eq!(format!("{:?}", inside.spec()), format!("{:?}", outside.spec()));
            assert!(inside.ranking_forest().is_some() && inside.targets().eq(outside.targets()));
            for target in inside.targets() {
                let forest = |model: &Model| format!("{:?}", model.forest(target));
                assert!(forest(&inside) == forest(&outside), "{} {target}", embedded.name());
            }
        }
        assert!(cfg!(feature = "embedded-models") || all().is_empty());
    }

    #[test]
    fn a_missing_name_lists_what_there_is() {
        let error = find_in(ONE, "conv").unwrap_err().to_string();
        let expected =
            "no model 'conv' is embedded in this library: it has conv_small; did you mean 'conv_small'?";
        assert_eq!(error, expected);
        let error = find_in(&[], "conv").unwrap_err().to_string();
        assert_eq!(error, "no model 'conv' is embedded in this library: it has none");
    }
}
