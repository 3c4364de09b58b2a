//! The runner's configuration: a JSON file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ck_select::json::Strict;
use serde::{Deserialize, Serialize};

use crate::error::{MeasureError, at};

/// The libraries or the program that measure. Results of equal configurations go into the same log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "runner", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunnerConfig {
    /// Shared libraries that register kernels.
    Library {
        /// The library that holds a kernel, with `{kernel}` for its name, or the one of all kernels, or a
        /// folder of libraries.
        library: PathBuf,
        /// The clock for kernels that do not time themselves.
        #[serde(default)]
        device: DeviceKind,
        /// Environment variables to set for the worker.
        #[serde(default)]
        environment: BTreeMap<String, String>,
    },
    /// A program that speaks the protocol of [`crate::protocol`] and has its own way to make, run and time
    /// kernels.
    Worker {
        /// The program and its arguments. Relative paths are of the configuration's folder, where it runs.
        command: Vec<PathBuf>,
        /// Environment variables to set.
        #[serde(default)]
        environment: BTreeMap<String, String>,
        /// How the names of its kernels begin: a pool of others is refused before anything is started.
        #[serde(default, skip_serializing)]
        names: String,
        /// The configuration's folder.
        #[serde(skip)]
        folder: PathBuf,
    },
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
        let here = absolute.parent().unwrap_or(Path::new("/"));
        match &mut config {
            Self::Library { library, .. } => *library = here.join(&*library),
            Self::Worker { command, .. } if command.is_empty() => {
                return Err(MeasureError::file(path, "command: found nothing, expected a program"));
            }
            Self::Worker { folder, .. } => here.clone_into(folder),
        }
        Ok(config)
    }

    /// The configuration for one library that holds all kernels.
    pub fn from_library(library: &Path) -> Result<Self, MeasureError> {
        let library = std::path::absolute(library).map_err(at(library))?;
        Ok(Self::Library { library, device: DeviceKind::default(), environment: BTreeMap::new() })
    }

    /// The device whose clock a worker uses.
    pub(crate) fn device(&self) -> DeviceKind {
        match self {
            Self::Library { device, .. } => *device,
            Self::Worker { .. } => DeviceKind::default(),
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
    fn invalid_configurations_name_the_file_and_the_field() {
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
