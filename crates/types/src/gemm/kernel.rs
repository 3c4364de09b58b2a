//! Kernels of GEMMs: what they are, and which problems they compute.

use super::{GemmProblem, GemmRequest, GemmVariant};
use crate::field::InvalidField;
use crate::shape::Mnk;
use crate::suffixes::Suffixes;
use crate::valid::{MAX_EXTENT, MAX_SMALL, element, shape, widths, within};
use crate::vocab::{
    Arch, Dtype, Elementwise, Epilogue, GemmLayout, Pipeline, QuantMode, Scheduler, StreamKReduction,
};

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

impl GemmKernel {
    /// Whether it is of the variant that a problem asks for. Batches, lists, Stream-K and scales must match
    /// the problem, because they are launch arguments; D tensors and a shuffled B must match only if the
    /// problem asks for them.
    pub fn answers(&self, problem: &GemmProblem) -> bool {
        let GemmRequest { batch, groups, stream_k, num_d, preshuffle, .. } = &problem.request;
        self.variant.batched == (*batch > 0)
            && self.grouped != groups.is_empty()
            && self.variant.stream_k == *stream_k
            && self.variant.quant == problem.request.scales()
            && (*num_d == 0 || self.num_d_tensors == *num_d)
            && (!*preshuffle || self.preshuffle)
    }

    /// Whether types and layout are the problem's.
    pub fn has_types_of(&self, problem: &GemmProblem) -> bool {
        self.dtype_a == problem.dtype_a
            && self.dtype_b == problem.dtype_b
            && self.dtype_c == problem.dtype_c
            && self.layout == problem.layout
    }

    /// Its types and layout, as messages show them beside a problem's.
    pub(crate) fn types(&self) -> String {
        format!("{} {} {} {}", self.dtype_a, self.dtype_b, self.dtype_c, self.layout)
    }

    /// See [`KernelKind`](crate::kernel::KernelKind).
    pub(crate) fn needs_scaled_instructions(&self) -> bool {
        self.variant.quant.is_some_and(|quant| quant.mode == QuantMode::Mx)
            || self.pipeline == Pipeline::Microscale
            || self.warp_tile.k >= 128 && self.dtype_a.bits() <= 8
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        shape("tile", self.tile, MAX_EXTENT)?;
        shape("wave", self.wave, MAX_SMALL)?;
        shape("warp_tile", self.warp_tile, MAX_SMALL)?;
        widths(self.vector, 0)?;
        within("split_k", u32::from(self.split_k), 1, MAX_SMALL)?;
        within("num_wave_groups", u32::from(self.num_wave_groups), 1, MAX_SMALL)?;
        within("block_size", self.block_size, 0, MAX_EXTENT)?;
        within("block_per_cu", u32::from(self.variant.block_per_cu), 1, MAX_SMALL)?;
        if self.variant.stream_k == Some(StreamKReduction::None) {
            return Err(InvalidField::new("stream_k", "none", "atomic, linear or tree"));
        }
        self.variant.quant.map_or(Ok(()), |quant| quant.validate())
    }

    /// What its longest name has besides types, shapes and pipeline.
    pub(crate) fn suffixes(&self) -> Vec<String> {
        let mut found = Suffixes::default();
        found.word(self.variant.triton, "triton");
        found.word(self.scheduler != Scheduler::Intrawave, self.scheduler);
        found.word(self.epilogue != Epilogue::CShuffle, self.epilogue);
        for (axis, pad) in ["m", "n", "k"].iter().zip(self.pad) {
            found.word(pad, format_args!("pad_{axis}"));
        }
        found.word(self.persistent, "persistent");
        let [a, b, c] = self.vector;
        found.word(self.vector != [0; 3], format_args!("vec{a}_{b}_{c}"));
        found.word(self.split_k > 1, format_args!("splitk{}", self.split_k));
        found.word(self.elementwise != Elementwise::PassThrough, self.elementwise);
        found.word(self.num_d_tensors > 0, format_args!("d{}", self.num_d_tensors));
        found.word(self.structured_sparsity, "sparse");
        found.word(self.preshuffle, "preshuffle");
        let GemmVariant { batched, stream_k, quant, shuffled_scales: [scales_a, scales_b], .. } =
            self.variant;
        if let Some(reduction) = stream_k {
            found.word(true, format_args!("streamk_{reduction}"));
        }
        found.word(batched, "batched");
        found.word(self.grouped, "grouped");
        if let Some(quant) = quant {
            found.word(true, quant.mode);
            for (side, group) in [("qa", quant.group_a), ("qb", quant.group_b)] {
                if let Some(group) = group {
                    found.word(true, format_args!("{side}{group}"));
                }
            }
        }
        found.word(scales_a, "preshuffleaq");
        found.word(scales_b, "preshufflebq");
        found.0
    }

    /// What the problem would have to ask for, for the first thing in which they differ.
    pub(crate) fn misfit(&self, problem: &GemmProblem) -> Option<String> {
        if self.answers(problem) {
            return None;
        }
        let GemmRequest { batch, groups, stream_k, num_d, .. } = &problem.request;
        if self.variant.batched != (*batch > 0) {
            let own = if self.variant.batched { "a batch" } else { "no batch" };
            return Some(format!("it is for {own} (batch)"));
        }
        if self.grouped == groups.is_empty() {
            let own = if self.grouped { "a list" } else { "no list" };
            return Some(format!("it is for {own} of GEMMs (groups)"));
        }
        if self.variant.stream_k != *stream_k {
            return Some(match self.variant.stream_k {
                Some(own) => format!("it is a Stream-K kernel (stream_k={own})"),
                None => "it is not a Stream-K kernel (stream_k)".to_owned(),
            });
        }
        if self.variant.quant != problem.request.scales() {
            return Some(match self.variant.quant {
                Some(own) => format!("its operands have other scales (quant={})", own.mode),
                None => "its operands have no scales (quant)".to_owned(),
            });
        }
        if *num_d > 0 && self.num_d_tensors != *num_d {
            return Some(format!("it reads {} D tensors (num_d)", self.num_d_tensors));
        }
        Some("it reads B as it is (preshuffle)".to_owned())
    }
}
