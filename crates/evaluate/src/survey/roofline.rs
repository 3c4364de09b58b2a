//! How close the fastest kernels come to the device's limits.

use ck_select_model::estimate::{Device, Estimator};
use ck_select_types::vocab::{Arch, Dtype};

use crate::candidates::Trial;
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::quantile;

/// The peak rate of the device for a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roof {
    /// The type of the operands.
    pub dtype: Dtype,
    /// TFLOPS.
    pub tflops: f64,
}

/// A problem's fastest kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Operations for each byte of operands and result, each moved once.
    pub intensity: f64,
    /// Measured TFLOPS.
    pub tflops: f64,
    /// The device's limit at this intensity, from memory.
    pub roof: f64,
}

impl Point {
    /// The reached share of the roof; more than 1 if caches replace memory traffic.
    pub fn share(&self) -> f64 {
        self.tflops / self.roof
    }

    /// Whether memory, not arithmetic, is the limit.
    pub fn is_bound_by_memory(&self, roof: f64) -> bool {
        self.roof < roof
    }
}

/// The limits of the fastest kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// The architecture whose profile gives the peaks.
    pub arch: Arch,
    /// Bandwidth of its memory in GB/s.
    pub memory_gb_s: f64,
    /// Bandwidth of its caches in GB/s.
    pub cache_gb_s: f64,
    /// Peaks of the types that were measured.
    pub roofs: Vec<Roof>,
    /// The trials, in their order.
    pub points: Vec<Point>,
}

impl Roofline {
    /// Computes the roofline; the error says why there is none.
    pub(super) fn new(measurements: &Measurements, trials: &[Trial]) -> Result<Self, String> {
        let arch = measurements.common_arch().map_err(|error| error.to_string())?;
        let arch = arch.ok_or("the data does not say what it was measured on: give it with --arch")?;
        let device = measurements.device(arch).map_err(|error| error.to_string())?;
        Self::on(arch, device, measurements, trials)
    }

    fn on(arch: Arch, device: Device, measurements: &Measurements, trials: &[Trial]) -> Result<Self, String> {
        let estimator = Estimator::new(device);
        let memory = device.rates.memory_gb_s;
        let mut roofs: Vec<Roof> = Vec::new();
        let mut points = Vec::with_capacity(trials.len());
        for trial in trials {
            let problem = &measurements.problems()[trial.problem as usize];
            let dtype = problem.dtype();
            let known = roofs.iter().find(|roof| roof.dtype == dtype).copied();
            let roof = if let Some(roof) = known {
                roof
            } else {
                let no_peak = || format!("the profile of {arch} has no peak of {dtype}");
                let tflops = device.peak_tflops(dtype).ok_or_else(no_peak)?;
                roofs.push(Roof { dtype, tflops });
                Roof { dtype, tflops }
            };
            let intensity = problem.flops() / estimator.load(problem).bytes();
            let reachable = (intensity * memory / 1e3).min(roof.tflops);
            points.push(Point { intensity, tflops: trial.oracle_tflops(), roof: reachable });
        }
        Ok(Self { arch, memory_gb_s: memory, cache_gb_s: device.rates.cache_gb_s, roofs, points })
    }

    /// The share of the roof below which this part of the points is.
    pub fn share(&self, part: f64) -> f64 {
        let mut shares: Vec<f64> = self.points.iter().map(Point::share).collect();
        shares.sort_by(f64::total_cmp);
        quantile(&shares, part)
    }

    /// The highest peak.
    pub fn peak(&self) -> f64 {
        self.roofs.iter().map(|roof| roof.tflops).fold(0.0, f64::max)
    }
}
