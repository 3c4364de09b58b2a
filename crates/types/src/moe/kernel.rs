//! Kernels of mixtures of experts: one of Triton's configurations, or one of CK's two-stage kernels.

use super::{MoeProblem, name};
use crate::field::{self, InvalidField, fields};
use crate::limits::{Judged, LimitedKernel, ProductLimits, Refusal};
use crate::shape::Mnk;
use crate::valid::{MAX_KERNEL_EXTENT, MAX_SMALL, element};
use crate::vocab::{Arch, Dtype, GemmLibrary, MoeActivation, MoeEpilogue, MoeQuant, MoeStage};

fields! {
    /// A kernel that multiplies the rows of each expert with its weights: what its name says.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    MoeKernel by moe_kernel {
        stage: Option<MoeStage> = None, min: 0, names: ["stage"],
            "The product that it computes; absent for one of Triton's kernels, which computes either.";
        dtype_a: Dtype = Dtype::Bf16, min: 0, names: ["dtype_a" | "dtype"], "Element type of rows.";
        dtype_b: Dtype = Dtype::Bf16, min: 0, names: ["dtype_b"], "Element type of weights.";
        tile: Mnk = Mnk::new(64, 64, 32), min: 1, max: MAX_KERNEL_EXTENT,
            names: ["tile_m", "tile_n", "tile_k"],
            "Result tile of a workgroup, whose rows are of one expert, and depth of one step.";
        wave: [u8; 2] = [4, 1], min: 1, max: MAX_SMALL, names: ["wave_m" | "num_warps", "wave_n"],
            "Waves of a workgroup along rows and columns; of Triton's kernels, all along rows.";
        group_m: u16 = 1, min: 1, names: ["group_m"],
            "Rows of tiles that one of Triton's kernels computes side by side, for the same columns.";
        stages: u8 = 0, min: 0, names: ["stages" | "num_stages"],
            "Steps of one of Triton's kernels that are loaded ahead.";
        waves_per_eu: u8 = 0, min: 0, max: 16, names: ["waves_per_eu"],
            "Waves for which one of Triton's kernels is compiled to share a SIMD of an AMD GPU; 0 for any.";
        nonkdim: u8 = 0, min: 0, max: 64, names: ["nonkdim" | "matrix_instr_nonkdim"],
            "Rows and columns of an instruction of one of Triton's kernels on an AMD GPU; 0 for any.";
        kpack: u8 = 0, min: 0, max: 16, names: ["kpack"],
            "Depth of a fragment that one of Triton's kernels reads at once on an AMD GPU, in instructions; 0 for 1.";
        split_k: u8 = 1, min: 1, names: ["split_k"],
            "Parts into which one of Triton's kernels splits the depth.";
        tma: bool = false, min: 0, names: ["tma"], "Loads by tensor descriptors: one of Triton's kernels.";
        version: u8 = 0, min: 0, max: 9, names: ["version"],
            "Version of the pipeline of one of CK's kernels.";
        epilogue: Option<MoeEpilogue> = None, min: 0, names: ["epilogue"],
            "What one of CK's kernels does to its results.";
        nswizzle: bool = false, min: 0, names: ["nswizzle"], "One of CK's kernels swizzles along columns.";
        quant: Option<MoeQuant> = None, min: 0, names: ["quant"],
            "What shares a scale in one of CK's kernels; Triton's read scales as they are launched.";
        weighted: bool = false, min: 0, names: ["weighted"],
            "One of CK's kernels multiplies by the routing's weights.";
        activation: Option<MoeActivation> = None, min: 0, names: ["activation"],
            "The function that stage 1 of CK's kernels ends with.";
        dtype_c: Dtype = Dtype::Bf16, min: 0, names: ["dtype_c"],
            "Element type of results of one of CK's kernels.";
    }
    nested {}
    beside {
        library: GemmLibrary = GemmLibrary::Triton, "Who builds it: `triton`, or `aiter` for CK's two-stage kernels.";
        arch: Option<Arch> = None, "The architecture that it was built for, when known.";
    }
}

/// The first thing in which a kernel differs from a problem, with the kernel's own value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoeMismatch {
    /// The problem is both products of a layer.
    #[error("it computes one stage: choose for stage=1, and for stage=2 with n={n} and k={k}")]
    BothStages {
        /// Columns of the second product.
        n: i64,
        /// Depth of the second product.
        k: i64,
    },
    /// The kernel computes this product.
    #[error("it computes stage {0}")]
    Stage(MoeStage),
    /// The kernel's step has this depth.
    #[error("its step of {0} goes beyond block_k, whose elements share a scale")]
    Step(u32),
    /// The kernel's operands have these scales.
    #[error("its operands have other scales (quant={0})")]
    Quant(MoeQuant),
    /// The kernel multiplies by the routing's weights, or does not.
    #[error("it {} by the routing's weights (weighted_first)", if *.0 { "multiplies" } else { "does not multiply" })]
    Weighted(bool),
    /// The kernel ends with this function.
    #[error("it ends with another function (activation={0})")]
    Activation(MoeActivation),
}

impl LimitedKernel for MoeKernel {
    type Problem = MoeProblem;

    fn judged(&self) -> Judged {
        if self.library == GemmLibrary::Triton { Judged::Never } else { Judged::ByFields }
    }

    /// The refusal of extents by one of CK's kernels: they pad neither columns nor depth, and stage 1 has columns of
    /// gate and up weights side by side. Triton's mask what their tiles do not divide.
    fn refusal(&self, _: Option<&ProductLimits>, problem: &MoeProblem) -> Option<Refusal> {
        if self.library == GemmLibrary::Triton {
            return None;
        }
        let columns = if problem.stage == MoeStage::Two { problem.n } else { problem.n / 2 };
        let is_cut = |extent: i64, tile: u32| extent % i64::from(tile.max(1)) != 0;
        let cuts = [(columns, self.tile.n, Refusal::TilesOfN), (problem.k, self.tile.k, Refusal::StepsOfK)];
        cuts.into_iter().find(|&(extent, tile, _)| is_cut(extent, tile)).map(|(.., refusal)| refusal)
    }

    fn needs_scaled_instructions(&self) -> bool {
        self.quant == Some(MoeQuant::Mx)
    }
}

impl MoeKernel {
    /// Whether the kernel computes what the problem asks for: [`MoeKernel::mismatch`] has nothing to say.
    #[inline]
    pub fn matches_request(&self, problem: &MoeProblem) -> bool {
        self.mismatch(problem).is_none()
    }

    /// The first difference between the kernel and what a problem asks for, apart from types. One of Triton's
    /// configurations serves either stage; a step of it may not go beyond the elements that share a scale.
    pub fn mismatch(&self, problem: &MoeProblem) -> Option<MoeMismatch> {
        if problem.stage == MoeStage::Both {
            let MoeProblem { n, k, .. } = problem.second();
            return Some(MoeMismatch::BothStages { n, k });
        }
        if let Some(own) = self.stage
            && own != problem.stage
        {
            return Some(MoeMismatch::Stage(own));
        }
        if self.library == GemmLibrary::Triton {
            let step = self.tile.k;
            let is_whole = u32::from(problem.block_k) % step == 0;
            return (problem.quant == MoeQuant::Block && !is_whole).then_some(MoeMismatch::Step(step));
        }
        if let Some(own) = self.quant
            && own != problem.quant
        {
            return Some(MoeMismatch::Quant(own));
        }
        if self.weighted != (problem.weighted_first == (problem.stage == MoeStage::One)) {
            return Some(MoeMismatch::Weighted(self.weighted));
        }
        self.activation.filter(|own| *own != problem.activation).map(MoeMismatch::Activation)
    }

    /// Whether the kernel's types are the problem's.
    pub fn matches_types(&self, problem: &MoeProblem) -> bool {
        (self.dtype_a, self.dtype_b) == (problem.dtype_a, problem.dtype_b)
    }

    /// The element type of its first input.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype_a
    }

    /// See [`KernelKind::tile`](crate::kernel::KernelKind::tile).
    pub(crate) const fn tile(&self) -> Mnk {
        self.tile
    }

    /// Waves of a workgroup.
    pub fn waves(&self) -> u32 {
        u32::from(self.wave[0]) * u32::from(self.wave[1])
    }

    /// Checks the numbers, and that a kernel has nothing that only another library's have.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        field::validate_numbers(self)?;
        name::validate(self)
    }

    /// The kernel's traits besides types, shapes and pipeline, as words.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        name::words(self)
    }
}
