//! How a registry chooses, from its owner and from the environment.

use std::path::PathBuf;

use super::{OverrideError, Overrides};
use crate::vocab::Arch;

/// Which sources are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Override, model, priority.
    #[default]
    Model,
    /// Override, priority: nothing is predicted.
    Priority,
}

/// How a registry chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Which sources are asked.
    pub mode: Mode,
    /// A file that says which kernel to take for which problem, before anything else is asked.
    pub override_file: Option<PathBuf>,
    /// The architecture to assume when a problem does not name one.
    pub arch: Option<Arch>,
}

/// Options that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// A word that no mode has.
    #[error("{variable}: found '{found}', expected one of model, priority")]
    Mode {
        /// Where the word is from.
        variable: &'static str,
        /// The word.
        found: String,
    },
    /// An override file that cannot be read.
    #[error(transparent)]
    Override(#[from] OverrideError),
}

impl Options {
    /// These options with what the environment says put over them: `CK_SELECT_MODE`, `CK_SELECT_OVERRIDE`.
    ///
    /// `variable` looks a variable up, usually [`std::env::var_os`].
    pub fn with_environment(
        mut self,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Self, OptionsError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(word) = set("CK_SELECT_MODE") {
            self.mode = match word.to_str() {
                Some("model") => Mode::Model,
                Some("priority") => Mode::Priority,
                _ => {
                    let found = word.to_string_lossy().into_owned();
                    return Err(OptionsError::Mode { variable: "CK_SELECT_MODE", found });
                }
            };
        }
        if let Some(path) = set("CK_SELECT_OVERRIDE") {
            self.override_file = Some(path.into());
        }
        Ok(self)
    }

    pub(super) fn read_overrides(&self) -> Result<Overrides, OptionsError> {
        Ok(match &self.override_file {
            Some(path) => Overrides::read(path)?,
            None => Overrides::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins() {
        let read = |mode: &str| {
            Options::default().with_environment(|name| (name == "CK_SELECT_MODE").then(|| mode.into()))
        };
        assert_eq!(read("priority").unwrap().mode, Mode::Priority);
        assert_eq!(read("").unwrap(), Options::default());
        let error = read("magic").unwrap_err().to_string();
        assert_eq!(error, "CK_SELECT_MODE: found 'magic', expected one of model, priority");
    }
}
