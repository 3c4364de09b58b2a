//! Libraries of kernels, run by our own worker process: a crash or a hang costs at most one batch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ck_select::files;
use ck_select::kernel::Kernel;
use ck_select::pool::{Folder, FolderKernel};
use serde_json::{Value, json};

use super::conversation::{converse, program};
use super::{Batch, BatchEnd, Context, Progress, Report, Runner};
use crate::build::{self, Built};
use crate::config::LibraryConfig;
use crate::error::MeasureError;
use crate::outcome::{Failure, FailureClass, Outcome};
use crate::protocol::{Item, Request, VERSION};
use crate::template::Template;

/// Runs kernels of libraries in workers.
#[derive(Debug)]
pub struct LibraryRunner {
    config: LibraryConfig,
    /// The program and arguments that call [`crate::worker::serve`].
    worker: Vec<PathBuf>,
    libraries: HashMap<String, Built>,
    /// The kernels of the folder that is the library.
    folder: OnceLock<Vec<FolderKernel>>,
}

impl LibraryRunner {
    /// A runner that starts its workers with this command.
    pub fn new(config: LibraryConfig, worker: Vec<PathBuf>) -> Self {
        Self { config, worker, libraries: HashMap::new(), folder: OnceLock::new() }
    }

    fn library(&self, kernel: &Kernel) -> Built {
        match (&self.config.library, self.libraries.get(&kernel.name)) {
            (Some(library), _) => library
                .fill(|_| Some(kernel.name.clone()))
                .map(PathBuf::from)
                .and_then(|path| if path.is_dir() { self.in_folder(&path, kernel) } else { Some(path) })
                .ok_or_else(|| Failure::new(FailureClass::Missing, "no library")),
            (None, Some(built)) => built.clone(),
            (None, None) => Err(Failure::new(FailureClass::Build, "not built")),
        }
    }

    /// The library of a kernel in a folder.
    fn in_folder(&self, path: &Path, kernel: &Kernel) -> Option<PathBuf> {
        let read = || Folder::read(path).map(|folder| folder.kernels).unwrap_or_default();
        let kernels = self.folder.get_or_init(read);
        kernels.iter().find(|one| one.name == kernel.name).map(|one| one.file.clone())
    }

    fn command(&self, batch: Batch<'_>) -> Result<Command, MeasureError> {
        let mut command = program(&self.worker)?;
        batch.gpu.show(&mut command);
        command.envs(&self.config.environment);
        Ok(command)
    }
}

impl Runner for LibraryRunner {
    fn describe(&self) -> Value {
        let LibraryConfig { library, build, device, environment } = &self.config;
        let build = build.as_ref().map(|build| {
            let command: Vec<&str> = build.command.iter().map(Template::as_str).collect();
            json!({ "source": build.source.as_str(), "command": command, "arch": build.arch })
        });
        json!({
            "runner": "library",
            "library": library.as_ref().map(Template::as_str),
            "build": build,
            "device": device,
            "environment": environment,
        })
    }

    fn uses_gpu(&self) -> bool {
        true
    }

    fn check(&self, kernels: &[&Kernel]) -> Result<(), MeasureError> {
        let (what, file) = match (&self.config.library, &self.config.build) {
            (Some(library), _) => ("library", library),
            (None, Some(build)) => ("source", &build.source),
            (None, None) => return Ok(()),
        };
        let mut first = None;
        for kernel in kernels {
            let Some(path) = file.fill(|name| (name == "kernel").then(|| kernel.name.clone())) else {
                return Ok(());
            };
            match files::check(&path) {
                Ok(()) => return Ok(()),
                Err(_) if Path::new(&path).is_dir() && self.in_folder(Path::new(&path), kernel).is_some() => {
                    return Ok(());
                }
                Err(error) => first = first.or(Some(format!("{path}: {error}"))),
            }
        }
        match first {
            Some(first) => Err(MeasureError::Machine(format!("none of the kernels has a {what}: {first}"))),
            None => Ok(()),
        }
    }

    fn prepare(
        &mut self,
        kernels: &[&Kernel],
        context: Context<'_>,
        progress: Progress<'_>,
    ) -> Result<(), MeasureError> {
        if let Some(config) = &self.config.build {
            self.libraries = build::build_all(config, kernels, context, progress)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        batch: Batch<'_>,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut items = Vec::new();
        for (item, job) in batch.jobs.iter().enumerate() {
            match self.library(job.kernel) {
                Ok(library) => items.push(Item::new(item, job, library.to_string_lossy().into_owned())),
                Err(failure) => report(Report::Outcome(item, Outcome::Failed(failure)))?,
            }
        }
        let request = Request {
            version: VERSION,
            device: self.config.device,
            settings: context.settings.clone(),
            items,
        };
        converse(self.command(batch)?, &request, context, report)
    }
}
