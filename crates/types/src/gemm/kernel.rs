//! Kernels of GEMMs: what they are, and which problems they compute.

use super::{GemmProblem, GemmRequest, GemmVariant, triton_name};
use crate::field::{self, InvalidField, fields};
use crate::shape::Mnk;
use crate::valid::{MAX_KERNEL_EXTENT, MAX_SMALL, element};
use crate::vocab::{
    Arch, Dtype, Elementwise, Epilogue, GemmLayout, GemmLibrary, Pipeline, QuantMode, Scheduler,
    StreamKReduction,
};

fields! {
    /// A GEMM kernel: every field that features or the CK dispatcher's keys use.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    GemmKernel by gemm_kernel {
        dtype_a: Dtype = Dtype::Fp8, min: 0, names: ["dtype_a" | "dtype"], "Element type of A.";
        dtype_b: Dtype = Dtype::Fp8, min: 0, names: ["dtype_b"], "Element type of B.";
        dtype_c: Dtype = Dtype::Fp16, min: 0, names: ["dtype_c"], "Element type of C.";
        dtype_acc: Dtype = Dtype::Fp32, min: 0, names: ["dtype_acc"], "Element type of the accumulators.";
        layout: GemmLayout = GemmLayout::RCR, min: 0, names: ["layout"], "Memory orders of A, B, C.";
        transpose_a: bool = false, min: 0, names: ["transpose_a"], "A is transposed on the fly.";
        transpose_b: bool = false, min: 0, names: ["transpose_b"], "B is transposed on the fly.";
        grouped: bool = false, min: 0, names: ["grouped"], "Computes many GEMMs in one launch.";
        split_k: u8 = 1, min: 1, names: ["split_k"], "Parts into which K is split, 1 for none.";
        elementwise: Elementwise = Elementwise::PassThrough, min: 0,
            names: ["elementwise" | "elementwise_op"],
            "What is done to each element of the result: `PassThrough`, `Relu`, `MultiDAdd` and so on.";
        num_d_tensors: u8 = 0, min: 0, names: ["num_d_tensors"],
            "Further tensors that the elementwise operation reads.";
        structured_sparsity: bool = false, min: 0, names: ["structured_sparsity"],
            "Uses 2:4 structured sparsity.";
        tile: Mnk = Mnk::new(128, 128, 64), min: 1, max: MAX_KERNEL_EXTENT,
            names: ["tile_m", "tile_n", "tile_k"],
            "Result tile and depth of one step, per workgroup: m, n, k.";
        wave: Mnk = Mnk::new(2, 2, 1), min: 1, max: MAX_SMALL,
            names: ["wave_m" | "warp_m", "wave_n" | "warp_n", "wave_k" | "warp_k"],
            "Waves of a workgroup along m, n, k (`warp_*` in upstream's names and features).";
        warp_tile: Mnk = Mnk::new(32, 32, 16), min: 1, max: MAX_SMALL,
            names: ["warp_tile_m", "warp_tile_n", "warp_tile_k"],
            "Tile of one matrix instruction: m, n, k.";
        pipeline: Pipeline = Pipeline::CompV3, min: 0, names: ["pipeline"],
            "How loads overlap with arithmetic: `compv3`, `mem` and so on.";
        scheduler: Scheduler = Scheduler::Intrawave, min: 0, names: ["scheduler"],
            "How waves are interleaved: `intrawave`, `interwave` or `auto`.";
        epilogue: Epilogue = Epilogue::CShuffle, min: 0, names: ["epilogue"],
            "How results leave the registers: `cshuffle`, `default` and so on.";
        block_size: u32 = 0, min: 0, max: MAX_KERNEL_EXTENT, names: ["block_size"],
            "Threads of a workgroup; 0 when not known.";
        double_buffer: bool = false, min: 0, names: ["double_buffer"], "Two buffers in shared memory.";
        persistent: bool = false, min: 0, names: ["persistent"],
            "Workgroups stay resident and loop over tiles.";
        preshuffle: bool = false, min: 0, names: ["preshuffle"],
            "B is stored in the order in which it is read.";
        transpose_c: bool = false, min: 0, names: ["transpose_c"], "C is written transposed.";
        num_wave_groups: u8 = 1, min: 1, names: ["num_wave_groups"],
            "Groups that the waves of a workgroup form.";
        pad: [bool; 3] = [true; 3], min: 0, names: ["pad_m", "pad_n", "pad_k"],
            "Handles m, n, k that the tile does not divide.";
        vector: [u32; 3] = [0; 3], min: 0, max: MAX_KERNEL_EXTENT,
            names: ["vector_a" | "vec_a", "vector_b" | "vec_b", "vector_c" | "vec_c"],
            "Fixed vector widths of A, B, C; 0 is the kernel's native width.";
    }
    nested { variant: GemmVariant, "What sets it apart from a plain GEMM kernel."; }
    beside { arch: Option<Arch> = None, "The architecture that it was built for, when known."; }
}

impl GemmKernel {
    /// The kernel, completed by what names leave out because it follows from the type of A and from the
    /// pipeline: the other types, and two buffers.
    #[must_use]
    pub fn completed(self) -> Self {
        let dtype = self.dtype_a;
        Self {
            dtype_b: dtype,
            dtype_c: dtype.result(),
            dtype_acc: dtype.accumulator(),
            double_buffer: self.pipeline.double_buffered(),
            ..self
        }
    }

    /// Whether the kernel's name stands for kernels of 8-bit integers as well: AITER's with one scale for each row
    /// and column, and B as it is.
    pub(crate) fn may_be_int8(&self) -> bool {
        self.variant.library == GemmLibrary::Aiter
            && (self.dtype_a, self.preshuffle) == (Dtype::Fp8, false)
            && self.variant.quant.is_some_and(|quant| quant.mode == QuantMode::RowCol)
    }

    /// Whether types and layout are the problem's. One of AITER's names stands for several kernels: with
    /// scales C may be of either 16-bit float, and with one scale for each row and column fp8 may be int8.
    pub fn matches_types(&self, problem: &GemmProblem) -> bool {
        let (a, b, c) = (problem.dtype_a, problem.dtype_b, problem.dtype_c);
        let is_scaled = self.variant.library == GemmLibrary::Aiter && self.variant.quant.is_some();
        let as_integers = (a, b) == (Dtype::Int8, Dtype::Int8) && self.may_be_int8();
        ((self.dtype_a, self.dtype_b) == (a, b) || as_integers)
            && (self.dtype_c == c || is_scaled && c == Dtype::Fp16)
            && self.layout == problem.layout
    }

    /// Whether a kernel of AITER's is CK's, whose names say which threads store the result, not CK Tile's.
    pub const fn is_classic(&self) -> bool {
        self.variant.storers[0] > 0
    }

    /// The request of the problems that the kernel computes; for a batch, of one GEMM.
    pub fn request(&self) -> GemmRequest {
        let GemmVariant { batched, stream_k, quant, .. } = self.variant;
        let GemmRequest { groups, group_a, group_b, .. } = GemmRequest::NONE;
        let plain = GemmRequest {
            batch: batched.into(),
            stream_k,
            num_d: self.num_d_tensors,
            preshuffle: self.preshuffle,
            quant: None,
            group_a,
            group_b,
            groups,
        };
        quant.map_or(plain, |quant| plain.scaled(quant))
    }

    /// The element type of its first input.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype_a
    }

    /// See [`KernelKind::tile`](crate::kernel::KernelKind::tile).
    pub(crate) fn tile(&self) -> Mnk {
        self.tile
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        field::validate_numbers(self)?;
        if self.variant.stream_k == Some(StreamKReduction::None) {
            return Err(InvalidField::new("stream_k", "none", "atomic, linear or tree"));
        }
        triton_name::validate(self)?;
        self.variant.quant.map_or(Ok(()), |quant| quant.validate())
    }
}
