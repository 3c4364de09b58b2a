//! Who chooses in an evaluation: a model, of which the estimate is one, or a file of choices.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::vocab::{Arch, Op};
use ck_select_evaluate::candidates::Trial;
use ck_select_evaluate::judge::{Judge, Order};
use ck_select_evaluate::predictions::Predictions;
use ck_select_measurements::Measurements;

use super::super::data::{as_measured, serving};
use super::super::{ESTIMATE, load_model, say_ignored};
use super::Args;
use crate::error::CliError;
use crate::output::suffix;

pub(super) enum Chooser {
    Model(Arc<Model>),
    File(PathBuf),
}

impl Chooser {
    /// The chooser that a path names; `None` for the estimate, of which the path says no operation. Beside another
    /// chooser, the GPU of the options is not for a model that has its own.
    pub(super) fn open(path: &Path, args: &Args, is_alone: bool) -> Result<Option<Self>, CliError> {
        if path == Path::new(ESTIMATE) {
            return Ok(None);
        }
        if (path.exists() && !path.is_dir()) || suffix(path) == "csv" {
            return Ok(Some(Self::File(path.to_owned())));
        }
        let model = serving(args.allow.apply(load_model(path)?), &args.data)?;
        let takes_gpu = is_alone || model.spec().prior.is_some();
        let model = if takes_gpu { args.arch.model_on(model)? } else { model };
        Ok(Some(Self::Model(Arc::new(model))))
    }

    /// The estimate, for an operation, by default that of the rows.
    pub(super) fn estimate(args: &Args, op: Option<Op>) -> Result<Self, CliError> {
        let op = op.map_or_else(|| args.data.op(), Ok)?;
        Ok(Self::Model(Arc::new(args.data.gpu(&args.arch)?.estimate(op)?)))
    }

    pub(super) fn model(&self) -> Option<&Model> {
        match self {
            Self::Model(model) => Some(model),
            Self::File(_) => None,
        }
    }

    /// Whether the chooser chooses for any GPU, which the options may name.
    pub(super) fn is_universal(&self) -> bool {
        self.model().is_some_and(|model| model.spec().prior.is_some())
    }

    /// Reads the rows that it is judged by.
    pub(super) fn read(&self, args: &Args, arch: Option<Arch>) -> Result<Measurements, CliError> {
        match self {
            Self::Model(model) => args.data.read_for(model, arch),
            Self::File(_) => args.data.read_all(args.data.rows.filter.op, None),
        }
    }

    /// The chooser for the GPU that was measured, as far as it is a universal model or the estimate.
    pub(super) fn on_measured(self, args: &Args, measurements: &Measurements) -> Result<Self, CliError> {
        let Self::Model(model) = self else { return Ok(self) };
        let model = as_measured(Arc::unwrap_or_clone(model), &args.arch, measurements)?;
        Ok(Self::Model(Arc::new(model)))
    }

    /// The order in which it tries the measured kernels of each problem.
    pub(super) fn orders(
        &self,
        measurements: &Measurements,
        trials: &[Trial],
    ) -> Result<Vec<Option<Order>>, CliError> {
        match self {
            Self::Model(model) => Ok(Judge::new(model, measurements)?.orders(measurements, trials)?),
            Self::File(path) => {
                let predictions = read_predictions(path, measurements)?;
                Ok(trials.iter().map(|trial| predictions.order(measurements, trial)).collect())
            }
        }
    }
}

pub(super) fn read_predictions(path: &Path, measurements: &Measurements) -> Result<Predictions, CliError> {
    let predictions = Predictions::read(path, measurements)?;
    say_ignored(path.display(), predictions.unknown());
    Ok(predictions)
}
