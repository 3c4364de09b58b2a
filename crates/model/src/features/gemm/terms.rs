//! What features know about a GEMM, and about a kernel.

use super::vector::{VectorProblem, VectorWidths};
use crate::features::exact::{float, product};
use crate::kernel::{GemmKernel, GemmVariant};
use crate::problem::Groups;

/// A GEMM problem as features see it, with everything that depends on it alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GemmTerms {
    pub(super) m: i64,
    pub(super) n: i64,
    pub(super) k: i64,
    pub(super) split_k: i64,
    pub(super) element_bytes: f64,
    pub(super) layout_code: f64,
    pub(super) integers: bool,
    pub(super) arithmetic_intensity: f64,
    /// The problem's part of the vector-width features; `None` when the model has none of them.
    pub(in crate::features) vector: Option<VectorProblem>,
    /// GEMMs of a batch, at least 1.
    pub(super) batch: f64,
    /// A list of GEMMs; the extents are those of the largest.
    pub(super) groups: Groups,
}

impl GemmTerms {
    /// Adds the intensity, which follows from the others.
    pub(super) fn with_intensity(self) -> Self {
        let Self { m, n, k, element_bytes, groups, .. } = self;
        let flops = |[m, n, k]: [i64; 3]| 2.0 * m as f64 * n as f64 * k as f64;
        let elements = |[m, n, k]: [i64; 3]| {
            product([m.into(), k.into()])
                .saturating_add(product([k.into(), n.into()]))
                .saturating_add(product([m.into(), n.into()]))
        };
        // A batch moves and computes that many times as much.
        let (mut all_flops, mut all_elements) = (flops([m, n, k]), float(elements([m, n, k])));
        if !groups.is_empty() {
            (all_flops, all_elements) = groups.as_slice().iter().fold((0.0, 0.0), |(work, moved), group| {
                let (extents, count) = (group.extents.map(i64::from), f64::from(group.count));
                (work + flops(extents) * count, moved + float(elements(extents)) * count)
            });
        }
        let arithmetic_intensity = all_flops / (all_elements * element_bytes).max(1.0);
        Self { arithmetic_intensity, ..self }
    }
}

/// A GEMM kernel as features see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GemmKernelTerms {
    /// Tile m, n, k.
    pub tile: [i64; 3],
    /// Waves along m, n, k.
    pub wave: [i64; 3],
    /// Tile of one matrix instruction along m, n, k.
    pub warp_tile: [i64; 3],
    /// Number of the pipeline.
    pub pipeline_code: f64,
    /// The pipeline's word starts with `compv4`.
    pub half_lds: bool,
    /// Number of the scheduler.
    pub scheduler_code: f64,
    /// Number of the epilogue.
    pub epilogue_code: f64,
    /// Pads m, n, k.
    pub pad: [bool; 3],
    /// Workgroups stay resident.
    pub persistent: bool,
    /// The kernel's part of the vector-width features; `None` when the model has none of them.
    pub vector: Option<VectorWidths>,
    /// The fields that only a kernel's description has.
    pub build: GemmBuild,
}

/// The fields that set kernels of one tile apart, as numbers that need no code of a trainer: indices in the lists of
/// words.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GemmBuild {
    pub(super) pipeline: f64,
    pub(super) scheduler: f64,
    pub(super) epilogue: f64,
    pub(super) quant: f64,
    pub(super) block_per_cu: f64,
    pub(super) store_threads: f64,
    pub(super) load_threads: [f64; 2],
    pub(super) shuffle: [f64; 2],
    pub(super) store_width: f64,
    pub(super) flags: [bool; 3],
}

impl GemmBuild {
    /// The build of a kernel.
    pub fn new(kernel: &GemmKernel) -> Self {
        let GemmVariant { quant, block_per_cu, loaders, storers, shuffle, batched, row_scales, .. } =
            kernel.variant;
        Self {
            pipeline: f64::from(kernel.pipeline as u8),
            scheduler: f64::from(kernel.scheduler as u8),
            epilogue: f64::from(kernel.epilogue as u8),
            quant: quant.map_or(0.0, |quant| f64::from(quant.mode as u8 + 1)),
            block_per_cu: f64::from(block_per_cu),
            store_threads: f64::from(storers[1]),
            load_threads: loaders.map(f64::from),
            shuffle: shuffle.map(f64::from),
            store_width: f64::from(kernel.vector[2]),
            flags: [kernel.preshuffle, batched, row_scales],
        }
    }
}

impl GemmKernelTerms {
    pub(super) fn num_warps(&self) -> i128 {
        product(self.wave.map(i128::from))
    }
}
