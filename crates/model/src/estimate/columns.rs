//! The columns of a universal model: how the estimate sees a kernel on a problem, whatever else is in the
//! pool.
//!
//! Every value is a ratio, a count or a size within bounds, so that a device, a type or a direction that a
//! forest never saw falls into the range of those it saw; extents of the problem are not among them. Training
//! and serving use the same function, [`UniversalPool::fill`].

use std::collections::HashMap;

use super::formula::{
    EstimatedKernel, Formula, KernelEstimate as _, LoadFor, OperationEstimate, ShapeFor, UniversalColumn,
};
use super::{Device, Estimator, Load, Shape};
use crate::column::Column;
use crate::isa::Isa;
use crate::kernel::KernelKind;
use crate::problem::Problem;
use crate::vocab::Op;
use ck_select_types::operation::{Operation, OperationValue as _};
use ck_select_types::{each_operation, index, map_operation, operation_enum};

/// All columns of an operation, in the order of a model that does not name its columns.
pub const fn universal_columns(op: Op) -> &'static [UniversalColumn] {
    each_operation!(op, Own => <LoadFor<Own> as Formula>::COLUMNS)
}

/// The operations that have an operation's columns: the estimate sees them alike, and one model can serve
/// them.
pub fn ops_like(op: Op) -> impl Iterator<Item = Op> {
    let names = |op| universal_columns(op).iter().map(|column| column.name);
    Op::ALL.iter().copied().filter(move |&other| names(other).eq(names(op)))
}

index! {
    /// The index of a kernel among those for which columns are computed, or a model is compiled.
    pub Place
}

index! {
    /// The index of a class of kernels that the estimate cannot tell apart.
    pub ClassIndex
}

/// The kernels of a pool on a device, for universal models. Those that the estimate cannot tell apart are a
/// class.
#[derive(Debug)]
pub struct UniversalPool {
    estimator: Estimator,
    isa: Isa,
    shapes: Shapes,
    /// The class of each kernel; `None` for one without an estimate.
    classes: Vec<Option<ClassIndex>>,
}

operation_enum! {
    /// A kernel of each class.
    #[derive(Debug)]
    enum Shapes(ShapesFor), not by type;
}

type ShapesFor<P> = Vec<ShapeFor<P>>;

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
        let mut kernels = kernels.peekable();
        let op = kernels.peek().map_or(Operation::UNSTATED, |kernel| kernel.op());
        let mut classes = Vec::new();
        let device = estimator.device();
        let shapes = map_operation!(op, Own => Shapes(shapes::<Own>(device, kernels, apart, &mut classes)));
        Self { estimator, isa: Isa::best(), shapes, classes }
    }

    /// The class of each kernel; 0 for one without an estimate, which has no time.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = ClassIndex> {
        self.classes.iter().map(|class| class.unwrap_or(ClassIndex::new(0)))
    }

    /// The kernels of each class; those without an estimate are of none.
    pub fn members(&self) -> Vec<Vec<Place>> {
        let mut members = vec![Vec::new(); self.distinct()];
        for (kernel, class) in self.classes.iter().enumerate() {
            if let Some(members) = class.and_then(|class| members.get_mut(class.get())) {
                members.push(Place::new(kernel));
            }
        }
        members
    }

    /// The estimated microseconds of each class; NaN for a problem of another operation.
    pub fn times(&self, problem: &Problem, times: &mut Vec<f64>) {
        let device = self.estimator.device();
        times.clear();
        times.resize(self.distinct(), f64::NAN);
        each_operation!(
            (&self.shapes, self.estimator.load(problem)),
            (Shapes(shapes), Load(load)) => load.times(self.isa, shapes, device, times),
            ()
        );
    }

    /// The values of the columns that depend on device and kernel alone: column after column, with a value
    /// for each class.
    pub fn of_classes(&self, columns: &[&'static UniversalColumn]) -> Vec<f64> {
        let (mut of_classes, mut times) = (Vec::new(), vec![WANTED; self.distinct()]);
        // Whatever the problem is.
        let load = map_operation!(self.shapes.op(), Own => Load(Own::USUAL.load()));
        self.columns(columns, Column::Kernel, &load, &mut of_classes, ClassSet::All(&mut times));
        of_classes
    }

    /// Fills in the columns that depend on the problem, too, for the kernels that `counts` accepts: column
    /// after column, with a value for each class. `log_times` receives the logarithm of each kernel's
    /// estimated microseconds. It is NaN for kernels that do not count or have no estimate; their columns are
    /// meaningless. `of_classes` is working memory.
    pub fn fill(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        counts: impl Fn(Place) -> bool,
        values: &mut Vec<f64>,
        (log_times, of_classes): (&mut Vec<f64>, &mut Vec<f64>),
    ) {
        of_classes.clear();
        of_classes.resize(self.distinct(), f64::NAN);
        log_times.clear();
        log_times.extend(self.classes.iter().enumerate().map(|(kernel, class)| {
            let class = class.filter(|_| counts(Place::new(kernel)));
            let time = class.and_then(|class| of_classes.get_mut(class.get()));
            time.map_or(f64::NAN, |time| {
                *time = WANTED;
                WANTED
            })
        }));
        let load = self.estimator.load(problem);
        self.columns(columns, Column::Pair, &load, values, ClassSet::All(of_classes));
        for (time, class) in log_times.iter_mut().zip(self.classes()).filter(|(time, _)| !time.is_nan()) {
            *time = of_classes[class.get()];
        }
    }

    /// The estimator.
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// A kernel as the estimate sees it; `None` for one without an estimate.
    pub fn shape(&self, kernel: Place) -> Option<Shape> {
        let class = (*self.classes.get(kernel.get())?)?.get();
        Some(map_operation!(&self.shapes, Shapes(shapes) => Shape(*shapes.get(class)?)))
    }

    /// The number of classes.
    pub fn distinct(&self) -> usize {
        each_operation!(&self.shapes, Shapes(shapes) => shapes.len())
    }

    /// Fills in the same columns of these classes alone: a value for each of them.
    pub fn fill_some(
        &self,
        columns: &[&'static UniversalColumn],
        problem: &Problem,
        classes: &[ClassIndex],
        values: &mut Vec<f64>,
    ) {
        let load = self.estimator.load(problem);
        self.columns(columns, Column::Pair, &load, values, ClassSet::Some(classes));
    }

    /// Fills in the columns of one scope, a value for each class of the set, and the times.
    fn columns(
        &self,
        columns: &[&'static UniversalColumn],
        scope: Column,
        load: &Load,
        values: &mut Vec<f64>,
        set: ClassSet<'_>,
    ) {
        let device = self.estimator.device();
        let columns = columns.iter().filter(|column| column.scope == scope);
        values.resize(columns.clone().count() * set.len(), 0.0);
        each_operation!(
            (&self.shapes, load),
            (Shapes(shapes), Load(load)) => {
                let bytes = load.bytes() / (device.rates.memory_gb_s * 1e3);
                in_blocks(shapes, &columns.map(|column| column.index), values, set, |shape| {
                    let (cycles, time) = load.cycles(self.isa, shape, device);
                    let least = START + bytes.max(load.least(&cycles, shape, device));
                    EstimatedKernel { cycles, load, shape, device, time, least }
                });
            },
            // A problem of another operation than the kernels'.
            if let ClassSet::All(times) = set {
                times.fill(f64::NAN);
            }
        );
    }
}

/// A kernel of each class, and the class of each kernel.
fn shapes<'k, P: OperationEstimate>(
    device: &Device,
    kernels: impl Iterator<Item = &'k KernelKind>,
    apart: impl Fn(usize) -> u32,
    classes: &mut Vec<Option<ClassIndex>>,
) -> ShapesFor<P> {
    let mut known = Classes::new();
    classes.extend(kernels.enumerate().map(|(index, kernel)| {
        let shape = P::Kernel::held_by(kernel)?.shape(device).ok()?;
        Some(known.class_of(LoadFor::<P>::tile(&shape), (shape, apart(index))))
    }));
    known.shapes()
}

/// A time that has yet to be computed. Times and the marks of classes whose kernels count share a buffer, in
/// which all other classes are NaN, because a selection allocates nothing.
const WANTED: f64 = 0.0;

/// Which classes are computed.
enum ClassSet<'a> {
    /// All, but for blocks without a [`WANTED`] time; each of these becomes its logarithm.
    All(&'a mut [f64]),
    /// These.
    Some(&'a [ClassIndex]),
}

impl ClassSet<'_> {
    fn len(&self) -> usize {
        match self {
            Self::All(times) => times.len(),
            Self::Some(classes) => classes.len(),
        }
    }
}

/// Computes columns and times, a block of kernels at a time.
fn in_blocks<'a, L: Formula>(
    shapes: &'a [L::Shape],
    columns: &(impl Iterator<Item = usize> + Clone),
    values: &mut [f64],
    mut set: ClassSet<'_>,
    see: impl Fn(&'a L::Shape) -> EstimatedKernel<'a, L>,
) {
    let count = set.len();
    for first in (0..count).step_by(BLOCK) {
        let places = first..count.min(first + BLOCK);
        if let ClassSet::All(times) = &set
            && times[places.clone()].iter().all(|time| time.is_nan())
        {
            continue;
        }
        // Places after the last kernel repeat it.
        let block: [_; BLOCK] = std::array::from_fn(|lane| {
            let number = (first + lane).min(count - 1);
            let class = if let ClassSet::Some(classes) = &set { classes[number].get() } else { number };
            see(&shapes[class])
        });
        let seen = &block[..places.len()];
        for (column, cells) in columns.clone().zip(values.chunks_exact_mut(count)) {
            L::VALUES[column](seen, &mut cells[places.clone()]);
        }
        if let ClassSet::All(times) = &mut set {
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
    found: HashMap<[u64; 3], Vec<ClassIndex>>,
}

impl<S: PartialEq> Classes<S> {
    fn new() -> Self {
        Self { all: Vec::new(), found: HashMap::new() }
    }

    fn class_of(&mut self, tile: [f64; 3], one: (S, u32)) -> ClassIndex {
        let alike = self.found.entry(tile.map(f64::to_bits)).or_default();
        let known = alike.iter().copied().find(|&class| self.all[class.get()] == one);
        known.unwrap_or_else(|| {
            let class = ClassIndex::new(self.all.len());
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
        counts: impl Fn(Place) -> bool,
    ) -> Vec<(Vec<f64>, f64)> {
        let pool = UniversalPool::new(estimator, kernels.iter().map(|kernel| &kernel.kind), |_| 0);
        let columns: Vec<_> = universal_columns(problem.op()).iter().collect();
        let (mut values, mut times, mut working) = (Vec::new(), Vec::new(), Vec::new());
        pool.fill(&columns, problem, counts, &mut values, (&mut times, &mut working));
        let of_classes = pool.of_classes(&columns);
        let row = |(class, time): (ClassIndex, f64)| {
            let mut of_kernel = of_classes.iter().skip(class.get()).step_by(pool.distinct());
            let mut of_pair = values.iter().skip(class.get()).step_by(pool.distinct());
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
            let rows = filled(on("gfx950"), &problem, &kernels, |kernel| kernel != Place::new(1));
            let timed = rows.iter().map(|(_, time)| time.is_finite()).collect::<Vec<_>>();
            assert_eq!(timed, [true, false, true], "{problem}");
            assert!(rows[0].0[0] > 0.0 && rows[2].0[0] > 0.0, "{problem}: {rows:?}");
        }
    }

    /// Values that were taken for those of a kernel alone would be those of another problem.
    #[test]
    fn columns_that_depend_on_the_problem_are_columns_of_pairs() {
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
        /// changed those of all others (ab316370).
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
