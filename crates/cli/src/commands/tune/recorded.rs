//! Measurements, and what is learned and expected from them.

use std::path::PathBuf;

use ck_select::estimate::GpuOverride;
use ck_select::features::{Engine, Extractor};
use ck_select::vocab::Op;
use ck_select_data::figures::Spread;
use ck_select_data::gpus::{check_one_gpu, measured_on};
use ck_select_data::measurements::{Measurements, Reading};
use ck_select_train::{CurvePoint, Draw, Efficiency, Method, Promising, Simulation, TrainError, WarmStart};

use super::super::data::{check_choice, look_over, say_trained_on};
use super::Args;
use crate::error::CliError;

/// Recorded measurements in the place of a GPU.
pub(super) struct Recorded {
    pub(super) base: WarmStart,
    pub(super) measurements: Measurements,
    extractor: Extractor,
    /// What is learned from, if less than all.
    pub(super) promising: Option<Promising>,
}

impl Recorded {
    pub(super) fn read(args: &Args) -> Result<Self, CliError> {
        let op = args.rows.filter.op_of(&args.simulate)?;
        let base = super::super::to_adapt(&args.model, op)?;
        let measurements = read(args, &args.simulate, op)?;
        say_trained_on(&measurements, &base.were_trained_on(&measurements)?);
        let extractor = extractor(args, op, &measurements)?;
        let promising = |count: u32| Simulation::promising(&measurements, &base, &extractor, count as usize);
        let promising = args.first.map(promising).transpose()?;
        Ok(Self { base, measurements, extractor, promising })
    }

    pub(super) fn simulation(&self, way: Method) -> Result<Simulation<'_>, CliError> {
        let simulation = Simulation::new(&self.measurements, &self.base, &self.extractor, way)?;
        Ok(match &self.promising {
            Some(promising) => simulation.learning_from(promising),
            None => simulation,
        })
    }
}

/// Reads measurements of the device. What `ckselect bench` has just said of its own is not said again.
pub(super) fn read(args: &Args, files: &[PathBuf], op: Op) -> Result<Measurements, CliError> {
    let wanted = args.rows.filter.wanted(op, Some(args.arch()?))?;
    let reading = Reading { gpu: described(args)?, ..args.rows.filter.reading() };
    let mut measurements = Measurements::with(wanted, reading);
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
    args.gpu.on(Some(args.arch()?)).described()
}

/// The features of a model for one GPU, which is the one that was measured.
pub(super) fn extractor(args: &Args, op: Op, measured: &Measurements) -> Result<Extractor, CliError> {
    let arch = args.arch()?;
    let hardware = measured.device(arch)?.hardware;
    Ok(Extractor { arch: Some(arch), hardware, ..Extractor::of_engine(Engine::of_op(op)) })
}

/// All measured problems, each held out to say what to expect of others; `None` if there are too few.
pub(super) fn draw_all(
    args: &Args,
    measured: &Measurements,
    base: &WarmStart,
) -> Result<Option<Draw>, CliError> {
    let simulation = simulation(args, measured, base)?;
    match simulation.draw(simulation.problems(), args.settings.seed) {
        Ok(draw) => Ok(Some(draw)),
        Err(TrainError::NothingHeldBack { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn simulation<'a>(
    args: &Args,
    measured: &'a Measurements,
    base: &'a WarmStart,
) -> Result<Simulation<'a>, CliError> {
    let extractor = extractor(args, base.extractor().schema.op(), measured)?;
    Ok(Simulation::new(measured, base, &extractor, Method::Tuned)?)
}

/// The expected or actual quality after this many measured problems.
pub(super) fn point(way: &'static str, measured: usize, of: &Efficiency) -> CurvePoint {
    CurvePoint { way, measured, draws: 1, efficiency: of.clone() }
}

/// The median of each figure over draws.
pub(super) fn medians(draws: &[Draw]) -> Option<Efficiency> {
    let median =
        |of: fn(&Efficiency) -> f64| Spread::new(draws.iter().map(|draw| of(&draw.found)).collect()).p50;
    Some(Efficiency {
        mean: median(|found| found.mean),
        median: median(|found| found.median),
        p10: median(|found| found.p10),
        min: median(|found| found.min),
        best_of_top3: median(|found| found.best_of_top3),
        problems: draws.first()?.found.problems,
    })
}
