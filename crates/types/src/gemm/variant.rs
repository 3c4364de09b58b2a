//! What sets a GEMM kernel apart from a plain one: many GEMMs in one launch, Stream-K, further operands,
//! scales.

use crate::field::{InvalidField, Kind, Value, fields};
use crate::shape::Mnk;
use crate::valid::{MAX_KERNEL_EXTENT, shape};
use crate::vocab::{GemmLibrary, Major, QuantMode, StreamKReduction};

fields! {
    /// Fields that set a GEMM kernel apart from a plain one, besides those of [`super::GemmKernel`] itself.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    GemmVariant by gemm_variant {
        batched: bool = false, min: 0, names: ["batched"],
            "Computes a batch: GEMMs of equal extents at equal distances in memory.";
        stream_k: Option<StreamKReduction> = None, min: 0, names: ["stream_k"],
            "How workgroups that take equal shares of all steps add their partial results: `tree`, \
             `linear` or `atomic`; absent where workgroups take whole tiles.";
        d_layout: Major = Major::Row, min: 0, names: ["d_layout"], "Memory order of the D tensors.";
        quant: Option<Quant> = None, min: 0, names: ["quant", "group_a", "group_b"],
            "Scales of its operands.";
        shuffled_scales: [bool; 2] = [false; 2], min: 0,
            names: ["shuffled_scales_a" | "a_preshuffle_quant", "shuffled_scales_b" | "b_preshuffle_quant"],
            "Whether the scales of A and of B are stored in the order in which they are read.";
        block_per_cu: u8 = 1, min: 1, names: ["block_per_cu"],
            "Workgroups that should fit on one compute unit.";
        row_scales: bool = false, min: 0, names: ["row_scales_a"],
            "The scales of A are read row by row by a kernel that otherwise reads them by columns.";
        loaders: [u16; 2] = [0; 2], min: 0, names: ["loaders_a", "loaders_b"],
            "Threads along the rows of A and along the columns of B that load a step; 0 when not known.";
        storers: [u16; 2] = [0; 2], min: 0, names: ["storers_m", "storers_n"],
            "Threads along m and n that store C; 0 when not known.";
        shuffle: [u8; 2] = [0; 2], min: 0, names: ["shuffle_m", "shuffle_n"],
            "Results of instructions along m and n that a wave shuffles at a time; 0 when not known.";
        partition: [u8; 2] = [0; 2], min: 0, names: ["partition_groups", "partition_m01"],
            "Groups of neighbouring tiles, and tiles along m in one; 0 for tiles in their order.";
        stages: u8 = 0, min: 0, max: 8, names: ["stages" | "num_stages"],
            "Stages of one of Triton's kernels, where its pipeline does not say them: 1, 6, 7 or 8; 0 where \
             it does.";
        group_m: u8 = 0, min: 0, names: ["group_m"],
            "Rows of tiles that one of Triton's kernels computes side by side; 0 for 8.";
        tma: bool = false, min: 0, names: ["tma"], "Loads by tensor descriptors: one of Triton's kernels.";
        ctas: u8 = 0, min: 0, max: 16, names: ["ctas" | "num_ctas"],
            "Workgroups of a cluster of one of Triton's kernels; 0 for 1.";
        waves_per_eu: u8 = 0, min: 0, max: 16, names: ["waves_per_eu"],
            "Waves for which one of Triton's kernels is compiled to share a SIMD of an AMD GPU; 0 for any.";
        kpack: u8 = 0, min: 0, max: 16, names: ["kpack"],
            "Depth of a fragment that one of Triton's kernels reads at once on an AMD GPU, in instructions; 0 \
             for 1.";
    }
    nested {}
    beside { library: GemmLibrary = GemmLibrary::Ck, "Who builds it: `ck`, `triton` or `aiter`."; }
}

/// Scales of a GEMM's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quant {
    /// Which operands have scales.
    pub mode: QuantMode,
    /// Elements of A that share a scale; `None` if A has no scales, one per row, or one for all.
    pub group_a: Option<Mnk>,
    /// Elements of B that share a scale; see `group_a`.
    pub group_b: Option<Mnk>,
}

impl Value for Option<Quant> {
    const PARTS: usize = 3;
    const KINDS: &'static [Kind] = &[QuantMode::KINDS[0], Kind::Shape, Kind::Shape];
    const BITS: usize = 64;

    fn write(self, parts: &mut [i64]) {
        self.map(|quant| quant.mode).write(parts);
        self.and_then(|quant| quant.group_a).write(&mut parts[1..]);
        self.and_then(|quant| quant.group_b).write(&mut parts[2..]);
    }

    fn read(parts: &[i64]) -> Self {
        let (group_a, group_b) = (Value::read(&parts[1..]), Value::read(&parts[2..]));
        <Option<QuantMode>>::read(parts).map(|mode| Quant { mode, group_a, group_b })
    }
}

impl Quant {
    /// The default groups, which names may omit: 128 elements along k, 32 for microscaling.
    pub const fn usual(mode: QuantMode) -> Self {
        let group = Some(Mnk::new(1, 1, if matches!(mode, QuantMode::Mx) { 32 } else { 128 }));
        let (group_a, group_b) = match mode {
            QuantMode::A => (group, None),
            QuantMode::B => (None, group),
            QuantMode::AB | QuantMode::Mx => (group, group),
            QuantMode::RowCol | QuantMode::Tensor => (None, None),
        };
        Self { mode, group_a, group_b }
    }

    /// Checks the extents of the groups.
    pub fn validate(&self) -> Result<(), InvalidField> {
        for (field, group) in [("group_a", self.group_a), ("group_b", self.group_b)] {
            group.map_or(Ok(()), |group| shape(field, group, MAX_KERNEL_EXTENT))?;
        }
        Ok(())
    }
}
