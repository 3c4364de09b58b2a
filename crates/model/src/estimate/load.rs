//! What a problem asks for: the GEMM that it makes, what lies together in memory, and bytes.

use super::constants::Constants;
use crate::problem::{ConvProblem, GemmProblem};
use crate::vocab::{ConvLayout, Direction, Dtype, GemmLayout, Major};

/// What kernels are held against, computed once a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Rows, columns and depth of the GEMM of one group.
    pub(super) extents: [f64; 3],
    /// Groups.
    pub(super) groups: f64,
    /// Elements that lie together in A, B and the result: the largest power of two that divides the contiguous extent.
    pub(super) together: [f64; 3],
    /// Accesses to A and to B as multiples of those to a matrix.
    pub(super) gather: [f64; 2],
    /// Bytes of operands and result, each once.
    pub(super) bytes: f64,
    /// Bytes of the result.
    pub(super) result_bytes: f64,
    /// Elements of the result.
    pub(super) results: f64,
    /// Parts of the depth that the problem asks for.
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
    pub(super) fn of_conv(problem: &ConvProblem, constants: &Constants) -> Self {
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
        // Also of one tap: the kernels compute their addresses all the same.
        let image = constants.gather;
        let (extents, together, gather, result_bytes) = match problem.direction {
            Direction::Forward => (
                [n * output, k, c * filter],
                [in_together, together(channels), out_together],
                [image, 1.0],
                out_bytes,
            ),
            Direction::BwdData => (
                [n * input, c, k * filter],
                [out_together, together(channels), in_together],
                [image, 1.0],
                in_bytes,
            ),
            Direction::BwdWeight => (
                [k, c * filter, n * output],
                [out_together, in_together, together(channels)],
                [1.0, image],
                filter_bytes,
            ),
        };
        Self {
            extents,
            groups: g,
            together,
            gather,
            bytes: in_bytes + filter_bytes + out_bytes,
            result_bytes,
            results: extents[0] * extents[1] * g,
            parts: f64::from(problem.split_k.max(1)),
        }
    }

    pub(super) fn of_gemm(problem: &GemmProblem) -> Self {
        let GemmProblem { m, n, k, layout: GemmLayout { a, b, c }, .. } = *problem;
        let of = |order: Major, row: i64, column: i64| match order {
            Major::Row => together(row),
            Major::Col => together(column),
            Major::Packed => f64::from(1_u32 << TOGETHER),
        };
        let [fm, fn_, fk] = [m, n, k].map(|extent| extent.max(1) as f64);
        let result_bytes = fm * fn_ * bytes_of(problem.dtype_c);
        let operand_bytes = fm * fk * bytes_of(problem.dtype_a) + fk * fn_ * bytes_of(problem.dtype_b);
        Self {
            extents: [fm, fn_, fk],
            groups: 1.0,
            together: [of(a, k, m), of(b, n, k), of(c, n, m)],
            gather: [1.0, 1.0],
            bytes: operand_bytes + result_bytes,
            result_bytes,
            results: fm * fn_,
            parts: f64::from(problem.split_k.max(1)),
        }
    }
}
