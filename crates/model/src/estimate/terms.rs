//! The formula of GEMMs and convolutions: a kernel's microseconds for a problem, and their terms.
//!
//! A kernel cuts the result into tiles, one a workgroup; a workgroup goes along the depth in steps. A step
//! loads a piece of both operands, puts it into shared memory, reads fragments from there and multiplies.
//! Three resources of a compute unit work at once: matrix units, shared memory, and the path from memory.
//!
//! ```text
//! work       = norm(arithmetic, fragments, loads)            cycles of a step, mostly overlapped
//! busy       = workgroups on the unit * (work + barriers)    a unit that always has something to do
//! own        = work / occupied * unhidden + waits            or each workgroup waits for its own loads
//! workgroups = steps * norm(busy, own) + begin and end + stores
//! rounds     = whole rounds of the device + the last one     whole: all units hold as many as fit
//! time       = launch + sharp_norm(cycles of the rounds / clock, cache, memory) + adding parts of a split
//! ```
//!
//! `norm` is the Euclidean norm: causes that overlap cost little more than the longest of them, and more if
//! they are equal, since no overlap is perfect. A sum would count hidden causes in full, and a maximum would
//! see no difference between kernels that differ in what is hidden. `sharp_norm` is closer to the maximum,
//! for what limits the device as a whole.
//!
//! Between whole rounds and none (a unit takes its next workgroup as soon as one ends) lies each library's
//! `flowing`: hardware schedules somewhere between the two. A term is what its cause adds to the time of the
//! causes before it, so that the terms of a kernel add up to its time.
//!
//! The formula is written once over [`Real`], for one kernel and for four side by side, so that a pool costs
//! a quarter and both give the bits of the other.

use super::device::Device;
use super::load::{Experts, Load};
use super::real::{FOUR, Four, Real};
use super::shape::{Kernels, Shape, are_alike};
use crate::isa::Isa;

/// The terms of a kernel's time for a problem, in microseconds. A term is the growth of the time when its
/// cause is added after those before it. So the terms add up, and one that is hidden by others is small.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The terms with their names, in the order of [`super::term_names`].
    pub named: Vec<(&'static str, f64)>,
}

impl Terms {
    /// The sum of all terms, which is the time.
    pub fn total(&self) -> f64 {
        self.named.iter().map(|(_, value)| value).sum()
    }
}

/// A term's name, and the number that causes it.
pub(super) type Cause<C> = (&'static str, fn(&mut C) -> &mut f64);

/// Most terms of a formula.
pub(crate) const MOST_TERMS: usize = 12;

/// The bits of a number that are kept, by how many causes it is before the last one that counts, and
/// [`MOST_TERMS`] more: none of one after it.
const KEPT: [u64; 2 * MOST_TERMS] = {
    let mut kept = [0; 2 * MOST_TERMS];
    let mut at = MOST_TERMS;
    while at < kept.len() {
        kept[at] = u64::MAX;
        at += 1;
    }
    kept
};

/// The names of terms.
pub(super) const fn names<C, const N: usize>(causes: &[Cause<C>; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = causes[at].0;
        at += 1;
    }
    names
}

/// Numbers from which a time is computed. Not a closure, which would lack the instructions of its caller's loop.
pub(super) trait Causes: Copy {
    /// The time of the numbers that are not zero.
    fn time_of_causes(&self) -> f64;
}

/// The time that is computed from `all` with the number of the first cause alone, with those of two causes, and so
/// on: zeros are in the place of the others. After the last cause, all times are the whole one. Without a branch or a
/// comparison, so that the compiler makes vectors of four times where the caller's instructions have them.
#[inline(always)]
pub(super) fn times_by_cause<C: Causes, const N: usize>(
    causes: &[Cause<C>; N],
    all: &C,
) -> [f64; MOST_TERMS] {
    let mut times = [0.0; MOST_TERMS];
    for (last, time) in times.iter_mut().enumerate() {
        let mut parts = *all;
        for (cause, (_, number)) in causes.iter().enumerate() {
            let number = number(&mut parts);
            *number = f64::from_bits(number.to_bits() & KEPT[MOST_TERMS - cause + last]);
        }
        *time = parts.time_of_causes();
    }
    times
}

/// Bytes of an element of a part of a result, which has 32 bits.
const PART_BYTES: f64 = 4.0;

/// The cycles from which the time of a kernel is computed, or the times of several.
#[derive(Debug, Clone, Copy)]
pub struct Cycles<R = f64> {
    /// Cycles of a step and workgroup, each as if it were alone: instructions, fragments, accesses.
    pub(super) arithmetic: R,
    pub(super) fragments: R,
    pub(super) loads: R,
    /// Cycles of a step: its barriers, and what it waits for memory.
    pub(super) barriers: R,
    pub(super) waits: R,
    /// The multiple of all cycles for want of registers and shared memory; it counts among the waits.
    pub(super) lacking: R,
    /// Cycles of a workgroup besides its steps, and of its stores.
    pub(super) workgroup: R,
    pub(super) stores: R,
    /// Least microseconds of caches and of memory, those of the second stage, and those to start.
    pub(super) cache: R,
    pub(super) memory: R,
    pub(super) second_stage: R,
    pub(super) launch: R,
    /// Parts that the depth is cut into.
    pub(super) split: R,
    /// Tiles along rows, and filled shares of the tiles along rows, columns and depth.
    pub(super) tiles_m: R,
    pub(super) filled: [R; 3],
    /// Steps of a workgroup.
    pub(super) steps: R,
    /// Whole rounds of the device, with as many workgroups per compute unit as fit.
    pub(super) rounds: R,
    pub(super) resident: R,
    /// Workgroups per compute unit in the last round; 0 for none.
    pub(super) last: R,
    /// Number of rounds, as if rounds were divisible.
    pub(super) flowing: R,
    /// The share of the ideal in which they are.
    pub(super) divisible: f64,
    pub(super) occupied: R,
    pub(super) unhidden: f64,
    pub(super) clock_mhz: f64,
}

/// How kernels divide a problem among workgroups.
struct Grid<R> {
    /// Tiles along rows, columns and depth, and the shares of them that the problem fills.
    along: [R; 3],
    filled: [R; 3],
    /// Steps of a workgroup.
    steps: R,
    /// Parts that the depth is cut into.
    parts: R,
    workgroups: R,
    /// How many tiles, or parts of them, a workgroup begins and stores.
    pieces: R,
}

impl<R: Real> Grid<R> {
    /// `slots` is the number of workgroups that fit on the device.
    #[inline(always)]
    fn new(load: &Load, kernels: impl Kernels<R>, slots: R) -> Self {
        let (zero, one) = (R::from(0.0), R::from(1.0));
        let [tile_m, tile_n, tile_k] = kernels.tile();
        let merged = kernels.all(|shape| shape.merged);
        let [m, n, k] = load.extents;
        let whole = [R::from(m) / tile_m, merged * n / tile_n, merged * k / tile_k];
        let rows = match &load.experts {
            Some(experts) => kernels.all(|shape| experts.routing.tiles_of(shape.tile[0])),
            None => whole[0].ceil(),
        };
        let along @ [tiles_m, tiles_n, tiles_k] = [rows, whole[1].ceil(), whole[2].ceil()];
        let mut all_steps = tiles_k;
        let mut tiles = tiles_m * tiles_n * (R::from(load.groups) / merged).ceil();
        if !load.list.is_empty() {
            // One launch has the tiles of all GEMMs of a list; a round takes as many steps as its tiles have
            // on average.
            let mut steps = zero;
            tiles = zero;
            for group in load.list.as_slice() {
                let along = |axis: usize, tile: R| (R::from(f64::from(group.extents[axis])) / tile).ceil();
                let of_group = along(0, tile_m) * along(1, tile_n) * f64::from(group.count);
                tiles = tiles + of_group;
                steps = steps + of_group * along(2, tile_k);
            }
            all_steps = (steps / tiles).ceil();
        }
        // Parts are whole steps, and none is empty.
        let asked = kernels.all(|shape| shape.parts).max(R::from(load.parts)).min(all_steps);
        let mut steps = (all_steps / asked).ceil();
        let mut parts = (all_steps / steps).ceil();
        let (mut workgroups, mut pieces) = (tiles * parts, one);
        if kernels.first().balanced {
            // Each of the workgroups that fit takes an equal share of all steps, and cuts a tile where its
            // share ends within one.
            workgroups = slots.min(tiles * all_steps);
            steps = (tiles * all_steps / workgroups).ceil();
            parts = (tiles % workgroups).above(zero, workgroups / tiles + one, one);
            pieces = tiles * parts / workgroups;
        }
        let filled = [whole[0] / tiles_m, whole[1] / tiles_n, whole[2] / tiles_k];
        Self { along, filled, steps, parts, workgroups, pieces }
    }
}

/// Bytes of weights that come from memory more than once, because an expert has more tiles of rows than run side
/// by side: as many as a kernel computes for the same columns, or as the device holds.
#[inline(always)]
fn weights_again<R: Real>(
    experts: &Experts,
    kernels: impl Kernels<R>,
    slots: R,
    [tiles_m, tiles_n, _]: [R; 3],
    cached: f64,
) -> R {
    let one = R::from(1.0);
    let beside = kernels.all(|shape| shape.beside).max(slots / tiles_n).max(one);
    let Experts { routing, weight_bytes } = experts;
    let times = (tiles_m / (beside * routing.active)).max(one) - 1.0;
    // The more of the caches an expert's weights fill, the less of them is still there.
    times * (routing.active * weight_bytes * weight_bytes / (weight_bytes + cached))
}

impl<R: Real> Cycles<R> {
    #[inline(always)]
    pub(super) fn new(load: &Load, kernels: impl Kernels<R>, device: &Device) -> Self {
        let &Shape { constants, persistent, two_stage, .. } = kernels.first();
        let (zero, one) = (R::from(0.0), R::from(1.0));
        let cus = device.hardware.num_cus.max(1) as f64;
        let occupancy = |shape: &Shape| if load.block_scales { shape.with_scales } else { shape.occupancy };
        let resident = kernels.all(|shape| occupancy(shape).resident);
        let slots = resident * cus;
        let grid @ Grid { steps, parts, workgroups, pieces, .. } = Grid::new(load, kernels, slots);
        let flowing = workgroups / slots;
        let rounds = flowing.floor();
        let last = ((workgroups - rounds * slots) / cus).ceil();

        let accesses = kernels.accesses(load);
        let first_wait = kernels.all(|shape| shape.waits[0])
            + kernels.all(|shape| shape.waits[1]) * accesses / kernels.all(|shape| shape.threads);
        let begun = if persistent { one / (rounds + one) } else { one };

        // GB/s are 1,000 bytes per microsecond.
        let cache_rate = device.rates.cache_gb_s * 1e3;
        let staged = workgroups * steps * kernels.all(|shape| shape.staged) + load.result_bytes;
        let cached = device.rates.cache_kb * 1024.0;
        let again = match &load.experts {
            Some(experts) => weights_again(experts, kernels, slots, grid.along, cached),
            None => zero,
        };
        let uncached = again + (load.bytes - cached).max(0.0);
        // Each part of a tile that is cut is written and read, and added to a result that is about as large
        // as half a part.
        let cuts = parts - 1.0;
        let part_bytes = (cuts + cuts.min(one) * 1.5) * (load.results * PART_BYTES);
        let added = part_bytes / (cache_rate * constants.parts_share);
        // Triton's kernels add parts to a result that is cleared first.
        let has_second = two_stage || constants.staged_by_number;
        let launch = R::from(if has_second { constants.second_launch } else { 0.0 });
        let second_launch = if constants.always_second { launch } else { cuts.above(zero, launch, zero) };
        Self {
            arithmetic: kernels.all(|shape| shape.arithmetic),
            fragments: kernels.all(|shape| shape.fragments),
            loads: kernels.loads(accesses),
            barriers: constants.barrier.into(),
            waits: first_wait * kernels.all(|shape| shape.waits_again),
            lacking: kernels.all(|shape| occupancy(shape).lacking),
            workgroup: (first_wait * constants.prologue + constants.workgroup) * begun * pieces,
            stores: kernels.stores(load) * pieces,
            cache: staged / (cache_rate * constants.cache_share),
            memory: uncached / (device.rates.memory_gb_s * 1e3 * constants.memory_share),
            second_stage: added + second_launch,
            launch: constants.launch.into(),
            split: parts,
            tiles_m: grid.along[0],
            filled: grid.filled,
            steps,
            rounds,
            resident,
            last,
            flowing,
            divisible: if persistent { 0.0 } else { constants.flowing },
            occupied: kernels.all(|shape| shape.occupied),
            unhidden: constants.unhidden,
            clock_mhz: device.hardware.max_clock_mhz.max(1) as f64,
        }
    }

    /// Cycles of a step's work of one workgroup.
    #[inline(always)]
    pub(super) fn work(&self) -> R {
        norm(self.arithmetic, self.fragments, self.loads)
    }

    /// The time in microseconds.
    #[inline(always)]
    pub(super) fn time(&self) -> R {
        let (work, zero) = (self.work(), R::from(0.0));
        // Cycles of this many workgroups on a compute unit at the same time: either it is busy with all of
        // them, or each waits for its own loads.
        let own = work / self.occupied * self.unhidden + self.waits;
        let cycles = |workgroups: R| {
            let busy = workgroups * (work + self.barriers);
            self.steps * norm(busy, own, zero) + self.workgroup + workgroups * self.stores
        };
        let full = cycles(self.resident);
        let in_rounds = self.rounds * full + self.last.above(zero, cycles(self.last), zero);
        let divided = in_rounds + (self.flowing * full - in_rounds) * self.divisible;
        let cycles = self.rounds.above(zero, divided, in_rounds);
        let of_device = sharp_norm(cycles * self.lacking / self.clock_mhz, self.cache, self.memory);
        self.launch + of_device + self.second_stage
    }
}

impl Cycles {
    /// The causes of the terms, in the order in which they are added.
    pub(super) const CAUSES: [Cause<Self>; 11] = [
        ("launch", |all| &mut all.launch),
        ("arithmetic", |all| &mut all.arithmetic),
        ("fragments", |all| &mut all.fragments),
        ("loads", |all| &mut all.loads),
        ("barriers", |all| &mut all.barriers),
        ("waits", |all| &mut all.waits),
        ("workgroups", |all| &mut all.workgroup),
        ("stores", |all| &mut all.stores),
        ("cache", |all| &mut all.cache),
        ("memory", |all| &mut all.memory),
        ("second_stage", |all| &mut all.second_stage),
    ];
}

impl Causes for Cycles {
    /// The time, with what is lacking counted among the waits.
    #[inline(always)]
    fn time_of_causes(&self) -> f64 {
        let lacking = self.waits.above(0.0, self.lacking, 1.0);
        Self { lacking, ..*self }.time()
    }
}

/// The times that [`Formula::times_by_cause`](super::formula::Formula::times_by_cause) has.
pub(super) fn cause_times(isa: Isa, load: &Load, shape: &Shape, device: &Device) -> [f64; MOST_TERMS] {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: either token proves that the CPU has the features.
        Isa::Avx512(_) | Isa::Avx2(_) => unsafe { cause_times_avx2(load, shape, device) },
        Isa::Portable => cause_times_portable(load, shape, device),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn cause_times_avx2(load: &Load, shape: &Shape, device: &Device) -> [f64; MOST_TERMS] {
    all_cause_times(load, shape, device)
}

/// Apart, since the choice between both would save all of its registers.
#[inline(never)]
fn cause_times_portable(load: &Load, shape: &Shape, device: &Device) -> [f64; MOST_TERMS] {
    all_cause_times(load, shape, device)
}

#[inline(always)]
fn all_cause_times(load: &Load, shape: &Shape, device: &Device) -> [f64; MOST_TERMS] {
    times_by_cause(&Cycles::CAUSES, &Cycles::new(load, shape, device))
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

/// The cycles from which a kernel's time is computed, and the time.
#[inline(always)]
pub(super) fn cycles(isa: Isa, load: &Load, shape: &Shape, device: &Device) -> (Cycles, f64) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: either token proves that the CPU has the features.
        Isa::Avx512(_) | Isa::Avx2(_) => unsafe { cycles_avx2(load, shape, device) },
        Isa::Portable => cycles_portable(load, shape, device),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn cycles_avx2(load: &Load, shape: &Shape, device: &Device) -> (Cycles, f64) {
    cycles_portable(load, shape, device)
}

#[inline(always)]
fn cycles_portable(load: &Load, shape: &Shape, device: &Device) -> (Cycles, f64) {
    let cycles = Cycles::<f64>::new(load, shape, device);
    (cycles, cycles.time())
}

/// Rounds without calling a function.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn times_avx2(load: &Load, shapes: &[Shape], device: &Device, times: &mut [f64]) {
    times_portable(load, shapes, device, times);
}

#[inline(always)]
fn times_portable(load: &Load, shapes: &[Shape], device: &Device, times: &mut [f64]) {
    let mut at = 0;
    while at < shapes.len().min(times.len()) {
        if let (Some(four), Some(times)) = (shapes[at..].first_chunk::<FOUR>(), times[at..].first_chunk_mut())
            && are_alike(four)
        {
            *times = Cycles::<Four>::new(load, four, device).time().0;
            at += FOUR;
        } else {
            times[at] = Cycles::<f64>::new(load, &shapes[at], device).time();
            at += 1;
        }
    }
}

/// Close to the longest of three that mostly overlap, and longer if they are equal.
#[inline(always)]
pub(super) fn norm<R: Real>(a: R, b: R, c: R) -> R {
    (a * a + b * b + c * c).sqrt()
}

/// A norm like [`norm`], but closer to the longest.
#[inline(always)]
pub(super) fn sharp_norm<R: Real>(a: R, b: R, c: R) -> R {
    let fourth = |x: R| x * x * x * x;
    (fourth(a) + fourth(b) + fourth(c)).sqrt().sqrt()
}
