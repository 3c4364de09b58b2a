//! The runner's configuration: a JSON file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ck_select::json::Strict;
use serde::{Deserialize, Serialize};

use crate::error::{MeasureError, at};

/// What measures, and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "runner", rename_all = "snake_case")]
pub enum RunnerConfig {
    /// Shared libraries that register kernels.
    Library(LibraryConfig),
    /// A program that speaks the worker's protocol.
    Worker(WorkerConfig),
}

/// A program that speaks the protocol of [`crate::protocol`] and has its own way to make, run and time
/// kernels.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// The program and its arguments. Relative paths start from the configuration's folder, in which it runs.
    pub command: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How the names of its kernels begin, by which a pool of others is refused before anything is started.
    #[serde(default)]
    pub names: String,
    /// The configuration's folder.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Shared libraries.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryConfig {
    /// The library that holds a kernel, with `{kernel}` for its name, or the one of all kernels.
    pub library: PathBuf,
    /// The clock for kernels that do not time themselves.
    #[serde(default)]
    pub device: DeviceKind,
    /// Environment variables to set for the worker.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The clock for kernels that do not time themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The GPU's, through events of the HIP runtime.
    #[default]
    Hip,
    /// The host's: for kernels that run on the CPU, and for those that report their own times.
    Host,
}

impl RunnerConfig {
    /// Reads a configuration; relative paths in it start from its folder.
    pub fn read(path: &Path) -> Result<Self, MeasureError> {
        let text = ck_select::files::read_to_string(path).map_err(at(path))?;
        let fault = |error| MeasureError::file(path, error);
        serde_json::from_str::<Strict>(&text).map_err(fault)?;
        let mut config: Self = serde_json::from_str(&text).map_err(fault)?;
        // The loader looks for a name without a folder where the system's libraries are.
        let absolute = std::path::absolute(path).map_err(at(path))?;
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        match &mut config {
            Self::Library(config) => config.library = folder.join(&config.library),
            Self::Worker(config) => folder.clone_into(&mut config.folder),
        }
        if matches!(&config, Self::Worker(config) if config.command.is_empty()) {
            return Err(MeasureError::file(path, "command: found nothing, expected a program"));
        }
        Ok(config)
    }
}

impl LibraryConfig {
    /// The configuration for one library that holds all kernels.
    pub fn new(library: &Path) -> Result<Self, MeasureError> {
        let library = std::path::absolute(library).map_err(at(library))?;
        Ok(Self { library, device: DeviceKind::default(), environment: BTreeMap::new() })
    }

    /// The library that holds a kernel.
    pub fn library_of(&self, kernel: &str) -> PathBuf {
        match self.library.to_str() {
            Some(text) => PathBuf::from(text.replace("{kernel}", kernel)),
            None => self.library.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RunnerConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runner.json");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        RunnerConfig::read(&path).map_err(|error| error.to_string().replace(&shown, "FILE"))
    }

    #[test]
    fn mistakes_are_told() {
        for (text, message) in [
            ("{}", "FILE: missing field `runner`"),
            (r#"{"runner": "worker", "command": []}"#, "FILE: command: found nothing"),
            (r#"{"runner": "worker", "command": ["a"], "folder": "b"}"#, "FILE: unknown field `folder`"),
            (r#"{"runner": "library"}"#, "FILE: missing field `library`"),
            (r#"{"runner": "executable", "directory": "bin"}"#, "FILE: unknown variant `executable`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
