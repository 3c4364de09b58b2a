//! The kernel's side of the estimate on a device: cycles of a step, occupancy, accesses.

use std::ptr;

use super::constants::{Constants, LANES};
use super::device::{Device, Library};
use super::load::{Load, bytes_of};
use super::real::{FOUR, Four, Real};
use crate::kernel::Mnk;
use crate::vocab::{Dtype, Pipeline};

/// The properties of a kernel that [`super::Estimator`] needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The constants of the kernel's library.
    pub(super) constants: &'static Constants,
    /// Tile of the result and depth of a step, each extent at least 1.
    pub(super) tile: [f64; 3],
    /// Threads and waves of a workgroup.
    pub(super) threads: f64,
    pub(super) waves: f64,
    /// Steps that loads are prefetched: none, one, one with a second buffer, which counts as two, or by
    /// number.
    pub(super) ahead: f64,
    /// Whether the pipeline is `compv5`, which the formula treats as `compv3`.
    pub(super) compv5: bool,
    /// The workgroups that fit on a compute unit, and those that fit if the problem's blocks have scales.
    pub(super) occupancy: Occupancy,
    pub(super) with_scales: Occupancy,
    /// Share of a compute unit's SIMDs that one workgroup occupies.
    pub(super) occupied: f64,
    /// Multiply-adds of its type that a compute unit does in a cycle.
    pub(super) macs: f64,
    /// Cycles of a step's matrix instructions on all SIMDs.
    pub(super) arithmetic: f64,
    /// Cycles that a step reads fragments from shared memory.
    pub(super) fragments: f64,
    /// Cycles that the first step waits for memory, and for each access of a thread, and the share of it that
    /// the others wait.
    pub(super) waits: [f64; 2],
    pub(super) waits_again: f64,
    /// Elements of one access to A, B and the result, at most.
    pub(super) widest: [f64; 3],
    /// Bytes that a step stages.
    pub(super) staged: f64,
    /// Parts of the depth by the kernel itself.
    pub(super) parts: f64,
    /// A second kernel adds up the parts.
    pub(super) two_stage: bool,
    /// Convolution groups that one workgroup handles together.
    pub(super) merged: f64,
    /// Reads plain matrices.
    pub(super) explicit: bool,
    /// Workgroups take the same number of steps each, regardless of tiles.
    pub(super) balanced: bool,
    /// Workgroups stay resident and loop over tiles.
    pub(super) persistent: bool,
    /// B is stored in the order in which it is read.
    pub(super) preshuffled: bool,
    /// Tiles of rows that are computed side by side, for the same columns.
    pub(super) beside: f64,
    /// Cycles that storing the tile takes less because results do not pass through shared memory first.
    pub(super) unshuffled: f64,
}

/// Workgroups on a compute unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Occupancy {
    /// Workgroups that a compute unit holds, at least 1.
    pub(super) resident: f64,
    /// Cycles as a multiple of those that they were if the kernel had all registers and the shared memory
    /// that it needs.
    pub(super) lacking: f64,
}

/// Why a kernel has no estimate on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the device has no matrix instructions for {dtype}")]
pub struct ShapeError {
    /// The type that is multiplied.
    pub dtype: Dtype,
}

/// How far a pipeline prefetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// Not at all.
    None,
    /// A step.
    One,
    /// A step, with a second buffer.
    Buffered,
}

/// The numbers of a kernel of either operation.
pub(super) struct Kernel {
    pub(super) types: [Dtype; 3],
    pub(super) tile: Mnk,
    pub(super) wave: Mnk,
    pub(super) warp_tile: Mnk,
    pub(super) vector: [u32; 3],
    pub(super) pipeline: Pipeline,
    /// Stages of one of Triton's kernels.
    pub(super) stages: Option<u8>,
    pub(super) second_buffer: bool,
    pub(super) two_stage: bool,
    pub(super) parts: f64,
    /// B goes from memory to registers, in the order in which it is stored.
    pub(super) direct_b: bool,
    /// Results go from registers to memory.
    pub(super) direct_c: bool,
    /// Workgroups for which it is compiled to share a compute unit.
    pub(super) sharing: f64,
    /// How often a result is multiplied by scales for each element of the depth.
    pub(super) scaled_per_depth: f64,
    /// Multiplies each step's products by scales, for problems whose blocks have some.
    pub(super) scales_steps: bool,
}

impl Shape {
    pub(super) fn new(kernel: &Kernel, device: &Device, library: Library) -> Result<Self, ShapeError> {
        let step = Step::new(kernel, device, Constants::for_library(library));
        let dtype = multiplied(kernel.types[0], kernel.types[1]);
        let macs = device.macs(dtype);
        if macs <= 0.0 {
            return Err(ShapeError { dtype });
        }
        let &Step { constants, ahead, waves, threads, staged, stages, .. } = &step;
        let occupancy = step.occupancy(step.registers());
        let own_parts = match ahead {
            _ if !kernel.two_stage => 1.0,
            Ahead::Buffered => constants.parts[1],
            Ahead::None | Ahead::One => constants.parts[0],
        };
        let stages_ahead = stages.map(|stages| stages - 1.0);
        Ok(Self {
            constants,
            tile: step.tile,
            threads,
            waves,
            ahead: stages_ahead.unwrap_or(f64::from(ahead as u8)),
            compv5: kernel.pipeline == Pipeline::CompV5 && stages.is_none(),
            occupancy,
            with_scales: if kernel.scales_steps { step.occupancy_with_scales() } else { occupancy },
            occupied: (waves / device.hardware.simds_per_cu.max(1) as f64).min(1.0),
            macs,
            arithmetic: step.arithmetic(dtype, macs),
            fragments: step.fragments * constants.fragment_share / device.rates.lds_bytes_per_cycle,
            waits: step.waits(dtype, macs),
            waits_again: stages_ahead.map_or(1.0, |ahead| ahead.max(1.0).recip()),
            widest: step.widest(),
            staged,
            parts: own_parts.max(kernel.parts),
            two_stage: kernel.two_stage,
            merged: 1.0,
            explicit: false,
            balanced: false,
            persistent: false,
            preshuffled: false,
            beside: 1.0,
            unshuffled: step.unshuffled(),
        })
    }
}

/// A step of a kernel on a device.
struct Step<'a> {
    kernel: &'a Kernel,
    device: &'a Device,
    constants: &'static Constants,
    multiply: Multiply,
    tile: [f64; 3],
    waves: f64,
    threads: f64,
    ahead: Ahead,
    /// The stages of the kernel's pipeline, in libraries whose pipelines count them.
    stages: Option<f64>,
    /// Bytes that it loads, those of them that go to shared memory, and what is read there for fragments.
    staged: f64,
    shared: f64,
    fragments: f64,
}

impl<'a> Step<'a> {
    fn new(kernel: &'a Kernel, device: &'a Device, constants: &'static Constants) -> Self {
        let tile @ [tile_m, tile_n, tile_k] = extents(kernel.tile);
        let waves = extents(kernel.wave).iter().product::<f64>();
        let a_bytes = tile_m * tile_k * bytes_of(kernel.types[0]);
        let b_bytes = tile_n * tile_k * bytes_of(kernel.types[1]);
        let shared_b = if kernel.direct_b { 0.0 } else { b_bytes };
        let multiply = Multiply::new(kernel, device, constants);
        Step {
            kernel,
            device,
            constants,
            tile,
            waves,
            threads: waves * device.hardware.wavefront_size.max(1) as f64,
            // Of the kernels that read B directly, the first version prefetches, too.
            ahead: match kernel.pipeline {
                Pipeline::CompV1 if kernel.direct_b => Ahead::One,
                pipeline => Ahead::new(pipeline),
            },
            stages: if constants.staged_by_number { kernel.stages.map(f64::from) } else { None },
            staged: a_bytes + b_bytes,
            shared: a_bytes + shared_b,
            // Each wave reads the rows of A and the columns of B that it multiplies.
            fragments: a_bytes * multiply.reads[0] + shared_b * multiply.reads[1],
            multiply,
        }
    }

    /// Workgroups of threads with so many registers.
    fn occupancy(&self, registers: f64) -> Occupancy {
        let &Step { kernel, device, constants, waves, threads, .. } = self;
        let least = if kernel.second_buffer { 2.0 } else { 1.0 };
        let buffers = self.stages.unwrap_or(constants.buffers[self.ahead as usize].max(least));
        let by_memory = device.hardware.lds_capacity as f64 / (self.shared * buffers);
        let by_waves = device.hardware.max_waves_per_cu as f64 / waves;
        let shared = device.rates.registers_per_cu / (threads * kernel.sharing);
        let most = device.registers_of_thread().min(shared);
        let by_registers = device.rates.registers_per_cu / (threads * registers.min(most));
        let without_memory = if by_memory < 1.0 { WITHOUT_MEMORY / by_memory } else { 1.0 };
        Occupancy {
            resident: by_memory.min(by_waves).min(by_registers).floor().max(1.0),
            lacking: (1.0 + constants.spill * (registers - most).max(0.0)) * without_memory,
        }
    }

    /// Workgroups for a problem whose blocks have scales. A step's products are added up apart there, to be
    /// multiplied by the scales, so that a thread has every result twice.
    fn occupancy_with_scales(&self) -> Occupancy {
        let [tile_m, tile_n, _] = self.tile;
        self.occupancy(self.registers() + tile_m * tile_n / self.threads)
    }

    /// Registers of a thread.
    fn registers(&self) -> f64 {
        let &Step { constants, threads, staged, tile: [tile_m, tile_n, _], .. } = self;
        let held = if self.ahead == Ahead::Buffered { constants.buffered_staged } else { constants.staged };
        let accesses = staged / constants.access_bytes;
        let [for_access, for_fragment] = constants.held;
        let fragment = if self.multiply.wide { 0.0 } else { self.fragments / 4.0 * for_fragment };
        tile_m * tile_n / threads
            + constants.registers
            + (held * staged / 4.0 + for_access * accesses + fragment) / threads
    }

    /// Cycles of its matrix instructions, and of the multiplications by scales.
    fn arithmetic(&self, dtype: Dtype, macs: f64) -> f64 {
        let &Step { kernel, constants, tile: [tile_m, tile_n, tile_k], .. } = self;
        let instruction = f64::from(kernel.warp_tile.m) * f64::from(kernel.warp_tile.k);
        let full = self.device.instruction_share(dtype, instruction, constants.narrow_rate);
        let share = constants.matrix_share * self.multiply.share * full;
        let scaled = tile_m * tile_n * kernel.scaled_per_depth * tile_k * constants.scales / LANES;
        tile_m * tile_n * tile_k / (macs * share) + scaled
    }

    /// Cycles that the first one waits for memory, and for each access of a thread. With a single stage it
    /// also waits for the step before it to end.
    fn waits(&self, dtype: Dtype, macs: f64) -> [f64; 2] {
        let constants = self.constants;
        if self.stages == Some(1.0) {
            return [constants.latency + self.arithmetic(dtype, macs), constants.access_latency];
        }
        match self.ahead {
            Ahead::None => [constants.latency * constants.unpipelined, constants.access_latency],
            Ahead::One => [constants.latency, constants.access_latency],
            Ahead::Buffered => [
                constants.latency * constants.buffered_latency,
                constants.access_latency * constants.buffered_access,
            ],
        }
    }

    /// Elements of one access to A, B and the result, at most.
    fn widest(&self) -> [f64; 3] {
        [0, 1, 2].map(|axis| {
            let native = self.constants.access_bytes / bytes_of(self.kernel.types[axis]);
            match self.kernel.vector[axis] {
                // The CUDA kernels' names omit it.
                0 => native,
                _ if self.device.library == Library::Cuda => native,
                vector => f64::from(vector).min(native),
            }
        })
    }

    /// Cycles that storing the tile takes less where results do not pass through shared memory.
    fn unshuffled(&self) -> f64 {
        // The constants were chosen on kernels that write and read results there. Triton's have one way.
        if !self.kernel.direct_c || self.constants.staged_by_number {
            return 0.0;
        }
        let [tile_m, tile_n, _] = self.tile;
        2.0 * tile_m * tile_n * bytes_of(self.kernel.types[2]) / self.device.rates.lds_bytes_per_cycle
    }
}

/// Whether kernels can be computed side by side.
#[inline(always)]
pub(super) fn are_alike(shapes: &[Shape; FOUR]) -> bool {
    let [first, others @ ..] = shapes;
    let flags = |shape: &Shape| {
        let &Shape { two_stage, explicit, balanced, persistent, preshuffled, .. } = shape;
        [two_stage, explicit, balanced, persistent, preshuffled]
    };
    others.iter().all(|other| ptr::eq(first.constants, other.constants) && flags(first) == flags(other))
}

/// A kernel, or several side by side of the same constants and flags, which are those of the first.
pub(super) trait Kernels<R: Real>: Copy {
    fn first(&self) -> &Shape;

    /// A number of each.
    fn all(self, number: impl Fn(&Shape) -> f64) -> R;

    #[inline(always)]
    fn tile(self) -> [R; 3] {
        [self.all(|shape| shape.tile[0]), self.all(|shape| shape.tile[1]), self.all(|shape| shape.tile[2])]
    }

    #[inline(always)]
    fn widest(self) -> [R; 3] {
        let widest = |axis: usize| self.all(|shape| shape.widest[axis]);
        [widest(0), widest(1), widest(2)]
    }

    /// Elements of one access to A, B and the result.
    #[inline(always)]
    fn widths(self, load: &Load) -> [R; 3] {
        let ([a, b, result], merged) = (self.widest(), self.all(|shape| shape.merged));
        let [together_a, together_b, of_result] = load.together;
        let together_b = if self.first().preshuffled { b } else { together_b.into() };
        // Merged groups are adjacent in memory.
        [(merged * together_a).min(a), (merged * together_b).min(b), R::from(of_result).min(result)]
    }

    /// Accesses of a step of one workgroup to A and to B, in units of accesses to a plain matrix.
    #[inline(always)]
    fn accesses(self, load: &Load) -> R {
        let &Shape { constants, explicit, .. } = self.first();
        let [m, n, k] = self.tile();
        // Even for a single tap: the kernels compute its addresses all the same.
        let gather = if explicit { 1.0 } else { constants.gather };
        let of_a = if load.images[0] { gather } else { 1.0 };
        let of_b = if load.images[1] { gather } else { 1.0 };
        let [width_a, width_b, _] = self.widths(load);
        let whole = (m * of_a / width_a + n * of_b / width_b) * k;
        if constants.narrow <= 0.0 {
            return whole;
        }
        let narrow = (m * of_a + n * of_b) * k * constants.narrow;
        let [widest_a, widest_b, _] = self.widest();
        widest_a.above(width_a, narrow, widest_b.above(width_b, narrow, whole))
    }

    /// Cycles that a compute unit needs to issue that many accesses, and to move what they load.
    #[inline(always)]
    fn loads(self, accesses: R) -> R {
        let constants = self.first().constants;
        accesses * constants.issue / LANES + self.all(|shape| shape.staged) * constants.per_byte
    }

    /// Cycles that one workgroup needs to store its tile.
    #[inline(always)]
    fn stores(self, load: &Load) -> R {
        let results = self.all(|shape| shape.tile[0] * shape.tile[1]);
        results / self.widths(load)[2] * self.first().constants.store - self.all(|shape| shape.unshuffled)
    }
}

impl Kernels<f64> for &Shape {
    #[inline(always)]
    fn first(&self) -> &Shape {
        self
    }

    #[inline(always)]
    fn all(self, number: impl Fn(&Shape) -> f64) -> f64 {
        number(self)
    }
}

impl Kernels<Four> for &[Shape; FOUR] {
    #[inline(always)]
    fn first(&self) -> &Shape {
        &self[0]
    }

    #[inline(always)]
    fn all(self, number: impl Fn(&Shape) -> f64) -> Four {
        Four([number(&self[0]), number(&self[1]), number(&self[2]), number(&self[3])])
    }
}

/// How many times slower a kernel counts if it asks for more shared memory than there is and would not start.
const WITHOUT_MEMORY: f64 = 8.0;

/// The instructions of a kernel's step.
struct Multiply {
    /// Whether the instructions are those of four waves together.
    wide: bool,
    /// The part of the library's share that these instructions reach.
    share: f64,
    /// How many times they read A and B from shared memory.
    reads: [f64; 2],
}

impl Multiply {
    fn new(kernel: &Kernel, device: &Device, constants: &Constants) -> Self {
        let [waves_m, waves_n, waves_k] = extents(kernel.wave);
        let of_waves = |share: f64, [m, n]: [f64; 2]| Self { wide: false, share, reads: [n, m] };
        let Some([half_columns, narrow_share]) = constants.wide else {
            return of_waves(1.0, [waves_m, waves_n]);
        };
        let ([m, n, _], waves) = (extents(kernel.tile), waves_m * waves_n * waves_k);
        let rows = f64::from(device.wide_rows);
        if rows == 0.0 || m < rows || waves < 4.0 {
            let share = if rows == 0.0 { 1.0 } else { narrow_share };
            return of_waves(share, waves_of_blocks([m, n].map(|extent| extent / BLOCK), waves));
        }
        // Groups of four waves divide the rows first; each reads all columns for every block of rows.
        let groups_n = (waves / 4.0 / (m / rows).floor()).max(1.0);
        let columns = n / groups_n;
        Self { wide: true, share: columns / (columns + half_columns), reads: [groups_n, m / rows] }
    }
}

/// Rows and columns of an instruction of one wave.
const BLOCK: f64 = 16.0;

/// How waves divide a tile of that many blocks: the longer side first, as Triton does.
fn waves_of_blocks([m, n]: [f64; 2], waves: f64) -> [f64; 2] {
    let [mut along_m, mut along_n] = [1.0, 1.0];
    while along_m * along_n < waves {
        if m / along_m >= n / along_n && along_m < m {
            along_m *= 2.0;
        } else {
            along_n *= 2.0;
        }
    }
    [along_m, along_n]
}

impl Ahead {
    const fn new(pipeline: Pipeline) -> Self {
        match pipeline {
            Pipeline::Mem
            | Pipeline::CompV1
            | Pipeline::BasicV1
            | Pipeline::BasicV2
            | Pipeline::PreshuffleV1 => Self::None,
            Pipeline::CompV4 => Self::Buffered,
            _ => Self::One,
        }
    }
}

/// The type that operands are multiplied in: the wider one; packed integers are unpacked to the type of the
/// other.
fn multiplied(a: Dtype, b: Dtype) -> Dtype {
    if bytes_of(a) >= bytes_of(b) { a } else { b }
}

/// Extents as numbers, each at least 1.
fn extents(shape: Mnk) -> [f64; 3] {
    [shape.m, shape.n, shape.k].map(|extent| f64::from(extent.max(1)))
}
