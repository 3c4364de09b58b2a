//! Measurements, and what is learned and expected from them.

use std::path::PathBuf;

use ck_select::estimate::GpuOverride;
use ck_select::features::{Engine, Extractor};
use ck_select::vocab::Op;
use ck_select_measurements::figures::Spread;
use ck_select_measurements::gpus::{check_one_gpu, measured_on};
use ck_select_measurements::{Measurements, ReadOptions};
use ck_select_train::{
    CurvePoint, Draw, Efficiency, Method, PromisingRows, Simulation, TrainError, WarmStart,
};

use super::super::data::{check_choice, look_over, say_trained_on};
use super::Args;
use crate::error::CliError;

/// Measurements of one GPU, and the universal model that they adapt.
pub(super) struct TuningData<'a> {
    pub(super) base: &'a WarmStart,
    pub(super) measurements: Measurements,
    /// The features of a model for one GPU, which is the one that was measured.
    pub(super) extractor: Extractor,
    /// The rows to learn from; `None` for all.
    pub(super) promising: Option<PromisingRows>,
}

impl<'a> TuningData<'a> {
    /// Reads all rows of the files.
    pub(super) fn read(args: &Args, base: &'a WarmStart, files: &[PathBuf]) -> Result<Self, CliError> {
        let (op, arch) = (base.extractor().schema.op(), args.arch()?);
        let measurements = read(args, files, op)?;
        let hardware = measurements.device(arch)?.hardware;
        let extractor =
            Extractor { arch: Some(arch), hardware, ..Extractor::for_engine(Engine::default_for(op)) };
        Ok(Self { base, measurements, extractor, promising: None })
    }

    /// The measurements that `--simulate` names, which stand in for a GPU; with `--first`, only promising kernels of
    /// each problem are learned from.
    pub(super) fn in_simulation(args: &Args, base: &'a WarmStart) -> Result<Self, CliError> {
        let mut all = Self::read(args, base, &args.simulate)?;
        say_trained_on(all.measurements.paths(), &base.were_trained_on(&all.measurements)?);
        let promising =
            |count: u32| Simulation::promising(&all.measurements, base, &all.extractor, count as usize);
        all.promising = args.first.map(promising).transpose()?;
        Ok(all)
    }

    pub(super) fn simulation(&self, method: Method) -> Result<Simulation<'_>, CliError> {
        let simulation = Simulation::new(&self.measurements, self.base, &self.extractor, method)?;
        Ok(match &self.promising {
            Some(promising) => simulation.learning_from(promising),
            None => simulation,
        })
    }

    /// All measured problems, each held out to say what to expect of others; `None` if there are too few.
    pub(super) fn draw_all(&self, args: &Args) -> Result<Option<Draw>, CliError> {
        let simulation = self.simulation(Method::Tuned)?;
        match simulation.draw(simulation.problems(), args.settings.seed) {
            Ok(draw) => Ok(Some(draw)),
            Err(TrainError::NothingHeldBack { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The universal model for the operation of recorded rows.
pub(super) fn base(args: &Args) -> Result<WarmStart, CliError> {
    super::super::start_of(&args.model, args.rows.filter.op_of(&args.simulate)?)
}

/// Reads measurements of the device. What `ckselect bench` has just printed about its own measurements is not
/// repeated.
fn read(args: &Args, files: &[PathBuf], op: Op) -> Result<Measurements, CliError> {
    let scope = args.rows.filter.scope(op, Some(args.arch()?))?;
    let options = ReadOptions { gpu: described(args)?, ..args.rows.filter.options() };
    let mut measurements = Measurements::with(scope, options);
    measurements.add_all(files)?;
    if !args.simulate.is_empty() {
        check_choice(&measurements, args.rows.filter.op, args.gpu.arch)?;
    }
    let gpus = if args.simulate.is_empty() { measured_on(&measurements)? } else { look_over(&measurements)? };
    super::super::data::check_any(&measurements)?;
    check_one_gpu(&gpus)?;
    // The model is for one of each.
    measurements.common_direction()?;
    measurements.common_dtype()?;
    Ok(measurements)
}

/// The GPU that a file describes.
pub(super) fn described(args: &Args) -> Result<Option<GpuOverride>, CliError> {
    args.gpu.with_arch(Some(args.arch()?)).described()
}

/// The expected or actual quality after this many measured problems.
pub(super) fn point(method: &'static str, measured: usize, of: &Efficiency) -> CurvePoint {
    CurvePoint { method, measured, draws: 1, efficiency: of.clone() }
}

/// The median of each figure over draws.
pub(super) fn medians(draws: &[Draw]) -> Option<Efficiency> {
    let median = |at: usize| Spread::new(draws.iter().map(|draw| draw.actual.shares()[at]).collect()).p50;
    let [mean, median, p10, min, best_of_top3] = std::array::from_fn(median);
    Some(Efficiency { mean, median, p10, min, best_of_top3, problems: draws.first()?.actual.problems })
}
