//! Features of mixtures of experts, all our own: extents, what the routing comes to, and what a kernel makes of
//! both.
//!
//! Of a problem whose routing is not known, features have the numbers of even routing, and `routed` is 0. No
//! feature is a word's number: types are bits, so that a forest has something to say about types that it has
//! not seen.

use ck_select_types::moe::MeanRouting;

use super::axis::{Axis, AxisBlock};
use super::block::blocks;
use super::engine::{Engines, NamedEngine, OperationEngines};
use super::exact::{flag, log2};
use super::hardware::compute_units;
use super::operation::{FeatureOf, OperationTerms};
use super::terms::KernelFeatures;
use super::{Engine, Extractor, Feature, PairInputs, PairWith, Rules, hardware_features};
use crate::hardware::Hardware;
use crate::kernel::MoeKernel;
use crate::problem::{InvalidField, MoeProblem};
use crate::vocab::MoeStage;

/// A problem of a mixture of experts as features see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoeTerms {
    problem: MoeProblem,
    routing: MeanRouting,
}

/// A kernel of a mixture of experts as features see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoeKernelTerms {
    tile: [i64; 3],
    waves: i64,
    group_m: i64,
    stages: i64,
    split_k: i64,
    /// `waves_per_eu`, `nonkdim`, `kpack` and the version of the pipeline.
    build: [i64; 4],
    tma: bool,
    /// Bytes of shared memory for all stages.
    lds: f64,
}

blocks! {
    /// A mixture of experts on a kernel.
    pub struct MoePair in MoePairs {
        /// Rows, columns and depth.
        axes: [Axis; 3],
        /// Tiles of rows of all experts.
        row_tiles: f64,
        /// Share of their rows that there are.
        filled: f64,
        /// Tiles of rows of an expert that has any.
        expert_tiles: f64,
    }
}

blocks! {
    /// The kernel's part of a pair.
    pub struct MoeShape in MoeShapes {
        /// Rows of a tile.
        rows: f64,
    }
}

impl PairWith<MoeKernelTerms> for MoeTerms {
    type Pair = MoePair;
    type Shape = MoeShape;
    type Load = MeanRouting;

    fn gemm(&self) -> [i128; 3] {
        [self.problem.rows(), self.problem.n, self.problem.k].map(i128::from)
    }

    fn tile(kernel: &MoeKernelTerms) -> [i64; 3] {
        kernel.tile
    }

    fn axes(block: &mut MoePairs) -> &mut [AxisBlock; 3] {
        &mut block.axes
    }

    fn pair_inputs(kernel: &MoeKernelTerms, _own: bool) -> PairInputs {
        let mut inputs = PairInputs::default();
        inputs[..3].copy_from_slice(&kernel.tile);
        (inputs[3], inputs[4]) = (kernel.group_m, kernel.stages);
        inputs
    }

    fn shape(kernel: &MoeKernelTerms, _hardware: &Hardware) -> MoeShape {
        MoeShape { rows: kernel.tile[0].max(1) as f64 }
    }

    fn load(&self, _hardware: &Hardware) -> MeanRouting {
        self.routing
    }

    #[inline(always)]
    fn pair(load: &MeanRouting, shape: &MoeShape, axes: [Axis; 3], _own: bool) -> MoePair {
        let row_tiles = load.tiles_of(shape.rows);
        let filled = load.rows / (row_tiles * shape.rows);
        MoePair { axes, row_tiles, filled, expert_tiles: row_tiles / load.active }
    }
}

/// Workgroups for each compute unit.
fn rounds(m: &MoePair, hardware: &Hardware) -> f64 {
    m.row_tiles * m.axes[1].tiles / compute_units(hardware)
}

/// Every feature of mixtures of experts.
pub static FEATURES: &[Feature<MoeTerms, MoeKernelTerms>] = hardware_features! { <MoeTerms, MoeKernelTerms> [
    Problem stage = |p| if p.problem.stage == MoeStage::Two { 2.0 } else { 1.0 }, "stage, 1 or 2";
    Problem log2_tokens = |p| log2(p.problem.tokens.into()), "log2 of the tokens";
    Problem experts = |p| p.problem.experts as f64, "experts";
    Problem topk = |p| p.problem.topk as f64, "experts of a token";
    Problem n = |p| p.problem.n as f64, "columns";
    Problem k = |p| p.problem.k as f64, "depth";
    Problem bits_a = |p| f64::from(p.problem.dtype_a.bits()), "bits of an element of a row";
    Problem bits_b = |p| f64::from(p.problem.dtype_b.bits()), "bits of a weight";
    Problem block_k = |p| f64::from(p.problem.block_k), "elements of depth that share a scale, 0 for all";
    Problem routed = |p| flag(p.problem.has_routing()), "the rows of each expert are known";
    Problem active = |p| p.routing.active, "experts that have rows";
    Problem active_share = |p| p.routing.active / p.problem.experts as f64, "share of the experts that have rows";
    Problem log2_active_rows = |p| (p.routing.rows / p.routing.active).log2(),
        "log2 of the rows of an expert that has any";
    Problem busiest = |p| p.routing.largest * p.routing.active / p.routing.rows,
        "rows of the busiest expert over those of the mean one";
    Problem log2_weights = |p| (p.routing.active * p.problem.n as f64 * p.problem.k as f64).log2(),
        "log2 of the weights that are read";
    Kernel tile_m = |k| k.tile[0] as f64, "rows of a tile";
    Kernel tile_n = |k| k.tile[1] as f64, "columns of a tile";
    Kernel tile_k = |k| k.tile[2] as f64, "depth of one step";
    Kernel num_warps = |k| k.waves as f64, "waves of a workgroup";
    Kernel num_stages = |k| k.stages as f64, "steps that are loaded ahead, and the one in use";
    Kernel group_m = |k| k.group_m as f64, "rows of tiles that are computed side by side";
    Kernel split_k = |k| k.split_k as f64, "parts of the depth";
    Kernel tma = |k| flag(k.tma), "loads by tensor descriptors";
    Kernel waves_per_eu = |k| k.build[0] as f64, "waves that should share a SIMD, 0 for any";
    Kernel nonkdim = |k| k.build[1] as f64, "rows of an instruction, 0 for any";
    Kernel kpack = |k| k.build[2] as f64, "depth of a fragment in instructions, 0 for one";
    Kernel version = |k| k.build[3] as f64, "version of a pipeline of CK's, 0 for Triton's";
    Kernel results_a_wave = |k| (k.tile[0] * k.tile[1]) as f64 / k.waves.max(1) as f64, "results of a wave";
    Kernel lds = |k| k.lds, "bytes of shared memory for all stages";
    Pair row_tiles = |_, _, _, m| m.row_tiles, "tiles of rows of all experts";
    Pair filled = |_, _, _, m| m.filled, "share of the tiles' rows that there are";
    Pair expert_tiles = |_, _, _, m| m.expert_tiles, "tiles of rows of an expert that has any";
    Pair busiest_tiles = |p, k, _, _| (p.routing.largest / k.tile[0].max(1) as f64).ceil(),
        "tiles of rows of the busiest expert";
    Pair column_tiles = |_, _, _, m| m.axes[1].tiles, "tiles of columns";
    Pair steps = |_, _, _, m| m.axes[2].tiles, "steps of a workgroup";
    Pair rounds = |_, _, h, m| rounds(m, h), "workgroups for each compute unit";
    Pair last_round = |_, _, h, m| rounds(m, h) / rounds(m, h).ceil(),
        "share of the compute units with a workgroup in each round";
    Pair steps_over_stages = |_, k, _, m| m.axes[2].tiles / k.stages.max(1) as f64,
        "steps of a workgroup over those that are loaded ahead";
    Pair beside = |_, k, _, m| (k.group_m as f64).min(m.row_tiles) / m.expert_tiles,
        "tiles of rows side by side over those that share weights";
] };

impl OperationTerms for MoeProblem {
    type Terms = MoeTerms;
    type KernelTerms = MoeKernelTerms;

    fn features() -> impl Iterator<Item = &'static FeatureOf<Self>> {
        FEATURES.iter()
    }

    fn terms(&self, _: &Extractor) -> Result<MoeTerms, InvalidField> {
        Ok(MoeTerms { problem: *self, routing: MeanRouting::new(self) })
    }
}

impl KernelFeatures for MoeKernel {
    type Terms = MoeKernelTerms;

    fn terms(&self, _: &Extractor) -> Result<MoeKernelTerms, InvalidField> {
        let tile = [self.tile.m, self.tile.n, self.tile.k].map(i64::from);
        let [a, b] = [self.dtype_a, self.dtype_b].map(|dtype| f64::from(dtype.bits()) / 8.0);
        let step = (tile[0] as f64 * a + tile[1] as f64 * b) * tile[2] as f64;
        Ok(MoeKernelTerms {
            tile,
            waves: self.waves().into(),
            group_m: self.group_m.into(),
            stages: self.stages.into(),
            split_k: self.split_k.into(),
            build: [self.waves_per_eu, self.nonkdim, self.kpack, self.version].map(i64::from),
            tma: self.tma,
            lds: step * f64::from(self.stages.max(1)),
        })
    }
}

impl OperationEngines for MoeProblem {
    const ENGINES: Engines = Engines {
        own: Engine::Experts,
        forward: Engine::Experts,
        upstream: Engine::Experts,
        categories: &[],
        hardware: Hardware::USUAL,
        least_constant: 1,
        bare: None,
        telltales: &[],
        named: &[NamedEngine::new("moe", "MoeFeatureEngine", Engine::Experts, 0)],
        all: &[(Engine::Experts, Rules::CONV97, || FEATURES.iter().map(|one| one.name).collect())],
    };
}
