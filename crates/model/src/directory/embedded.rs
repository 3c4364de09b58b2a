//! Models embedded in a program, which then needs no model files.

use std::ffi::CStr;

use super::{FeatureSpec, Model, ModelError, Target};
use crate::sureness::Sureness;

/// A model whose files are part of the library.
#[derive(Debug)]
pub struct EmbeddedModel {
    name: &'static CStr,
    spec: &'static [u8],
    /// The forests, packed by `src/packed/mod.rs`.
    forests: &'static [(Target, &'static [u8])],
    sureness: Option<&'static [u8]>,
}

impl EmbeddedModel {
    /// Prefix of the names of embedded models where directories are accepted, too.
    pub const PREFIX: &'static str = "embedded:";

    /// A model from its parts: its name in ASCII, its spec, its forests as the build script of `ck-select`
    /// packs them, and what was learned about its choices.
    pub const fn new(
        name: &'static CStr,
        spec: &'static [u8],
        forests: &'static [(Target, &'static [u8])],
        sureness: Option<&'static [u8]>,
    ) -> Self {
        Self { name, spec, forests, sureness }
    }

    /// The model's name, which is that of its directory.
    pub fn name(&self) -> &'static str {
        // The build script only accepts ASCII names.
        self.name.to_str().unwrap_or_default()
    }

    /// The model's name, as a C string.
    pub const fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// The model's spec, which says what the model is for. The forests are not read.
    pub fn spec(&self) -> Result<FeatureSpec, ModelError> {
        FeatureSpec::from_json(&self.label(), self.spec)
    }

    /// The model's forests, as the build script of `ck-select` packs them.
    pub const fn forests(&self) -> &'static [(Target, &'static [u8])] {
        self.forests
    }

    /// The model's files in the library: the spec as in `models/`, and the forests as packed by the build script,
    /// with `.packed` after their names.
    pub fn files(&self) -> impl Iterator<Item = (String, &'static [u8])> + '_ {
        let forests = self.forests.iter().map(|&(target, packed)| (target.file_name() + ".packed", packed));
        let sureness = self.sureness.map(|bytes| (Sureness::FILE.to_owned(), bytes));
        std::iter::once((FeatureSpec::FILE.to_owned(), self.spec)).chain(forests).chain(sureness)
    }

    /// Reads and checks it, as if it were loaded from its directory.
    pub fn load(&self) -> Result<Model, ModelError> {
        let label = self.label();
        Model::from_packed(&label, self.spec()?, self.forests, self.sureness)
    }

    fn label(&self) -> String {
        format!("{}{}", Self::PREFIX, self.name())
    }
}
