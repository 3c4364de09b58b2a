//! Which convolution kernels can be built.
//!
//! Upstream's sweep checks none of this: its build step corrects or drops what does not work. Instances of a
//! list have their own waves, vectors and instructions, and get the checks of upstream's generator.

use ck_select_types::kernel::{ConvKernel, ConvTile};
use ck_select_types::vocab::{Arch, Direction, Dtype, Pipeline, Scheduler};

use crate::arch::ArchTable;
use crate::buildable::Buildable;
use crate::rules::Rules;

/// The first rule that a kernel breaks. Waves and instructions are not checked if the rules lack `arch`.
/// `listed` is whether the kernel is an instance of a list, whose tile need not be one of a sweep.
pub(crate) fn refusal(rules: &Rules, kernel: &ConvKernel, arch: &str, listed: bool) -> Option<&'static str> {
    refusals(rules, kernel, arch, listed).next()
}

impl Buildable for ConvKernel {
    /// The first rule that the kernel breaks. Whether `compv4` has two buffers is not checked: upstream measured such
    /// names on an MI355X without them, so its build step adds them.
    fn refusal_of_name(&self, rules: &Rules, arch: Arch) -> Option<&'static str> {
        refusals(rules, self, arch.as_str(), true).find(|refusal| *refusal != BUFFERS)
    }
}

const BUFFERS: &str = "compv4 without two buffers, or not for this tile";

/// All rules that a kernel breaks.
fn refusals(
    rules: &Rules,
    kernel: &ConvKernel,
    arch: &str,
    listed: bool,
) -> impl Iterator<Item = &'static str> + use<> {
    let (table, warp_size) = architecture(rules, arch);
    let interwave = rules.conv.interwave_pipelines.contains(&kernel.pipeline);
    let stream_k = kernel.direction == Direction::BwdWeight && warp_size != 32;
    let waves = [kernel.wave.m, kernel.wave.n, kernel.wave.k].into_iter().fold(1, u32::saturating_mul);
    let own_block = waves.saturating_mul(warp_size);
    let block = if listed { own_block } else { rules.conv.thread_coverage.block_size };
    let checks: [(bool, &'static str); 12] = [
        (listed || tiles(rules, kernel).next().is_some(), "tile not in the rules"),
        (pipeline(rules, kernel, listed), "pipeline not for this direction"),
        (
            (listed || interwave || kernel.scheduler != Scheduler::Interwave)
                && supported_traits(rules, kernel),
            "scheduler not for this pipeline",
        ),
        (compv4(rules, kernel, listed), BUFFERS),
        (kernel.vector.iter().all(|&width| width == 1 || width % 2 == 0), "vector width neither 1 nor even"),
        (listed || warp_coverage(kernel, warp_size), "tile wider than loads reach"),
        (thread_coverage(rules, kernel, block), "threads without work"),
        (listed || vectors_fit(kernel, warp_size), "vector wider than a thread's share"),
        (wmma(kernel, warp_size), "instruction not for waves of 32"),
        (kernel.stream_k.is_none() || stream_k, "stream-K not for this direction or architecture"),
        (table.is_none_or(|table| table.waves.contains(&kernel.wave)), "waves not of this architecture"),
        (
            table.is_none_or(|table| has_instruction(table, kernel)),
            "instruction not of this architecture and type",
        ),
    ];
    checks.into_iter().filter(|(holds, _)| !holds).map(|(_, refusal)| refusal)
}

/// The rules' table for an architecture, and the number of threads per wave.
fn architecture<'a>(rules: &'a Rules, arch: &str) -> (Option<&'a ArchTable>, u32) {
    let table = rules.arch.architectures.get(arch);
    (table, table.map_or(if arch.starts_with("gfx9") { 64 } else { 32 }, |table| table.warp_size))
}

/// The rules of a kernel's tile.
fn tiles<'a>(rules: &'a Rules, kernel: &ConvKernel) -> impl Iterator<Item = &'a ConvTile> {
    let tile = kernel.tile;
    rules.conv.tiles.iter().filter(move |rule| rule.tile == tile)
}

fn pipeline(rules: &Rules, kernel: &ConvKernel, listed: bool) -> bool {
    let own = rules.conv.directions.get(&kernel.direction);
    own.map_or(listed, |direction| {
        (listed || direction.pipelines.contains(&kernel.pipeline))
            && !direction.refused_pipelines.contains(&kernel.pipeline)
    })
}

fn supported_traits(rules: &Rules, kernel: &ConvKernel) -> bool {
    let ConvKernel { pipeline, epilogue, scheduler, .. } = *kernel;
    !rules.arch.unsupported_traits.iter().any(|refusal| refusal.refuses(pipeline, epilogue, scheduler))
}

fn compv4(rules: &Rules, kernel: &ConvKernel, listed: bool) -> bool {
    let buffered = kernel.double_smem_buffer || !rules.conv.always_double_buffered.contains(&kernel.pipeline);
    let is_marked = || tiles(rules, kernel).any(|rule| rule.compv4);
    buffered && (listed || kernel.pipeline != Pipeline::CompV4 || is_marked())
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
