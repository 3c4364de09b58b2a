//! Options for the estimate: choosing without a model.

use std::path::Path;

#[cfg(feature = "train")]
use ck_select::estimate::Described;
use ck_select::estimate::{Device, Estimator, constants_of};
#[cfg(feature = "offline")]
use ck_select::kernel::Kernel;
use ck_select::model::Model;
use ck_select::problem::Problem;
use ck_select::vocab::{Arch, Op};

use super::hardware::HardwareOption;
use crate::error::CliError;

/// Whether the estimate is asked, and for which GPU.
#[derive(clap::Args)]
pub(crate) struct EstimateOption {
    /// Use the estimate, which needs no measurements and no model, for the GPU of --arch or --hardware
    /// (docs/estimate.md)
    #[arg(long)]
    pub(crate) estimate: bool,
    /// The architecture for the estimate or for a universal model; for one without a profile, the error lists
    /// those with one. Other GPUs are described by --hardware FILE: a JSON object of constants, which replace
    /// those of the profile that it names as based_on, else of --arch
    #[arg(long, value_name = "ARCH", value_parser = super::word::<Arch>)]
    pub(crate) arch: Option<Arch>,
}

impl EstimateOption {
    /// The estimate for the requested device, as a model.
    pub(crate) fn model(&self, op: Op, hardware: &HardwareOption) -> Result<Model, CliError> {
        let model = Model::of_estimate(op, self.device(hardware)?.0)?;
        Ok(match self.arch {
            Some(arch) => model.of_arch(arch),
            None => model,
        })
    }

    /// A model on the requested hardware: a universal one on that GPU, another one with its constants.
    pub(crate) fn place(&self, model: Model, hardware: &HardwareOption) -> Result<Model, CliError> {
        if model.spec().prior.is_none() {
            if self.arch.is_some() {
                let message = "--arch is for the estimate and for universal models; this model has its own";
                return Err(CliError::usage(message));
            }
            return hardware.ask(model);
        }
        if self.arch.is_none() && !hardware.is_given() {
            return Ok(model);
        }
        let (device, arch) = self.device(hardware)?;
        let model = model.on_device(device, arch);
        match (self.arch, model.key().arch) {
            (Some(asked), Some(own)) if asked != own => {
                let message = format!(
                    "--arch: found {asked}, but the model is for {own}; --force-model uses it anyway"
                );
                Err(CliError::usage(message))
            }
            // A forced model accepts architectures that its spec does not.
            (Some(asked), None) if model.spec().arch.is_none() => Ok(model.of_arch(asked)),
            _ => Ok(model),
        }
    }

    /// The architecture of the GPU that is asked for; of one that a file describes, none.
    #[cfg(feature = "offline")]
    pub(crate) fn asked_arch(&self, hardware: &HardwareOption) -> Option<Arch> {
        self.arch.or_else(|| hardware.asked().filter(|word| !Path::new(word).is_file())?.parse().ok())
    }

    /// Rows of which architecture a model is judged on: --hardware is the GPU of a universal model alone.
    #[cfg(feature = "offline")]
    pub(crate) fn arch_of_rows(&self, model: &Model, hardware: &HardwareOption) -> Option<Arch> {
        if model.spec().prior.is_some() { self.asked_arch(hardware) } else { self.arch }
    }

    /// Refuses to use a universal model for a GPU that nothing names.
    #[cfg(feature = "offline")]
    pub(crate) fn check_known<'a>(
        &self,
        model: &Model,
        mut problems: impl Iterator<Item = &'a Problem>,
        kernels: &[Kernel],
    ) -> Result<(), CliError> {
        let named = model.spec().prior.is_none()
            || self.arch.is_some()
            || model.device().is_some()
            || model.spec().arch.is_some()
            || problems.any(|problem| problem.arch().is_some())
            || kernels.iter().any(|kernel| kernel.kind.arch().is_some());
        if named { Ok(()) } else { Err(no_gpu("a universal model")) }
    }

    /// Refuses a problem that names another architecture than `--arch`.
    pub(crate) fn check(&self, problem: &Problem) -> Result<(), String> {
        match (self.arch, problem.arch()) {
            (Some(asked), Some(named)) if asked != named => {
                Err(format!("the problem's arch is {named}, --arch says {asked}"))
            }
            _ => Ok(()),
        }
    }

    /// The estimate for the requested device.
    pub(crate) fn estimator(&self, hardware: &HardwareOption) -> Result<Estimator, CliError> {
        Ok(Estimator::new(self.device(hardware)?.0))
    }

    /// The GPU that --hardware describes, for the rows of an architecture, by default that of the file's base.
    #[cfg(feature = "train")]
    pub(crate) fn described(&self, hardware: &HardwareOption) -> Result<Option<Described>, CliError> {
        if !hardware.is_given() {
            return Ok(None);
        }
        let (device, arch) = self.device(hardware)?;
        let arch = arch.ok_or_else(|| CliError::usage("--hardware: give --arch, or a file with based_on"))?;
        Ok(Some(Described { arch, device }))
    }

    /// The same for one problem, whose own architecture serves if nothing else names a GPU.
    pub(crate) fn device_for(
        &self,
        problem: &str,
        hardware: &HardwareOption,
    ) -> Result<(Device, Option<Arch>), CliError> {
        let named = problem.split(',').find_map(|pair| pair.trim().strip_prefix("arch="));
        match named.and_then(|word| word.trim().parse().ok()) {
            Some(arch) if self.arch.is_none() && !hardware.is_given() => {
                Self { arch: Some(arch), ..*self }.device(hardware)
            }
            _ => self.device(hardware),
        }
    }

    /// The requested device, and its architecture if the options or the file name one.
    pub(crate) fn device(&self, hardware: &HardwareOption) -> Result<(Device, Option<Arch>), CliError> {
        match (hardware.asked(), self.arch) {
            (Some(path), arch) if Path::new(path).is_file() => read(path, arch),
            (Some(word), None) => {
                let arch = word.parse().map_err(|_| {
                    CliError::usage(format!("--hardware: '{word}' is neither a file nor an architecture"))
                })?;
                let device = Device::for_arch(arch);
                let device = device.map_err(|error| CliError::usage(format!("--hardware: {error}")))?;
                Ok((device, Some(arch)))
            }
            (Some(_), Some(_)) => {
                Err(CliError::usage("--hardware: no such file; with --arch it has to be a file"))
            }
            (None, Some(arch)) => {
                let device = Device::for_arch(arch);
                Ok((device.map_err(|error| CliError::usage(format!("--arch: {error}")))?, Some(arch)))
            }
            (None, None) => Err(no_gpu("the estimate")),
        }
    }
}

fn no_gpu(who: &str) -> CliError {
    let known = Device::PROFILES.join(", ");
    CliError::usage(format!("{who} needs a GPU: give --arch (one of {known}) or --hardware FILE"))
}

/// Reads a device; it is based on `arch` unless the file names a base.
fn read(path: &str, arch: Option<Arch>) -> Result<(Device, Option<Arch>), CliError> {
    let path = Path::new(path);
    let fields = constants_of(path).map_err(|error| CliError::failed(error.to_string()))?;
    let device = Device::from_json(&fields, arch)
        .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
    Ok((device, arch.or_else(|| fields.get("based_on")?.as_str()?.parse().ok())))
}
