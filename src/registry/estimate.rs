//! The source `estimate`: the kernels of a registry in the order of their estimated times, with higher
//! priorities first.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::prepared::{Prepared, are_same, by_name};
use super::state::State;
use super::{Entry, Priority, Registry, Selection, Source, reproduce};
use crate::estimate::{Described, DeviceError, EstimateScratch, EstimatedKernels, PerDevice, Terms};
use crate::problem::{Checked, Problem};
use crate::ties::Ties;
use crate::vocab::{Arch, Op};

/// Number of kernels whose terms an explanation shows.
const EXPLAINED: usize = 5;

/// Why the estimate has no answer, without allocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoEstimate {
    #[error("off")]
    Off,
    #[error("neither the problem nor the options name an architecture, nor do all kernels name one")]
    NoArch,
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The estimates of some kernels, for each device that was requested.
pub(super) struct Estimates {
    entries: Arc<[Arc<Entry>]>,
    /// The architecture that all of them name.
    arch: Option<Arch>,
    /// Whether their priorities differ.
    prefers: bool,
    ties: OnceLock<Ties>,
    devices: PerDevice<PreparedEstimate>,
    /// The files with their kernels, by operation, once they were needed.
    pool_files: [OnceLock<Result<PathBuf, String>>; Op::ALL.len()],
}

/// What depends on kernels and device alone.
pub(super) struct PreparedEstimate {
    arch: Arch,
    kernels: EstimatedKernels,
}

impl Estimates {
    /// Reuses those of an earlier state if its kernels and its GPU were the same.
    pub(super) fn of(
        entries: &Arc<[Arc<Entry>]>,
        described: Option<Described>,
        earlier: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        if let Some(earlier) = earlier.filter(|earlier| {
            are_same(&earlier.entries, entries) && earlier.devices.described().copied() == described
        }) {
            return Arc::clone(earlier);
        }
        let first = entries.first();
        let arch = first
            .and_then(|first| first.arch())
            .filter(|&arch| entries.iter().all(|entry| entry.arch() == Some(arch)));
        let prefers =
            first.is_some_and(|first| entries.iter().any(|entry| entry.priority() != first.priority()));
        Arc::new(Self {
            entries: Arc::clone(entries),
            arch,
            prefers,
            ties: OnceLock::new(),
            devices: PerDevice::new(described),
            pool_files: Default::default(),
        })
    }

    /// Whether a higher priority goes before a shorter time.
    pub(super) const fn prefers(&self) -> bool {
        self.prefers
    }

    /// The architecture for a problem: the problem's, otherwise the options'; without either, the one that all
    /// kernels name.
    pub(super) fn arch_for(&self, state: &State, problem: &Problem) -> Option<Arch> {
        problem.arch().or(state.options().arch).or(self.arch)
    }

    /// The estimates for an architecture, computed on first use.
    fn device(&self, arch: Arch) -> Result<&PreparedEstimate, DeviceError> {
        self.devices.get(arch, |device| {
            let kernels = self.entries.iter().map(|entry| &entry.kernel().kind);
            PreparedEstimate { arch, kernels: EstimatedKernels::new(device, kernels) }
        })
    }

    /// The order of equal kernels.
    fn ties(&self) -> &Ties {
        self.ties.get_or_init(|| {
            let priority =
                |place: usize| self.entries.get(place).map_or(Priority::NORMAL, |entry| entry.priority()).0;
            Ties::new(by_name(&self.entries).iter().map(|(place, _)| *place), |_| true, priority)
        })
    }
}

impl Registry {
    /// Ranks the kernels that fit, or says why not. `supports` is not called.
    fn ask_estimate<'p>(
        state: &State,
        prepared: &'p Prepared,
        problem: Checked<'_>,
        scratch: &mut EstimateScratch,
    ) -> Result<&'p PreparedEstimate, NoEstimate> {
        if !state.options().estimate {
            return Err(NoEstimate::Off);
        }
        let arch = prepared.estimates.arch_for(state, &problem).ok_or(NoEstimate::NoArch)?;
        let estimate = prepared.estimates.device(arch)?;
        let fitting = estimate.kernels.shapes().filter(|&(place, _)| {
            state.entry(place).is_some_and(|entry| entry.fits(&problem, state.options().arch))
        });
        scratch.rank(estimate.kernels.estimator(), &problem, fitting, prepared.estimates.ties());
        Ok(estimate)
    }

    /// A file with the kernels of an operation, for `ckselect`.
    pub(super) fn estimated_pool(prepared: &Prepared, op: Op) -> Result<&Path, String> {
        let Estimates { entries, pool_files, .. } = prepared.estimates.as_ref();
        let file = pool_files.get(op as usize).ok_or("an unknown operation")?.get_or_init(|| {
            let kernels = by_name(entries);
            let kernels = kernels.iter().map(|(_, entry)| entry.kernel());
            reproduce::write_pool(op, &kernels.filter(|kernel| kernel.kind.op() == op).collect::<Vec<_>>())
        });
        file.as_deref().map_err(Clone::clone)
    }

    /// The first supported kernel by the estimate.
    pub(super) fn by_estimate(
        &self,
        state: &State,
        prepared: &Prepared,
        problem: Checked<'_>,
    ) -> Option<Selection<'_>> {
        let mut scratch = self.estimate_scratches.pop().unwrap_or_default();
        let found = Self::ask_estimate(state, prepared, problem, &mut scratch).ok().and_then(|_| {
            let mut unsupported = 0;
            scratch.ranking().iter().enumerate().find_map(|(rank, one)| {
                let entry = state.entry(one.index)?;
                if !entry.supports(&problem) {
                    unsupported += 1;
                    return None;
                }
                let base =
                    Selection::of(self.registered(entry), one.index, Source::Estimate, state.generation());
                Some(Selection { score: Some(one.time_us), rank, unsupported, ..base })
            })
        });
        // If the queue is full, it is freed: there were more simultaneous calls than scratches to keep.
        let _ = self.estimate_scratches.push(scratch);
        found
    }

    /// Microseconds of the fastest supported kernel by the estimate; `None` if it has no answer.
    pub(super) fn estimated_time(&self, problem: &Problem) -> Option<f64> {
        let problem = problem.checked().ok()?;
        let state = self.state();
        let prepared = self.prepared(&state);
        self.by_estimate(&state, prepared, problem)?.score
    }

    /// The indices of all kernels that fit, in the estimate's order; empty if it has no answer.
    pub(super) fn places_by_estimate(state: &State, prepared: &Prepared, problem: Checked<'_>) -> Vec<usize> {
        let mut scratch = EstimateScratch::default();
        match Self::ask_estimate(state, prepared, problem, &mut scratch) {
            Ok(_) => scratch.ranking().iter().map(|one| one.index).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The estimate's answer, or why it has none.
    pub(super) fn explain_estimate(state: &State, prepared: &Prepared, problem: Checked<'_>) -> String {
        let mut scratch = EstimateScratch::default();
        let estimate = match Self::ask_estimate(state, prepared, problem, &mut scratch) {
            Ok(estimate) => estimate,
            Err(reason) => return reason.to_string(),
        };
        let ranking = scratch.ranking();
        if ranking.is_empty() {
            return "no kernel that fits has an estimate".to_owned();
        }
        let mut text = format!("{} kernels on {}", ranking.len(), estimate.arch);
        if let (Some(described), Some(by)) = (state.described(), &state.options().hardware)
            && described.arch == estimate.arch
        {
            let _ = write!(text, ", described by {}", by.display());
        }
        let estimator = estimate.kernels.estimator();
        let load = estimator.load(&problem);
        for (rank, one) in ranking.iter().take(EXPLAINED).enumerate() {
            let entry = state.entry(one.index);
            let name = entry.map_or("", Entry::name);
            let note = if entry.is_some_and(|entry| entry.supports(&problem)) { "" } else { ", unsupported" };
            let _ = write!(text, "\n  {:>4}. {name} {:.3} us{note}:", rank + 1, one.time_us);
            let shape = estimate.kernels.shape(one.index);
            let terms = shape.map(|shape| estimator.terms(&load, shape));
            for (term, value) in terms.iter().flat_map(Terms::named) {
                let _ = write!(text, " {term} {value:.3}");
            }
        }
        if ranking.len() > EXPLAINED {
            let _ = write!(text, "\n  and {} more", ranking.len() - EXPLAINED);
        }
        text
    }

    /// Why the estimate did not choose.
    pub(super) fn explain_no_estimate(state: &State, prepared: &Prepared, problem: Checked<'_>) -> String {
        match Self::ask_estimate(state, prepared, problem, &mut EstimateScratch::default()) {
            Err(reason) => reason.to_string(),
            Ok(_) => "no kernel that has an estimate fits and is supported".to_owned(),
        }
    }
}
