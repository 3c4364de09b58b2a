//! The kernel's side of the estimate on a device: cycles of a step, occupancy, accesses.

use super::constants::{Constants, LANES};
use super::device::{Device, Library};
use super::load::{Load, bytes_of};
use crate::kernel::{ConvKernel, GemmKernel, Mnk};
use crate::vocab::{Direction, Dtype, Pipeline};

/// What [`super::Estimator`] needs of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Tile of the result and depth of a step, each extent at least 1.
    pub(super) tile: [f64; 3],
    /// Threads and waves of a workgroup.
    pub(super) threads: f64,
    pub(super) waves: f64,
    /// Steps that loads are prefetched: none, one, or one with a second buffer, which counts as two.
    pub(super) ahead: f64,
    /// Of the pipeline `compv5`, which the formula treats as `compv3`.
    pub(super) compv5: bool,
    /// Workgroups that a compute unit holds, at least 1.
    pub(super) resident: f64,
    /// Share of a compute unit's SIMDs that one workgroup occupies.
    pub(super) occupied: f64,
    /// Cycles of a step's matrix instructions on all SIMDs.
    pub(super) arithmetic: f64,
    /// Cycles that a step reads fragments from shared memory.
    pub(super) fragments: f64,
    /// Cycles that a step waits for memory, and for each access of a thread.
    pub(super) waits: [f64; 2],
    /// Elements of one access to A, B and the result , at most.
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
    /// With a second buffer.
    Buffered,
}

/// The numbers of a kernel of either operation.
struct Kernel {
    types: [Dtype; 3],
    tile: Mnk,
    wave: Mnk,
    warp_tile: Mnk,
    vector: [u32; 3],
    pipeline: Pipeline,
    second_buffer: bool,
    two_stage: bool,
    parts: f64,
}

impl Shape {
    pub(super) fn of_conv(
        kernel: &ConvKernel,
        device: &Device,
        constants: &Constants,
    ) -> Result<Self, ShapeError> {
        let shape = Self::of(&Kernel::of_conv(kernel), device, constants)?;
        Ok(Self {
            merged: f64::from(kernel.num_groups_to_merge.max(1)),
            explicit: kernel.explicit_gemm,
            balanced: kernel.stream_k.is_some(),
            persistent: kernel.stream_k.is_some_and(|stream_k| stream_k.persistent),
            ..shape
        })
    }

    pub(super) fn of_gemm(
        kernel: &GemmKernel,
        device: &Device,
        constants: &Constants,
    ) -> Result<Self, ShapeError> {
        let shape = Self::of(&Kernel::of_gemm(kernel), device, constants)?;
        Ok(Self {
            balanced: kernel.variant.stream_k.is_some(),
            persistent: kernel.persistent,
            preshuffled: kernel.preshuffle,
            ..shape
        })
    }

    fn of(kernel: &Kernel, device: &Device, constants: &Constants) -> Result<Self, ShapeError> {
        let [a, b, result] = kernel.types;
        let dtype = multiplied(a, b);
        let macs = device.macs(dtype);
        if macs <= 0.0 {
            return Err(ShapeError { dtype });
        }
        let hardware = &device.hardware;
        let [tile_m, tile_n, tile_k] = extents(kernel.tile);
        let [waves_m, waves_n, waves_k] = extents(kernel.wave);
        let waves = waves_m * waves_n * waves_k;
        let threads = waves * hardware.wavefront_size.max(1) as f64;
        let ahead = Ahead::of(kernel.pipeline);
        let buffered = ahead == Ahead::Buffered;

        let a_bytes = tile_m * tile_k * bytes_of(a);
        let b_bytes = tile_n * tile_k * bytes_of(b);
        let staged = a_bytes + b_bytes;
        let buffers = constants.buffers[ahead as usize].max(if kernel.second_buffer { 2.0 } else { 1.0 });
        let by_memory = hardware.lds_capacity as f64 / (staged * buffers);
        let by_waves = hardware.max_waves_per_cu as f64 / waves;
        let held = if buffered { constants.buffered_staged } else { constants.staged };
        let registers = tile_m * tile_n / threads + constants.registers + held * staged / 4.0 / threads;
        let by_registers = device.rates.registers_per_cu / (threads * registers);
        let resident = by_memory.min(by_waves).min(by_registers).floor().max(1.0);

        let instruction = f64::from(kernel.warp_tile.m) * f64::from(kernel.warp_tile.k);
        let rate = macs * constants.matrix_share * device.instruction_share(dtype, instruction);
        let arithmetic = tile_m * tile_n * tile_k / rate;
        // Each wave reads the rows of A and the columns of B that it multiplies.
        let read = a_bytes * waves_n + b_bytes * waves_m;
        let fragments = read * constants.fragment_share / device.rates.lds_bytes_per_cycle;
        let waits = match ahead {
            Ahead::None => [constants.latency * constants.unpipelined, constants.access_latency],
            Ahead::One => [constants.latency, constants.access_latency],
            Ahead::Buffered => [
                constants.latency * constants.buffered_latency,
                constants.access_latency * constants.buffered_access,
            ],
        };
        let widest = |axis: usize, dtype: Dtype| {
            let native = constants.access_bytes / bytes_of(dtype);
            match kernel.vector[axis] {
                // The CUDA kernels' names omit it.
                0 => native,
                _ if device.library == Library::Cuda => native,
                vector => f64::from(vector).min(native),
            }
        };
        let own_parts = if kernel.two_stage { constants.parts[usize::from(buffered)] } else { 1.0 };
        Ok(Self {
            tile: [tile_m, tile_n, tile_k],
            threads,
            waves,
            ahead: f64::from(ahead as u8),
            compv5: kernel.pipeline == Pipeline::CompV5,
            resident,
            occupied: (waves / hardware.simds_per_cu.max(1) as f64).min(1.0),
            arithmetic,
            fragments,
            waits,
            widest: [widest(0, a), widest(1, b), widest(2, result)],
            staged,
            parts: own_parts.max(kernel.parts),
            two_stage: kernel.two_stage,
            merged: 1.0,
            explicit: false,
            balanced: false,
            persistent: false,
            preshuffled: false,
        })
    }

    /// Elements of one access to A, B and the result.
    #[inline]
    pub(super) fn widths(&self, load: &Load) -> [f64; 3] {
        let together = if self.preshuffled { self.widest[1] } else { load.together[1] };
        // Merged groups are adjacent in memory.
        [
            (load.together[0] * self.merged).min(self.widest[0]),
            (together * self.merged).min(self.widest[1]),
            load.together[2].min(self.widest[2]),
        ]
    }

    /// Accesses of a step of one workgroup to A and to B, in units of accesses to a plain matrix.
    #[inline]
    pub(super) fn accesses(&self, load: &Load, constants: &Constants) -> f64 {
        let [m, n, k] = self.tile;
        let [of_a, of_b] = if self.explicit { [1.0, 1.0] } else { load.gather };
        let [width_a, width_b, _] = self.widths(load);
        let whole = width_a >= self.widest[0] && width_b >= self.widest[1];
        if constants.narrow > 0.0 && !whole {
            return (m * of_a + n * of_b) * k * constants.narrow;
        }
        (m * of_a / width_a + n * of_b / width_b) * k
    }

    /// Cycles that a compute unit needs to issue that many accesses.
    #[inline]
    pub(super) fn issue(accesses: f64, constants: &Constants) -> f64 {
        accesses * constants.issue / LANES
    }

    /// Cycles that one workgroup needs to store its tile.
    #[inline]
    pub(super) fn stores(&self, load: &Load, constants: &Constants) -> f64 {
        let [m, n, _] = self.tile;
        m * n / self.widths(load)[2] * constants.store
    }
}

impl Ahead {
    const fn of(pipeline: Pipeline) -> Self {
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

impl Kernel {
    fn of_conv(kernel: &ConvKernel) -> Self {
        let (input, weight, output) = (kernel.dtype_in, kernel.dtype_wei, kernel.dtype_out);
        Self {
            types: match kernel.direction {
                Direction::Forward => [input, weight, output],
                Direction::BwdData => [output, weight, input],
                Direction::BwdWeight => [output, input, weight],
            },
            tile: kernel.tile,
            wave: kernel.wave,
            warp_tile: kernel.warp_tile,
            vector: kernel.vector,
            pipeline: kernel.pipeline,
            second_buffer: kernel.double_smem_buffer,
            two_stage: kernel.two_stage,
            parts: 1.0,
        }
    }

    fn of_gemm(kernel: &GemmKernel) -> Self {
        Self {
            types: [kernel.dtype_a, kernel.dtype_b, kernel.dtype_c],
            tile: kernel.tile,
            wave: kernel.wave,
            warp_tile: kernel.warp_tile,
            vector: kernel.vector,
            pipeline: kernel.pipeline,
            second_buffer: kernel.double_buffer,
            two_stage: false,
            parts: f64::from(kernel.split_k.max(1)),
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
