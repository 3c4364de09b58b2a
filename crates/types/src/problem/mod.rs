//! Problems: a grouped convolution, a GEMM or attention, as a plain value.

mod checked;
mod columns;
pub mod fields;
mod fmha;
mod header;
mod in_order;
mod json_list;
mod limits;
mod list;
mod request;
mod source;
mod text;
mod words;

pub use checked::Checked;
pub use columns::{CONV_COLUMNS, FMHA_COLUMNS, FMHA_MORE_COLUMNS};
pub use fields::FieldSet;
pub use fmha::FmhaProblem;
pub use fmha::fmha_signature_differs;
pub use header::{HeaderError, UnknownColumn, check_columns, check_names};
pub use list::line as problem_line;
pub use list::{
    ListedProblem, PassedOver, ProblemLine, ProblemLineFault, ProblemList, ProblemListError, ProblemReader,
    Said,
};
pub use request::{GemmRequest, Group, Groups, MAX_GROUPS};
pub(crate) use text::keys;
pub use text::{ProblemDefaults, ProblemError};
pub use words::WORDS;

use std::fmt;

use crate::nearest::Hint;
use crate::vocab::{Arch, ConvLayout, Direction, Dtype, GemmLayout, Op, StreamKReduction, UnknownWord};

/// Largest accepted extent: CK narrows every dimension to 32 bits before a launch.
pub const MAX_EXTENT: i64 = i32::MAX as i64;

/// A field of a problem (or of a kernel, or of an input row) that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: found {found}, expected {expected}")]
pub struct InvalidField {
    /// The field's name, as the text form spells it.
    pub field: String,
    /// What it holds.
    pub found: String,
    /// What it may hold.
    pub expected: String,
}

impl InvalidField {
    /// What a field holds, and what it should hold.
    pub fn new(field: impl Into<String>, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        Self { field: field.into(), found: found.to_string(), expected: expected.into() }
    }

    /// A field with an unknown word.
    pub fn word(field: impl Into<String>, error: &UnknownWord) -> Self {
        let accepted = error.accepted;
        let hint = Hint::new(&error.found, accepted.iter().copied());
        Self::new(field, format_args!("'{}'", error.found), format!("one of {}{hint}", accepted.join(", ")))
    }
}

/// A grouped convolution. `C` and `K` are totals over all groups.
///
/// Axes are in the order depth, height, width. A 2D problem has a neutral depth (extent 1, stride 1, no
/// padding, dilation 1), a 1D problem a neutral height, too.
///
/// ```
/// use ck_select_types::problem::ConvProblem;
///
/// let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
/// assert_eq!(problem.output(), [1, 28, 28]);
/// problem.validate()?;
/// # Ok::<(), ck_select_types::problem::InvalidField>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvProblem {
    /// Which of the three convolutions is asked for.
    pub direction: Direction,
    /// Spatial dimensions, 1 to 3.
    pub ndim: u8,
    /// Images in the batch.
    pub n: i64,
    /// Input channels of all groups.
    pub c: i64,
    /// Output channels of all groups.
    pub k: i64,
    /// Groups.
    pub g: i64,
    /// Input extents.
    pub input: [i64; 3],
    /// Filter extents.
    pub filter: [i64; 3],
    /// Steps of the filter.
    pub stride: [i64; 3],
    /// Distances between filter taps.
    pub dilation: [i64; 3],
    /// Padding before the first element of each axis.
    pub pad_left: [i64; 3],
    /// Padding after the last element of each axis.
    pub pad_right: [i64; 3],
    /// Parts into which the reduction is split, 1 for none.
    pub split_k: i32,
    /// Element type of the input.
    pub dtype_in: Dtype,
    /// Element type of the weight.
    pub dtype_wei: Dtype,
    /// Element type of the output.
    pub dtype_out: Dtype,
    /// Memory order of the tensors.
    pub layout: ConvLayout,
    /// The architecture that will run it, when known.
    pub arch: Option<Arch>,
}

impl ConvProblem {
    /// A forward bf16 convolution of one image and one channel, with an input of `[height, width]` and a
    /// filter of `[rows, columns]`; set the other fields by struct update.
    pub const fn new_2d(input: [i64; 2], filter: [i64; 2]) -> Self {
        Self {
            direction: Direction::Forward,
            ndim: 2,
            n: 1,
            c: 1,
            k: 1,
            g: 1,
            input: [1, input[0], input[1]],
            filter: [1, filter[0], filter[1]],
            stride: [1; 3],
            dilation: [1; 3],
            pad_left: [0; 3],
            pad_right: [0; 3],
            split_k: 1,
            dtype_in: Dtype::Bf16,
            dtype_wei: Dtype::Bf16,
            dtype_out: Dtype::Bf16,
            layout: ConvLayout::Nhwgc,
            arch: None,
        }
    }

    /// The same with equal padding on both sides of height and width.
    pub const fn padded(mut self, pad: [i64; 2]) -> Self {
        self.pad_left = [self.pad_left[0], pad[0], pad[1]];
        self.pad_right = [self.pad_right[0], pad[0], pad[1]];
        self
    }

    /// Output extents, by floor division as the Python tools compute them; not positive when the dilated
    /// filter does not fit into the padded input. A stride of 0 gives an extent of 0.
    pub fn output(&self) -> [i64; 3] {
        std::array::from_fn(|axis| {
            let taps = self.filter[axis].saturating_sub(1);
            let reach = taps.saturating_mul(self.dilation[axis]).saturating_add(1);
            let room = self.input[axis]
                .saturating_add(self.pad_left[axis])
                .saturating_add(self.pad_right[axis])
                .saturating_sub(reach);
            match self.stride[axis] {
                0 => 0,
                stride => floor_div(room, stride).saturating_add(1),
            }
        })
    }

    /// Checks every field, as the newest CK dispatcher does.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if !(1..=3).contains(&self.ndim) {
            return Err(InvalidField::new("ndim", self.ndim, "1, 2 or 3"));
        }
        for (field, value) in [("N", self.n), ("C", self.c), ("K", self.k), ("G", self.g)] {
            positive(field, value)?;
        }
        for (field, value) in [("C", self.c), ("K", self.k)] {
            if value % self.g != 0 {
                return Err(InvalidField::new(field, value, format!("a multiple of G = {}", self.g)));
            }
        }
        let output = self.output();
        for axis in 0..3 {
            let neutral = axis < 3 - usize::from(self.ndim);
            for (field, values) in self.extents() {
                let value = values[axis];
                if !(1..=MAX_EXTENT).contains(&value) || (neutral && value != 1) {
                    return Err(self.wrong_axis(axis_name(field, axis), value, 1, neutral));
                }
            }
            for (side, pads) in [("left", &self.pad_left), ("right", &self.pad_right)] {
                let value = pads[axis];
                if !(0..=MAX_EXTENT).contains(&value) || (neutral && value != 0) {
                    let name = format!("{}_{side}", axis_name("pad", axis));
                    return Err(self.wrong_axis(name, value, 0, neutral));
                }
            }
            if output[axis] < 1 {
                let found = format!("a dilated filter that reaches over {}", self.filter_reach(axis));
                let room = self.input[axis] + self.pad_left[axis] + self.pad_right[axis];
                let expected = format!("at most the padded input's {room}");
                return Err(InvalidField::new(axis_name("filter", axis), found, expected));
            }
        }
        if self.split_k < 1 {
            return Err(InvalidField::new("split_k", self.split_k, "at least 1"));
        }
        element("dtype_in", self.dtype_in)?;
        element("dtype_wei", self.dtype_wei)?;
        element("dtype_out", self.dtype_out)
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        let product = |values: [i64; 3]| values.iter().map(|&v| v as f64).product::<f64>();
        2.0 * self.n as f64
            * self.k as f64
            * product(self.output())
            * (self.c as f64 / self.g.max(1) as f64)
            * product(self.filter)
    }

    /// Names are made only for errors: the check itself is on the select path.
    fn wrong_axis(&self, name: String, value: i64, least: i64, neutral: bool) -> InvalidField {
        let expected = if neutral {
            format!("{least} in a {}D problem", self.ndim)
        } else {
            format!("{least} to {MAX_EXTENT}")
        };
        InvalidField::new(name, value, expected)
    }

    fn filter_reach(&self, axis: usize) -> i64 {
        (self.filter[axis] - 1) * self.dilation[axis] + 1
    }

    fn extents(&self) -> [(&'static str, [i64; 3]); 4] {
        [("input", self.input), ("filter", self.filter), ("stride", self.stride), ("dilation", self.dilation)]
    }
}

/// Name of a per-axis field in the text form.
fn axis_name(field: &str, axis: usize) -> String {
    match field {
        "input" => ["Di", "Hi", "Wi"][axis].to_owned(),
        "filter" => ["Z", "Y", "X"][axis].to_owned(),
        other => format!("{other}_{}", ["d", "h", "w"][axis]),
    }
}

fn positive(field: &str, value: i64) -> Result<(), InvalidField> {
    if (1..=MAX_EXTENT).contains(&value) {
        Ok(())
    } else {
        Err(InvalidField::new(field, value, format!("1 to {MAX_EXTENT}")))
    }
}

/// Division toward minus infinity.
pub const fn floor_div(a: i64, b: i64) -> i64 {
    // `wrapping` for i64::MIN / -1; callers exclude b = 0.
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// A GEMM: C (M x N) = A (M x K) times B (K x N).
///
/// ```
/// use ck_select_types::problem::GemmProblem;
///
/// let problem = GemmProblem::new(128, 1536, 7168);
/// problem.validate()?;
/// assert_eq!(problem.layout.to_string(), "rcr");
/// # Ok::<(), ck_select_types::problem::InvalidField>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmProblem {
    /// Rows of A and C.
    pub m: i64,
    /// Columns of B and C.
    pub n: i64,
    /// Columns of A, rows of B.
    pub k: i64,
    /// Parts into which K is split, 1 for none (`k_batch` of the CK dispatcher).
    pub split_k: i32,
    /// Element type of A.
    pub dtype_a: Dtype,
    /// Element type of B.
    pub dtype_b: Dtype,
    /// Element type of C.
    pub dtype_c: Dtype,
    /// Memory orders of the operands.
    pub layout: GemmLayout,
    /// What it asks for besides one plain GEMM. With a list of GEMMs the extents are those of the largest.
    pub request: GemmRequest,
    /// The architecture that will run it, when known.
    pub arch: Option<Arch>,
}

impl GemmProblem {
    /// An fp8 `rcr` GEMM, upstream's defaults; set the other fields by struct update.
    pub const fn new(m: i64, n: i64, k: i64) -> Self {
        Self {
            m,
            n,
            k,
            split_k: 1,
            dtype_a: Dtype::Fp8,
            dtype_b: Dtype::Fp8,
            dtype_c: Dtype::Fp8.result(),
            layout: GemmLayout::RCR,
            request: GemmRequest::NONE,
            arch: None,
        }
    }

    /// The same for a list of GEMMs in one launch.
    pub fn grouped(mut self, groups: Groups) -> Self {
        if let Some(largest) = groups.largest() {
            [self.m, self.n, self.k] = largest.extents.map(i64::from);
        }
        self.request.groups = groups;
        self
    }

    /// Its GEMMs: extents, and how many of each.
    pub fn gemms(&self) -> impl Iterator<Item = ([i64; 3], f64)> + '_ {
        let listed = self.request.groups.as_slice();
        let one = listed.is_empty().then(|| ([self.m, self.n, self.k], f64::from(self.request.batch.max(1))));
        let each = listed.iter().map(|group| (group.extents.map(i64::from), f64::from(group.count)));
        one.into_iter().chain(each)
    }

    /// The same with A and B of one type, and C of the resulting type.
    pub const fn of(mut self, dtype: Dtype) -> Self {
        self.dtype_a = dtype;
        self.dtype_b = dtype;
        self.dtype_c = dtype.result();
        self
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        for (field, value) in [("M", self.m), ("N", self.n), ("K", self.k)] {
            positive(field, value)?;
        }
        if self.split_k < 1 {
            return Err(InvalidField::new("split_k", self.split_k, "at least 1"));
        }
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        if self.request.is_none() { Ok(()) } else { self.validate_request() }
    }

    fn validate_request(&self) -> Result<(), InvalidField> {
        let GemmRequest { batch, groups, stream_k, quant, .. } = self.request;
        if i64::from(batch) > MAX_EXTENT {
            return Err(InvalidField::new("batch", batch, format!("0 to {MAX_EXTENT}")));
        }
        if let Some(largest) = groups.largest() {
            if batch > 0 {
                return Err(InvalidField::new("batch", batch, "0 beside a list of groups"));
            }
            let extents = largest.extents.map(i64::from);
            for (field, found, expected) in
                [("M", self.m, extents[0]), ("N", self.n, extents[1]), ("K", self.k, extents[2])]
            {
                if found != expected {
                    let expected = format!("{expected} as in the largest of the groups");
                    return Err(InvalidField::new(field, found, expected));
                }
            }
        }
        if stream_k == Some(StreamKReduction::None) {
            return Err(InvalidField::new("stream_k", "none", "atomic, linear or tree"));
        }
        quant.map_or(Ok(()), |quant| quant.validate())
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        if self.request.batch == 0 && self.request.groups.is_empty() {
            return 2.0 * self.m as f64 * self.n as f64 * self.k as f64;
        }
        self.gemms().map(|([m, n, k], count)| 2.0 * m as f64 * n as f64 * k as f64 * count).sum()
    }
}

/// A problem of any operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// A grouped convolution.
    Conv(ConvProblem),
    /// A GEMM.
    Gemm(GemmProblem),
    /// Attention.
    Fmha(FmhaProblem),
}

impl Problem {
    /// The operation.
    pub const fn op(&self) -> Op {
        match self {
            Self::Conv(_) => Op::GroupedConv,
            Self::Gemm(_) => Op::Gemm,
            Self::Fmha(_) => Op::Fmha,
        }
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Conv(problem) => problem.validate(),
            Self::Gemm(problem) => problem.validate(),
            Self::Fmha(problem) => problem.validate(),
        }
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        match self {
            Self::Conv(problem) => problem.flops(),
            Self::Gemm(problem) => problem.flops(),
            Self::Fmha(problem) => problem.flops(),
        }
    }

    /// The architecture, when the problem names one.
    pub const fn arch(&self) -> Option<Arch> {
        match self {
            Self::Conv(problem) => problem.arch,
            Self::Gemm(problem) => problem.arch,
            Self::Fmha(problem) => problem.arch,
        }
    }

    /// The same problem on an architecture, or on none in particular.
    ///
    /// ```
    /// use ck_select_types::problem::{GemmProblem, Problem};
    ///
    /// let problem = Problem::from(GemmProblem::new(1, 2, 3));
    /// assert!(problem.on("gfx950".parse().ok()).to_string().ends_with(",arch=gfx950"));
    /// ```
    #[must_use]
    pub const fn on(mut self, arch: Option<Arch>) -> Self {
        match &mut self {
            Self::Conv(problem) => problem.arch = arch,
            Self::Gemm(problem) => problem.arch = arch,
            Self::Fmha(problem) => problem.arch = arch,
        }
        self
    }
}

impl From<ConvProblem> for Problem {
    fn from(problem: ConvProblem) -> Self {
        Self::Conv(problem)
    }
}

impl From<GemmProblem> for Problem {
    fn from(problem: GemmProblem) -> Self {
        Self::Gemm(problem)
    }
}

impl From<FmhaProblem> for Problem {
    fn from(problem: FmhaProblem) -> Self {
        Self::Fmha(problem)
    }
}

/// Refuses element types that only attention has.
pub(crate) fn element(field: &str, dtype: Dtype) -> Result<(), InvalidField> {
    if dtype.is_only_of_fmha() {
        return Err(InvalidField::new(
            field,
            format_args!("'{dtype}'"),
            "a type that is not of attention alone",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resnet() -> ConvProblem {
        ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1])
    }

    fn complaint(problem: &ConvProblem) -> String {
        problem.validate().unwrap_err().to_string()
    }

    #[test]
    fn valid_problems_pass() {
        resnet().validate().unwrap();
        assert_eq!(resnet().flops(), 2.0 * 16.0 * 128.0 * 784.0 * 256.0 * 9.0);
        let one_d = ConvProblem { ndim: 1, ..ConvProblem::new_2d([1, 100], [1, 5]) };
        one_d.validate().unwrap();
    }

    #[test]
    fn each_wrong_field_is_named() {
        let good = resnet();
        assert_eq!(complaint(&ConvProblem { n: 0, ..good }), "N: found 0, expected 1 to 2147483647");
        assert_eq!(complaint(&ConvProblem { g: 3, ..good }), "C: found 256, expected a multiple of G = 3");
        assert_eq!(
            complaint(&ConvProblem { stride: [1, 0, 1], ..good }),
            "stride_h: found 0, expected 1 to 2147483647"
        );
        assert_eq!(
            complaint(&ConvProblem { input: [4, 28, 28], ..good }),
            "Di: found 4, expected 1 in a 2D problem"
        );
        assert!(
            complaint(&ConvProblem { pad_right: [0, 0, -1], ..good }).starts_with("pad_w_right: found -1")
        );
        assert!(
            complaint(&ConvProblem { filter: [1, 31, 3], ..good }).starts_with("Y: found a dilated filter")
        );
        assert!(complaint(&ConvProblem { split_k: 0, ..good }).starts_with("split_k: found 0"));
    }

    #[test]
    fn asymmetric_padding_counts_both_sides() {
        let problem =
            ConvProblem { pad_left: [0, 1, 0], pad_right: [0, 2, 1], ..ConvProblem::new_2d([8, 8], [3, 3]) };
        assert_eq!(problem.output(), [1, 9, 7]);
    }

    #[test]
    fn output_extents_round_down_also_below_zero() {
        let problem = ConvProblem { stride: [1, 2, 2], ..ConvProblem::new_2d([4, 4], [7, 6]) };
        assert_eq!(problem.output(), [1, -1, 0]);
    }

    #[test]
    fn gemm_extents_are_checked() {
        GemmProblem::new(1, 1, 1).validate().unwrap();
        let error = GemmProblem { k: -4, ..GemmProblem::new(8, 8, 8) }.validate().unwrap_err();
        assert_eq!(error.field, "K");
    }
}
