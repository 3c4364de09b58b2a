//! The work of a problem: its GEMM, what is contiguous in memory, and bytes.

use crate::kernel::Quant;
use crate::problem::{ConvProblem, GemmProblem, Groups};
use crate::vocab::{ConvLayout, Direction, Dtype, GemmLayout, Major, QuantMode};

/// The problem's side of the estimate, computed once per problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Rows, columns and depth of the GEMM of one group.
    pub(super) extents: [f64; 3],
    /// Groups of a convolution, GEMMs of a batch.
    pub(super) groups: f64,
    /// A list of GEMMs; `extents` is that of the largest.
    pub(super) list: Groups,
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
    /// Cycles of the depth that the problem requests.
    pub(super) parts: f64,
}

/// Largest power of two that counts: 64 bytes of the narrowest type.
const TOGETHER: u32 = 7;

/// The largest power of two, 128 at most, that divides a number.
fn together(extent: i64) -> f64 {
    f64::from(1_u32 << extent.max(1).trailing_zeros().min(TOGETHER))
}

/// Bytes of one element.
pub(super) fn bytes_of(dtype: Dtype) -> f64 {
    f64::from(dtype.bits()) / 8.0
}

impl Load {
    pub(super) fn of_conv(problem: &ConvProblem) -> Self {
        let volume = |extents: [i64; 3]| extents.iter().map(|&extent| extent.max(1) as f64).product::<f64>();
        let groups = problem.g.max(1);
        let (channels, out_channels) = (problem.c / groups, problem.k / groups);
        let outputs = problem.output();
        let [input, filter, output] = [problem.input, problem.filter, outputs].map(volume);
        let (n, c, k, g) = (problem.n as f64, channels as f64, out_channels as f64, groups as f64);
        let in_bytes = n * c * g * input * bytes_of(problem.dtype_in);
        let filter_bytes = c * k * g * filter * bytes_of(problem.dtype_wei);
        let out_bytes = n * k * g * output * bytes_of(problem.dtype_out);
        let width_last = matches!(problem.layout.order(), ConvLayout::Ngchw | ConvLayout::Nchw);
        let of_tensor = |channels: i64, width: i64| together(if width_last { width } else { channels });
        let in_together = of_tensor(channels, problem.input[2]);
        let out_together = of_tensor(out_channels, outputs[2]);
        let (extents, together, images, result_bytes) = match problem.direction {
            Direction::Forward => (
                [n * output, k, c * filter],
                [in_together, together(channels), out_together],
                [true, false],
                out_bytes,
            ),
            Direction::BwdData => (
                [n * input, c, k * filter],
                [out_together, together(channels), in_together],
                [true, false],
                in_bytes,
            ),
            Direction::BwdWeight => (
                [k, c * filter, n * output],
                [out_together, in_together, together(channels)],
                [false, true],
                filter_bytes,
            ),
        };
        Self {
            extents,
            groups: g,
            list: Groups::NONE,
            together,
            images,
            bytes: in_bytes + filter_bytes + out_bytes,
            result_bytes,
            results: extents[0] * extents[1] * g,
            multiply_adds: extents.iter().product::<f64>() * g,
            parts: f64::from(problem.split_k.max(1)),
        }
    }

    pub(super) fn of_gemm(problem: &GemmProblem) -> Self {
        let GemmProblem { m, n, k, layout: GemmLayout { a, b, c }, request, .. } = *problem;
        let of = |order: Major, row: usize, column: usize| match order {
            Major::Row => contiguous(problem, row),
            Major::Col => contiguous(problem, column),
            Major::Packed => f64::from(1_u32 << TOGETHER),
        };
        let (mut operand_bytes, mut scale_bytes) = (0.0, 0.0);
        let (mut results, mut multiply_adds) = (0.0, 0.0);
        for (extents, count) in problem.gemms() {
            let [m, n, k] = extents.map(|extent| extent.max(1) as f64);
            results += m * n * count;
            multiply_adds += m * n * k * count;
            operand_bytes += (m * k * bytes_of(problem.dtype_a) + k * n * bytes_of(problem.dtype_b)) * count;
            scale_bytes += request.scales().map_or(0.0, |quant| scales([m, n, k], &quant)) * count;
        }
        let result_bytes = results * bytes_of(problem.dtype_c);
        // Each D tensor is as large as the result.
        let d_bytes = result_bytes * f64::from(request.num_d);
        Self {
            extents: [m, n, k].map(|extent| extent.max(1) as f64),
            groups: f64::from(request.batch.max(1)),
            list: request.groups,
            together: [of(a, 2, 0), of(b, 1, 2), of(c, 1, 0)],
            images: [false; 2],
            bytes: operand_bytes + result_bytes + d_bytes + scale_bytes,
            result_bytes,
            results,
            multiply_adds,
            parts: f64::from(problem.split_k.max(1)),
        }
    }
}

/// Contiguous elements along an axis in all GEMMs of a problem.
fn contiguous(problem: &GemmProblem, axis: usize) -> f64 {
    problem.gemms().map(|(extents, _)| together(extents[axis])).fold(f64::INFINITY, f64::min)
}

/// Bytes of scales: one of 32 bits for each group, each row and column, or each operand; microscaling has 8
/// bits.
fn scales([m, n, k]: [f64; 3], quant: &Quant) -> f64 {
    let groups = |[rows, depth]: [f64; 2], [of_rows, of_depth]: [u32; 2]| {
        (rows / f64::from(of_rows.max(1))).ceil() * (depth / f64::from(of_depth.max(1))).ceil()
    };
    let of_a = quant.group_a.map_or(0.0, |group| groups([m, k], [group.m, group.k]));
    let of_b = quant.group_b.map_or(0.0, |group| groups([n, k], [group.n, group.k]));
    match quant.mode {
        QuantMode::RowCol => 4.0 * (m + n),
        QuantMode::Tensor => 8.0,
        QuantMode::Mx => of_a + of_b,
        QuantMode::A | QuantMode::B | QuantMode::AB => 4.0 * (of_a + of_b),
    }
}
