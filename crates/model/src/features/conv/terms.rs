//! What features know about a convolution, and about a kernel.

use crate::features::exact::{float, product, ratio};
use crate::features::hardware::halves_lds;
use crate::problem::{ConvProblem, floor_div};
use crate::vocab::Direction;

/// Maximum number of elements per memory access.
const WIDEST_ACCESS: f64 = 8.0;

/// The largest power of two, 64 at most, that divides the channels of a group; 1 if groups do not divide
/// them.
fn alignment(channels: i64, groups: i64) -> f64 {
    match channels.checked_rem(groups) {
        Some(0) if channels > 0 => f64::from(1_u32 << (channels / groups).trailing_zeros().min(6)),
        _ => 1.0,
    }
}

/// Elements per access to the operands, of which the less aligned one counts, and to the result: as many as
/// the alignment of contiguous elements allows.
fn accesses(direction: Direction, [input, output]: [f64; 2]) -> [f64; 2] {
    match direction {
        Direction::Forward => [input, output],
        Direction::BwdData | Direction::BwdWeight => [input.min(output), input],
    }
    .map(|alignment| alignment.min(WIDEST_ACCESS))
}

/// A convolution problem as features see it, with everything that depends on it alone.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvTerms {
    pub(super) problem: ConvProblem,
    pub(super) output: [i64; 3],
    pub(super) element_bytes: f64,
    pub(super) is_3d: bool,
    pub(super) volume_in: i128,
    pub(super) volume_filter: i128,
    pub(super) volume_out: i128,
    pub(super) channels: f64,
    pub(super) out_channels: f64,
    /// The alignments of the input's and the output's channels, see [`super::work`].
    pub(super) alignments: [f64; 2],
    pub(super) flops: f64,
    pub(super) input_bytes: f64,
    pub(super) filter_bytes: f64,
    pub(super) output_bytes: f64,
    pub(super) bytes: f64,
    pub(super) gemm_m: i128,
    pub(super) gemm_n: i128,
    pub(super) gemm_k: i128,
    pub(super) work: Work,
}

/// The GEMM of one group for a direction. Upstream's features use the forward one for every direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Work {
    /// Rows, columns and depth: floats, because every pair starts with them; columns are a quotient, because
    /// upstream divides channels by groups.
    pub extents: [f64; 3],
    /// Bytes of the operands of rows and columns, for all groups.
    pub loaded: [f64; 2],
    /// Bytes of the result.
    pub stored: f64,
    /// Elements per access to the operands and to the result.
    pub accesses: [f64; 2],
}

impl ConvTerms {
    /// Computes everything that depends on the problem alone, none of whose strides is 0. An element has
    /// `element_bytes` bytes.
    pub fn new(problem: &ConvProblem, element_bytes: f64) -> Self {
        let &ConvProblem { direction, n, c, k, g, input, filter, stride, dilation, pad_left: pad, .. } =
            problem;
        let is_3d = input[0] > 1 || filter[0] > 1 || pad[0] > 0;
        let extent = |axis: usize| {
            let reach = (filter[axis].saturating_sub(1)).saturating_mul(dilation[axis]).saturating_add(1);
            let pads = pad[axis].saturating_add(problem.pad_right[axis]);
            let room = input[axis].saturating_add(pads).saturating_sub(reach);
            floor_div(room, if stride[axis] == 0 { 1 } else { stride[axis] }).saturating_add(1)
        };
        let output = [if is_3d { extent(0) } else { 1 }, extent(1), extent(2)];
        let volume = |extents: [i64; 3]| {
            let depth = if is_3d { extents[0] } else { 1 };
            product([depth.into(), extents[1].into(), extents[2].into()])
        };
        let (volume_in, volume_filter, volume_out) = (volume(input), volume(filter), volume(output));
        let channels = ratio(c.into(), g.into());
        let out_channels = ratio(k.into(), g.into());
        let results = float(product([n.into(), k.into(), volume_out]));
        let flops = results * channels * float(volume_filter) * 2.0;
        let input_bytes = float(product([n.into(), c.into(), volume_in])) * element_bytes;
        let filter_bytes = k as f64 * channels * float(volume_filter) * element_bytes;
        let output_bytes = results * element_bytes;
        // Truncated from the float product: 46 channels in 5 groups of 5x5 give 229, not 46 * 25 / 5 = 230.
        let depth = |channels: f64| (channels * float(volume_filter)) as i128;
        let (rows_in, rows_out) = (product([n.into(), volume_in]), product([n.into(), volume_out]));
        let alignments = [alignment(c, g), alignment(k, g)];
        let accesses = accesses(direction, alignments);
        let (extents, loaded, stored) = match direction {
            Direction::Forward => (
                [float(rows_out), out_channels, float(depth(channels))],
                [input_bytes, filter_bytes],
                output_bytes,
            ),
            Direction::BwdData => (
                [float(rows_in), channels, float(depth(out_channels))],
                [output_bytes, filter_bytes],
                input_bytes,
            ),
            Direction::BwdWeight => (
                [out_channels.trunc(), channels * float(volume_filter), float(rows_out)],
                [output_bytes, input_bytes],
                filter_bytes,
            ),
        };
        Self {
            problem: *problem,
            output,
            element_bytes,
            is_3d,
            volume_in,
            volume_filter,
            volume_out,
            channels,
            out_channels,
            alignments,
            flops,
            input_bytes,
            filter_bytes,
            output_bytes,
            bytes: input_bytes + filter_bytes + output_bytes,
            gemm_m: rows_out,
            gemm_n: k.into(),
            gemm_k: depth(channels),
            work: Work { extents, loaded, stored, accesses },
        }
    }

    pub(super) fn is_square_filter(&self, extent: i64) -> bool {
        let [z, y, x] = self.problem.filter;
        y == extent && x == extent && (z == extent || !self.is_3d)
    }
}

/// A convolution kernel as features see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConvKernelTerms {
    /// Threads of a workgroup, or tile m: see [`KernelMapping`](crate::features::KernelMapping).
    pub block_size: i64,
    /// Rows of the result tile, or tile n.
    pub gemm_m_per_block: i64,
    /// Columns of the result tile, or tile k.
    pub gemm_n_per_block: i64,
    /// Depth of one step.
    pub gemm_k_per_block: i64,
    /// The depth that the K-features use: see [`KTile`](crate::features::KTile).
    pub k_tile: i64,
    /// Number of the pipeline.
    pub pipeline_code: f64,
    /// Which pipeline it is, for the flags.
    pub pipeline: PipelineFlags,
    /// Runs intrawave.
    pub intrawave: bool,
    /// Two buffers in shared memory, as a number.
    pub has_dsb: i64,
    /// Splits images, as a number.
    pub has_si: i64,
    /// A second kernel adds up the parts of the depth.
    pub two_stage: bool,
}

/// The properties of a pipeline that features need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineFlags {
    /// Is `compv1`.
    pub compv1: bool,
    /// Is `compv3`.
    pub compv3: bool,
    /// Is `compv4`.
    pub compv4: bool,
    /// Is `compv5`.
    pub compv5: bool,
    /// Is `compv6`.
    pub compv6: bool,
    /// Is `mem`.
    pub mem: bool,
    /// Starts with `basic_v`.
    pub basic: bool,
    /// Starts with `compv4`, which halves the shared memory that features assume.
    pub half_lds: bool,
}

impl PipelineFlags {
    /// The flags of a word, known or not.
    pub fn new(word: &str) -> Self {
        Self {
            compv1: word == "compv1",
            compv3: word == "compv3",
            compv4: word == "compv4",
            compv5: word == "compv5",
            compv6: word == "compv6",
            mem: word == "mem",
            basic: word.starts_with("basic_v"),
            half_lds: halves_lds(word),
        }
    }
}

impl ConvKernelTerms {
    pub(super) fn tile_mn(&self) -> i128 {
        product([self.gemm_m_per_block.into(), self.gemm_n_per_block.into()])
    }

    pub(super) fn block_efficiency(&self) -> f64 {
        let (m, n) = (self.gemm_m_per_block, self.gemm_n_per_block);
        m.min(n) as f64 / m.max(n).max(1) as f64
    }
}
