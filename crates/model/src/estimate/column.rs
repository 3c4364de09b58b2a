//! A column of universal models, and what columns of every operation are made of.

use super::device::Device;
use super::fmha::{FmhaCycles, FmhaLoad, FmhaShape};
use super::terms::Cycles;
use super::{load, shape};
use crate::scoring::Column;

/// A column of universal models.
pub struct UniversalColumn {
    /// The name that models use.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Whether it depends on kernel and device alone, or on the problem, too.
    pub(crate) scope: Column,
    pub(super) value: Value,
}

/// What computes a column of some kernels, by their operation.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Gemm(fn(&[GemmSeen<'_>], &mut [f64])),
    Fmha(fn(&[FmhaSeen<'_>], &mut [f64])),
}

/// A kernel on a problem, as the estimate sees it.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a, L, S, P> {
    pub(super) cycles: P,
    pub(super) load: &'a L,
    pub(super) shape: &'a S,
    pub(super) device: &'a Device,
    pub(super) time: f64,
    /// The least microseconds that the problem could take.
    pub(super) least: f64,
}

pub(super) type GemmSeen<'a> = Seen<'a, load::Load, shape::Shape, Cycles>;
pub(super) type FmhaSeen<'a> = Seen<'a, FmhaLoad, FmhaShape, FmhaCycles>;

/// The most rounds that are told apart; the inverse is the smallest share.
pub(super) const ROUNDS: f64 = 64.0;

macro_rules! columns {
    ($of:ident: $($scope:ident $name:ident = |$kernel:ident| $value:expr, $doc:literal;)+) => {
        &[$($crate::estimate::UniversalColumn {
            name: stringify!($name),
            doc: $doc,
            scope: $crate::scoring::Column::$scope,
            value: $crate::estimate::column::Value::$of(|seen, cells| {
                for (cell, $kernel) in cells.iter_mut().zip(seen) {
                    *cell = $value;
                }
            }),
        }),+]
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
