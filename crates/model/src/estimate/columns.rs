//! What a universal model reads: how the estimate sees a kernel, relative to the fastest of its pool.
//!
//! Every value is a ratio, a count or a size that is held within bounds, so that a device, a type or a
//! direction that a forest never saw lies where others lay; no extent of the problem is among them. Training
//! and serving fill them by the same function, [`UniversalPool::fill`].

use super::device::Device;
use super::load::Load;
use super::shape::Shape;
use super::terms::Parts;
use super::{Estimator, ShapeError};
use crate::kernel::KernelKind;
use crate::problem::Problem;

/// A column of universal models.
pub struct UniversalColumn {
    /// The name that models use.
    pub name: &'static str,
    /// What it says.
    pub doc: &'static str,
    value: fn(&Seen<'_>) -> f64,
}

/// A kernel on a problem, as the estimate sees it.
struct Seen<'a> {
    parts: Parts,
    load: &'a Load,
    shape: &'a Shape,
    device: &'a Device,
    time: f64,
    /// The shortest time of the pool.
    best: f64,
}

impl Seen<'_> {
    fn width(&self, axis: usize) -> f64 {
        self.shape.widths(self.load)[axis].min(16.0)
    }
}

/// Most rounds, and as a share the fewest, that are told apart.
const ROUNDS: f64 = 64.0;

macro_rules! columns {
    ($($name:ident = $value:expr, $doc:literal;)+) => {
        &[$(UniversalColumn { name: stringify!($name), doc: $doc, value: $value }),+]
    };
}

/// All columns, in the order of a model that names none.
pub const UNIVERSAL_COLUMNS: &[UniversalColumn] = columns! {
    est_slower = |s| (s.time / s.best).min(64.0), "estimated time over the shortest of the pool";
    est_rounds = |s| s.parts.flowing.clamp(1.0 / ROUNDS, ROUNDS), "rounds of workgroups, as if they could be divided";
    est_whole_rounds = |s| s.parts.rounds.min(8.0), "whole rounds, 8 at most";
    est_last_round = |s| s.parts.last / s.parts.resident, "share of the device that the last round fills";
    est_resident = |s| s.parts.resident.min(8.0), "workgroups that a compute unit holds, 8 at most";
    est_occupied = |s| s.parts.occupied, "share of a compute unit's SIMDs that a workgroup occupies";
    est_steps = |s| s.parts.steps.min(256.0), "steps of a workgroup, 256 at most";
    est_parts = |s| s.parts.split.min(64.0), "parts that the depth is cut into, 64 at most";
    est_filled_m = |s| s.parts.filled[0], "share of the tiles' rows that the problem fills";
    est_filled_n = |s| s.parts.filled[1], "share of the tiles' columns";
    est_filled_k = |s| s.parts.filled[2], "share of the steps' depth";
    est_filled = |s| s.parts.filled.iter().product(), "the three together";
    est_tile_m = |s| s.shape.tile[0].min(256.0), "rows of a tile, 256 at most";
    est_tile_n = |s| s.shape.tile[1].min(256.0), "columns of a tile";
    est_tile_k = |s| s.shape.tile[2].min(256.0), "depth of a step";
    est_waves = |s| s.shape.waves.min(16.0), "waves of a workgroup, 16 at most";
    est_ahead = |s| s.shape.ahead, "how far loads run ahead: not, a step, a step with a second buffer";
    est_compv5 = |s| f64::from(u8::from(s.shape.compv5)), "whether the pipeline is compv5, which the estimate takes for compv3";
    est_two_stage = |s| f64::from(u8::from(s.shape.two_stage)), "whether a second kernel adds up parts";
    est_width_a = |s| s.width(0), "elements of an access to A, 16 at most";
    est_width_b = |s| s.width(1), "elements of an access to B";
    est_width_c = |s| s.width(2), "elements of an access to the result";
    est_waits_to_work = |s| ratio(s.parts.waits, s.parts.work()), "cycles that a step waits over those that it works";
    est_loads_to_arithmetic = |s| ratio(s.parts.loads, s.parts.arithmetic), "cycles of accesses over those of arithmetic";
    est_fragments_to_arithmetic = |s| ratio(s.parts.fragments, s.parts.arithmetic), "cycles of fragments over those of arithmetic";
    est_cache_share = |s| (s.parts.cache / s.time).min(1.0), "what the caches need of the time";
    est_memory_share = |s| (s.parts.memory / s.time).min(1.0), "what the memory needs of the time";
    est_second_stage_share = |s| (s.parts.second_stage / s.time).min(1.0), "what the second stage needs of the time";
    est_compute_units = |s| (s.device.hardware.num_cus as f64).clamp(16.0, 512.0), "compute units, 16 to 512";
    est_wave_size = |s| s.device.hardware.wavefront_size as f64, "threads of a wave";
    est_balance = |s| s.balance(), "multiply-adds of 16 bits that the device does while a byte comes from memory, 16 to 512";
};

impl Seen<'_> {
    fn balance(&self) -> f64 {
        let Device { hardware, rates, .. } = self.device;
        let macs = rates.macs_16bit * hardware.num_cus as f64 * hardware.max_clock_mhz as f64;
        (macs / (rates.memory_gb_s * 1e3)).clamp(16.0, 512.0)
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    (a / b).clamp(1.0 / 64.0, 64.0)
}

impl std::fmt::Debug for UniversalColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The kernels of a pool on a device, for universal models.
#[derive(Debug)]
pub struct UniversalPool {
    estimator: Estimator,
    shapes: Vec<Result<super::Shape, ShapeError>>,
}

impl UniversalPool {
    /// Computes what depends on device and kernels alone.
    pub fn new<'k>(estimator: Estimator, kernels: impl Iterator<Item = &'k KernelKind>) -> Self {
        Self { estimator, shapes: kernels.map(|kernel| estimator.shape(kernel)).collect() }
    }

    /// Why a kernel has no estimate.
    pub fn fault(&self, kernel: usize) -> Option<ShapeError> {
        self.shapes.get(kernel)?.as_ref().err().copied()
    }

    /// Fills in the columns of the kernels that `counts`, which are the pool for this problem: column after
    /// column, with a value for each kernel. `log_times` gets the logarithm of each one's estimated time over
    /// the shortest; NaN where a kernel does not count or has no estimate, whose columns mean nothing.
    pub fn fill(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        counts: impl Fn(usize) -> bool,
        values: &mut Vec<f64>,
        log_times: &mut Vec<f64>,
    ) {
        let kernels = self.shapes.len();
        let load = self.estimator.load(problem);
        // The times first: all values are relative to the shortest.
        log_times.clear();
        log_times.extend(self.shapes.iter().enumerate().map(|(kernel, shape)| match shape {
            Ok(shape) if counts(kernel) => self.estimator.time(&load, shape),
            _ => f64::NAN,
        }));
        let best = log_times.iter().copied().fold(f64::INFINITY, f64::min);
        values.resize(columns.len() * kernels, 0.0);
        for (kernel, (shape, time)) in self.shapes.iter().zip(&mut *log_times).enumerate() {
            let (super::Load::Gemm(load), Ok(super::Shape::Gemm(shape)), false) =
                (&load, shape, time.is_nan())
            else {
                continue;
            };
            let Estimator { device, constants } = &self.estimator;
            let parts = Parts::new(load, shape, device, constants);
            let seen = Seen { parts, load, shape, device, time: *time, best };
            for (column, cell) in columns.iter().zip(values[kernel..].iter_mut().step_by(kernels)) {
                *cell = (column.value)(&seen);
            }
            *time = (*time / best).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::problem::ConvProblem;

    fn filled(arch: &str, problem: ConvProblem, names: &[&str], which: usize) -> (Vec<f64>, Vec<f64>) {
        let kernels: Vec<Kernel> = names
            .iter()
            .map(|rest| Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{rest}")).unwrap())
            .collect();
        let estimator = Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap());
        let pool = UniversalPool::new(estimator, kernels.iter().map(|kernel| &kernel.kind));
        let columns: Vec<_> = UNIVERSAL_COLUMNS.iter().collect();
        let (mut values, mut times) = (Vec::new(), Vec::new());
        pool.fill(&columns, &problem.into(), |kernel| kernel != which, &mut values, &mut times);
        (values, times)
    }

    const NAMES: [&str; 3] = ["16x64x64_compv3", "128x128x64_compv3", "64x64x64_compv4"];

    #[test]
    fn values_are_relative_to_the_kernels_that_count() {
        let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let (all, times) = filled("gfx950", problem, &NAMES, usize::MAX);
        let best = times.iter().position(|&time| time == 0.0).unwrap();
        assert!(times.iter().all(|&time| time >= 0.0) && all[best] == 1.0);
        for (slower, time) in all.iter().zip(&times) {
            assert!((slower.ln() - time).abs() < 1e-12);
        }
        // Without the best one another is the measure.
        let (_, without) = filled("gfx950", problem, &NAMES, best);
        assert!(without[best].is_nan() && without.contains(&0.0));
    }

    #[test]
    fn values_stay_in_range_whatever_the_problem() {
        for arch in Device::PROFILES {
            for (n, c, edge) in [(1, 1, 1), (1, 4096, 1), (256, 1024, 224), (1, 3, 4096)] {
                let problem = ConvProblem { n, c, k: c, ..ConvProblem::new_2d([edge, edge], [1, 1]) };
                let (values, _) = filled(arch, problem, &NAMES, usize::MAX);
                assert_eq!(values.len(), UNIVERSAL_COLUMNS.len() * NAMES.len());
                let bad = values.iter().position(|value| !(0.0..=512.0).contains(value));
                assert_eq!(
                    bad.map(|at| UNIVERSAL_COLUMNS[at / NAMES.len()].name),
                    None,
                    "{arch} {n} {c} {edge}"
                );
            }
        }
    }
}
