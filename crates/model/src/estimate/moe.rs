//! Mixtures of experts: the formula of GEMMs, with rows that are tiled by expert.
//!
//! A launch has the tiles of all experts, so their number follows from the routing, not from the rows alone:
//! an expert without rows costs nothing, one with a single row a whole tile, and the weights of an expert that
//! has any are read. They are read once if the tiles of rows that share them run side by side; where an
//! expert has more tiles, and its weights are larger than the caches, they come from memory again. Of a routing
//! that is not known, the numbers are those that even routing has on average.

use ck_select_types::moe::MeanRouting;

use super::device::{Device, Library};
use super::formula::{KernelEstimate, OperationEstimate};
use super::load::{Experts, Load, bytes_of, together};
use super::shape::{Kernel, Shape, ShapeError};
use crate::kernel::{Mnk, MoeKernel};
use crate::problem::{Groups, MoeProblem};
use crate::vocab::{Dtype, GemmLibrary, MoeQuant, MoeStage, Pipeline};

impl OperationEstimate for MoeProblem {
    type Load = Load;
    const SURENESS: Option<&'static [u8]> = Some(include_bytes!("../sureness/estimate/moe.json"));

    fn load(&self) -> Load {
        let routing = MeanRouting::new(self);
        let [rows, n, k] = [routing.rows, self.n as f64, self.k as f64];
        let result_bytes = rows * n * bytes_of(Dtype::Bf16);
        // The experts of a token read the same row, until each has a row of its own for the second stage.
        let read = if self.stage == MoeStage::Two { rows } else { rows.min(self.tokens as f64) };
        let weight_bytes = n * k * bytes_of(self.dtype_b);
        let operand_bytes = read * k * bytes_of(self.dtype_a) + routing.active * weight_bytes;
        Load {
            extents: [rows, n, k],
            groups: 1.0,
            list: Groups::NONE,
            experts: Some(Experts { routing, weight_bytes }),
            // Narrower weights are scaled before they are multiplied.
            block_scales: self.quant == MoeQuant::Block && self.dtype_a == self.dtype_b,
            together: [together(self.k), together(self.k), together(self.n)],
            images: [false; 2],
            bytes: operand_bytes + result_bytes,
            result_bytes,
            results: rows * n,
            multiply_adds: rows * n * k,
            parts: 1.0,
        }
    }
}

impl KernelEstimate for MoeKernel {
    type Shape = Shape;

    fn shape(&self, device: &Device) -> Result<Shape, ShapeError> {
        let shape = Shape::new(&kernel(self), device, self.library(device))?;
        Ok(Shape { beside: f64::from(self.group_m), ..shape })
    }

    fn library(&self, _: &Device) -> Library {
        if self.library == GemmLibrary::Triton { Library::TritonExperts } else { Library::Aiter }
    }

    fn library_marks(&self) -> Option<(GemmLibrary, bool)> {
        Some((self.library, true))
    }
}

/// The numbers of a kernel. CK's kernels read shuffled weights, by instructions of 16 rows if waves are
/// beside each other.
fn kernel(kernel: &MoeKernel) -> Kernel {
    let is_triton = kernel.library == GemmLibrary::Triton;
    let rows = if kernel.nonkdim == 32 { 32 } else { 16 };
    let depth = 16 * 16 / kernel.dtype_a.bits().max(4);
    Kernel {
        types: [kernel.dtype_a, kernel.dtype_b, kernel.dtype_c],
        tile: kernel.tile,
        wave: Mnk::new(kernel.wave[0].into(), kernel.wave[1].into(), 1),
        warp_tile: Mnk::new(rows, rows, if rows == 32 { depth / 2 } else { depth }),
        vector: [0; 3],
        pipeline: if kernel.version == 1 { Pipeline::CompV1 } else { Pipeline::CompV3 },
        stages: is_triton.then_some(kernel.stages),
        second_buffer: false,
        two_stage: false,
        parts: f64::from(kernel.split_k),
        direct_b: !is_triton,
        direct_c: is_triton,
        sharing: 1.0,
        scaled_per_depth: 0.0,
        scales_steps: is_triton,
    }
}

#[cfg(test)]
mod tests {
    use ck_select_types::routing::Routing;

    use super::*;
    use crate::estimate::Estimator;
    use crate::kernel::Kernel as Named;

    fn time(problem: MoeProblem, name: &str) -> f64 {
        let estimator = Estimator::new(Device::for_arch("sm_90".parse().unwrap()).unwrap());
        let kernel = Named::from_name(name).unwrap();
        estimator.time(&estimator.load(&problem.into()), &estimator.shape(&kernel.kind).unwrap())
    }

    const NAME: &str = "triton_moe_bf16_64x128x64_group1_4warps_3stages";

    /// A problem whose experts have these numbers of rows.
    fn routed(rows: &[i64]) -> MoeProblem {
        let problem = MoeProblem::new(MoeStage::One, 256, [64, 4], [4096, 4096]);
        problem.with_histogram(&Routing::from_rows(rows.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn experts_cost_tiles_and_weights() {
        let even = routed(&[16; 64]);
        let four = routed(&[256; 4]);
        // Half of the experts have one row less, the others one more: no tile more.
        let uneven = routed(&[[15; 32], [17; 32]].concat());
        assert!((time(even, NAME) / time(uneven, NAME) - 1.0).abs() < 1e-12);
        assert!(time(even, NAME) > 2.0 * time(four, NAME));
        let unknown = MoeProblem { active: 0, largest: 0, tiles: [0; 5], ..even };
        assert!((time(even, NAME) / time(unknown, NAME) - 1.0).abs() < 0.1);
    }

    #[test]
    fn weights_are_read_again_unless_tiles_that_share_them_run_side_by_side() {
        let problem = MoeProblem::new(MoeStage::One, 4096, [8, 2], [28672, 8192]);
        let problem = problem.with_histogram(&Routing::from_rows([1024; 8]).unwrap()).unwrap();
        let beside = NAME.replace("group1", "group16");
        assert!(time(problem, &beside) < time(problem, NAME));
    }

    #[test]
    fn narrow_weights_take_less_time() {
        let problem = routed(&[16; 64]);
        let fp8 = MoeProblem { dtype_a: Dtype::Fp8, dtype_b: Dtype::Fp8, quant: MoeQuant::Token, ..problem };
        let int4 = MoeProblem { dtype_b: Dtype::PkInt4, ..problem };
        let [bf16, fp8, int4] = [
            time(problem, NAME),
            time(fp8, &NAME.replace("bf16", "fp8")),
            time(int4, &NAME.replace("bf16", "bf16_wpk_int4")),
        ];
        assert!(fp8 < 0.7 * bf16 && int4 < bf16, "{bf16} {fp8} {int4}");
    }

    /// On an H200, 128 results a thread took two to four times as long with scales of blocks as with one scale, and
    /// were chosen for a third of the problems.
    #[test]
    fn kernels_with_scales_of_blocks_have_results_twice() {
        let [one, blocks] =
            [(MoeQuant::Tensor, 0), (MoeQuant::Block, 128)].map(|(quant, extent)| MoeProblem {
                dtype_a: Dtype::Fp8,
                dtype_b: Dtype::Fp8,
                quant,
                block_n: extent,
                block_k: extent,
                ..routed(&[128; 8])
            });
        let growth = |tile: &str| {
            let name = format!("triton_moe_fp8_{tile}_group1_4warps_3stages");
            time(blocks, &name) / time(one, &name)
        };
        let [small, large] = ["64x64x128", "128x128x128"].map(growth);
        assert!(small < 1.1 && large > 2.0, "{small} {large}");
    }

    #[test]
    fn cks_kernels_have_an_estimate_on_their_gpus() {
        let name =
            "moe_ck2stages_gemm2_256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_B16_B16_B16";
        let estimator = Estimator::new(Device::for_arch("gfx942".parse().unwrap()).unwrap());
        let [small, large] = [32, 128].map(|rows| {
            let kernel = Named::from_name(&name.replace("256x32", &format!("256x{rows}"))).unwrap();
            let problem = MoeProblem::new(MoeStage::Two, 16, [64, 4], [4096, 1024]);
            estimator.time(&estimator.load(&problem.into()), &estimator.shape(&kernel.kind).unwrap())
        });
        assert!(small > 0.0 && small < large, "{small} {large}");
    }
}
