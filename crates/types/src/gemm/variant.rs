//! What sets a GEMM kernel apart from a plain one: many GEMMs in one launch, Stream-K, further operands,
//! scales.

use crate::field::InvalidField;
use crate::shape::Mnk;
use crate::valid::{MAX_EXTENT, shape};
use crate::vocab::{Major, QuantMode, StreamKReduction};

/// What sets a GEMM kernel apart from a plain one, besides the fields of [`super::GemmKernel`] itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmVariant {
    /// Computes a batch: GEMMs of equal extents at equal distances in memory.
    pub batched: bool,
    /// Workgroups take equal shares of all steps, and their partial results are added this way; `None` for
    /// kernels whose workgroups take whole tiles.
    pub stream_k: Option<StreamKReduction>,
    /// Memory order of the D tensors.
    pub d_layout: Major,
    /// Scales of its operands.
    pub quant: Option<Quant>,
    /// Whether the scales of A and of B are stored in the order in which they are read.
    pub shuffled_scales: [bool; 2],
    /// Workgroups that should fit on one compute unit.
    pub block_per_cu: u8,
    /// Compiled by Triton: `compv3` to `compv6` are two to five stages.
    pub triton: bool,
}

impl Default for GemmVariant {
    fn default() -> Self {
        Self {
            batched: false,
            stream_k: None,
            d_layout: Major::Row,
            quant: None,
            shuffled_scales: [false; 2],
            block_per_cu: 1,
            triton: false,
        }
    }
}

impl GemmVariant {
    /// Whether the kernel needs device memory for partial results.
    pub const fn needs_workspace(&self) -> bool {
        matches!(self.stream_k, Some(StreamKReduction::Linear | StreamKReduction::Tree))
    }
}

/// Scales of a GEMM's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quant {
    /// Which operands have scales.
    pub mode: QuantMode,
    /// Elements of A that share a scale; `None` if A has no scales, one per row, or one for all.
    pub group_a: Option<Mnk>,
    /// The same of B.
    pub group_b: Option<Mnk>,
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
            group.map_or(Ok(()), |group| shape(field, group, MAX_EXTENT))?;
        }
        Ok(())
    }
}
