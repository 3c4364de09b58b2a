//! Models inside a program, which needs no model files then.

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

impl EmbeddedModel {
    /// What the names of embedded models begin with where a directory could stand, too.
    pub const PREFIX: &'static str = "embedded:";

    /// A model of these parts: its name in ASCII, its spec, and its forests as the build script of
    /// `ck-select` packs them.
    pub const fn new(
        name: &'static CStr,
        spec: &'static [u8],
        forests: &'static [(Target, &'static [u8])],
    ) -> Self {
        Self { name, spec, forests }
    }

    /// Its name: that of its directory.
    pub fn name(&self) -> &'static str {
        // The build script takes ASCII names only.
        self.name.to_str().unwrap_or_default()
    }

    /// Its name, as C wants it.
    pub const fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// Its spec, which says what it is for; the forests are not read for it.
    pub fn spec(&self) -> Result<FeatureSpec, ModelError> {
        FeatureSpec::from_json(&self.label(), self.spec)
    }

    /// What the library has of it: the spec as it lies in `models/`, and the forests in the form into which
    /// the build script packed them, with `.packed` behind their names.
    pub fn files(&self) -> impl Iterator<Item = (String, &'static [u8])> + '_ {
        let forests = self.forests.iter().map(|&(target, packed)| (target.file_name() + ".packed", packed));
        std::iter::once(("feature_spec.json".to_owned(), self.spec)).chain(forests)
    }

    /// Reads and checks it, as if it were loaded from its directory.
    pub fn load(&self) -> Result<Model, ModelError> {
        let label = self.label();
        let model = Model::from_packed(&label, self.spec()?, self.forests)?;
        Ok(Model { place: Some(label.into()), ..model })
    }

    fn label(&self) -> String {
        format!("{}{}", Self::PREFIX, self.name())
    }
}
