//! The columns of a universal model: how the estimate sees a kernel on a problem, whatever else is in the pool.
//!
//! Every value is a ratio, a count or a size within bounds, so that a device, a type or a direction that a
//! forest never saw falls into the range of those it saw; extents of the problem are not among them. Training
//! and serving use the same function, [`UniversalPool::fill`].

use super::column::{GemmSeen, ROUNDS, Seen, UniversalColumn, Value, balance, columns, compute_units, ratio};
use super::fmha::FmhaCycles;
use super::fmha::columns::FMHA_COLUMNS;
use super::terms::Cycles;
use super::{Estimator, Load, Shape, ShapeError};
use crate::kernel::KernelKind;
use crate::problem::Problem;
use crate::vocab::Op;

impl GemmSeen<'_> {
    fn width(&self, axis: usize) -> f64 {
        self.shape.widths(self.load)[axis].min(16.0)
    }
}

/// All columns of an operation, in the order of a model that does not name its columns.
pub const fn universal_columns(op: Op) -> &'static [UniversalColumn] {
    match op {
        Op::GroupedConv | Op::Gemm => GEMM_COLUMNS,
        Op::Fmha => FMHA_COLUMNS,
    }
}

const GEMM_COLUMNS: &[UniversalColumn] = columns! { Gemm:
    est_over_least = |s| (s.time / s.least).min(64.0),
        "estimated time over the least: all multiply-adds, or all bytes, at the device's rate";
    est_rounds = |s| s.cycles.flowing.clamp(1.0 / ROUNDS, ROUNDS),
        "rounds of workgroups, as if they could be divided";
    est_whole_rounds = |s| s.cycles.rounds.min(8.0), "whole rounds, 8 at most";
    est_last_round = |s| s.cycles.last / s.cycles.resident, "share of the device that the last round fills";
    est_uneven = |s| ratio(s.cycles.rounds + s.cycles.last / s.cycles.resident, s.cycles.flowing),
        "rounds over those as if they could be divided";
    est_resident = |s| s.cycles.resident.min(8.0), "workgroups that a compute unit holds, 8 at most";
    est_occupied = |s| s.cycles.occupied, "share of a compute unit's SIMDs that a workgroup occupies";
    est_steps = |s| s.cycles.steps.min(256.0), "steps of a workgroup, 256 at most";
    est_parts = |s| s.cycles.split.min(64.0), "parts that the depth is cut into, 64 at most";
    est_filled_m = |s| s.cycles.filled[0], "share of the tiles' rows that the problem fills";
    est_filled_n = |s| s.cycles.filled[1], "share of the tiles' columns";
    est_filled_k = |s| s.cycles.filled[2], "share of the steps' depth";
    est_filled = |s| s.cycles.filled.iter().product(), "the three together";
    est_tiles_m = |s| (s.load.extents[0] / s.shape.tile[0]).ceil().min(64.0), "tiles along m, 64 at most";
    est_staged = |s| (s.shape.staged / 1024.0).min(512.0), "KiB that a step stages, 512 at most";
    est_tile_m = |s| s.shape.tile[0].min(256.0), "rows of a tile, 256 at most";
    est_tile_n = |s| s.shape.tile[1].min(256.0), "columns of a tile";
    est_tile_k = |s| s.shape.tile[2].min(256.0), "depth of a step";
    est_waves = |s| s.shape.waves.min(16.0), "waves of a workgroup, 16 at most";
    est_ahead = |s| s.shape.ahead, "how far loads run ahead: not, a step, a step with a second buffer";
    est_compv5 = |s| f64::from(u8::from(s.shape.compv5)),
        "whether the pipeline is compv5, which the estimate takes for compv3";
    est_two_stage = |s| f64::from(u8::from(s.shape.two_stage)), "whether a second kernel adds up parts";
    est_width_a = |s| s.width(0), "elements of an access to A, 16 at most";
    est_width_b = |s| s.width(1), "elements of an access to B";
    est_width_c = |s| s.width(2), "elements of an access to the result";
    est_rate = |s| s.shape.tile.iter().product::<f64>() / (s.shape.arithmetic * s.shape.macs),
        "share of the device's rate that its instructions reach";
    est_waits_share = |s| (s.cycles.waits * s.cycles.steps / (s.cycles.clock_mhz * s.time)).min(4.0),
        "waits of a workgroup's steps over the time";
    est_start_share = |s| ratio(s.cycles.workgroup, s.cycles.steps * (s.cycles.work() + s.cycles.waits)),
        "cycles to start a workgroup over those of its steps";
    est_waits_to_work = |s| ratio(s.cycles.waits, s.cycles.work()),
        "cycles that a step waits over those that it works";
    est_loads_to_arithmetic = |s| ratio(s.cycles.loads, s.cycles.arithmetic),
        "cycles of accesses over those of arithmetic";
    est_fragments_to_arithmetic = |s| ratio(s.cycles.fragments, s.cycles.arithmetic),
        "cycles of fragments over those of arithmetic";
    est_cache_share = |s| (s.cycles.cache / s.time).min(1.0), "what the caches need of the time";
    est_memory_share = |s| (s.cycles.memory / s.time).min(1.0), "what the memory needs of the time";
    est_second_stage_share = |s| (s.cycles.second_stage / s.time).min(1.0),
        "what the second stage needs of the time";
    est_compute_units = |s| compute_units(s.device), "compute units, 16 to 512";
    est_wave_size = |s| s.device.hardware.wavefront_size as f64, "threads of a wave";
    est_balance = |s| balance(s.device),
        "multiply-adds of 16 bits that the device does while a byte comes from memory, 16 to 512";
};

/// The kernels of a pool on a device, for universal models.
#[derive(Debug)]
pub struct UniversalPool {
    estimator: Estimator,
    shapes: Vec<Result<Shape, ShapeError>>,
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

    /// Fills in the columns of the kernels that `counts`: column after column, with a value for each kernel.
    /// `log_times` receives the logarithm of each one's estimated microseconds. It is NaN for kernels that do
    /// not count or have no estimate; their columns are meaningless.
    pub fn fill(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        counts: impl Fn(usize) -> bool,
        values: &mut Vec<f64>,
        log_times: &mut Vec<f64>,
    ) {
        let kernels = self.shapes.len();
        let (load, device) = (self.estimator.load(problem), self.estimator.device());
        let bytes = load.bytes() / (device.rates.memory_gb_s * 1e3);
        let units = (device.hardware.num_cus.max(1) * device.hardware.max_clock_mhz.max(1)) as f64;
        log_times.clear();
        log_times.resize(kernels, f64::NAN);
        values.resize(columns.len() * kernels, 0.0);
        for (kernel, (shape, log_time)) in self.shapes.iter().zip(&mut *log_times).enumerate() {
            if !counts(kernel) {
                continue;
            }
            let cells = columns.iter().zip(values[kernel..].iter_mut().step_by(kernels));
            *log_time = match (&load, shape) {
                (Load::Gemm(load), Ok(Shape::Gemm(shape))) => {
                    let cycles = Cycles::new(load, shape, device);
                    let least = START + bytes.max(load.multiply_adds / (shape.macs * units));
                    let seen = Seen { time: cycles.time(), cycles, load, shape, device, least };
                    for (column, cell) in cells {
                        if let Value::Gemm(value) = column.value {
                            *cell = value(&seen);
                        }
                    }
                    seen.time.ln()
                }
                (Load::Fmha(load), Ok(Shape::Fmha(shape))) => {
                    let cycles = FmhaCycles::new(load, shape, device);
                    let least = START + bytes.max(cycles.products_alone());
                    let seen = Seen { time: cycles.time(), cycles, load, shape, device, least };
                    for (column, cell) in cells {
                        if let Value::Fmha(value) = column.value {
                            *cell = value(&seen);
                        }
                    }
                    seen.time.ln()
                }
                // A kernel without an estimate, or of another operation than the problem's.
                _ => continue,
            };
        }
    }
}

/// Microseconds of any launch, so that the least time of tiny problems is no division by nothing.
const START: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Device;
    use crate::kernel::Kernel;
    use crate::problem::{ConvProblem, FmhaProblem};
    use crate::vocab::FmhaMask;
    use proptest::prelude::*;

    fn filled(arch: &str, problem: &Problem, names: &[&str], which: usize) -> (Vec<f64>, Vec<f64>) {
        let kernels: Vec<Kernel> = names.iter().map(|name| Kernel::from_name(name).unwrap()).collect();
        let estimator = Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap());
        let pool = UniversalPool::new(estimator, kernels.iter().map(|kernel| &kernel.kind));
        let columns: Vec<_> = universal_columns(problem.op()).iter().collect();
        let (mut values, mut times) = (Vec::new(), Vec::new());
        pool.fill(&columns, problem, |kernel| kernel != which, &mut values, &mut times);
        (values, times)
    }

    const CONV: [&str; 3] = [
        "grouped_conv_forward_bf16_2d_16x64x64_compv3",
        "grouped_conv_forward_bf16_2d_128x128x64_compv3",
        "grouped_conv_forward_bf16_2d_64x64x64_compv4",
    ];

    const FMHA: [&str; 3] = [
        "fmha_fwd_bf16_batch_h128_qr_t64x128x32x128x32x128_w16x16x32_pad1111_mask=top_left_bias=no_bpc=-1",
        "fmha_fwd_bf16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=top_left_bias=no\
         _bpc=-1",
        "fmha_fwd_bf16_batch_h128_qr_t128x64x32x128x16x128_w32x32x16_pad0000_mask=top_left_bias=no_bpc=-1",
    ];

    fn convolution(n: i64, c: i64, k: i64, edge: i64, filter: i64) -> Problem {
        ConvProblem { n, c, k, ..ConvProblem::new_2d([edge; 2], [filter; 2]) }.into()
    }

    fn attention(batch: i64, seqlen_q: i64, seqlen_k: i64, mask: FmhaMask) -> Problem {
        FmhaProblem { batch, nhead_k: 8, mask, ..FmhaProblem::new([seqlen_q, seqlen_k], 32, 128) }.into()
    }

    #[test]
    fn only_kernels_that_count_have_times() {
        let attention = attention(2, 2048, 2048, FmhaMask::TopLeft);
        for (problem, names) in [(convolution(16, 256, 128, 28, 3), CONV), (attention, FMHA)] {
            let (values, times) = filled("gfx950", &problem, &names, 1);
            assert!(times[1].is_nan() && times[0].is_finite() && times[2].is_finite(), "{times:?}");
            assert!(values[0] > 0.0 && values[1] == 0.0 && values[2] > 0.0, "{problem}: {values:?}");
        }
    }

    /// Names of a pool of GEMMs: tiles and waves in all combinations, many of which nobody would build.
    fn gemms() -> Vec<String> {
        let tiles = [16, 32, 64, 128, 256];
        let shapes = tiles.iter().flat_map(|m| tiles.iter().map(move |n| (m, n)));
        let waves = ["1x1x1", "2x1x1", "2x2x1", "4x2x1"];
        let all = shapes.flat_map(|shape| waves.iter().map(move |wave| (shape, wave)));
        let names = all.flat_map(|((m, n), wave)| {
            ["compv3", "compv4", "compv6"].map(|pipeline| {
                format!(
                    "gemm_universal_fp16_rcr_{pipeline}_default_intrawave_False_False_False_False_{m}x{n}x64\
                     _{wave}_16x16x16"
                )
            })
        });
        names.collect()
    }

    proptest! {
        /// All values were relative to the shortest estimate of the pool, so that a kernel with a lucky one
        /// changed those of all others.
        #[test]
        fn other_kernels_of_the_pool_change_nothing(
            (m, n, k) in (1_i64..9000, 16_i64..9000, 16_i64..9000), pool in prop::bits::u64::ANY,
            arch in prop::sample::select(vec!["sm_90", "sm_80", "gfx90a", "gfx942", "gfx950"]),
        ) {
            let problem: Problem = crate::problem::GemmProblem::new(m, n, k).into();
            let names = gemms();
            let estimator = Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap());
            let kernels: Vec<Kernel> = names.iter().map(|name| Kernel::from_name(name).unwrap()).collect();
            let filled = |kept: &[usize]| {
                let kinds = kept.iter().map(|&kernel| &kernels[kernel].kind);
                let columns: Vec<_> = universal_columns(problem.op()).iter().collect();
                let (mut values, mut times) = (Vec::new(), Vec::new());
                let pool = UniversalPool::new(estimator, kinds);
                pool.fill(&columns, &problem, |_| true, &mut values, &mut times);
                times.extend(values);
                times.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            };
            let all: Vec<usize> = (0..names.len()).collect();
            let part: Vec<usize> = all.iter().copied().filter(|kernel| pool >> (kernel % 61) & 1 == 1).collect();
            let (whole, few) = (filled(&all), filled(&part));
            for (place, kernel) in part.iter().enumerate() {
                let of = |values: &[u64], place: usize, pool: usize| {
                    values.iter().copied().skip(place).step_by(pool).collect::<Vec<_>>()
                };
                prop_assert_eq!(of(&few, place, part.len()), of(&whole, *kernel, names.len()));
            }
        }
    }

    #[test]
    fn values_stay_in_range_whatever_the_problem() {
        for arch in Device::PROFILES {
            let convolutions = [(1, 1, 1), (1, 4096, 1), (256, 1024, 224), (1, 3, 4096)]
                .map(|(n, c, edge)| (convolution(n, c, c, edge, 1), CONV));
            let attentions = [(1, 1, 1), (1, 1, 1 << 20), (64, 1 << 17, 3), (8, 4096, 4096)].map(
                |(batch, seqlen_q, seqlen_k)| {
                    (attention(batch, seqlen_q, seqlen_k, FmhaMask::BottomRight), FMHA)
                },
            );
            for (problem, names) in convolutions.into_iter().chain(attentions) {
                let columns = universal_columns(problem.op());
                let (values, _) = filled(arch, &problem, &names, usize::MAX);
                assert_eq!(values.len(), columns.len() * names.len());
                let bad = values.iter().position(|value| !(0.0..=512.0).contains(value));
                assert_eq!(bad.map(|at| columns[at / names.len()].name), None, "{arch} {problem}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        for op in Op::ALL {
            let names: std::collections::BTreeSet<_> =
                universal_columns(*op).iter().map(|column| column.name).collect();
            assert_eq!(names.len(), universal_columns(*op).len(), "{op}");
        }
    }
}
