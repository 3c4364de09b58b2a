//! The formula: a kernel's microseconds for a problem, and their terms.

use super::device::Device;
use super::load::Load;
use super::shape::Shape;
use crate::isa::Isa;

/// Names of the terms, in the order in which they are added.
pub const TERMS: [&str; 11] = [
    "launch", "arithmetic", "fragments", "loads", "barriers", "waits", "workgroups", "stores", "cache",
    "memory", "second_stage",
];

/// The terms of a kernel's time for a problem, in microseconds. A term is the growth of the time when its
/// cause is added after those before it. So the terms add up, and one that is hidden by others is small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Their names: [`TERMS`], or [`super::FMHA_TERMS`].
    pub names: &'static [&'static str; TERMS.len()],
    /// In the order of the names.
    pub values: [f64; TERMS.len()],
}

impl Terms {
    /// The sum of all terms, which is the time.
    pub fn total(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Names with values.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.names.iter().copied().zip(self.values)
    }
}

/// Bytes of an element of a part of a result, which has 32 bits.
const PART_BYTES: f64 = 4.0;

/// What the time is computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycles {
    /// Cycles of a step and workgroup, each as if it were alone: instructions, fragments, accesses.
    pub(super) arithmetic: f64,
    pub(super) fragments: f64,
    pub(super) loads: f64,
    /// Cycles of a step: its barriers, and what it waits for memory.
    pub(super) barriers: f64,
    pub(super) waits: f64,
    /// The multiple of all cycles for want of registers and shared memory; it counts among the waits.
    pub(super) lacking: f64,
    /// Cycles of a workgroup besides its steps, and of its stores.
    pub(super) workgroup: f64,
    pub(super) stores: f64,
    /// Least microseconds of caches and of memory, those of the second stage, and those to start.
    pub(super) cache: f64,
    pub(super) memory: f64,
    pub(super) second_stage: f64,
    pub(super) launch: f64,
    /// Cycles that the depth is cut into.
    pub(super) split: f64,
    /// Filled shares of the tiles along rows, columns and depth.
    pub(super) filled: [f64; 3],
    /// Steps of a workgroup.
    pub(super) steps: f64,
    /// Whole rounds of the device, with as many workgroups per compute unit as fit.
    pub(super) rounds: f64,
    pub(super) resident: f64,
    /// Workgroups per compute unit in the last round; 0 for none.
    pub(super) last: f64,
    /// Number of rounds, as if rounds were divisible.
    pub(super) flowing: f64,
    /// The share of the ideal in which they are.
    pub(super) divisible: f64,
    pub(super) occupied: f64,
    pub(super) unhidden: f64,
    pub(super) clock_mhz: f64,
}

impl Cycles {
    #[inline(always)]
    pub(super) fn new(load: &Load, shape: &Shape, device: &Device) -> Self {
        let constants = shape.constants;
        let cus = device.hardware.num_cus.max(1) as f64;
        let [tile_m, tile_n, tile_k] = shape.tile;
        let [m, n, k] = load.extents;
        let along = [m / tile_m, n * shape.merged / tile_n, k * shape.merged / tile_k];
        let [tiles_m, tiles_n, mut all_steps] = [along[0].ceil(), along[1].ceil(), along[2].ceil()];
        let mut tiles = tiles_m * tiles_n * (load.groups / shape.merged).ceil();
        if !load.list.is_empty() {
            // One launch has the tiles of all GEMMs of a list; a round takes as many steps as its tiles have
            // on average.
            let mut steps = 0.0;
            tiles = 0.0;
            for group in load.list.as_slice() {
                let [m, n, k] = group.extents.map(f64::from);
                let of_group = (m / tile_m).ceil() * (n / tile_n).ceil() * f64::from(group.count);
                tiles += of_group;
                steps += of_group * (k / tile_k).ceil();
            }
            all_steps = (steps / tiles).ceil();
        }
        // Cycles are whole steps, and none is empty.
        let asked = shape.parts.max(load.parts).min(all_steps);
        let mut steps = (all_steps / asked).ceil();
        let mut parts = (all_steps / steps).ceil();
        let mut workgroups = tiles * parts;
        let slots = cus * shape.resident;
        // How many tiles, or parts of them, a workgroup begins and stores.
        let mut pieces = 1.0;
        if shape.balanced {
            // Each of the workgroups that fit takes an equal share of all steps, and cuts a tile where its
            // share ends within one.
            workgroups = slots.min(tiles * all_steps);
            steps = (tiles * all_steps / workgroups).ceil();
            parts = if tiles % workgroups == 0.0 { 1.0 } else { 1.0 + workgroups / tiles };
            pieces = tiles * parts / workgroups;
        }
        let rounds = (workgroups / slots).floor();
        let last = ((workgroups - rounds * slots) / cus).ceil();

        let accesses = shape.accesses(load);
        let [wait, wait_for_access] = shape.waits;
        let first_wait = wait + wait_for_access * accesses / shape.threads;
        let begun = if shape.persistent { 1.0 / (rounds + 1.0) } else { 1.0 };

        // GB/s are 1,000 bytes per microsecond.
        let cache_rate = device.rates.cache_gb_s * 1e3;
        let staged = workgroups * steps * shape.staged + load.result_bytes;
        let uncached = (load.bytes - device.rates.cache_kb * 1024.0).max(0.0);
        // Each part of a tile that is cut is written and read, and added to a result that is about as large
        // as half a part.
        let cuts = parts - 1.0;
        let part_bytes = load.results * PART_BYTES * (cuts + 1.5 * cuts.min(1.0));
        let added = part_bytes / (cache_rate * constants.parts_share);
        // Triton's kernels add parts to a result that is cleared first.
        let second = shape.two_stage || constants.staged_by_number;
        let second_launch =
            if second && (cuts > 0.0 || constants.always_second) { constants.second_launch } else { 0.0 };
        Self {
            arithmetic: shape.arithmetic,
            fragments: shape.fragments,
            loads: shape.loads(accesses),
            barriers: constants.barrier,
            waits: first_wait * shape.waits_again,
            lacking: shape.lacking,
            workgroup: (constants.prologue * first_wait + constants.workgroup) * begun * pieces,
            stores: shape.stores(load) * pieces,
            cache: staged / (cache_rate * constants.cache_share),
            memory: uncached / (device.rates.memory_gb_s * 1e3 * constants.memory_share),
            second_stage: added + second_launch,
            launch: constants.launch,
            split: parts,
            filled: [along[0] / along[0].ceil(), along[1] / along[1].ceil(), along[2] / along[2].ceil()],
            steps,
            rounds,
            resident: shape.resident,
            last,
            flowing: workgroups / slots,
            divisible: if shape.persistent { 0.0 } else { constants.flowing },
            occupied: shape.occupied,
            unhidden: constants.unhidden,
            clock_mhz: device.hardware.max_clock_mhz.max(1) as f64,
        }
    }

    /// Cycles of a step's work of one workgroup.
    #[inline(always)]
    pub(super) fn work(&self) -> f64 {
        norm(self.arithmetic, self.fragments, self.loads)
    }

    /// The time in microseconds.
    #[inline(always)]
    pub(super) fn time(&self) -> f64 {
        let work = self.work();
        // Cycles of this many workgroups on a compute unit at the same time: either it is busy with all of
        // them, or each waits for its own loads.
        let cycles = |workgroups: f64| {
            let busy = workgroups * (work + self.barriers);
            let own = work / self.occupied * self.unhidden + self.waits;
            self.steps * norm(busy, own, 0.0) + self.workgroup + workgroups * self.stores
        };
        let full = cycles(self.resident);
        let last = if self.last > 0.0 { cycles(self.last) } else { 0.0 };
        let in_rounds = self.rounds * full + last;
        let cycles = if self.rounds >= 1.0 {
            in_rounds + self.divisible * (self.flowing * full - in_rounds)
        } else {
            in_rounds
        };
        self.launch
            + sharp_norm(cycles * self.lacking / self.clock_mhz, self.cache, self.memory)
            + self.second_stage
    }

    /// The terms, which add up to the time, apart from rounding.
    pub(super) fn terms(&self) -> Terms {
        let nothing = Self {
            arithmetic: 0.0,
            fragments: 0.0,
            loads: 0.0,
            barriers: 0.0,
            waits: 0.0,
            lacking: 1.0,
            workgroup: 0.0,
            stores: 0.0,
            cache: 0.0,
            memory: 0.0,
            second_stage: 0.0,
            launch: 0.0,
            ..*self
        };
        let mut known = 0.0;
        let mut step = |parts: Self| {
            let time = parts.time();
            let grown = time - known;
            known = time;
            grown
        };
        let launch = Self { launch: self.launch, ..nothing };
        let arithmetic = Self { arithmetic: self.arithmetic, ..launch };
        let fragments = Self { fragments: self.fragments, ..arithmetic };
        let loads = Self { loads: self.loads, ..fragments };
        let barriers = Self { barriers: self.barriers, ..loads };
        let waits = Self { waits: self.waits, lacking: self.lacking, ..barriers };
        let workgroups = Self { workgroup: self.workgroup, ..waits };
        let stores = Self { stores: self.stores, ..workgroups };
        let cache = Self { cache: self.cache, ..stores };
        let memory = Self { memory: self.memory, ..cache };
        let values =
            [launch, arithmetic, fragments, loads, barriers, waits, workgroups, stores, cache, memory, *self];
        Terms { names: &TERMS, values: values.map(&mut step) }
    }
}

/// The times of some kernels.
pub(super) fn times(isa: Isa, load: &Load, shapes: &[Shape], device: &Device, times: &mut [f64]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: either token proves that the CPU has the features.
        Isa::Avx512(_) | Isa::Avx2(_) => unsafe { times_avx2(load, shapes, device, times) },
        Isa::Portable => times_portable(load, shapes, device, times),
    }
}

/// Rounds without calling a function.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn times_avx2(load: &Load, shapes: &[Shape], device: &Device, times: &mut [f64]) {
    times_portable(load, shapes, device, times);
}

#[inline(always)]
fn times_portable(load: &Load, shapes: &[Shape], device: &Device, times: &mut [f64]) {
    for at in 0..shapes.len().min(times.len()) {
        times[at] = Cycles::new(load, &shapes[at], device).time();
    }
}

/// Close to the longest of three that mostly overlap, and longer if they are equal.
#[inline(always)]
pub(super) fn norm(a: f64, b: f64, c: f64) -> f64 {
    (a * a + b * b + c * c).sqrt()
}

/// The same, closer to the longest.
#[inline(always)]
pub(super) fn sharp_norm(a: f64, b: f64, c: f64) -> f64 {
    let fourth = |x: f64| x * x * x * x;
    (fourth(a) + fourth(b) + fourth(c)).sqrt().sqrt()
}
