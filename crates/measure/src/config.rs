//! The runner's configuration: a JSON file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ck_select::json::Strict;
use serde::{Deserialize, Serialize};

use crate::error::{MeasureError, at};
use crate::template::Template;

/// What measures, and how.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "runner", rename_all = "snake_case")]
pub enum RunnerConfig {
    /// Executables, one per kernel.
    Executable(ExecutableConfig),
    /// Shared libraries that register kernels.
    Library(LibraryConfig),
    /// A program that speaks the worker's protocol.
    Worker(WorkerConfig),
}

/// A program that speaks the protocol of [`crate::protocol`] and has its own way to make, run and time kernels.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// The program and its arguments. Relative paths start from the configuration's folder, in which it runs.
    pub command: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The configuration's folder.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Executables, one per kernel: `<directory>/<prefix><kernel>`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutableConfig {
    /// Their directory.
    pub directory: PathBuf,
    /// The prefix of their names.
    #[serde(default = "benchmark")]
    pub prefix: String,
    /// Their arguments; by default the flags of upstream's GEMM benchmarks.
    pub arguments: Option<Vec<Template>>,
    /// Environment variables to set.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

impl ExecutableConfig {
    /// Upstream's executables in a directory.
    pub fn of(directory: PathBuf) -> Self {
        Self { directory, prefix: benchmark(), arguments: None, environment: BTreeMap::new() }
    }
}

fn benchmark() -> String {
    "benchmark_".to_owned()
}

/// Shared libraries: existing ones (`library`), or one built from each kernel's source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryConfig {
    /// The library that holds a kernel; without `{kernel}` it is the same for all kernels.
    pub library: Option<Template>,
    /// How to build libraries instead.
    pub build: Option<BuildConfig>,
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

/// How to build a library from a kernel's source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildConfig {
    /// The source file of a kernel.
    pub source: Template,
    /// The command and its arguments.
    #[serde(default = "hipcc")]
    pub command: Vec<Template>,
    /// The command that prints the compiler version; by default `command` with `--version`.
    pub version_command: Option<Vec<String>>,
    /// Other files that the sources depend on.
    #[serde(default)]
    pub inputs: Vec<PathBuf>,
    /// The value of `{arch}`.
    pub arch: Option<String>,
    /// How many builds run at a time; by default one per core.
    pub jobs: Option<usize>,
    /// The time limit of one build, in seconds.
    #[serde(default = "ten_minutes")]
    pub timeout_s: f64,
    /// Where built libraries are kept; by default the user's cache folder.
    pub cache: Option<PathBuf>,
}

impl BuildConfig {
    /// The names that templates of the command may use.
    pub const PLACES: [&'static str; 4] = ["source", "output", "kernel", "arch"];
}

fn hipcc() -> Vec<Template> {
    let words = [
        "hipcc", "-O3", "-std=c++17", "-fPIC", "-shared", "--offload-arch={arch}", "-o", "{output}",
        "{source}",
    ];
    words.into_iter().filter_map(|word| Template::try_from(word.to_owned()).ok()).collect()
}

const fn ten_minutes() -> f64 {
    600.0
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
            Self::Executable(config) => config.directory = folder.join(&config.directory),
            Self::Library(config) => config.anchor(folder),
            Self::Worker(config) => folder.clone_into(&mut config.folder),
        }
        if matches!(&config, Self::Worker(config) if config.command.is_empty()) {
            return Err(MeasureError::file(path, "command: found nothing, expected a program"));
        }
        if let Self::Library(LibraryConfig { library, build, .. }) = &config {
            if library.is_some() == build.is_some() {
                return Err(MeasureError::file(path, "expected either 'library' or 'build'"));
            }
            let check = |template: &Template, places: &[&str]| {
                template.check(places).map_err(|error| MeasureError::file(path, error))
            };
            library.iter().try_for_each(|template| check(template, &["kernel"]))?;
            if let Some(build) = build {
                check(&build.source, &["kernel"])?;
                build.command.iter().try_for_each(|word| check(word, &BuildConfig::PLACES))?;
                if build.command.is_empty() {
                    return Err(MeasureError::file(path, "build.command: found nothing, expected a program"));
                }
                if build.arch.is_none()
                    && build.command.iter().any(|word| word.check(&["source", "output", "kernel"]).is_err())
                {
                    return Err(MeasureError::file(
                        path,
                        "build.arch: found nothing, but build.command asks for {arch}",
                    ));
                }
                if !(build.timeout_s > 0.0 && build.timeout_s < 1e9) {
                    let found = build.timeout_s;
                    return Err(MeasureError::file(
                        path,
                        format!("build.timeout_s: found {found}, expected seconds"),
                    ));
                }
            }
        }
        Ok(config)
    }
}

impl LibraryConfig {
    /// The configuration for one library that holds all kernels.
    pub fn of(library: &Path) -> Result<Self, MeasureError> {
        let library = std::path::absolute(library).map_err(at(library))?;
        let text = library.to_str().ok_or_else(|| {
            MeasureError::Settings(format!("{}: found a path that is not UTF-8", library.display()))
        })?;
        let text = text.replace('{', "{{").replace('}', "}}");
        let library = Template::try_from(text).map_err(|error| MeasureError::Settings(error.to_string()))?;
        let device = DeviceKind::default();
        Ok(Self { library: Some(library), build: None, device, environment: BTreeMap::new() })
    }

    fn anchor(&mut self, folder: &Path) {
        let template = |template: &mut Template| {
            let folder = folder.to_string_lossy().replace('{', "{{").replace('}', "}}");
            let joined = Path::new(&folder).join(template.as_str()).to_string_lossy().into_owned();
            if let Ok(anchored) = Template::try_from(joined) {
                *template = anchored;
            }
        };
        self.library.iter_mut().for_each(template);
        if let Some(build) = &mut self.build {
            template(&mut build.source);
            for path in build.inputs.iter_mut().chain(&mut build.cache) {
                *path = folder.join(&*path);
            }
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
        let folder = folder.path().display().to_string();
        match RunnerConfig::read(&path) {
            Ok(RunnerConfig::Library(mut config)) => {
                // A path that was made absolute starts with the folder.
                let build = config.build.as_mut();
                assert!(build.is_none_or(|build| build.source.as_str().starts_with(&folder)));
                Ok(RunnerConfig::Library(config))
            }
            Ok(config) => Ok(config),
            Err(error) => Err(error.to_string().replace(&shown, "FILE")),
        }
    }

    #[test]
    fn builds_have_hipcc_by_default() {
        let config = read(r#"{"runner": "library", "build": {"source": "{kernel}.cpp", "arch": "gfx950"}}"#);
        let Ok(RunnerConfig::Library(LibraryConfig { build: Some(build), device: DeviceKind::Hip, .. })) =
            config
        else {
            panic!()
        };
        assert_eq!(build.command[0].as_str(), "hipcc");
        assert!(build.command.iter().any(|word| word.as_str() == "--offload-arch={arch}"));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, message) in [
            ("{}", "FILE: missing field `runner`"),
            (r#"{"runner": "worker", "command": []}"#, "FILE: command: found nothing"),
            (r#"{"runner": "worker", "command": ["a"], "folder": "b"}"#, "FILE: unknown field `folder`"),
            (r#"{"runner": "library"}"#, "FILE: expected either 'library' or 'build'"),
            (
                r#"{"runner": "executable", "directory": "bin", "argument": []}"#,
                "FILE: unknown field `argument`",
            ),
            (r#"{"runner": "library", "library": "{m}.so"}"#, "FILE: '/"),
            (r#"{"runner": "library", "build": {"source": "s"}}"#, "FILE: build.arch: found nothing"),
            (
                r#"{"runner": "library", "build": {"source": "s", "command": []}}"#,
                "FILE: build.command: found nothing",
            ),
            (
                r#"{"runner": "library", "build": {"source": "s", "command": ["cc"], "timeout_s": -1}}"#,
                "FILE: build.timeout_s: found -1",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
