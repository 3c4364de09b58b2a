//! Kernel descriptors and their names.

mod answers;
mod conv_name;
mod fmha;
mod gemm_body;
mod gemm_family;
mod gemm_name;
mod gemm_profile_name;
mod gemm_quant_name;
mod gemm_variant;
mod misfit;
mod name;
mod scan;
mod suffixes;
mod tiles;
mod valid;

pub use conv_name::ConvName;
pub use fmha::{FmhaKernel, FmhaTile, Unsupported};
pub use gemm_body::GemmBody;
pub use gemm_name::ParsedGemmName;
pub use gemm_variant::{GemmVariant, Quant};
pub use name::NameError;
pub(crate) use scan::{MAX_EXTENT, MAX_SMALL};
pub use tiles::ConvTile;

use crate::vocab::{
    Arch, ConvLayout, Direction, Dtype, Elementwise, Epilogue, GemmLayout, Op, Pipeline, Scheduler,
    Specialization, StreamKReduction,
};

/// Three extents along the m, n and k axes of the (implicit) GEMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mnk {
    /// Along the rows of the result.
    pub m: u32,
    /// Along the columns of the result.
    pub n: u32,
    /// Along the reduced axis.
    pub k: u32,
}

impl Mnk {
    /// Three extents.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k }
    }
}

impl std::fmt::Display for Mnk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// Reads three positive numbers joined by `x`, such as `64x128x32`.
impl std::str::FromStr for Mnk {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut scan = scan::Scan::whole(text)?;
        let mnk = scan.triple("a shape", MAX_EXTENT)?;
        scan.end("three numbers joined by 'x'").map(|()| mnk)
    }
}

/// A grouped-convolution kernel: every field that features or the CK dispatcher's keys use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConvKernel {
    /// Which of the three convolutions it computes.
    pub direction: Direction,
    /// Element types of input, weight and output.
    pub dtype_in: Dtype,
    /// Element type of the weight.
    pub dtype_wei: Dtype,
    /// Element type of the output.
    pub dtype_out: Dtype,
    /// Memory order of its tensors.
    pub layout: ConvLayout,
    /// Spatial dimensions, 1 to 3.
    pub ndim: u8,
    /// Result tile and depth of one step, per workgroup.
    pub tile: Mnk,
    /// Waves of a workgroup along each axis.
    pub wave: Mnk,
    /// Tile of one matrix instruction.
    pub warp_tile: Mnk,
    /// How loads overlap with arithmetic.
    pub pipeline: Pipeline,
    /// How waves are interleaved.
    pub scheduler: Scheduler,
    /// How results leave the registers.
    pub epilogue: Epilogue,
    /// Elements per memory access of A, B and C.
    pub vector: [u32; 3],
    /// Workgroups that should fit on one compute unit.
    pub block_per_cu: u32,
    /// Groups that the waves of a workgroup form.
    pub num_wave_groups: u32,
    /// Convolution groups that one workgroup handles together.
    pub num_groups_to_merge: u32,
    /// What it assumes about the problem.
    pub specialization: Specialization,
    /// Two buffers in shared memory (`dsb`).
    pub double_smem_buffer: bool,
    /// Splits images for large tensors (`si`).
    pub split_image: bool,
    /// Runs as a plain GEMM.
    pub explicit_gemm: bool,
    /// Converts in a second launch (backward weight).
    pub two_stage: bool,
    /// Stream-K decomposition; `None` when it is off.
    pub stream_k: Option<StreamK>,
    /// The architecture that it was built for, when known.
    pub arch: Option<Arch>,
}

/// Stream-K settings of a convolution kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamK {
    /// How partial results are added.
    pub reduction: StreamKReduction,
    /// Workgroups stay resident.
    pub persistent: bool,
}

/// A GEMM kernel: every field that features or the CK dispatcher's keys use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GemmKernel {
    /// Element type of A.
    pub dtype_a: Dtype,
    /// Element type of B.
    pub dtype_b: Dtype,
    /// Element type of C.
    pub dtype_c: Dtype,
    /// Element type of the accumulators.
    pub dtype_acc: Dtype,
    /// Memory orders of A, B, C.
    pub layout: GemmLayout,
    /// A is transposed on the fly.
    pub transpose_a: bool,
    /// B is transposed on the fly.
    pub transpose_b: bool,
    /// Computes many GEMMs in one launch.
    pub grouped: bool,
    /// Parts into which K is split, 1 for none.
    pub split_k: u8,
    /// What is done to each element of the result.
    pub elementwise: Elementwise,
    /// Further tensors that the elementwise operation reads.
    pub num_d_tensors: u8,
    /// Uses 2:4 structured sparsity.
    pub structured_sparsity: bool,
    /// Result tile and depth of one step, per workgroup.
    pub tile: Mnk,
    /// Waves of a workgroup along each axis (`warp_*` in upstream's names and features).
    pub wave: Mnk,
    /// Tile of one matrix instruction.
    pub warp_tile: Mnk,
    /// How loads overlap with arithmetic.
    pub pipeline: Pipeline,
    /// How waves are interleaved.
    pub scheduler: Scheduler,
    /// How results leave the registers.
    pub epilogue: Epilogue,
    /// Threads of a workgroup; 0 when not known.
    pub block_size: u32,
    /// Two buffers in shared memory.
    pub double_buffer: bool,
    /// Workgroups stay resident and loop over tiles.
    pub persistent: bool,
    /// B is stored in the order in which it is read.
    pub preshuffle: bool,
    /// C is written transposed.
    pub transpose_c: bool,
    /// Groups that the waves of a workgroup form.
    pub num_wave_groups: u8,
    /// Handles m, n, k that the tile does not divide.
    pub pad: [bool; 3],
    /// Fixed vector widths of A, B, C; 0 is the kernel's native width.
    pub vector: [u32; 3],
    /// What sets it apart from a plain GEMM kernel.
    pub variant: GemmVariant,
    /// The architecture that it was built for, when known.
    pub arch: Option<Arch>,
}

/// What a kernel is, apart from its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // pools are homogeneous, so nothing is gained by a box
pub enum KernelKind {
    /// A grouped convolution.
    Conv(ConvKernel),
    /// A GEMM.
    Gemm(GemmKernel),
    /// Attention.
    Fmha(FmhaKernel),
}

impl KernelKind {
    /// The operation that it computes.
    pub const fn op(&self) -> Op {
        match self {
            Self::Conv(_) => Op::GroupedConv,
            Self::Gemm(_) => Op::Gemm,
            Self::Fmha(_) => Op::Fmha,
        }
    }

    /// The element type of its first input.
    pub const fn dtype(&self) -> Dtype {
        match self {
            Self::Conv(kernel) => kernel.dtype_in,
            Self::Gemm(kernel) => kernel.dtype_a,
            Self::Fmha(kernel) => kernel.dtype,
        }
    }
}

/// A kernel with the name under which it is registered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The name, as its registry or file spells it.
    pub name: String,
    /// What it is.
    pub kind: KernelKind,
}
