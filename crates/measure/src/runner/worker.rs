//! Kernels in worker processes, of which a crash or a hang costs at most one batch: our own worker, which
//! loads libraries, or a program that speaks its protocol, such as Triton's in Python.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use ck_select::files;
use ck_select::kernel::Kernel;
use ck_select::pool::{Folder, FolderKernel};
use ck_select_measurements::outcome::{FailureClass, Outcome};
use serde_json::Value;

use super::conversation::converse;
use super::{BatchEnd, Context, Job, Report, Runner};
use crate::config::RunnerConfig;
use crate::error::MeasureError;
use crate::gpu::Gpu;
use crate::protocol::Item;

/// Runs kernels in workers.
#[derive(Debug)]
pub struct WorkerRunner {
    config: RunnerConfig,
    /// The program and arguments that call [`crate::worker::serve`].
    own: Vec<PathBuf>,
    /// The kernels of the folder that is the library.
    folder: OnceLock<Vec<FolderKernel>>,
}

impl WorkerRunner {
    /// A runner as the configuration says; `own` is our worker, for libraries.
    pub fn new(config: RunnerConfig, own: Vec<PathBuf>) -> Self {
        Self { config, own, folder: OnceLock::new() }
    }

    /// The library of a kernel, which need not be there; `None` if it is a folder that lacks the kernel.
    /// Other programs have their kernels elsewhere, and get an empty path.
    fn library(&self, kernel: &Kernel) -> Option<PathBuf> {
        let RunnerConfig::Library { library, .. } = &self.config else { return Some(PathBuf::new()) };
        let path = match library.to_str() {
            Some(text) => PathBuf::from(text.replace("{kernel}", &kernel.name)),
            None => library.clone(),
        };
        if !path.is_dir() {
            return Some(path);
        }
        let read = || Folder::read(&path).map(|folder| folder.kernels).unwrap_or_default();
        let kernels = self.folder.get_or_init(read);
        kernels.iter().find(|one| one.name == kernel.name).map(|one| one.file.clone())
    }

    fn command(&self, gpu: &Gpu) -> Command {
        let (words, environment) = match &self.config {
            RunnerConfig::Library { environment, .. } => (&self.own, environment),
            RunnerConfig::Worker { command, environment, .. } => (command, environment),
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if let RunnerConfig::Worker { folder, .. } = &self.config {
            command.current_dir(folder);
        }
        gpu.show(&mut command);
        command.envs(environment);
        command
    }
}

impl Runner for WorkerRunner {
    fn describe(&self) -> Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn lacks(&self, kernel: &Kernel) -> Option<String> {
        match &self.config {
            RunnerConfig::Library { library, .. } => {
                let path = self.library(kernel).unwrap_or_else(|| library.clone());
                let fault = files::check(&path).err()?;
                Some(format!("has a library: {}: {fault}", path.display()))
            }
            RunnerConfig::Worker { names, .. } => (!kernel.name.starts_with(names)).then(|| {
                format!("is the program's, whose names begin with '{names}': found '{}'", kernel.name)
            }),
        }
    }

    fn measure(
        &self,
        jobs: &[Job<'_>],
        gpu: &Gpu,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let mut items = Vec::new();
        for (item, job) in jobs.iter().enumerate() {
            match self.library(job.kernel) {
                Some(library) => items.push(Item::new(item, job, library.to_string_lossy().into_owned())),
                None => {
                    report(Report::Outcome(item, Outcome::failed(FailureClass::Missing, "no library")))?;
                }
            }
        }
        converse(self.command(gpu), self.config.device(), items, context, report)
    }
}
