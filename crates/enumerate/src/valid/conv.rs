//! Which convolution kernels can be built.
//!
//! Upstream's sweep checks none of this: its build step corrects or drops what does not work. Instances of a
//! list have their own waves, vectors and instructions, and get the checks of upstream's generator.

use std::fmt;

use ck_select_types::kernel::{ConvKernel, Mnk};
use ck_select_types::vocab::{Direction, Dtype, Pipeline, Scheduler};

use crate::rules::{ArchTable, DirectionRules, Rules};

/// Why a kernel cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConvRefusal {
    /// The tile is not in the rules.
    UnknownTile,
    /// The direction lacks the pipeline.
    Pipeline,
    /// The pipeline cannot interleave waves.
    Scheduler,
    /// The pipeline requires two buffers in shared memory, or is not built for this tile.
    Compv4,
    /// A vector is neither one element nor an even number of them.
    VectorWidth,
    /// The tile is wider than a wave's loads reach.
    WarpCoverage,
    /// A thread has nothing to load.
    ThreadCoverage,
    /// A thread loads less than a vector.
    VectorTooWide,
    /// The instruction does not exist for waves of 32.
    Wmma,
    /// The architecture lacks the arrangement of waves.
    Waves,
    /// The architecture lacks the matrix instruction for the type.
    WarpTile,
    /// Stream-K exists only for backward weight and waves of 64.
    StreamK,
}

impl ConvRefusal {
    /// The reason in a few words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTile => "tile not in the rules",
            Self::Pipeline => "pipeline not for this direction",
            Self::Scheduler => "scheduler not for this pipeline",
            Self::Compv4 => "compv4 without two buffers, or not for this tile",
            Self::VectorWidth => "vector width neither 1 nor even",
            Self::WarpCoverage => "tile wider than loads reach",
            Self::ThreadCoverage => "threads without work",
            Self::VectorTooWide => "vector wider than a thread's share",
            Self::Wmma => "instruction not for waves of 32",
            Self::Waves => "waves not of this architecture",
            Self::WarpTile => "instruction not of this architecture and type",
            Self::StreamK => "stream-K not for this direction or architecture",
        }
    }
}

impl fmt::Display for ConvRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first rule that a kernel breaks. Waves and instructions are not checked if the rules lack `arch`.
pub fn conv_refusal(rules: &Rules, kernel: &ConvKernel, arch: &str) -> Option<ConvRefusal> {
    let (table, warp_size) = architecture(rules, arch);
    let checks: [(bool, ConvRefusal); 11] = [
        (rules.conv.tiles.iter().any(|rule| rule.tile == kernel.tile), ConvRefusal::UnknownTile),
        (pipeline(rules, kernel), ConvRefusal::Pipeline),
        (scheduler(rules, kernel), ConvRefusal::Scheduler),
        (compv4(rules, kernel), ConvRefusal::Compv4),
        (kernel.vector.iter().all(|&width| width == 1 || width % 2 == 0), ConvRefusal::VectorWidth),
        (warp_coverage(kernel, warp_size), ConvRefusal::WarpCoverage),
        (thread_coverage(rules, kernel, rules.conv.thread_coverage.block_size), ConvRefusal::ThreadCoverage),
        (vectors_fit(kernel, warp_size), ConvRefusal::VectorTooWide),
        (wmma(kernel, warp_size), ConvRefusal::Wmma),
        (table.is_none_or(|table| table.waves.contains(&kernel.wave)), ConvRefusal::Waves),
        (table.is_none_or(|table| has_instruction(table, kernel)), ConvRefusal::WarpTile),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, refusal)| refusal)
}

/// The same for an instance of a list, whose tile need not be one of a sweep.
pub fn instance_refusal(rules: &Rules, kernel: &ConvKernel, arch: &str) -> Option<ConvRefusal> {
    let (table, warp_size) = architecture(rules, arch);
    let waves = [kernel.wave.m, kernel.wave.n, kernel.wave.k].into_iter().fold(1, u32::saturating_mul);
    let block_size = waves.saturating_mul(warp_size);
    let refused = |direction: &DirectionRules| direction.refused_pipelines.contains(&kernel.pipeline);
    let stream_k = kernel.direction == Direction::BwdWeight && warp_size != 32;
    let checks: [(bool, ConvRefusal); 9] = [
        (!rules.conv.directions.get(&kernel.direction).is_some_and(refused), ConvRefusal::Pipeline),
        (supported_traits(rules, kernel), ConvRefusal::Scheduler),
        (buffered(rules, kernel), ConvRefusal::Compv4),
        (kernel.vector.iter().all(|&width| width == 1 || width % 2 == 0), ConvRefusal::VectorWidth),
        (thread_coverage(rules, kernel, block_size), ConvRefusal::ThreadCoverage),
        (wmma(kernel, warp_size), ConvRefusal::Wmma),
        (kernel.stream_k.is_none() || stream_k, ConvRefusal::StreamK),
        (table.is_none_or(|table| table.waves.contains(&kernel.wave)), ConvRefusal::Waves),
        (table.is_none_or(|table| has_instruction(table, kernel)), ConvRefusal::WarpTile),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, refusal)| refusal)
}

/// The rules' table for an architecture, and the number of threads per wave.
fn architecture<'a>(rules: &'a Rules, arch: &str) -> (Option<&'a ArchTable>, u32) {
    let table = rules.arch.architectures.get(arch);
    (table, table.map_or(if arch.starts_with("gfx9") { 64 } else { 32 }, |table| table.warp_size))
}

fn pipeline(rules: &Rules, kernel: &ConvKernel) -> bool {
    rules.conv.directions.get(&kernel.direction).is_some_and(|direction| {
        direction.pipelines.contains(&kernel.pipeline)
            && !direction.refused_pipelines.contains(&kernel.pipeline)
    })
}

fn scheduler(rules: &Rules, kernel: &ConvKernel) -> bool {
    let interwave = rules.conv.interwave_pipelines.contains(&kernel.pipeline);
    (kernel.scheduler != Scheduler::Interwave || interwave) && supported_traits(rules, kernel)
}

fn supported_traits(rules: &Rules, kernel: &ConvKernel) -> bool {
    let ConvKernel { pipeline, epilogue, scheduler, .. } = *kernel;
    !rules.arch.unsupported_traits.iter().any(|refusal| refusal.refuses(pipeline, epilogue, scheduler))
}

fn compv4(rules: &Rules, kernel: &ConvKernel) -> bool {
    let marked = |tile: Mnk| rules.conv.tiles.iter().any(|rule| rule.tile == tile && rule.compv4);
    buffered(rules, kernel) && (kernel.pipeline != Pipeline::CompV4 || marked(kernel.tile))
}

fn buffered(rules: &Rules, kernel: &ConvKernel) -> bool {
    kernel.double_smem_buffer || !rules.conv.always_double_buffered.contains(&kernel.pipeline)
}

/// The tile size along which A is loaded.
const fn a_dimension(kernel: &ConvKernel) -> u32 {
    match kernel.direction {
        Direction::BwdData => kernel.tile.k,
        Direction::Forward | Direction::BwdWeight => kernel.tile.m,
    }
}

const fn warp_coverage(kernel: &ConvKernel, warp_size: u32) -> bool {
    let [a, b, _] = kernel.vector;
    a_dimension(kernel) <= warp_size.saturating_mul(a) && kernel.tile.n <= warp_size.saturating_mul(b)
}

fn thread_coverage(rules: &Rules, kernel: &ConvKernel, block_size: u32) -> bool {
    let rule = &rules.conv.thread_coverage;
    let [a, b, _] = kernel.vector.map(u64::from);
    let covered = |extent: u32, vector: u64| {
        u64::from(extent) * u64::from(kernel.tile.k) >= u64::from(block_size) * vector
    };
    !rule.pipelines.contains(&kernel.pipeline) || (covered(kernel.tile.m, a) && covered(kernel.tile.n, b))
}

/// Backward data only: a thread's share of a tile must be at least one vector.
fn vectors_fit(kernel: &ConvKernel, warp_size: u32) -> bool {
    let waves = [kernel.wave.m, kernel.wave.n, kernel.wave.k].map(u64::from);
    let block = waves.iter().product::<u64>() * u64::from(warp_size);
    let share = |extent: u32| u64::from(extent) * u64::from(kernel.tile.k) / block.max(1);
    let [a, b, _] = kernel.vector.map(u64::from);
    kernel.direction != Direction::BwdData || (a <= share(kernel.tile.m) && b <= share(kernel.tile.n))
}

/// Waves of 32 have other matrix instructions.
fn wmma(kernel: &ConvKernel, warp_size: u32) -> bool {
    let deep_enough = kernel.warp_tile.k >= 32 || kernel.dtype_in == Dtype::Fp32;
    let fits = kernel.wave.k.saturating_mul(kernel.warp_tile.k) <= kernel.tile.k;
    warp_size != 32 || (deep_enough && fits && kernel.warp_tile.m != 32)
}

fn has_instruction(table: &ArchTable, kernel: &ConvKernel) -> bool {
    table.warp_tiles.get(kernel.dtype_in.as_str()).is_some_and(|tiles| tiles.contains(&kernel.warp_tile))
}
