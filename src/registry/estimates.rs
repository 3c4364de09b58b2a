//! What the estimate knows about the kernels of a registry.

use std::sync::{Arc, OnceLock};

use super::entry::{Entry, Priority};
use super::index::KernelIndex;
use super::kernels::Kernels;
use crate::estimate::{DeviceError, EstimateScratch, EstimatedKernels, GpuOverride, PerDevice};
use crate::kernel::KernelKind;
use crate::problem::Problem;
use crate::sureness::{Sure, judge_estimated};
use crate::ties::Ties;
use crate::vocab::Arch;

/// The estimates of some kernels, for each device that was requested.
pub(super) struct Estimates {
    kernels: Arc<Kernels>,
    /// The architecture that all of them name.
    arch: Option<Arch>,
    ties: OnceLock<Ties>,
    devices: PerDevice<PreparedEstimate>,
}

/// The part of the estimate that depends on kernels and device alone.
pub(super) struct PreparedEstimate {
    pub(super) arch: Arch,
    pub(super) kernels: EstimatedKernels,
}

impl PreparedEstimate {
    /// How sure a place of a ranking is, among those from there on.
    pub(super) fn judge(&self, problem: &Problem, ranked: &EstimateScratch, rank: usize) -> Option<Sure> {
        judge_estimated(problem, Some(self.arch), &self.kernels, ranked, rank)
    }
}

impl Estimates {
    /// Reuses those of an earlier state if its kernels and its GPU were the same. Otherwise what that state
    /// needed is prepared, so that selections do not wait for it.
    pub(super) fn new(
        kernels: &Arc<Kernels>,
        gpu: Option<GpuOverride>,
        earlier: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let has_same_device = |earlier: &&Arc<Self>| earlier.devices.described().copied() == gpu;
        let earlier = earlier.filter(has_same_device);
        if let Some(earlier) = earlier.filter(|earlier| Arc::ptr_eq(&earlier.kernels, kernels)) {
            return Arc::clone(earlier);
        }
        let entries = kernels.entries();
        let arch = entries
            .first()
            .and_then(|first| first.arch())
            .filter(|&arch| entries.iter().all(|entry| entry.arch() == Some(arch)));
        let estimates =
            Self { kernels: Arc::clone(kernels), arch, ties: OnceLock::new(), devices: PerDevice::new(gpu) };
        if let Some(earlier) = earlier {
            for arch in earlier.devices.known() {
                // The architecture's device exists: the earlier state had it.
                let known =
                    earlier.device(arch).map(|known| known.kernels.changed_to(earlier.places_of(entries)));
                let made = known.map(|kernels| PreparedEstimate { arch, kernels });
                let _ = made.and_then(|made| estimates.devices.get(arch, |_| made).map(drop));
                estimates.ties();
            }
        }
        Arc::new(estimates)
    }

    /// The kernels `now`, each with its index among these, if it is one of them. Both are in the same order: removed
    /// kernels are missing, and new ones are at the end, or in the place of one of the same name.
    fn places_of<'k>(&self, now: &'k [Arc<Entry>]) -> impl Iterator<Item = (&'k KernelKind, Option<usize>)> {
        let mut known = self.kernels.entries().iter().enumerate();
        now.iter().map(move |entry| {
            let alike = known.find(|(_, known)| Arc::ptr_eq(known, entry) || known.name() == entry.name());
            let same = alike.filter(|(_, known)| Arc::ptr_eq(known, entry));
            (&entry.kernel().kind, same.map(|(index, _)| index))
        })
    }

    /// The architecture for a problem: the problem's, otherwise the `default`; without either, the one that
    /// all kernels name.
    pub(super) fn arch_for(&self, default: Option<Arch>, problem: &Problem) -> Option<Arch> {
        problem.arch().or(default).or(self.arch)
    }

    /// The estimates for an architecture, computed on first use.
    pub(super) fn device(&self, arch: Arch) -> Result<&PreparedEstimate, DeviceError> {
        self.devices.get(arch, |device| {
            let kernels = self.kernels.entries().iter().map(|entry| &entry.kernel().kind);
            PreparedEstimate { arch, kernels: EstimatedKernels::new(device, kernels) }
        })
    }

    /// The order of equal kernels.
    pub(super) fn ties(&self) -> &Ties {
        self.ties.get_or_init(|| {
            let priority = |index: usize| {
                let entry = self.kernels.get(KernelIndex::new(index));
                entry.map_or(Priority::NORMAL, |entry| entry.priority()).0
            };
            Ties::new(self.kernels.by_name().map(|(index, _)| index.get()), |_| true, priority)
        })
    }

    #[cfg(test)]
    pub(super) fn is_prepared_for(&self, arch: Arch) -> bool {
        self.devices.known().any(|known| known == arch)
    }
}
