//! What measures in a sweep.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::pool::{Folder, Pool};
use ck_select_measure::config::RunnerConfig;
use ck_select_measure::runner::{
    Analytic, ExecutableRunner, ModelAnswers, OutcomeSource, Runner, SimulatedRunner, WorkerRunner,
};

use super::{Args, records};
use crate::error::CliError;
use crate::output::{file_name, suffix};

/// The runner of --runner, or of --simulate, whose answers are shown to `look`.
pub(super) fn open(
    args: &Args,
    pool: &Arc<Pool>,
    look: impl FnOnce(&dyn OutcomeSource),
) -> Result<Box<dyn Runner>, CliError> {
    if let Some(from) = &args.simulate {
        let answers = answers(from, pool)?;
        look(&*answers);
        return Ok(Box::new(SimulatedRunner(answers)));
    }
    let Some(path) = &args.runner else { refuse!("give --runner or --simulate") };
    let is_shared = suffix(path) == "so" || file_name(path).contains(".so.");
    let is_library = is_shared || path.exists() && (!path.is_dir() || Folder::is_at(path));
    let config = if suffix(path) == "json" {
        RunnerConfig::read(path)?
    } else if is_library {
        RunnerConfig::from_library(path)?
    } else {
        return Ok(Box::new(ExecutableRunner::new(path.clone(), pool.op()).map_err(CliError::usage)?));
    };
    let own = vec![std::env::current_exe()?, PathBuf::from("bench-worker")];
    Ok(Box::new(WorkerRunner::new(config, own)))
}

/// Answers in place of a GPU's.
fn answers(from: &Path, pool: &Arc<Pool>) -> Result<Box<dyn OutcomeSource>, CliError> {
    if from == Path::new("analytic") {
        return Ok(Box::new(Analytic::new()?));
    }
    if from.is_dir() {
        return Ok(Box::new(ModelAnswers::load(from, pool)?));
    }
    Ok(Box::new(records::read(from, pool)?))
}
