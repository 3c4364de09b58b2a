//! The GPUs that problems are ranked for.

use std::sync::OnceLock;

use super::RankError;
use crate::directory::Model;
use crate::estimate::{Device, DeviceError, GpuOverride, PerDevice};
use crate::hardware::Hardware;
use crate::problem::Problem;
use crate::vocab::Arch;

/// A value for each GPU in use, made on first use.
#[derive(Debug)]
pub(crate) struct PerGpu<T> {
    /// The one given by [`Model::on_device`].
    given: Option<(Device, OnceLock<T>)>,
    /// The given GPU's architecture, if the caller named one.
    given_arch: Option<Arch>,
    /// The others.
    devices: PerDevice<T>,
    /// The architecture if neither problem nor caller names one: the model's, otherwise the described one,
    /// otherwise the one that all kernels name.
    arch: Option<Arch>,
    /// Constants to take instead of a profile's.
    constants: Option<Hardware>,
}

impl<T> PerGpu<T> {
    /// Values for the GPUs of a model and of its kernels' architectures, none of them made yet.
    pub(crate) fn new(
        model: &Model,
        described: Option<GpuOverride>,
        mut of_kernels: impl Iterator<Item = Option<Arch>>,
    ) -> Self {
        let first = of_kernels.next().flatten();
        let common = first.filter(|_| of_kernels.all(|arch| arch == first));
        Self {
            given: model.device().map(|(device, _)| (device, OnceLock::new())),
            given_arch: model.device().and_then(|(_, arch)| arch),
            devices: PerDevice::new(described),
            arch: model.spec().arch.or(described.map(|described| described.arch)).or(common),
            constants: model.constants(),
        }
    }

    /// Other values for these GPUs, none of them made yet.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            given: self.given.as_ref().map(|(device, _)| (*device, OnceLock::new())),
            devices: PerDevice::new(self.devices.described().copied()),
            ..*self
        }
    }

    /// The architecture of the GPU that a problem is ranked for, as far as anything names it.
    pub(crate) fn arch_for(&self, problem: &Problem, arch: Option<Arch>) -> Option<Arch> {
        problem.arch().or(arch).or(self.given_arch).or(self.arch)
    }

    /// Makes the values that another has.
    pub(crate) fn make_those_of(&self, other: &Self, make: impl Fn(Device, Option<Arch>) -> T) {
        if let (Some((device, value)), Some((_, known))) = (&self.given, &other.given)
            && known.get().is_some()
        {
            value.get_or_init(|| make(*device, self.given_arch));
        }
        for arch in other.devices.known() {
            // The architecture's device exists: the other has it.
            let _ = self.on(arch, &make);
        }
    }

    /// Calls `of_each` with the values of the GPUs in use, and of the one of problems that name none.
    pub(crate) fn each(&self, make: impl Fn(Device, Option<Arch>) -> T, of_each: impl Fn(&T)) {
        if let Some((device, value)) = &self.given {
            return of_each(value.get_or_init(|| make(*device, self.given_arch)));
        }
        for arch in self.devices.known().chain(self.arch) {
            // An architecture without a profile has no value.
            let _ = self.on(arch, &make).map(&of_each);
        }
    }

    fn on(&self, arch: Arch, make: impl FnOnce(Device, Option<Arch>) -> T) -> Result<&T, DeviceError> {
        self.devices.get(arch, |mut device| {
            device.hardware = self.constants.unwrap_or(device.hardware);
            make(device, Some(arch))
        })
    }

    /// The value for a problem's GPU; `arch` is for problems that name none.
    pub(crate) fn get(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        make: impl FnOnce(Device, Option<Arch>) -> T,
    ) -> Result<&T, RankError> {
        if let Some((device, value)) = &self.given {
            return Ok(value.get_or_init(|| make(*device, self.given_arch)));
        }
        let arch = self.arch_for(problem, arch).ok_or(RankError::NoArch)?;
        Ok(self.on(arch, make)?)
    }
}
