//! Models inside the library, for programs that ship without model files.
//!
//! The build script takes every directory of `models/`, unless the cargo feature `embedded-models` is off.

use std::ffi::CStr;

use super::{FeatureSpec, Model, ModelError, Target};

/// A model whose files are part of the library.
#[derive(Debug)]
pub struct EmbeddedModel {
    name: &'static CStr,
    spec: &'static [u8],
    /// As `build/pack.rs` makes them.
    forests: &'static [(Target, &'static [u8])],
}

static MODELS: &[EmbeddedModel] = include!(concat!(env!("OUT_DIR"), "/embedded_models.rs"));

impl EmbeddedModel {
    /// Prefix of the names of embedded models wherever a directory is also accepted.
    pub const PREFIX: &'static str = "embedded:";

    /// All models of this build, by name; empty if it was built without.
    pub fn all() -> &'static [Self] {
        MODELS
    }

    /// The model with this name.
    pub fn find(name: &str) -> Result<&'static Self, ModelError> {
        Self::find_in(MODELS, name)
    }

    fn find_in(models: &'static [Self], name: &str) -> Result<&'static Self, ModelError> {
        models.iter().find(|model| model.name() == name).ok_or_else(|| ModelError::NotEmbedded {
            model: name.to_owned(),
            known: models.iter().map(Self::name).collect(),
        })
    }

    /// Its name: that of its directory.
    pub fn name(&self) -> &'static str {
        // The build script takes ASCII names only.
        self.name.to_str().unwrap_or_default()
    }

    /// Its name as a C string.
    pub const fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// Its spec; the forests are not read.
    pub fn spec(&self) -> Result<FeatureSpec, ModelError> {
        FeatureSpec::from_json(&self.label(), self.spec)
    }

    /// Its files in the library: the spec as it is in `models/`, and the forests as packed by the build
    /// script, with `.packed` appended to their names.
    pub fn files(&self) -> impl Iterator<Item = (String, &'static [u8])> + '_ {
        let forests = self.forests.iter().map(|&(target, packed)| (target.file_name() + ".packed", packed));
        std::iter::once(("feature_spec.json".to_owned(), self.spec)).chain(forests)
    }

    /// Reads and checks it, as when loading it from its directory.
    pub fn load(&self) -> Result<Model, ModelError> {
        let label = self.label();
        let model = Model::from_packed(&label, self.spec()?, self.forests)?;
        Ok(Model { place: Some(label.into()), ..model })
    }

    fn label(&self) -> String {
        format!("{}{}", Self::PREFIX, self.name())
    }
}

impl Model {
    /// The embedded model with this name; see [`EmbeddedModel::all`].
    pub fn embedded(name: &str) -> Result<Self, ModelError> {
        EmbeddedModel::find(name)?.load()
    }

    /// Loads an embedded model for `embedded:NAME`, otherwise a model directory.
    pub fn open(place: impl AsRef<std::path::Path>) -> Result<Self, ModelError> {
        let place = place.as_ref();
        match place.to_str().and_then(|text| text.strip_prefix(EmbeddedModel::PREFIX)) {
            Some(name) => Self::embedded(name),
            None => Self::load(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: &[EmbeddedModel] = &[EmbeddedModel { name: c"conv_small", spec: b"{}", forests: &[] }];

    /// Bit by bit: the debug form of a forest has all of its numbers, and tells the two zeros apart.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn an_embedded_model_is_the_model_of_its_directory() {
        for embedded in EmbeddedModel::all() {
            let directory = format!("{}/models/{}", env!("CARGO_MANIFEST_DIR"), embedded.name());
            let (inside, outside) = (embedded.load().unwrap(), Model::load(directory).unwrap());
            assert_eq!(inside.name(), format!("embedded:{}", embedded.name()));
            assert_eq!(format!("{:?}", inside.spec()), format!("{:?}", outside.spec()));
            assert!(inside.targets().eq(outside.targets()));
            for target in inside.targets() {
                let forest = |model: &Model| format!("{:?}", model.forest(target));
                assert!(forest(&inside) == forest(&outside), "{} {target}", embedded.name());
            }
        }
    }

    #[test]
    fn a_missing_name_lists_what_there_is() {
        let error = EmbeddedModel::find_in(ONE, "conv").unwrap_err().to_string();
        assert_eq!(error, "no model 'conv' is embedded in this library: it has conv_small");
        let error = EmbeddedModel::find_in(&[], "conv").unwrap_err().to_string();
        assert_eq!(error, "no model 'conv' is embedded in this library: it has none");
    }

    #[test]
    fn every_embedded_model_of_this_build_loads() {
        for embedded in EmbeddedModel::all() {
            let model = embedded.load().unwrap();
            assert!(model.ranking_forest().is_some(), "{}", embedded.name());
            assert_eq!(Model::open(model.name()).unwrap().name(), model.name());
            let spec = format!("{}/models/{}/feature_spec.json", env!("CARGO_MANIFEST_DIR"), embedded.name());
            let (name, bytes) = embedded.files().next().unwrap();
            assert_eq!((name.as_str(), std::fs::read(spec).unwrap()), ("feature_spec.json", bytes.to_vec()));
        }
        assert!(cfg!(feature = "embedded-models") || EmbeddedModel::all().is_empty());
    }
}
