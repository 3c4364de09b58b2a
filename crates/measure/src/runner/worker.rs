//! Kernels of a program that speaks the worker's protocol itself, such as Triton's in Python.

use ck_select::kernel::Kernel;
use serde_json::{Value, json};

use super::conversation::{converse, program};
use super::{Batch, BatchEnd, Context, Report, Runner};
use crate::config::{DeviceKind, WorkerConfig};
use crate::error::MeasureError;
use crate::protocol::Item;

/// Runs kernels in workers of somebody else's making.
#[derive(Debug)]
pub struct WorkerRunner {
    config: WorkerConfig,
}

impl WorkerRunner {
    /// A runner that starts its workers as the configuration says.
    pub const fn new(config: WorkerConfig) -> Self {
        Self { config }
    }
}

impl Runner for WorkerRunner {
    fn describe(&self) -> Value {
        let WorkerConfig { command, environment, .. } = &self.config;
        json!({ "runner": "worker", "command": command, "environment": environment })
    }

    fn check(&self, kernels: &[&Kernel]) -> Result<(), MeasureError> {
        let begin = &self.config.names;
        match kernels.first() {
            Some(first) if kernels.iter().all(|kernel| !kernel.name.starts_with(begin)) => {
                let first = &first.name;
                Err(MeasureError::Machine(format!(
                    "none of the kernels is the program's, whose names begin with '{begin}': found '{first}'"
                )))
            }
            _ => Ok(()),
        }
    }

    fn measure(
        &self,
        batch: Batch<'_>,
        context: Context<'_>,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let items = batch.jobs.iter().enumerate().map(|(item, job)| Item::new(item, job, String::new()));
        let mut command = program(&self.config.command)?;
        command.current_dir(&self.config.folder);
        batch.gpu.show(&mut command);
        command.envs(&self.config.environment);
        converse(command, DeviceKind::default(), items.collect(), context, report)
    }
}
