//! Kernels of grouped convolutions: what they are, and which problems they compute.

use super::ConvProblem;
use crate::field::{self, InvalidField, Kind, Value, fields};
use crate::shape::Mnk;
use crate::valid::{MAX_KERNEL_EXTENT, MAX_SMALL, element};
use crate::vocab::{
    Arch, ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler, Specialization, StreamKReduction,
};

fields! {
    /// A grouped-convolution kernel: every field that features or the CK dispatcher's keys use.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    ConvKernel by conv_kernel {
        direction: Direction = Direction::Forward, min: 0, names: ["direction" | "variant"],
            "Which of the three convolutions it computes.";
        ndim: u8 = 2, min: 1, max: 3, names: ["ndim" | "ndim_spatial"], "Spatial dimensions, 1 to 3.";
        dtype_in: Dtype = Dtype::Bf16, min: 0, names: ["dtype_in" | "dtype"], "Element type of the input.";
        dtype_wei: Dtype = Dtype::Bf16, min: 0, names: ["dtype_wei"], "Element type of the weight.";
        dtype_out: Dtype = Dtype::Bf16, min: 0, names: ["dtype_out"], "Element type of the output.";
        layout: ConvLayout = ConvLayout::Nhwgc, min: 0, names: ["layout"], "Memory order of its tensors.";
        tile: Mnk = Mnk::new(1, 128, 128), min: 1, max: MAX_KERNEL_EXTENT,
            names: ["tile_m", "tile_n", "tile_k"],
            "Result tile and depth of one step, per workgroup: m, n, k.";
        wave: Mnk = Mnk::new(2, 2, 1), min: 1, max: MAX_SMALL, names: ["wave_m", "wave_n", "wave_k"],
            "Waves of a workgroup along m, n, k.";
        warp_tile: Mnk = Mnk::new(32, 32, 16), min: 1, max: MAX_SMALL,
            names: ["warp_tile_m", "warp_tile_n", "warp_tile_k"],
            "Tile of one matrix instruction (`warp_*` in CK's keys): m, n, k.";
        pipeline: Pipeline = Pipeline::CompV3, min: 0, names: ["pipeline"],
            "How loads overlap with arithmetic: `compv3`, `mem` and so on.";
        scheduler: Scheduler = Scheduler::Intrawave, min: 0, names: ["scheduler" | "wave_mode"],
            "How waves are interleaved: `intrawave`, `interwave` or `auto`.";
        epilogue: Epilogue = Epilogue::CShuffle, min: 0, names: ["epilogue"],
            "How results leave the registers: `cshuffle`, `default` and so on.";
        vector: [u32; 3] = [4, 8, 8], min: 1, max: MAX_KERNEL_EXTENT,
            names: ["vector_a" | "vector_size_a", "vector_b" | "vector_size_b", "vector_c" | "vector_size_c"],
            "Elements per memory access of A, B and C.";
        block_per_cu: u32 = 1, min: 1, max: MAX_KERNEL_EXTENT, names: ["block_per_cu"],
            "Workgroups that should fit on one compute unit.";
        num_wave_groups: u32 = 1, min: 1, max: MAX_KERNEL_EXTENT, names: ["num_wave_groups"],
            "Groups that the waves of a workgroup form.";
        num_groups_to_merge: u32 = 1, min: 1, max: MAX_KERNEL_EXTENT, names: ["num_groups_to_merge"],
            "Convolution groups that one workgroup handles together.";
        specialization: Specialization = Specialization::Default, min: 0, names: ["specialization"],
            "What it assumes about problems: `default`, `filter1x1_stride1_pad0` and so on.";
        double_smem_buffer: bool = false, min: 0, names: ["double_smem_buffer" | "has_dsb"],
            "Two buffers in shared memory (`dsb`).";
        split_image: bool = false, min: 0, names: ["split_image" | "has_si"],
            "Splits images for large tensors (`si`, CK's `large_tensor`).";
        explicit_gemm: bool = false, min: 0, names: ["explicit_gemm"], "Runs as a plain GEMM.";
        two_stage: bool = false, min: 0, names: ["two_stage"],
            "Converts in a second launch (backward weight, `2stage`).";
        stream_k: Option<StreamK> = None, min: 0, names: ["stream_k", "stream_k_persistent"],
            "Stream-K decomposition, if it is a stream-K kernel.";
    }
    nested {}
    beside { arch: Option<Arch> = None, "The architecture that it was built for, when known."; }
}

/// Stream-K settings of a convolution kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamK {
    /// How partial results are added.
    pub reduction: StreamKReduction,
    /// Workgroups stay resident.
    pub persistent: bool,
}

impl Value for Option<StreamK> {
    const PARTS: usize = 2;
    const KINDS: &'static [Kind] = &[StreamKReduction::KINDS[0], Kind::Flag];
    const BITS: usize = StreamKReduction::BITS;

    fn write(self, parts: &mut [i64]) {
        self.map(|stream_k| stream_k.reduction).write(parts);
        self.is_some_and(|stream_k| stream_k.persistent).write(&mut parts[1..]);
    }

    fn read(parts: &[i64]) -> Self {
        let reduction: Option<StreamKReduction> = Value::read(parts);
        reduction.map(|reduction| StreamK { reduction, persistent: parts[1] != 0 })
    }
}

/// The first thing in which a kernel differs from a problem, with the kernel's own value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConvMismatch {
    /// The kernel has another direction.
    #[error("its direction is {0}")]
    Direction(Direction),
    /// The kernel has another number of spatial dimensions.
    #[error("it is for {0} dimensions")]
    Dimensions(u8),
    /// The kernel is made for special filters.
    #[error("it is made for {}", filters(*.0))]
    Specialization(Specialization),
    /// The kernel merges groups.
    #[error("it is made for multiples of {multiple} groups{}", if *.is_forward { " of one channel" } else { "" })]
    Groups {
        /// The number of groups.
        multiple: u32,
        /// Forward kernels read along groups of one channel.
        is_forward: bool,
    },
}

/// The filters that a specialization is for.
const fn filters(specialization: Specialization) -> &'static str {
    match specialization {
        Specialization::Filter3x3 => "filters of 3x3 and groups of one channel",
        Specialization::Filter1x1Stride1Pad0 => "filters of 1x1 and strides of 1 without padding",
        Specialization::Filter1x1Pad0 | Specialization::Default => "filters of 1x1 without padding",
    }
}

impl ConvKernel {
    /// Whether the kernel computes what the problem asks for, apart from types and layout.
    #[inline]
    pub fn matches_request(&self, problem: &ConvProblem) -> bool {
        self.mismatch(problem).is_none()
    }

    /// The first difference between the kernel and what a problem asks for, types and layout aside.
    #[inline]
    pub fn mismatch(&self, problem: &ConvProblem) -> Option<ConvMismatch> {
        if self.direction != problem.direction {
            return Some(ConvMismatch::Direction(self.direction));
        }
        if self.ndim != problem.ndim {
            return Some(ConvMismatch::Dimensions(self.ndim));
        }
        if self.matches_specialization(problem) {
            return None;
        }
        Some(if self.is_specialized_for(problem) {
            let is_forward = self.direction == Direction::Forward;
            ConvMismatch::Groups { multiple: self.num_groups_to_merge, is_forward }
        } else {
            ConvMismatch::Specialization(self.specialization)
        })
    }

    /// Whether types and layout are the problem's. Layouts that differ only in the number of dimensions
    /// (`nhwgc`, `ndhwgc`) count as equal: CK's tools use either for 3D.
    pub fn matches_types(&self, problem: &ConvProblem) -> bool {
        self.dtype_in == problem.dtype_in
            && self.dtype_wei == problem.dtype_wei
            && self.dtype_out == problem.dtype_out
            && self.layout.order() == problem.layout.order()
    }

    /// The element type of its first input.
    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype_in
    }

    /// See [`KernelKind::tile`](crate::kernel::KernelKind::tile).
    pub(crate) fn tile(&self) -> Mnk {
        self.tile
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_in", self.dtype_in)?;
        element("dtype_wei", self.dtype_wei)?;
        element("dtype_out", self.dtype_out)?;
        field::validate_numbers(self)
    }

    /// Whether the kernel's specialization and merged groups admit the problem, as the kernels of CK check at launch.
    /// What a name leaves out admits everything. The widths of memory accesses are not judged: short names do not
    /// tell them, and which extent they divide depends on the layout.
    #[inline]
    pub fn matches_specialization(&self, problem: &ConvProblem) -> bool {
        // Nearly all kernels are made for everything.
        (self.specialization == Specialization::Default && self.num_groups_to_merge <= 1)
            || self.is_specialized_for(problem) && self.merges_groups_of(problem)
    }

    fn is_specialized_for(&self, problem: &ConvProblem) -> bool {
        match self.specialization {
            Specialization::Default => true,
            Specialization::Filter3x3 => is_3x3(problem),
            Specialization::Filter1x1Pad0 => is_1x1(problem, false),
            Specialization::Filter1x1Stride1Pad0 => is_1x1(problem, true),
        }
    }

    fn merges_groups_of(&self, problem: &ConvProblem) -> bool {
        // Forward kernels read along groups of one channel.
        let one_channel = self.direction != Direction::Forward || problem.c == problem.g;
        let count = i64::from(self.num_groups_to_merge);
        count <= 1 || one_channel && problem.g % count == 0
    }
}

fn is_1x1(problem: &ConvProblem, of_stride_1: bool) -> bool {
    let is_one = |extents: [i64; 3]| extents == [1; 3];
    is_one(problem.filter)
        && (!of_stride_1 || is_one(problem.stride))
        && problem.pad_left == [0; 3]
        && problem.pad_right == [0; 3]
}

/// Whether a problem has a 3x3 filter and groups with one channel: kernels for this filter are for depthwise
/// convolutions.
fn is_3x3(problem: &ConvProblem) -> bool {
    let axes = 3 - usize::from(problem.ndim.clamp(1, 3));
    problem.filter[axes..].iter().all(|&extent| extent == 3) && problem.c == problem.g
}
