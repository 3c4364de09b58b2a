//! The rows of a training.

use std::collections::BTreeSet;

use ck_select::estimate::GpuOverride;
use ck_select::hardware::Hardware;
use ck_select::problem::Problem;
use ck_select_measurements::{Measurements, ReadOptions};

use super::super::data::{check_choice, look_over};
use super::training::{Common, Training};
use super::tuned::TunedRows;
use crate::error::CliError;

/// The rows of a training.
pub(super) enum TrainingRows<'a> {
    Measured(Measurements),
    Tuned(TunedRows<'a>),
}

impl<'a> TrainingRows<'a> {
    pub(super) fn read(training: &'a Training<'_>, common: &Common<'_>) -> Result<Self, CliError> {
        let (op, filter) = (training.op(), &common.args.rows.filter);
        let (data, arch, options) = match training {
            Training::Sweeps { data, gpu, chooses_split, prior, .. } => {
                let described = prior.map_or(Ok(None), |_| gpu.described())?;
                let options =
                    ReadOptions { gpu: described, chooses_split: *chooses_split, ..filter.options() };
                (data, gpu.arch, options)
            }
            &Training::Universal { ref data, several_ops, chooses_split, .. } => {
                let options = ReadOptions {
                    assumed: common.args.gpu.arch,
                    gpu: common.args.gpu.described()?,
                    of_several_gpus: true,
                    of_several_ops: several_ops,
                    chooses_split,
                    ..filter.options()
                };
                (data, None, options)
            }
            Training::Winners { tables, pools, gpu, .. } => {
                let wanted = filter.scope(op, gpu.arch)?;
                return Ok(Self::Tuned(TunedRows::read(tables, pools, wanted, gpu)?));
            }
        };
        let mut measurements = Measurements::with(filter.scope(op, arch)?, options);
        measurements.add_all(&data.paths)?;
        Ok(Self::Measured(measurements))
    }

    pub(super) const fn measurements(&self) -> &Measurements {
        match self {
            Self::Measured(measurements) => measurements,
            Self::Tuned(tuned) => &tuned.rows.measurements,
        }
    }
}

/// Refuses rows that leave a choice to the command line, and prints what is odd about the others.
pub(super) fn check(
    measurements: &Measurements,
    training: &Training<'_>,
    common: &Common<'_>,
) -> Result<(), CliError> {
    check_choice(measurements, common.args.rows.filter.op, common.args.gpu.arch)?;
    check_described(measurements)?;
    let gpus = look_over(measurements)?;
    if let (Training::Sweeps { .. }, [_, _, ..]) = (training, &*gpus) {
        let names: Vec<&str> = gpus.iter().map(|one| one.gpu.as_str()).collect();
        say!(
            "ckselect: the data was measured on several GPUs, which are taken for one: {}",
            names.join(", ")
        );
    }
    Ok(())
}

/// Refuses a GPU of --arch that no row was measured on.
fn check_described(measurements: &Measurements) -> Result<(), CliError> {
    let archs: BTreeSet<_> = measurements.problems().iter().filter_map(Problem::arch).collect();
    if let Some(GpuOverride { arch, .. }) = measurements.described()
        && !archs.is_empty()
        && !archs.contains(arch)
    {
        let archs: Vec<_> = archs.iter().map(ToString::to_string).collect();
        fail!("--arch: found a GPU of {arch}, but the rows are of {}", archs.join(", "));
    }
    Ok(())
}

/// The constants with which features of sweeps are computed: those of a file, else those that the data records,
/// else `usual`. In other trainings, each row has those of its own GPU.
pub(super) fn hardware(
    usual: Hardware,
    measurements: &Measurements,
    training: &Training<'_>,
) -> Result<Hardware, CliError> {
    let Training::Sweeps { gpu, prior, warm_start, .. } = training else { return Ok(usual) };
    if let (Some(arch), Some(_)) = (gpu.arch, prior) {
        let device = gpu.described()?.map_or_else(|| measurements.device(arch), |gpu| Ok(gpu.device))?;
        return Ok(device.hardware);
    }
    if gpu.is_described() {
        return gpu.hardware_over(usual);
    }
    match (measurements.hardware(), gpu.arch) {
        (Some(hardware), _) => Ok(hardware),
        (None, Some(arch)) if warm_start.is_none() && Hardware::for_arch(&arch).is_none() => {
            let known = Hardware::PROFILES.join(", ");
            fail!(
                "--arch: there is no profile of {arch}, only of {known}, and the data records no constants \
                 of the GPU: give --arch a file (docs/estimate.md)"
            );
        }
        _ => Ok(usual),
    }
}
