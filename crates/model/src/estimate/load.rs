//! The work of a problem: its GEMM, what is contiguous in memory, and bytes.

use ck_select_types::moe::MeanRouting;

use crate::problem::Groups;
use crate::vocab::Dtype;

/// The problem's side of the estimate, computed once per problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Rows, columns and depth of the GEMM of one group.
    pub(super) extents: [f64; 3],
    /// Groups of a convolution, GEMMs of a batch.
    pub(super) groups: f64,
    /// A list of GEMMs; `extents` is that of the largest.
    pub(super) list: Groups,
    /// The experts of a mixture, whose rows are tiled by expert.
    pub(super) experts: Option<Experts>,
    /// Whether blocks of the operands of a mixture have scales, of which the names of Triton's kernels say nothing.
    pub(super) block_scales: bool,
    /// Contiguous elements in A, B and the result: the largest power of two that divides the contiguous
    /// extent.
    pub(super) together: [f64; 3],
    /// Whether A and B are images, whose addresses are computed.
    pub(super) images: [bool; 2],
    /// Bytes of operands and result, each once.
    pub(super) bytes: f64,
    /// Bytes of the result.
    pub(super) result_bytes: f64,
    /// Elements of the result.
    pub(super) results: f64,
    /// Multiply-adds of all GEMMs.
    pub(super) multiply_adds: f64,
    /// Parts of the depth that the problem requests.
    pub(super) parts: f64,
}

/// The experts of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Experts {
    /// How many rows and tiles they have.
    pub(super) routing: MeanRouting,
    /// Bytes of the weights of one.
    pub(super) weight_bytes: f64,
}

/// Largest power of two that counts: 64 bytes of the narrowest type.
pub(super) const TOGETHER: u32 = 7;

/// The largest power of two, 128 at most, that divides a number.
pub(super) fn together(extent: i64) -> f64 {
    f64::from(1_u32 << extent.max(1).trailing_zeros().min(TOGETHER))
}

/// Bytes of one element.
pub(super) fn bytes_of(dtype: Dtype) -> f64 {
    f64::from(dtype.bits()) / 8.0
}
