//! The estimate: how long a kernel takes for a problem, without any measurement.
//!
//! ```text
//! problem ── Load ─┐
//!                  ├─ Cycles ─ microseconds, or Terms that add up to them
//! kernel ── Shape ─┘
//!    device, constants of its library
//! ```
//!
//! - [`device`](Device), `profiles`: what is known about a GPU, with sources, or from a user's JSON file
//! - `gpu_override`: such a GPU in the place of a profile
//! - `constants`: properties of a library's kernels, from measurements
//! - `load`, `shape`: what depends on the problem or on the kernel alone
//! - `formula`: what an operation's folder says: which formula it has, and what the formula computes
//! - `terms`: the formula of GEMMs, in numbers (`real`) of a kernel or of four side by side
//! - `conv`, `gemm`, `moe`: what they take from problem and kernel; `fmha`: all of it for attention
//! - `rank`: many kernels on a device, and those of a pool, ordered by the estimate
//! - `columns`: the columns that universal models derive from it
//!
//! `docs/estimate.md` explains each term, what is left out, and how good the order is in each setting. The
//! order comes from a formula with few numbers: a guess, but always the same one.

// Loops are compiled once for each instruction set that calls them, so they must be inlined into the callers.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

mod columns;
mod constants;
mod conv;
mod device;
mod fmha;
mod formula;
mod gemm;
mod gpu_override;
mod load;
mod moe;
mod profiles;
mod rank;
mod real;
mod shape;
mod terms;

pub use columns::{ClassIndex, Place, UniversalPool, ops_like, universal_columns};
pub use device::{Device, DeviceError, Library, Rates};
pub use fmha::{FmhaLoad, FmhaShape};
pub use formula::UniversalColumn;
pub use gpu_override::{GpuOverride, GpuOverrideError, GpuOverrideFault, PerDevice, constants_of};
pub use rank::{EstimateError, EstimateScratch, EstimatedKernels, PoolEstimate};
pub use shape::ShapeError;
pub(crate) use terms::MOST_TERMS;
pub use terms::Terms;

use crate::isa::Isa;
use crate::kernel::KernelKind;
use crate::problem::Problem;
use crate::vocab::GemmLibrary;
use crate::vocab::Op;
use ck_select_types::{each_operation, map_operation, operation_enum};
use formula::{Formula, KernelEstimate as _, LoadFor, OperationEstimate as _, ShapeFor};

operation_enum! {
    /// The problem's side of the estimate, computed once per problem.
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[allow(clippy::large_enum_variant)] // lives on the stack of one call
    pub enum Load(LoadFor), not by type;
}

operation_enum! {
    /// The kernel's side of the estimate on a device, computed once per kernel.
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[allow(clippy::large_enum_variant)] // pools are homogeneous, so nothing is gained by a box
    pub enum Shape(ShapeFor), not by type;
}

impl Load {
    /// The load in so many parts.
    pub(crate) fn in_parts(self, parts: i32) -> Self {
        map_operation!(self, Self(load) => Self(load.in_parts(parts)))
    }

    /// Bytes of operands and result, each once.
    pub fn bytes(&self) -> f64 {
        each_operation!(self, Self(load) => load.bytes())
    }
}

/// The names of the terms of an operation's times.
pub fn term_names(op: Op) -> Vec<&'static str> {
    each_operation!(op, Own => <LoadFor<Own> as Formula>::TERMS.to_vec())
}

/// The names of the terms of a formula.
fn names_for<L: Formula>(_: &L) -> &'static [&'static str] {
    L::TERMS
}

/// How sure the estimate's choices for an operation are, as `sureness.json` has it; `None` while no choice was judged.
pub(crate) fn sureness_of(op: Op) -> Option<&'static [u8]> {
    each_operation!(op, Own => Own::SURENESS)
}

/// The marks in a kernel's name by which its library is recognized.
pub(crate) fn library_marks(kernel: &KernelKind) -> Option<(GemmLibrary, bool)> {
    each_operation!(kernel, KernelKind(kernel) => kernel.library_marks())
}

/// Estimates times on a device.
///
/// ```
/// use ck_select_model::estimate::{Device, Estimator};
/// use ck_select_types::kernel::Kernel;
/// use ck_select_types::problem::ConvProblem;
///
/// let estimator = Estimator::new(Device::for_arch("gfx942".parse()?)?);
/// let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3")?;
/// let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
/// let (load, shape) = (estimator.load(&problem.into()), estimator.shape(&kernel.kind)?);
/// let terms = estimator.terms(&load, &shape);
/// assert!((terms.total() / estimator.time(&load, &shape) - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Estimator {
    device: Device,
}

impl Estimator {
    /// An estimator for a device.
    pub const fn new(device: Device) -> Self {
        Self { device }
    }

    /// The device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Whether a kernel is of another library than those that its constants for the device are for.
    pub fn is_foreign(&self, kernel: &KernelKind) -> bool {
        each_operation!(kernel, KernelKind(kernel) => kernel.library(&self.device)) != self.device.library
    }

    /// The part of the estimate that depends on the problem alone. The problem must be valid.
    #[allow(clippy::unused_self, reason = "the device may come to matter")]
    pub fn load(&self, problem: &Problem) -> Load {
        map_operation!(problem, Problem(problem) => Load(problem.load()))
    }

    /// The part of the estimate that depends on the kernel alone.
    pub fn shape(&self, kernel: &KernelKind) -> Result<Shape, ShapeError> {
        Ok(map_operation!(kernel, KernelKind(kernel) => Shape(kernel.shape(&self.device)?)))
    }

    /// The time in microseconds; infinite for a kernel of a different operation.
    #[inline]
    pub fn time(&self, load: &Load, shape: &Shape) -> f64 {
        each_operation!(
            (load, shape),
            (Load(load), Shape(shape)) => load.time(shape, &self.device),
            f64::INFINITY
        )
    }

    /// The terms of the time.
    pub fn terms(&self, load: &Load, shape: &Shape) -> Terms {
        let names = each_operation!(load, Load(load) => names_for(load));
        Terms { named: names.iter().copied().zip(self.values_of_terms(load, shape)).collect() }
    }

    /// The values of the terms, and zeros after them; NaN for a kernel of a different operation.
    pub(crate) fn values_of_terms(&self, load: &Load, shape: &Shape) -> [f64; MOST_TERMS] {
        each_operation!(
            (load, shape),
            (Load(load), Shape(shape)) => load.terms(Isa::best(), shape, &self.device),
            [f64::NAN; MOST_TERMS]
        )
    }
}

#[cfg(test)]
mod tests;
