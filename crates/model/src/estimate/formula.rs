//! What a formula of the estimate is, which one an operation has, and what columns of every formula are made
//! of.

use std::fmt::Debug;

use ck_select_types::operation::{OperationProblem, OperationValue};

use super::device::{Device, Library};
use super::shape::ShapeError;
use super::terms::MOST_TERMS;
use crate::column::Column;
use crate::isa::Isa;
use crate::kernel::KernelKind;
use crate::vocab::GemmLibrary;

/// Problems of an operation, as the estimate sees them.
pub trait OperationEstimate:
    OperationProblem<Kernel: KernelEstimate<Shape = <Self::Load as Formula>::Shape> + OperationValue<KernelKind>>
{
    /// The problem's side of the operation's formula.
    type Load: Formula;
    /// How sure the estimate's choices are, as `sureness.json` has it; `None` while no choice was judged.
    const SURENESS: Option<&'static [u8]> = None;

    /// The part of the formula that depends on the problem alone.
    fn load(&self) -> Self::Load;
}

/// Kernels of an operation, as the estimate sees them.
pub trait KernelEstimate {
    /// The kernel's side of the operation's formula.
    type Shape;

    /// The part of the formula that depends on the kernel alone.
    fn shape(&self, device: &Device) -> Result<Self::Shape, ShapeError>;

    /// The kernel's library: the one that its name says, else the device's.
    fn library(&self, device: &Device) -> Library {
        device.library
    }

    /// The marks in a kernel's name by which its library is recognized, if there are several: whose kernel it is, and
    /// whether its epilogue is the default.
    fn library_marks(&self) -> Option<(GemmLibrary, bool)> {
        None
    }
}

pub(super) type LoadFor<P> = <P as OperationEstimate>::Load;
pub(super) type ShapeFor<P> = <LoadFor<P> as Formula>::Shape;

/// A formula, by the problem's side of it.
pub trait Formula: Debug + Copy + PartialEq + 'static {
    /// The kernel's side.
    type Shape: Debug + Copy + PartialEq;
    /// The cycles from which the time is computed.
    type Cycles: Copy + 'static;
    /// The names of the terms, in the order in which their causes are added.
    const TERMS: &'static [&'static str];
    /// All columns of universal models, in the order of a model that does not name its columns.
    const COLUMNS: &'static [UniversalColumn];
    /// The functions that compute these columns.
    const VALUES: &'static [ColumnValue<Self>];

    /// Bytes of operands and result, each once.
    fn bytes(&self) -> f64;

    /// The load in so many parts, where the formula knows parts.
    fn in_parts(self, _parts: i32) -> Self {
        self
    }

    /// Numbers that are equal for equal kernels, by which those are grouped.
    fn tile(shape: &Self::Shape) -> [f64; 3];

    /// The cycles from which a kernel's time is computed, and the time in microseconds.
    fn cycles(&self, isa: Isa, shape: &Self::Shape, device: &Device) -> (Self::Cycles, f64);

    /// The least microseconds of all arithmetic.
    fn least(&self, cycles: &Self::Cycles, shape: &Self::Shape, device: &Device) -> f64;

    /// A kernel's time in microseconds.
    #[inline(always)]
    fn time(&self, shape: &Self::Shape, device: &Device) -> f64 {
        self.cycles(Isa::Portable, shape, device).1
    }

    /// The times with the number of the first cause, with those of the first two, and so on, as
    /// [`times_by_cause`](super::terms::times_by_cause) computes them.
    fn times_by_cause(&self, isa: Isa, shape: &Self::Shape, device: &Device) -> [f64; MOST_TERMS];

    /// The terms of the time, in the order of their names, and zeros after them: a term is the growth of the time
    /// with its cause.
    fn terms(&self, isa: Isa, shape: &Self::Shape, device: &Device) -> [f64; MOST_TERMS] {
        let mut known = 0.0;
        self.times_by_cause(isa, shape, device).map(|time| time - std::mem::replace(&mut known, time))
    }

    /// The times of some kernels.
    fn times(&self, _isa: Isa, shapes: &[Self::Shape], device: &Device, times: &mut [f64]) {
        times.iter_mut().zip(shapes).for_each(|(time, shape)| *time = self.time(shape, device));
    }
}

/// A column of universal models.
pub struct UniversalColumn {
    /// The name that models use.
    pub name: &'static str,
    /// The column's meaning.
    pub doc: &'static str,
    /// Whether the column depends on kernel and device alone, or on the problem, too.
    pub(crate) scope: Column,
    /// The column's index among those of the formula.
    pub(super) index: usize,
}

/// A function that computes a column of some kernels.
pub(super) type ColumnValue<L> = fn(&[EstimatedKernel<'_, L>], &mut [f64]);

/// A kernel on a problem, as the estimate sees it.
#[derive(Clone, Copy)]
pub struct EstimatedKernel<'a, L: Formula> {
    pub(super) cycles: L::Cycles,
    pub(super) load: &'a L,
    pub(super) shape: &'a L::Shape,
    pub(super) device: &'a Device,
    pub(super) time: f64,
    /// The least microseconds that the problem could take.
    pub(super) least: f64,
}

/// The largest value of the column `est_rounds`; its inverse is the smallest.
pub(super) const ROUNDS: f64 = 64.0;

/// Declares a formula's columns, one entry each: scope, name, value, meaning.
macro_rules! columns {
    ($load:ty: $($scope:ident $name:ident = |$seen:ident| $value:expr, $doc:literal;)+) => {
        pub(in crate::estimate) const COLUMNS: &[$crate::estimate::UniversalColumn] = {
            #[allow(non_camel_case_types, clippy::enum_variant_names, reason = "the names of columns")]
            enum ColumnIndex { $($name),+ }
            &[$($crate::estimate::UniversalColumn {
                name: stringify!($name),
                doc: $doc,
                scope: $crate::column::Column::$scope,
                index: ColumnIndex::$name as usize,
            }),+]
        };

        pub(in crate::estimate) const VALUES: &[$crate::estimate::formula::ColumnValue<$load>] =
            &[$(|all, cells| {
                for (cell, $seen) in cells.iter_mut().zip(all) {
                    *cell = $value;
                }
            }),+];
    };
}
pub(super) use columns;

pub(super) fn compute_units(device: &Device) -> f64 {
    (device.hardware.num_cus as f64).clamp(16.0, 512.0)
}

pub(super) fn balance(device: &Device) -> f64 {
    let Device { hardware, rates, .. } = device;
    let macs = rates.macs_16bit * hardware.num_cus as f64 * hardware.max_clock_mhz as f64;
    (macs / (rates.memory_gb_s * 1e3)).clamp(16.0, 512.0)
}

pub(super) fn ratio(a: f64, b: f64) -> f64 {
    (a / b).clamp(1.0 / 64.0, 64.0)
}

impl std::fmt::Debug for UniversalColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
