//! Kernels of grouped convolutions: what they are, and which problems they compute.

use super::{ConvProblem, ConvTile};
use crate::field::InvalidField;
use crate::shape::Mnk;
use crate::suffixes::Suffixes;
use crate::valid::{MAX_EXTENT, MAX_SMALL, element, shape, widths, within};
use crate::vocab::{
    Arch, ConvLayout, Direction, Dtype, Epilogue, Pipeline, Scheduler, Specialization, StreamKReduction,
};

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

impl ConvKernel {
    /// Whether it computes what the problem asks for, apart from types and layout.
    pub fn answers(&self, problem: &ConvProblem) -> bool {
        self.direction == problem.direction && self.ndim == problem.ndim && self.is_made_for(problem)
    }

    /// Whether types and layout are the problem's. Layouts that differ only in the number of dimensions
    /// (`nhwgc`, `ndhwgc`) count as equal: CK's tools use either for 3D.
    pub fn has_types_of(&self, problem: &ConvProblem) -> bool {
        self.dtype_in == problem.dtype_in
            && self.dtype_wei == problem.dtype_wei
            && self.dtype_out == problem.dtype_out
            && self.layout.order() == problem.layout.order()
    }

    /// Its types and layout, as messages show them beside a problem's.
    pub(crate) fn types(&self) -> String {
        format!("{} {} {} {}", self.dtype_in, self.dtype_wei, self.dtype_out, self.layout)
    }

    /// See [`KernelKind`](crate::kernel::KernelKind).
    pub(crate) const fn needs_scaled_instructions(&self) -> bool {
        self.warp_tile.k >= 128 && self.dtype_in.bits() <= 8
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_in", self.dtype_in)?;
        element("dtype_wei", self.dtype_wei)?;
        element("dtype_out", self.dtype_out)?;
        within("ndim", u32::from(self.ndim), 1, 3)?;
        shape("tile", self.tile, MAX_EXTENT)?;
        shape("wave", self.wave, MAX_SMALL)?;
        shape("warp_tile", self.warp_tile, MAX_SMALL)?;
        widths(self.vector, 1)?;
        within("block_per_cu", self.block_per_cu, 1, MAX_EXTENT)?;
        within("num_wave_groups", self.num_wave_groups, 1, MAX_EXTENT)?;
        within("num_groups_to_merge", self.num_groups_to_merge, 1, MAX_EXTENT)
    }

    /// What its longest name has besides types, shapes and pipeline.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        let mut found = Suffixes::default();
        found.word(self.scheduler != Scheduler::Intrawave, self.scheduler);
        found.word(self.epilogue != Epilogue::CShuffle, self.epilogue);
        let [a, b, c] = self.vector;
        found.word(self.vector != ConvTile::of(self.tile).vector, format_args!("vec{a}_{b}_{c}"));
        for (prefix, count) in
            [("bpc", self.block_per_cu), ("wg", self.num_wave_groups), ("gm", self.num_groups_to_merge)]
        {
            found.word(count != 1, format_args!("{prefix}{count}"));
        }
        found.word(self.double_smem_buffer, "dsb");
        found.word(self.split_image, "si");
        found.word(self.two_stage, "2stage");
        found.word(self.specialization != Specialization::Default, self.specialization);
        found.word(self.explicit_gemm, "explicit_gemm");
        if let Some(StreamK { reduction, persistent }) = self.stream_k {
            found.word(true, format_args!("streamk_{reduction}"));
            found.word(persistent, "persistent");
        }
        found.0
    }

    /// Why it does not compute the problem, types and layout aside.
    pub(crate) fn misfit(&self, problem: &ConvProblem) -> Option<String> {
        if self.direction != problem.direction {
            return Some(format!("its direction is {}", self.direction));
        }
        if self.ndim != problem.ndim {
            return Some(format!("it is for {} dimensions", self.ndim));
        }
        if self.is_made_for(problem) {
            return None;
        }
        let groups = self.num_groups_to_merge;
        Some(match self.specialization {
            Specialization::Filter3x3 if !is_3x3(problem) => {
                "it is made for filters of 3x3 and groups of one channel".to_owned()
            }
            Specialization::Filter1x1Pad0 if !is_1x1(problem, false) => {
                "it is made for filters of 1x1 without padding".to_owned()
            }
            Specialization::Filter1x1Stride1Pad0 if !is_1x1(problem, true) => {
                "it is made for filters of 1x1 and strides of 1 without padding".to_owned()
            }
            _ if self.direction == Direction::Forward => {
                format!(
                    "it merges {groups} groups, of which the problem has no multiple, or not of one channel"
                )
            }
            _ => format!("it merges {groups} groups, of which the problem has no multiple"),
        })
    }

    /// Whether its specialization and its merged groups admit the problem, as the kernels of CK check at launch.
    /// What a name leaves out admits everything. The widths of memory accesses are not judged: short names do
    /// not tell them, and which extent they divide depends on the layout.
    #[inline]
    pub fn is_made_for(&self, problem: &ConvProblem) -> bool {
        // Nearly all kernels are made for everything.
        (self.specialization == Specialization::Default && self.num_groups_to_merge <= 1)
            || self.admits(problem)
    }

    fn admits(&self, problem: &ConvProblem) -> bool {
        let merges = self.num_groups_to_merge > 1;
        let fits = match self.specialization {
            Specialization::Default => true,
            Specialization::Filter3x3 => is_3x3(problem),
            Specialization::Filter1x1Pad0 => is_1x1(problem, false),
            Specialization::Filter1x1Stride1Pad0 => is_1x1(problem, true),
        };
        // Forward kernels read along groups of one channel.
        let one_channel = self.direction != Direction::Forward || problem.c == problem.g;
        fits && (!merges || one_channel && problem.g % i64::from(self.num_groups_to_merge) == 0)
    }
}

fn is_1x1(problem: &ConvProblem, of_stride_1: bool) -> bool {
    let is_one = |extents: [i64; 3]| extents == [1; 3];
    is_one(problem.filter)
        && (!of_stride_1 || is_one(problem.stride))
        && problem.pad_left == [0; 3]
        && problem.pad_right == [0; 3]
}

/// Of groups with one channel: such kernels are for depthwise convolutions.
fn is_3x3(problem: &ConvProblem) -> bool {
    let axes = 3 - usize::from(problem.ndim.clamp(1, 3));
    problem.filter[axes..].iter().all(|&extent| extent == 3) && problem.c == problem.g
}
