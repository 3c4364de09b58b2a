//! Libraries of kernels, run by our own worker process: a crash or a hang costs at most one batch.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ck_select::files;
use ck_select::kernel::Kernel;
use ck_select::pool::{Folder, FolderKernel};
use serde_json::{Value, json};

use super::conversation::{converse, program};
use super::{Batch, BatchEnd, Context, Report, Runner};
use crate::config::LibraryConfig;
use crate::error::MeasureError;
use crate::outcome::{Failure, FailureClass, Outcome};
use crate::protocol::Item;

/// Runs kernels of libraries in workers.
#[derive(Debug)]
pub struct LibraryRunner {
    config: LibraryConfig,
    /// The program and arguments that call [`crate::worker::serve`].
    worker: Vec<PathBuf>,
    /// The kernels of the folder that is the library.
    folder: OnceLock<Vec<FolderKernel>>,
}

impl LibraryRunner {
    /// A runner that starts its workers with this command.
    pub fn new(config: LibraryConfig, worker: Vec<PathBuf>) -> Self {
        Self { config, worker, folder: OnceLock::new() }
    }

    fn library(&self, kernel: &Kernel) -> Option<PathBuf> {
        let path = self.config.library_of(&kernel.name);
        if path.is_dir() { self.in_folder(&path, kernel) } else { Some(path) }
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
        let LibraryConfig { library, device, environment } = &self.config;
        let library = library.display().to_string();
        json!({ "runner": "library", "library": library, "device": device, "environment": environment })
    }

    fn check(&self, kernels: &[&Kernel]) -> Result<(), MeasureError> {
        let mut first = None;
        for kernel in kernels {
            let path = self.config.library_of(&kernel.name);
            match files::check(&path) {
                Ok(()) => return Ok(()),
                Err(_) if path.is_dir() && self.in_folder(&path, kernel).is_some() => {
                    return Ok(());
                }
                Err(error) => first = first.or(Some(format!("{}: {error}", path.display()))),
            }
        }
        match first {
            Some(first) => Err(MeasureError::Machine(format!("none of the kernels has a library: {first}"))),
            None => Ok(()),
        }
    }

    fn measure(
        &self,
        batch: Batch<'_>,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut items = Vec::new();
        for (item, job) in batch.jobs.iter().enumerate() {
            if let Some(library) = self.library(job.kernel) {
                items.push(Item::new(item, job, library.to_string_lossy().into_owned()));
            } else {
                let failure = Failure::new(FailureClass::Missing, "no library");
                report(Report::Outcome(item, Outcome::Failed(failure)))?;
            }
        }
        converse(self.command(batch)?, self.config.device, items, context, report)
    }
}
