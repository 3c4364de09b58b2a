//! Constants that are properties of a library's kernels, not of a device, with units.
//!
//! The constants of `composable_kernel` were chosen on the MI355X training sweep (188 problems x 20 kernels;
//! never on its oracle problems), of the CUDA kernels on the H200 data of `data/h200` (2,964 problems x 30
//! kernels, three directions), of Triton's GEMMs on `data/h100/gemm_triton*` (159 shapes x 546 kernels, and
//! splits): for the least regret of the choice and the least error of the time. The constants of AITER were
//! chosen on winners of its tuned tables (8,800 shapes of 166 pairs of N and K, eight families on three
//! GPUs): for the winner among the first tenth of its pool. All come from one kind of search, and are rounded
//! to two digits. `docs/results.md` says how good they are on the data they were chosen on and on other data.

use super::device::Library;

/// One library's constants.
#[derive(Debug, PartialEq)]
pub(super) struct Constants {
    /// Share of the peak rate that the instructions of a step reach.
    pub matrix_share: f64,
    /// Columns at which an instruction of four waves together reaches half of that share, and the part of it
    /// that instructions of one wave reach; `None` for a library that has only the latter.
    pub wide: Option<[f64; 2]>,
    /// Share of the full rate that matrix instructions reach which are too small for it.
    pub narrow_rate: f64,
    /// Lane-cycles to multiply a result by the scales of a group of the depth.
    pub scales: f64,
    /// Share of the operands' fragments that is read from shared memory, above 1 if banks conflict.
    pub fragment_share: f64,
    /// Lane-cycles that one access to memory takes to address and issue, see [`LANES`].
    pub issue: f64,
    /// Cycles of a compute unit to move one byte to shared memory.
    pub per_byte: f64,
    /// Accesses to the image as a multiple of accesses to a matrix: addresses are computed, padding is
    /// tested.
    pub gather: f64,
    /// Largest access in bytes.
    pub access_bytes: f64,
    /// Accesses that one element costs if the bytes of a whole access are not contiguous; 0: an access moves
    /// as many elements as are contiguous.
    pub narrow: f64,
    /// Cycles that each workgroup of a compute unit adds to a step: barriers and loop.
    pub barrier: f64,
    /// Cycles that a step waits for memory.
    pub latency: f64,
    /// Cycles that a step waits for memory, for each access of a thread.
    pub access_latency: f64,
    /// Multiple of the waits of a step without prefetched loads.
    pub unpipelined: f64,
    /// Multiple of `latency` with the second buffer of compv4.
    pub buffered_latency: f64,
    /// Multiple of `access_latency` with the second buffer of compv4.
    pub buffered_access: f64,
    /// Share of a step's work that the wait for the next one does not hide.
    pub unhidden: f64,
    /// Waits of a workgroup before its first step.
    pub prologue: f64,
    /// Cycles of a workgroup to begin and to end.
    pub workgroup: f64,
    /// Cycles of a compute unit for one store of full width.
    pub store: f64,
    /// Microseconds to start a kernel.
    pub launch: f64,
    /// Microseconds to start the second stage.
    pub second_launch: f64,
    /// Share of the caches' bandwidth that operands get.
    pub cache_share: f64,
    /// Share of it that parts of results get.
    pub parts_share: f64,
    /// Share of the memory's bandwidth.
    pub memory_share: f64,
    /// Registers of a thread besides results and data on its way to shared memory.
    pub registers: f64,
    /// Registers of a thread for each four bytes on their way; 0 if loads go to shared memory directly.
    pub staged: f64,
    /// Multiple of `staged` with the second buffer of compv4.
    pub buffered_staged: f64,
    /// Registers of a thread for each of its accesses of a step, and for each four bytes of fragments that an
    /// instruction of one wave multiplies.
    pub held: [f64; 2],
    /// Growth of the cycles for each register that a thread lacks.
    pub spill: f64,
    /// Share of the ideal, in which a compute unit takes the next workgroup as soon as one ends; the rest
    /// runs in whole rounds.
    pub flowing: f64,
    /// The pipeline's name is the number of stages, each with tiles in shared memory of its own, and a
    /// persistent kernel has one workgroup on a compute unit.
    pub staged_by_number: bool,
    /// Tiles in shared memory without, with one and with two steps ahead: `mem`, most pipelines, `compv4`.
    pub buffers: [f64; 3],
    /// Parts of the depth of a two-stage kernel, and of one with compv4, if neither problem nor kernel says.
    pub parts: [f64; 2],
    /// Whether the second stage also runs for a single part.
    pub always_second: bool,
}

/// [`Constants::flowing`], where nobody measured another.
pub(super) const FLOWING: f64 = 0.35;

/// Lanes of a compute unit that issue accesses at the same time.
pub(super) const LANES: f64 = 128.0;

const COMPOSABLE_KERNEL: Constants = Constants {
    matrix_share: 0.85,
    wide: None,
    narrow_rate: 0.5,
    scales: 0.0,
    fragment_share: 0.53,
    issue: 17.0,
    per_byte: 0.0,
    gather: 3.8,
    access_bytes: 16.0,
    narrow: 0.0,
    barrier: 250.0,
    latency: 950.0,
    access_latency: 92.0,
    // Not measured there: rounded from those of the CUDA kernels.
    unpipelined: 3.0,
    buffered_latency: 1.5,
    buffered_access: 2.0,
    unhidden: 0.19,
    prologue: 0.82,
    workgroup: 3500.0,
    store: 2.1,
    launch: 0.61,
    // Not measured there either, like everything about split depths.
    second_launch: 3.4,
    cache_share: 0.59,
    parts_share: 0.13,
    memory_share: 0.85,
    registers: 55.0,
    staged: 0.9,
    buffered_staged: 2.0,
    held: [0.0; 2],
    // Not measured there: no kernel of these sweeps lacks registers.
    spill: 0.1,
    flowing: FLOWING,
    staged_by_number: false,
    buffers: [1.0, 1.0, 2.0],
    parts: [1.0, 1.0],
    always_second: true,
};

const CUDA: Constants = Constants {
    matrix_share: 0.58,
    fragment_share: 2.3,
    issue: 40.0,
    gather: 2.0,
    narrow: 0.79,
    barrier: 150.0,
    latency: 1200.0,
    access_latency: 150.0,
    unpipelined: 3.0,
    buffered_latency: 1.8,
    buffered_access: 1.0,
    unhidden: 0.29,
    prologue: 0.24,
    workgroup: 1200.0,
    store: 0.62,
    launch: 1.8,
    second_launch: 3.4,
    cache_share: 1.0,
    parts_share: 0.23,
    memory_share: 0.9,
    registers: 8.7,
    staged: 0.0,
    buffered_staged: 0.0,
    buffers: [1.0, 2.0, 3.0],
    // What the kernel names of gpu/ mean.
    parts: [8.0, 32.0],
    always_second: false,
    // Not measured: no kernel of these sweeps lacks registers, and none has what the rest is about.
    ..COMPOSABLE_KERNEL
};

const TRITON: Constants = Constants {
    matrix_share: 0.9,
    wide: Some([20.0, 0.38]),
    narrow_rate: 0.5,
    scales: 0.0,
    fragment_share: 1.6,
    issue: 5.7,
    per_byte: 0.0038,
    gather: 1.0,
    access_bytes: 16.0,
    narrow: 0.0,
    barrier: 140.0,
    latency: 1300.0,
    access_latency: 40.0,
    unpipelined: 1.0,
    buffered_latency: 1.0,
    buffered_access: 1.0,
    unhidden: 0.12,
    prologue: 0.29,
    workgroup: 620.0,
    store: 0.85,
    launch: 0.5,
    second_launch: 1.0,
    cache_share: 1.5,
    parts_share: 0.14,
    memory_share: 0.9,
    registers: 39.0,
    staged: 0.0,
    buffered_staged: 0.0,
    held: [0.59, 0.24],
    spill: 0.15,
    flowing: 0.096,
    staged_by_number: true,
    buffers: [1.0, 2.0, 3.0],
    parts: [1.0, 1.0],
    always_second: false,
};

/// Chosen on `moe_h200` (216 problems of nine language models x 438 kernels in bf16), from those of Triton's
/// GEMMs on and not far from them. Each tile looks its expert up, and rows are gathered by an index.
const TRITON_EXPERTS: Constants = Constants {
    matrix_share: 0.95,
    wide: Some([17.0, 0.32]),
    fragment_share: 1.0,
    issue: 6.0,
    per_byte: 0.0039,
    barrier: 300.0,
    latency: 1700.0,
    access_latency: 52.0,
    prologue: 0.34,
    workgroup: 690.0,
    store: 0.83,
    launch: 3.1,
    cache_share: 2.2,
    registers: 44.0,
    held: [0.58, 0.24],
    spill: 0.14,
    flowing: 0.089,
    ..TRITON
};

const AITER: Constants = Constants {
    matrix_share: 0.72,
    wide: None,
    narrow_rate: 1.0,
    scales: 6.5,
    fragment_share: 1.3,
    issue: 32.0,
    per_byte: 0.0027,
    gather: 1.0,
    access_bytes: 16.0,
    narrow: 0.0,
    barrier: 16.0,
    latency: 340.0,
    access_latency: 44.0,
    unpipelined: 1.6,
    buffered_latency: 1.4,
    buffered_access: 1.2,
    unhidden: 0.61,
    prologue: 1.5,
    workgroup: 2300.0,
    store: 3.3,
    launch: 1.3,
    cache_share: 0.79,
    memory_share: 0.5,
    registers: 16.0,
    staged: 1.2,
    buffered_staged: 3.4,
    spill: 0.054,
    flowing: 0.17,
    // Splits are COMPOSABLE_KERNEL's.
    ..COMPOSABLE_KERNEL
};

const AITER_TILE: Constants = Constants { matrix_share: 0.54, registers: 12.0, ..AITER };

impl Constants {
    pub(super) const fn for_library(library: Library) -> &'static Self {
        match library {
            Library::ComposableKernel => &COMPOSABLE_KERNEL,
            Library::Cuda => &CUDA,
            Library::Triton => &TRITON,
            Library::TritonExperts => &TRITON_EXPERTS,
            Library::Aiter => &AITER,
            Library::AiterTile => &AITER_TILE,
        }
    }
}
