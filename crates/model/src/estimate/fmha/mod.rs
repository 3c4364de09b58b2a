//! The estimate of attention: two products and a softmax for each pair of a tile of queries and a tile of
//! keys.
//!
//! ```text
//! workgroup  = one tile of queries of one head, one part of the keys, one tile of elements of values
//! step       = one tile of keys: scores, softmax, product with values
//! steps      = tiles of keys that the mask leaves, per tile of queries: mean and maximum
//! time       = launch + norm4(cycles of the rounds, caches, memory) + what adds up the parts
//! ```
//!
//! Other families do the same work in another order: backward kernels take keys as rows and form five
//! products; kernels that combine, append or convert only move bytes. `docs/fmha.md` has the terms.

mod columns;
mod load;

pub use load::FmhaLoad;

use load::Steps;

use crate::estimate::constants::{FLOWING, LANES};
use crate::estimate::device::{Device, Library};
use crate::estimate::formula::{ColumnValue, Formula, KernelEstimate, OperationEstimate, UniversalColumn};
use crate::estimate::shape::ShapeError;
use crate::estimate::terms::{Cause, Causes, MOST_TERMS, names, norm, sharp_norm, times_by_cause};
use crate::isa::Isa;
use crate::kernel::FmhaKernel;
use crate::problem::FmhaProblem;
use crate::vocab::{FmhaBias, FmhaFamily, FmhaPipeline, FmhaQscale};

/// Properties of a device's attention kernels, not of the device.
struct Constants {
    /// Share of the peak rate that the two products reach.
    matrix_share: f64,
    /// Operations of a lane for each score: scaling, maximum, exponential, sum, conversion.
    softmax: f64,
    /// Operations of a lane for each element of the result, which is scaled down for each new maximum.
    rescale: f64,
    extras: ScoreExtras,
    /// Share of the fragments of keys and values that is read from shared memory.
    fragment_share: f64,
    /// Lane-cycles of one access of 16 bytes.
    issue: f64,
    /// Cycles that each workgroup of a compute unit adds to a step.
    barrier: f64,
    waits: Waits,
    /// Multiple of the waits and of the accesses for pages of one key; it falls with the size of the pages.
    paged: f64,
    /// Share of a step's work that the other workgroups do not hide, and the same for a workgroup alone.
    unhidden: [f64; 2],
    /// Cycles of a workgroup to begin and to end, and for each element of its tile of the result.
    workgroup: [f64; 2],
    /// Microseconds to start a kernel.
    launch: f64,
    /// Shares of the bandwidth of caches and of memory.
    shares: [f64; 2],
    registers: ThreadRegisters,
}

/// Extra operations of a lane for each score.
struct ScoreExtras {
    /// For a soft cap.
    cap: f64,
    bias: f64,
    dropout: f64,
    /// For a mask, where it cuts the tile.
    mask: f64,
}

/// Cycles that a step waits for memory.
struct Waits {
    /// Without prefetched loads.
    on_demand: f64,
    prefetched: f64,
    /// For each access of a thread.
    access: f64,
}

/// Registers of a thread.
struct ThreadRegisters {
    /// Besides scores, results and queries.
    constant: f64,
    /// The most that a thread can have.
    most: f64,
}

/// Constants that mean the same for its GEMMs are taken from there (`constants.rs`); softmax, rescaling and
/// extras are those of the CUDA kernels. There are no public measurements that compare attention kernels of
/// this library.
const COMPOSABLE_KERNEL: Constants = Constants {
    matrix_share: 0.85,
    softmax: 7.6,
    rescale: 13.0,
    extras: ScoreExtras { cap: 6.0, bias: 4.0, dropout: 20.0, mask: 1.1 },
    fragment_share: 0.53,
    issue: 17.0,
    barrier: 250.0,
    waits: Waits { on_demand: 950.0, prefetched: 400.0, access: 92.0 },
    paged: 1.5,
    unhidden: [0.19, 0.19],
    workgroup: [3500.0, 0.05],
    launch: 0.61,
    shares: [0.59, 0.85],
    registers: ThreadRegisters { constant: 55.0, most: 512.0 },
};

/// Chosen on every second problem of `data/h100/attention.csv` (105 of 210, 28 kernels each), by a search
/// that started from estimates; rounded to two digits. Soft cap, bias, dropout and pages were not measured.
const CUDA: Constants = Constants {
    matrix_share: 0.38,
    softmax: 7.6,
    rescale: 13.0,
    extras: ScoreExtras { cap: 6.0, bias: 4.0, dropout: 20.0, mask: 1.1 },
    fragment_share: 0.35,
    issue: 14.0,
    barrier: 6.4,
    waits: Waits { on_demand: 830.0, prefetched: 420.0, access: 24.0 },
    paged: 1.5,
    unhidden: [0.88, 0.12],
    workgroup: [2400.0, 0.052],
    launch: 2.2,
    shares: [1.0, 0.9],
    registers: ThreadRegisters { constant: 59.0, most: 255.0 },
};

impl Constants {
    const fn for_library(library: Library) -> &'static Self {
        match library {
            Library::ComposableKernel | Library::Aiter | Library::AiterTile => &COMPOSABLE_KERNEL,
            // Triton's attention has no constants of its own yet.
            Library::Cuda | Library::Triton | Library::TritonExperts => &CUDA,
        }
    }
}

/// An attention kernel on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FmhaShape {
    /// Decides whether it multiplies or only moves bytes.
    pub(super) family: FmhaFamily,
    /// Queries, keys and elements of values of a tile.
    pub(super) tile: [f64; 3],
    /// Elements of queries and keys of a step of the first product.
    pub(super) depth_step: f64,
    pub(super) waves: f64,
    /// Whether loads run ahead.
    pub(super) ahead: bool,
    /// How many of queries, keys and both kinds of elements it pads.
    pub(super) pads: u8,
    resident: f64,
    occupied: f64,
    /// Cycles of a step on a whole compute unit.
    products: f64,
    softmax: f64,
    /// Extra cycles if a mask cuts the tile.
    masked: f64,
    fragments: f64,
    waits: f64,
    /// Bytes of keys and values of a step.
    staged: f64,
}

impl OperationEstimate for FmhaProblem {
    type Load = FmhaLoad;
    const SURENESS: Option<&'static [u8]> = Some(include_bytes!("../../sureness/estimate/fmha.json"));

    fn load(&self) -> FmhaLoad {
        FmhaLoad::new(self)
    }
}

impl KernelEstimate for FmhaKernel {
    type Shape = FmhaShape;

    fn shape(&self, device: &Device) -> Result<FmhaShape, ShapeError> {
        let dtype = self.dtype;
        let macs = device.macs(dtype);
        if macs <= 0.0 {
            return Err(ShapeError { dtype });
        }
        let constants = Constants::for_library(device.library);
        let workgroup = Workgroup::new(self, device);
        let Workgroup { queries, keys, slice, values, waves, threads, ahead, .. } = workgroup;
        let staged = workgroup.staged();
        // Each wave reads all keys and values for its own queries.
        let readers = f64::from(self.wave[0].max(1));
        let waits = if ahead { constants.waits.prefetched } else { constants.waits.on_demand };
        let pages = pages(self, constants);
        Ok(FmhaShape {
            family: self.family,
            tile: [queries, keys, values],
            depth_step: slice,
            waves,
            ahead,
            pads: self.pad.into_iter().map(u8::from).sum(),
            resident: resident(&workgroup, device, constants),
            occupied: (waves / device.hardware.simds_per_cu.max(1) as f64).min(1.0),
            products: products(self, &workgroup, device, macs * constants.matrix_share),
            softmax: (queries * keys * operations_of_score(self, constants)
                + queries * values * constants.rescale)
                / LANES,
            masked: queries * keys * constants.extras.mask / LANES,
            fragments: staged * readers * constants.fragment_share / device.rates.lds_bytes_per_cycle,
            waits: (waits + constants.waits.access * staged / 16.0 / threads) * pages,
            staged: staged * pages,
        })
    }
}

/// The extents of a kernel's step, and its threads.
struct Workgroup {
    /// Queries and keys of a tile.
    queries: f64,
    keys: f64,
    /// Elements of queries and keys of a step of the first product, and of all its steps.
    slice: f64,
    depth: f64,
    /// Elements of values of a tile.
    values: f64,
    /// Bytes of an element.
    bytes: f64,
    waves: f64,
    threads: f64,
    /// Whether loads run ahead.
    ahead: bool,
}

impl Workgroup {
    fn new(kernel: &FmhaKernel, device: &Device) -> Self {
        let [m0, n0, k0, n1, _, k0max] = kernel.tile.numbers().map(f64::from);
        // Tiles of kernels that do not multiply have no depth of their own, and those of backward kernels
        // have other numbers in its place.
        let whole = kernel.family == FmhaFamily::BwdDqDkDv;
        let waves = f64::from(kernel.waves().max(1));
        Self {
            queries: m0.max(1.0),
            keys: n0.max(1.0),
            slice: k0,
            depth: if k0max > 0.0 && !whole { k0max } else { f64::from(kernel.hdim_q) },
            values: if n1 > 0.0 && !whole { n1 } else { f64::from(kernel.hdim_v) },
            bytes: f64::from(kernel.dtype.bits()) / 8.0,
            waves,
            threads: waves * device.hardware.wavefront_size.max(1) as f64,
            ahead: !matches!(
                kernel.pipeline,
                FmhaPipeline::Qr | FmhaPipeline::Qs | FmhaPipeline::QrPagedkv | FmhaPipeline::QrHpad
            ),
        }
    }

    /// Bytes of keys and values of a step.
    const fn staged(&self) -> f64 {
        self.keys * (self.depth + self.values) * self.bytes
    }
}

/// The workgroups that a compute unit holds at once.
fn resident(workgroup: &Workgroup, device: &Device, constants: &Constants) -> f64 {
    let &Workgroup { queries, keys, slice, depth, values, bytes, waves, threads, ahead } = workgroup;
    let hardware = &device.hardware;
    let held = match (device.library, ahead) {
        // All keys and values of a step, twice if the next step's are loaded meanwhile.
        (Library::Cuda | Library::Triton | Library::TritonExperts, _) => {
            workgroup.staged() * (1.0 + f64::from(u8::from(ahead)))
        }
        // Three pieces of the larger operand, or one slice of both.
        (_, true) => 3.0 * keys * slice.max(32.0) * bytes,
        (_, false) => (queries + keys) * slice.max(16.0) * bytes,
    };
    let by_memory = hardware.lds_capacity as f64 / held.max(1.0);
    let by_waves = hardware.max_waves_per_cu as f64 / waves;
    // Scores and results in 32 bits, queries in their own type.
    let ThreadRegisters { constant, most } = constants.registers;
    let registers =
        ((queries * (keys + values) + queries * depth * bytes / 4.0) / threads + constant).min(most);
    let by_registers = device.rates.registers_per_cu / (threads * registers);
    // `block_per_cu` is a minimum that the compiler makes room for, not a limit.
    by_memory.min(by_waves).min(by_registers).floor().max(1.0)
}

/// Cycles of a step's products on a whole compute unit that multiplies and adds `macs` times in a cycle with
/// the best instruction.
fn products(kernel: &FmhaKernel, workgroup: &Workgroup, device: &Device, macs: f64) -> f64 {
    let &Workgroup { queries, keys, depth, values, .. } = workgroup;
    let instruction = |at: usize| f64::from(kernel.warp_tile[at]) * f64::from(kernel.warp_tile[at + 2]);
    let rate = |at: usize| macs * device.instruction_share(kernel.dtype, instruction(at), 0.5);
    match kernel.family {
        // The scores again, and four products of gradients.
        FmhaFamily::BwdDqDkDv => queries * keys * (3.0 * depth + 2.0 * values) / rate(0),
        _ => queries * keys * depth / rate(0) + queries * keys * values / rate(3),
    }
}

/// Operations of a lane for each score, but for a mask's.
fn operations_of_score(kernel: &FmhaKernel, constants: &Constants) -> f64 {
    let ScoreExtras { cap, bias, dropout, .. } = constants.extras;
    let or_none = |has: bool, operations: f64| if has { operations } else { 0.0 };
    constants.softmax
        + or_none(kernel.bias != FmhaBias::No, bias)
        + or_none(kernel.qscale != FmhaQscale::No, 2.0)
        + or_none(kernel.logits, cap)
        + or_none(kernel.dropout, dropout)
}

/// The multiple of waits and accesses for the pages of keys.
fn pages(kernel: &FmhaKernel, constants: &Constants) -> f64 {
    if kernel.paged_kv { 1.0 + (constants.paged - 1.0) / f64::from(kernel.page_size).sqrt() } else { 1.0 }
}

impl Formula for FmhaLoad {
    type Shape = FmhaShape;
    type Cycles = FmhaCycles;
    const TERMS: &'static [&'static str] = &names(&FmhaCycles::CAUSES);
    const COLUMNS: &'static [UniversalColumn] = columns::COLUMNS;
    const VALUES: &'static [ColumnValue<Self>] = columns::VALUES;

    fn bytes(&self) -> f64 {
        self.bytes_of(self.problem.family)
    }

    fn tile(shape: &FmhaShape) -> [f64; 3] {
        shape.tile
    }

    #[inline(always)]
    fn cycles(&self, _isa: Isa, shape: &FmhaShape, device: &Device) -> (FmhaCycles, f64) {
        let cycles = FmhaCycles::new(self, shape, device);
        (cycles, cycles.time())
    }

    fn least(&self, cycles: &FmhaCycles, _shape: &FmhaShape, _device: &Device) -> f64 {
        cycles.products_alone()
    }

    fn times_by_cause(&self, _isa: Isa, shape: &FmhaShape, device: &Device) -> [f64; MOST_TERMS] {
        times_by_cause(&FmhaCycles::CAUSES, &FmhaCycles::new(self, shape, device))
    }
}

impl Causes for FmhaCycles {
    fn time_of_causes(&self) -> f64 {
        self.time()
    }
}

/// The cycles from which the time is computed.
#[derive(Debug, Clone, Copy)]
pub struct FmhaCycles {
    /// Cycles of a step of one workgroup, each as if it were alone.
    pub(super) products: f64,
    pub(super) softmax: f64,
    pub(super) fragments: f64,
    pub(super) loads: f64,
    pub(super) barriers: f64,
    pub(super) waits: f64,
    /// Cycles of a workgroup besides its steps.
    pub(super) workgroup: f64,
    pub(super) cache: f64,
    pub(super) memory: f64,
    pub(super) second_stage: f64,
    pub(super) launch: f64,
    pub(super) steps: Steps,
    /// Parts of the keys.
    pub(super) parts: f64,
    /// Workgroups for each slot of the device.
    pub(super) flowing: f64,
    pub(super) resident: f64,
    /// Workgroups per compute unit in the last round.
    pub(super) last: f64,
    pub(super) occupied: f64,
    pub(super) unhidden: [f64; 2],
    pub(super) clock_mhz: f64,
}

impl FmhaCycles {
    pub(super) fn new(load: &FmhaLoad, shape: &FmhaShape, device: &Device) -> Self {
        let constants = Constants::for_library(device.library);
        let cus = device.hardware.num_cus.max(1) as f64;
        let [m0, _, values] = shape.tile;
        let cut = load.cut(shape.family, shape.tile);
        let slots = cus * shape.resident;
        let workgroups = cut.workgroups;
        let whole = (workgroups / slots).floor();
        let cache_rate = device.rates.cache_gb_s * 1e3 * constants.shares[0];
        let memory_rate = device.rates.memory_gb_s * 1e3 * constants.shares[1];
        let uncached = (load.bytes_of(shape.family) - device.rates.cache_kb * 1024.0).max(0.0);
        let multiplies = shape.family.is_forward() || shape.family == FmhaFamily::BwdDqDkDv;
        let or_none = |value: f64| if multiplies { value } else { 0.0 };
        let staged =
            if multiplies { workgroups * cut.steps.mean * shape.staged } else { load.bytes_of(shape.family) };
        let accesses = shape.staged / 16.0;
        let [begin, each] = constants.workgroup;
        // Parts are written in 32 bits. The CUDA kernels' times include what adds them up, which reads them
        // again; composable_kernel has a stage of its own for that.
        let bytes = if device.library == Library::Cuda { 8.0 } else { 4.0 };
        let parts = if cut.parts > 1.0 { load.results * bytes * cut.parts / cache_rate } else { 0.0 };
        Self {
            products: or_none(shape.products),
            softmax: or_none(shape.softmax + shape.masked * cut.steps.cut),
            fragments: or_none(shape.fragments),
            loads: accesses * constants.issue / LANES,
            barriers: constants.barrier,
            waits: shape.waits,
            workgroup: begin + each * m0 * values,
            cache: staged / cache_rate,
            memory: uncached / memory_rate,
            second_stage: parts,
            launch: constants.launch,
            steps: cut.steps,
            parts: cut.parts,
            flowing: workgroups / slots,
            resident: shape.resident,
            last: ((workgroups - whole * slots) / cus).ceil(),
            occupied: shape.occupied,
            unhidden: constants.unhidden,
            clock_mhz: device.hardware.max_clock_mhz.max(1) as f64,
        }
    }

    /// Cycles of a step's work of one workgroup: matrix and vector units work side by side, each for a
    /// different wave.
    pub(super) fn work(&self) -> f64 {
        norm(self.products, self.softmax, norm(self.fragments, self.loads, 0.0))
    }

    /// Microseconds of the products if nothing else took any.
    pub(super) fn products_alone(&self) -> f64 {
        self.products * self.steps.mean * self.flowing * self.resident / self.clock_mhz
    }

    /// The time in microseconds.
    pub(super) fn time(&self) -> f64 {
        let work = self.work();
        let in_turn = self.products + self.softmax;
        let [unhidden, alone] = self.unhidden;
        let cycles = |workgroups: f64, steps: f64| {
            let busy = workgroups * (work + self.barriers);
            let own = in_turn / self.occupied * unhidden.max(alone / workgroups.max(1.0)) + self.waits;
            steps * norm(busy, own, 0.0) + self.workgroup
        };
        let rounds = self.flowing.floor();
        let full = cycles(self.resident, self.steps.mean);
        let last = if self.last > 0.0 { cycles(self.last, self.steps.mean) } else { 0.0 };
        let in_rounds = rounds * full + last;
        let flowing =
            if rounds >= 1.0 { in_rounds + FLOWING * (self.flowing * full - in_rounds) } else { in_rounds };
        // The last round waits for its longest workgroups, but never for more than another round of one would
        // take: more work does not take less time.
        let end = if self.last > 0.0 { self.last } else { self.resident };
        let longest = cycles(end, self.steps.most) - cycles(end, self.steps.mean);
        let another = cycles(1.0, self.steps.most) - FLOWING * cycles(1.0, self.steps.mean);
        let cycles = flowing + longest.min(another);
        self.launch + sharp_norm(cycles / self.clock_mhz, self.cache, self.memory) + self.second_stage
    }

    /// The causes of the terms, in the order in which they are added.
    const CAUSES: [Cause<Self>; 11] = [
        ("launch", |all| &mut all.launch),
        ("products", |all| &mut all.products),
        ("softmax", |all| &mut all.softmax),
        ("fragments", |all| &mut all.fragments),
        ("loads", |all| &mut all.loads),
        ("barriers", |all| &mut all.barriers),
        ("waits", |all| &mut all.waits),
        ("workgroups", |all| &mut all.workgroup),
        ("cache", |all| &mut all.cache),
        ("memory", |all| &mut all.memory),
        ("second_stage", |all| &mut all.second_stage),
    ];
}
