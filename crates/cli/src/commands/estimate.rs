//! Options for the estimate: choosing without a model.

use std::path::Path;

use ck_select::estimate::{Described, Device};
use ck_select::kernel::Kernel;
use ck_select::model::Model;
use ck_select::problem::Problem;
use ck_select::vocab::{Arch, Op};

use super::hardware_option::HardwareOption;
use crate::error::CliError;

/// Whether the estimate is asked, and for which GPU.
#[derive(Clone, Copy, clap::Args)]
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
        let Described { arch, device } = self.device(hardware)?;
        Ok(Model::of_estimate(op, device)?.of_arch(arch))
    }

    /// A model on the requested hardware: a universal one on that GPU, another one with its constants.
    pub(crate) fn place(&self, model: Model, hardware: &HardwareOption) -> Result<Model, CliError> {
        if model.spec().prior.is_none() {
            if self.arch.is_some_and(|arch| model.key().arch != Some(arch)) {
                let message = "--arch is for the estimate and for universal models; this model has its own";
                return Err(CliError::usage(message));
            }
            return hardware.ask(model);
        }
        if self.arch.is_none() && !hardware.is_given() {
            return Ok(model);
        }
        let Described { arch, device } = self.device(hardware)?;
        let model = model.on_device(device, Some(arch));
        match model.key().arch {
            Some(own) if arch != own => {
                let option = if self.arch.is_some() { "--arch" } else { "--hardware" };
                let message = format!(
                    "{option}: found {arch}, but the model is for {own}; --force-model uses it anyway"
                );
                Err(CliError::usage(message))
            }
            // A forced model accepts architectures that its spec does not.
            None if model.spec().arch.is_none() => Ok(model.of_arch(arch)),
            _ => Ok(model),
        }
    }

    /// Refuses to use a universal model for a GPU that nothing names.
    #[cfg(feature = "offline")]
    pub(crate) fn check_known<'a>(
        &self,
        model: &Model,
        mut problems: impl Iterator<Item = &'a Problem>,
        mut kernels: impl Iterator<Item = &'a Kernel>,
    ) -> Result<(), CliError> {
        let named = model.spec().prior.is_none()
            || self.arch.is_some()
            || model.device().is_some()
            || model.spec().arch.is_some()
            || problems.any(|problem| problem.arch().is_some())
            || kernels.any(|kernel| kernel.kind.arch().is_some());
        if named { Ok(()) } else { Err(no_gpu("a universal model")) }
    }

    /// The GPU that --hardware describes, for the rows of an architecture, by default that of the file's base.
    #[cfg(feature = "train")]
    pub(crate) fn described(&self, hardware: &HardwareOption) -> Result<Option<Described>, CliError> {
        hardware.is_given().then(|| self.device(hardware)).transpose()
    }

    /// The requested device, which must be the problem's. If the options name none, it is that of the problem's
    /// architecture, else of the one that all kernels name.
    pub(crate) fn device_for<'k>(
        &self,
        problem: Option<&Problem>,
        kernels: impl Iterator<Item = &'k Kernel>,
        hardware: &HardwareOption,
    ) -> Result<Described, CliError> {
        if self.arch.is_some() || hardware.is_given() {
            let asked = self.device(hardware)?;
            problem.map_or(Ok(()), |problem| check_arch(asked.arch, problem)).map_err(CliError::Failed)?;
            return Ok(asked);
        }
        let mut named = kernels.map(|kernel| kernel.kind.arch());
        let first = named.next().flatten().filter(|&first| named.all(|other| other == Some(first)));
        Self { arch: problem.and_then(Problem::arch).or(first), ..*self }.device(hardware)
    }

    /// The requested device, which the options must name.
    pub(crate) fn device(&self, hardware: &HardwareOption) -> Result<Described, CliError> {
        let profile = |option: &str, arch: Arch| {
            let device = Device::for_arch(arch);
            let device = device.map_err(|error| CliError::usage(format!("{option}: {error}")))?;
            Ok(Described { arch, device })
        };
        match (hardware.asked(), self.arch) {
            (Some(path), arch) if Path::new(path).is_file() => {
                Described::read(Path::new(path), arch).map_err(|error| CliError::failed(error.to_string()))
            }
            (Some(word), None) => {
                let arch = word.parse().map_err(|_| {
                    CliError::usage(format!("--hardware: '{word}' is neither a file nor an architecture"))
                })?;
                profile("--hardware", arch)
            }
            (Some(_), Some(_)) => {
                Err(CliError::usage("--hardware: no such file; with --arch it has to be a file"))
            }
            (None, Some(arch)) => profile("--arch", arch),
            (None, None) => Err(no_gpu("the estimate")),
        }
    }
}

/// Refuses a problem of another architecture than the GPU that is asked for.
pub(crate) fn check_arch(asked: Arch, problem: &Problem) -> Result<(), String> {
    match problem.arch() {
        Some(named) if asked != named => Err(format!(
            "the problem's arch is {named}, but the GPU asked for (--arch, --hardware) is {asked}"
        )),
        _ => Ok(()),
    }
}

fn no_gpu(who: &str) -> CliError {
    let known = Device::PROFILES.join(", ");
    CliError::usage(format!("{who} needs a GPU: give --arch (one of {known}) or --hardware FILE"))
}
