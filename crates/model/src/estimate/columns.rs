//! The columns of a universal model: how the estimate sees a kernel on a problem, whatever else is in the
//! pool.
//!
//! Every value is a ratio, a count or a size within bounds, so that a device, a type or a direction that a
//! forest never saw falls into the range of those it saw; extents of the problem are not among them. Training
//! and serving use the same function, [`UniversalPool::fill`].

use std::collections::HashMap;

use super::column::{GemmSeen, ROUNDS, Seen, UniversalColumn, Value, balance, columns, compute_units, ratio};
use super::fmha::columns::FMHA_COLUMNS;
use super::fmha::{FmhaCycles, FmhaShape};
use super::shape::Kernels as _;
use super::terms;
use super::{Estimator, Load, Shape, shape};
use crate::isa::Isa;
use crate::kernel::KernelKind;
use crate::problem::{FmhaProblem, GemmProblem, Problem};
use crate::scoring::Column;
use crate::vocab::Op;

impl GemmSeen<'_> {
    fn width(&self, axis: usize) -> f64 {
        self.shape.widths(self.load)[axis].min(16.0)
    }
}

/// All columns of an operation, in the order of a model that does not name its columns.
pub const fn universal_columns(op: Op) -> &'static [UniversalColumn] {
    match op {
        Op::Conv | Op::Gemm => GEMM_COLUMNS,
        Op::Fmha => FMHA_COLUMNS,
    }
}

const GEMM_COLUMNS: &[UniversalColumn] = columns! { Gemm:
    Pair est_over_least = |s| (s.time / s.least).min(64.0),
        "estimated time over the least: all multiply-adds, or all bytes, at the device's rate";
    Pair est_rounds = |s| s.cycles.flowing.clamp(1.0 / ROUNDS, ROUNDS),
        "rounds of workgroups, as if they could be divided";
    Pair est_whole_rounds = |s| s.cycles.rounds.min(8.0), "whole rounds, 8 at most";
    Pair est_last_round = |s| s.cycles.last / s.cycles.resident,
        "share of the device that the last round fills";
    Pair est_uneven = |s| ratio(s.cycles.rounds + s.cycles.last / s.cycles.resident, s.cycles.flowing),
        "rounds over those as if they could be divided";
    Kernel est_resident = |s| s.cycles.resident.min(8.0), "workgroups that a compute unit holds, 8 at most";
    Kernel est_occupied = |s| s.cycles.occupied, "share of a compute unit's SIMDs that a workgroup occupies";
    Pair est_steps = |s| s.cycles.steps.min(256.0), "steps of a workgroup, 256 at most";
    Pair est_parts = |s| s.cycles.split.min(64.0), "parts that the depth is cut into, 64 at most";
    Pair est_filled_m = |s| s.cycles.filled[0], "share of the tiles' rows that the problem fills";
    Pair est_filled_n = |s| s.cycles.filled[1], "share of the tiles' columns";
    Pair est_filled_k = |s| s.cycles.filled[2], "share of the steps' depth";
    Pair est_filled = |s| s.cycles.filled.iter().product(), "the three together";
    Pair est_tiles_m = |s| s.cycles.tiles_m.min(64.0),
        "tiles along m, 64 at most";
    Kernel est_staged = |s| (s.shape.staged / 1024.0).min(512.0), "KiB that a step stages, 512 at most";
    Kernel est_tile_m = |s| s.shape.tile[0].min(256.0), "rows of a tile, 256 at most";
    Kernel est_tile_n = |s| s.shape.tile[1].min(256.0), "columns of a tile";
    Kernel est_tile_k = |s| s.shape.tile[2].min(256.0), "depth of a step";
    Kernel est_waves = |s| s.shape.waves.min(16.0), "waves of a workgroup, 16 at most";
    Kernel est_ahead = |s| s.shape.ahead, "how far loads run ahead: not, a step, a step with a second buffer";
    Kernel est_compv5 = |s| f64::from(u8::from(s.shape.compv5)),
        "whether the pipeline is compv5, which the estimate takes for compv3";
    Kernel est_two_stage = |s| f64::from(u8::from(s.shape.two_stage)),
        "whether a second kernel adds up parts";
    Pair est_width_a = |s| s.width(0), "elements of an access to A, 16 at most";
    Pair est_width_b = |s| s.width(1), "elements of an access to B";
    Pair est_width_c = |s| s.width(2), "elements of an access to the result";
    Kernel est_rate = |s| s.shape.tile.iter().product::<f64>() / (s.shape.arithmetic * s.shape.macs),
        "share of the device's rate that its instructions reach";
    Pair est_waits_share = |s| (s.cycles.waits * s.cycles.steps / (s.cycles.clock_mhz * s.time)).min(4.0),
        "waits of a workgroup's steps over the time";
    Pair est_start_share = |s| ratio(s.cycles.workgroup, s.cycles.steps * (s.cycles.work() + s.cycles.waits)),
        "cycles to start a workgroup over those of its steps";
    Pair est_waits_to_work = |s| ratio(s.cycles.waits, s.cycles.work()),
        "cycles that a step waits over those that it works";
    Pair est_loads_to_arithmetic = |s| ratio(s.cycles.loads, s.cycles.arithmetic),
        "cycles of accesses over those of arithmetic";
    Kernel est_fragments_to_arithmetic = |s| ratio(s.cycles.fragments, s.cycles.arithmetic),
        "cycles of fragments over those of arithmetic";
    Pair est_cache_share = |s| (s.cycles.cache / s.time).min(1.0), "what the caches need of the time";
    Pair est_memory_share = |s| (s.cycles.memory / s.time).min(1.0), "what the memory needs of the time";
    Pair est_second_stage_share = |s| (s.cycles.second_stage / s.time).min(1.0),
        "what the second stage needs of the time";
    Kernel est_compute_units = |s| compute_units(s.device), "compute units, 16 to 512";
    Kernel est_wave_size = |s| s.device.hardware.wavefront_size as f64, "threads of a wave";
    Kernel est_balance = |s| balance(s.device),
        "multiply-adds of 16 bits that the device does while a byte comes from memory, 16 to 512";
};

/// The kernels of a pool on a device, for universal models. Those that the estimate cannot tell apart are a
/// class.
#[derive(Debug)]
pub struct UniversalPool {
    estimator: Estimator,
    isa: Isa,
    shapes: Shapes,
    /// The class of each kernel; `None` for one without an estimate.
    classes: Vec<Option<u32>>,
}

/// A kernel of each class.
#[derive(Debug)]
enum Shapes {
    Gemm(Vec<shape::Shape>),
    Fmha(Vec<FmhaShape>),
}

/// Kernels that are computed together.
const BLOCK: usize = 8;

impl UniversalPool {
    /// Computes what depends on device and kernels alone. Kernels with different values of `apart` are of
    /// different classes.
    pub fn new<'k>(
        estimator: Estimator,
        kernels: impl Iterator<Item = &'k KernelKind>,
        apart: impl Fn(usize) -> u32,
    ) -> Self {
        let (mut gemm, mut fmha) = (Classes::new(), Classes::new());
        let class = |(index, kernel)| match estimator.shape(kernel).ok()? {
            Shape::Gemm(shape) => Some(gemm.class_of(shape.tile, (shape, apart(index)))),
            Shape::Fmha(shape) => Some(fmha.class_of(shape.tile, (shape, apart(index)))),
        };
        let classes = kernels.enumerate().map(class).collect();
        let shapes =
            if gemm.all.is_empty() { Shapes::Fmha(fmha.shapes()) } else { Shapes::Gemm(gemm.shapes()) };
        Self { estimator, isa: Isa::best(), shapes, classes }
    }

    /// The class of each kernel; 0 for one without an estimate, which has no time.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = u32> {
        self.classes.iter().map(|class| class.unwrap_or_default())
    }

    /// The kernels of each class; those without an estimate are of none.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.distinct()];
        for (kernel, class) in (0..).zip(&self.classes) {
            if let Some(members) = class.and_then(|class| members.get_mut(class as usize)) {
                members.push(kernel);
            }
        }
        members
    }

    /// The estimated microseconds of each class; NaN for a problem of another operation.
    pub fn times(&self, problem: &Problem, times: &mut Vec<f64>) {
        let device = self.estimator.device();
        times.clear();
        times.resize(self.distinct(), f64::NAN);
        match (&self.shapes, self.estimator.load(problem)) {
            (Shapes::Gemm(shapes), Load::Gemm(load)) => {
                terms::times(self.isa, &load, shapes, device, times);
            }
            (Shapes::Fmha(shapes), Load::Fmha(load)) => {
                let time = |shape| FmhaCycles::new(&load, shape, device).time();
                times.iter_mut().zip(shapes).for_each(|(to, shape)| *to = time(shape));
            }
            (_, _) => {}
        }
    }

    /// The values of the columns that depend on device and kernel alone: column after column, with a value for
    /// each class.
    pub fn of_classes(&self, columns: &[&'static UniversalColumn]) -> Vec<f64> {
        let (mut of_classes, mut times) = (Vec::new(), vec![0.0; self.distinct()]);
        // Whatever the problem is.
        let load = match &self.shapes {
            Shapes::Gemm(_) => self.estimator.load(&GemmProblem::new(1, 1, 1).into()),
            Shapes::Fmha(_) => self.estimator.load(&FmhaProblem::new([1, 1], 1, 1).into()),
        };
        self.columns(columns, Column::Kernel, &load, &mut of_classes, Wanted::Timed(&mut times));
        of_classes
    }

    /// Fills in the columns of the kernels that `counts` that depend on the problem, too: column after
    /// column, with a value for each class. `log_times` receives the logarithm of each kernel's estimated
    /// microseconds. It is NaN for kernels that do not count or have no estimate; their columns are
    /// meaningless. `of_classes` is working memory.
    pub fn fill(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        counts: impl Fn(usize) -> bool,
        values: &mut Vec<f64>,
        (log_times, of_classes): (&mut Vec<f64>, &mut Vec<f64>),
    ) {
        of_classes.clear();
        of_classes.resize(self.distinct(), f64::NAN);
        log_times.clear();
        log_times.extend(self.classes.iter().enumerate().map(|(kernel, class)| {
            let time = class.and_then(|class| of_classes.get_mut(class as usize)).filter(|_| counts(kernel));
            time.map_or(f64::NAN, |time| {
                *time = 0.0;
                0.0
            })
        }));
        let load = self.estimator.load(problem);
        self.columns(columns, Column::Pair, &load, values, Wanted::Timed(of_classes));
        for (time, class) in log_times.iter_mut().zip(self.classes()).filter(|(time, _)| !time.is_nan()) {
            *time = of_classes[class as usize];
        }
    }

    /// The number of classes.
    pub fn distinct(&self) -> usize {
        match &self.shapes {
            Shapes::Gemm(shapes) => shapes.len(),
            Shapes::Fmha(shapes) => shapes.len(),
        }
    }

    /// Fills in the same columns of these classes alone: a value for each of them.
    pub fn fill_some(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        classes: &[u32],
        values: &mut Vec<f64>,
    ) {
        let load = self.estimator.load(problem);
        self.columns(columns, Column::Pair, &load, values, Wanted::Some(classes));
    }

    /// Fills in the columns of one scope, a value for each class that is wanted, and the times.
    fn columns(
        &self,
        columns: &[&'static UniversalColumn],
        scope: Column,
        load: &Load,
        values: &mut Vec<f64>,
        wanted: Wanted<'_>,
    ) {
        let device = self.estimator.device();
        let columns = columns.iter().filter(|column| column.scope == scope);
        values.resize(columns.clone().count() * wanted.len(), 0.0);
        let bytes = load.bytes() / (device.rates.memory_gb_s * 1e3);
        match (&self.shapes, load) {
            (Shapes::Gemm(shapes), Load::Gemm(load)) => {
                let units = (device.hardware.num_cus.max(1) * device.hardware.max_clock_mhz.max(1)) as f64;
                let columns = columns.filter_map(|column| match column.value {
                    Value::Gemm(value) => Some(value),
                    Value::Fmha(_) => None,
                });
                in_blocks(shapes, &columns, values, wanted, |shape| {
                    let (cycles, time) = terms::cycles(self.isa, load, shape, device);
                    let least = START + bytes.max(load.multiply_adds / (shape.macs * units));
                    Seen { cycles, load, shape, device, time, least }
                });
            }
            (Shapes::Fmha(shapes), Load::Fmha(load)) => {
                let columns = columns.filter_map(|column| match column.value {
                    Value::Fmha(value) => Some(value),
                    Value::Gemm(_) => None,
                });
                in_blocks(shapes, &columns, values, wanted, |shape| {
                    let cycles = FmhaCycles::new(load, shape, device);
                    let least = START + bytes.max(cycles.products_alone());
                    Seen { time: cycles.time(), cycles, load, shape, device, least }
                });
            }
            // A problem of another operation than the kernels'.
            (_, _) => {
                if let Wanted::Timed(times) = wanted {
                    times.fill(f64::NAN);
                }
            }
        }
    }
}

/// Which classes are computed.
enum Wanted<'a> {
    /// All, in blocks of which one has a time that is a number; these receive the logarithm of the time.
    Timed(&'a mut [f64]),
    /// These.
    Some(&'a [u32]),
}

impl Wanted<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Timed(times) => times.len(),
            Self::Some(classes) => classes.len(),
        }
    }
}

/// Computes columns and times of some kernels after the others.
fn in_blocks<'a, L: Copy + 'a, S: Copy, P: Copy>(
    shapes: &'a [S],
    columns: &(impl Iterator<Item = fn(&[Seen<'_, L, S, P>], &mut [f64])> + Clone),
    values: &mut [f64],
    mut wanted: Wanted<'_>,
    see: impl Fn(&'a S) -> Seen<'a, L, S, P>,
) {
    let count = wanted.len();
    for first in (0..count).step_by(BLOCK) {
        let places = first..count.min(first + BLOCK);
        if let Wanted::Timed(times) = &wanted
            && times[places.clone()].iter().all(|time| time.is_nan())
        {
            continue;
        }
        // Places after the last one see it again.
        let block: [_; BLOCK] = std::array::from_fn(|place| {
            let number = (first + place).min(count - 1);
            let class = if let Wanted::Some(classes) = &wanted { classes[number] as usize } else { number };
            see(&shapes[class])
        });
        let seen = &block[..places.len()];
        for (column, cells) in columns.clone().zip(values.chunks_exact_mut(count)) {
            column(seen, &mut cells[places.clone()]);
        }
        if let Wanted::Timed(times) = &mut wanted {
            for (time, seen) in times[places].iter_mut().zip(seen).filter(|(time, _)| !time.is_nan()) {
                *time = seen.time.ln();
            }
        }
    }
}

/// Finds equal kernels: first by some of their numbers.
#[derive(Debug)]
struct Classes<S> {
    all: Vec<(S, u32)>,
    found: HashMap<[u64; 3], Vec<u32>>,
}

impl<S: PartialEq> Classes<S> {
    fn new() -> Self {
        Self { all: Vec::new(), found: HashMap::new() }
    }

    fn class_of(&mut self, tile: [f64; 3], one: (S, u32)) -> u32 {
        let alike = self.found.entry(tile.map(f64::to_bits)).or_default();
        let known = alike.iter().copied().find(|&class| self.all[class as usize] == one);
        known.unwrap_or_else(|| {
            let class = self.all.len() as u32;
            alike.push(class);
            self.all.push(one);
            class
        })
    }

    fn shapes(self) -> Vec<S> {
        self.all.into_iter().map(|(shape, _)| shape).collect()
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

    /// All columns of each kernel, in the order of the operation's, and its time.
    fn filled(
        estimator: Estimator,
        problem: &Problem,
        kernels: &[&Kernel],
        counts: impl Fn(usize) -> bool,
    ) -> Vec<(Vec<f64>, f64)> {
        let pool = UniversalPool::new(estimator, kernels.iter().map(|kernel| &kernel.kind), |_| 0);
        let columns: Vec<_> = universal_columns(problem.op()).iter().collect();
        let (mut values, mut times, mut working) = (Vec::new(), Vec::new(), Vec::new());
        pool.fill(&columns, problem, counts, &mut values, (&mut times, &mut working));
        let of_classes = pool.of_classes(&columns);
        let row = |(class, time): (u32, f64)| {
            let mut of_kernel = of_classes.iter().skip(class as usize).step_by(pool.distinct());
            let mut of_pair = values.iter().skip(class as usize).step_by(pool.distinct());
            let next = |column: &&UniversalColumn| match column.scope {
                Column::Kernel => of_kernel.next(),
                _ => of_pair.next(),
            };
            (columns.iter().filter_map(next).copied().collect(), time)
        };
        pool.classes().zip(times).map(row).collect()
    }

    fn named(names: &[&str]) -> Vec<Kernel> {
        names.iter().map(|name| Kernel::from_name(name).unwrap()).collect()
    }

    fn on(arch: &str) -> Estimator {
        Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap())
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
            let kernels = named(&names);
            let kernels: Vec<&Kernel> = kernels.iter().collect();
            let rows = filled(on("gfx950"), &problem, &kernels, |kernel| kernel != 1);
            let timed = rows.iter().map(|(_, time)| time.is_finite()).collect::<Vec<_>>();
            assert_eq!(timed, [true, false, true], "{problem}");
            assert!(rows[0].0[0] > 0.0 && rows[2].0[0] > 0.0, "{problem}: {rows:?}");
        }
    }

    /// Values that were taken for those of a kernel alone would be those of another problem.
    #[test]
    fn what_depends_on_the_problem_is_a_column_of_pairs() {
        let attention = attention(2, 2048, 2048, FmhaMask::TopLeft);
        let one = FmhaProblem::new([1, 1], 1, 1).into();
        let gemms = crate::problem::GemmProblem::new(300, 500, 700).into();
        let smallest = crate::problem::GemmProblem::new(1, 1, 1).into();
        let of_gemm =
            named(&["gemm_universal_fp16_rcr_compv4_default_intrawave_False_False_False_True_128x64x64\
             _2x2x1_16x16x16"]);
        for (problem, other, kernels) in [(attention, one, named(&FMHA[..1])), (gemms, smallest, of_gemm)] {
            let kernels: Vec<&Kernel> = kernels.iter().collect();
            let [first, second] = [problem, other]
                .map(|problem| filled(on("gfx942"), &problem, &kernels, |_| true).remove(0).0);
            for (column, (a, b)) in universal_columns(problem.op()).iter().zip(first.iter().zip(&second)) {
                let same = a.to_bits() == b.to_bits();
                assert!(same || column.scope == Column::Pair, "{}", column.name);
            }
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
            let kernels: Vec<Kernel> =
                gemms().iter().map(|name| Kernel::from_name(name).unwrap()).collect();
            let rows = |kept: &[&Kernel]| {
                let bits = |(row, time): &(Vec<f64>, f64)| {
                    row.iter().chain([time]).map(|value| value.to_bits()).collect::<Vec<_>>()
                };
                filled(on(arch), &problem, kept, |_| true).iter().map(bits).collect::<Vec<_>>()
            };
            let all: Vec<&Kernel> = kernels.iter().collect();
            let kept = |kernel: &usize| pool >> (kernel % 61) & 1 == 1;
            let part: Vec<usize> = (0..all.len()).filter(kept).collect();
            let (whole, few) =
                (rows(&all), rows(&part.iter().map(|&kernel| all[kernel]).collect::<Vec<_>>()));
            for (row, kernel) in few.iter().zip(part) {
                prop_assert_eq!(row, &whole[kernel]);
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
                let kernels = named(&names);
                let kernels: Vec<&Kernel> = kernels.iter().collect();
                for (row, _) in filled(on(arch), &problem, &kernels, |_| true) {
                    assert_eq!(row.len(), columns.len());
                    let bad = row.iter().position(|value| !(0.0..=512.0).contains(value));
                    assert_eq!(bad.map(|at| columns[at].name), None, "{arch} {problem}");
                }
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
