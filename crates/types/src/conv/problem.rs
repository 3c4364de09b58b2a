//! A grouped convolution as a plain value.

use std::fmt;

use crate::defaults::ProblemDefaults;
use crate::field::{self, AUTO, InvalidField, Kind, Record, fields, positions, values};
use crate::given::Given;
use crate::valid::element;
use crate::vocab::{Arch, ConvLayout, Direction, Dtype};

fields! {
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
    ConvProblem by conv_problem {
        direction: Direction = Direction::Forward, min: 0, names: ["direction" | "variant"],
            "Which of the three convolutions is asked for.";
        ndim: u8 = 2, min: 1, max: 3, names: ["ndim" | "ndim_spatial"], "Spatial dimensions, 1 to 3.";
        n: i64 = 1, min: 1, names: ["N"], "Images in the batch.";
        c: i64 = 1, min: 1, names: ["C"], "Input channels of all groups.";
        k: i64 = 1, min: 1, names: ["K"], "Output channels of all groups.";
        g: i64 = 1, min: 1, names: ["G"], "Groups.";
        input: [i64; 3] = [1; 3], min: 1, names: ["Di", "Hi", "Wi"], "Input extents.";
        filter: [i64; 3] = [1; 3], min: 1, names: ["Z", "Y", "X"], "Filter extents.";
        stride: [i64; 3] = [1; 3], min: 1, names: ["stride_d", "stride_h", "stride_w"],
            "Steps of the filter.";
        dilation: [i64; 3] = [1; 3], min: 1, names: ["dilation_d", "dilation_h", "dilation_w"],
            "Distances between filter taps.";
        pad_left: [i64; 3] = [0; 3], min: 0,
            names: ["pad_d_left" | "pad_d", "pad_h_left" | "pad_h", "pad_w_left" | "pad_w"],
            "Padding before the first element of each axis.";
        pad_right: [i64; 3] = [0; 3], min: 0, names: ["pad_d_right", "pad_h_right", "pad_w_right"],
            "Padding after the last element of each axis.";
        split_k: i32 = 1, min: 0, names: ["split_k" (0 is "auto")],
            "Parts into which the reduction is split, 1 for none, 0 to choose them with the kernel.";
        dtype_in: Dtype = Dtype::Bf16, min: 0, names: ["dtype_in" | "dtype"], "Element type of the input.";
        dtype_wei: Dtype = Dtype::Bf16, min: 0, names: ["dtype_wei"], "Element type of the weight.";
        dtype_out: Dtype = Dtype::Bf16, min: 0, names: ["dtype_out"], "Element type of the output.";
        layout: ConvLayout = ConvLayout::Nhwgc, min: 0, names: ["layout"], "Memory order of the tensors.";
    }
    nested {}
    beside { arch: Option<Arch> = None, "The architecture that will run it, when known."; }
}

/// The columns of tables of measurements: upstream's nineteen, in its order. `pad_*` is the padding before an
/// axis.
pub const CONV_COLUMNS: [&str; 19] = [
    "N", "C", "K", "G", "Di", "Hi", "Wi", "Z", "Y", "X", "stride_d", "stride_h", "stride_w", "pad_d",
    "pad_h", "pad_w", "dilation_d", "dilation_h", "dilation_w",
];
/// Keys of text that stand for the field of each axis, and for padding on both of its sides.
pub(super) const SHARED_KEYS: [(&str, &[[&str; 3]]); 3] = [
    ("stride", &[["stride_d", "stride_h", "stride_w"]]),
    ("dilation", &[["dilation_d", "dilation_h", "dilation_w"]]),
    ("pad", &[["pad_d_left", "pad_h_left", "pad_w_left"], ["pad_d_right", "pad_h_right", "pad_w_right"]]),
];
const POSITIONS: [usize; 19] = positions(ConvProblem::FIELDS, &CONV_COLUMNS);
/// The first of the fields that belong to an axis; three by three, up to [`BEHIND_AXES`].
const FIRST_AXIS: usize = positions(ConvProblem::FIELDS, &["Di"])[0];
const BEHIND_AXES: usize = positions(ConvProblem::FIELDS, &["split_k"])[0];

impl ConvProblem {
    /// A forward bf16 convolution of one image and one channel, with an input of `[height, width]` and a
    /// filter of `[rows, columns]`; set the other fields by struct update.
    pub const fn new_2d(input: [i64; 2], filter: [i64; 2]) -> Self {
        Self { input: [1, input[0], input[1]], filter: [1, filter[0], filter[1]], ..Self::USUAL }
    }

    /// The problem with equal padding on both sides of height and width.
    pub const fn padded(mut self, pad: [i64; 2]) -> Self {
        self.pad_left = [self.pad_left[0], pad[0], pad[1]];
        self.pad_right = [self.pad_right[0], pad[0], pad[1]];
        self
    }

    /// The values of [`CONV_COLUMNS`].
    pub fn columns(&self) -> [i64; 19] {
        let values = values(self);
        POSITIONS.map(|index| values[index])
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
        for (index, (field, value)) in Self::FIELDS.iter().zip(values(self)).enumerate() {
            self.validate_number(index, field, value)?;
        }
        for (field, value) in [("C", self.c), ("K", self.k)] {
            if value % self.g != 0 {
                return Err(InvalidField::new(field, value, format!("a multiple of G = {}", self.g)));
            }
        }
        if let Some(axis) = self.output().iter().position(|&extent| extent < 1) {
            let reach = (self.filter[axis] - 1) * self.dilation[axis] + 1;
            let room = self.input[axis] + self.pad_left[axis] + self.pad_right[axis];
            let found = format!("a dilated filter that reaches over {reach}");
            let expected = format!("at most the padded input's {room}");
            return Err(InvalidField::new(["Z", "Y", "X"][axis], found, expected));
        }
        if self.split_k == AUTO && self.direction != Direction::BwdWeight {
            let expected = "a number: only backward weight leaves the choice";
            return Err(InvalidField::new("split_k", "auto", expected));
        }
        element("dtype_in", self.dtype_in)?;
        element("dtype_wei", self.dtype_wei)?;
        element("dtype_out", self.dtype_out)
    }

    /// Axes that the problem does not have hold the smallest number, which is neutral.
    fn validate_number(
        &self,
        field_index: usize,
        field: &field::Field,
        value: i64,
    ) -> Result<(), InvalidField> {
        let is_axis = (FIRST_AXIS..BEHIND_AXES).contains(&field_index);
        let neutral = is_axis && (field_index - FIRST_AXIS) % 3 < 3 - usize::from(self.ndim);
        let most = if neutral { field.least } else { field.most };
        if !matches!(field.kind, Kind::Number) || (field.least..=most).contains(&value) {
            return Ok(());
        }
        let expected =
            if neutral { format!("{} in a {}D problem", field.least, self.ndim) } else { field.accepted() };
        Err(InvalidField::new(field.name, value, expected))
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
}

/// Division toward minus infinity.
pub const fn floor_div(a: i64, b: i64) -> i64 {
    // `wrapping` for i64::MIN / -1; callers exclude b = 0.
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// The problem of which these fields are given. `C`, `K`, `Wi`, `X` are required, and `Hi`, `Y` unless
/// `ndim=1`.
pub(crate) fn from_given(
    mut given: Given<ConvProblem>,
    defaults: &ProblemDefaults,
) -> Result<ConvProblem, InvalidField> {
    for (both, right) in [("pad_d", "pad_d_right"), ("pad_h", "pad_h_right"), ("pad_w", "pad_w_right")] {
        if let Some(pad) = given.get_as(both) {
            given.or(right, pad);
        }
    }
    let is_deep = |name| given.get(name).is_some_and(|extent| extent > 1);
    let deep = is_deep("Di") || is_deep("Z") || given.get_as("pad_d").is_some_and(|pad| pad > 0);
    given.or("ndim", if deep { 3 } else { 2 });
    share(&mut given)?;
    let dtype = given.get("dtype_in").unwrap_or(defaults.dtype as i64);
    for name in ["dtype_wei", "dtype_out"] {
        given.or(name, dtype);
    }
    let is_1d = given.get("ndim") == Some(1);
    given.need(if is_1d { &["C", "K", "Wi", "X"] } else { &["C", "K", "Hi", "Wi", "Y", "X"] })?;
    let usual = ConvProblem {
        direction: defaults.direction,
        dtype_in: defaults.dtype,
        layout: defaults.conv_layout,
        arch: given.arch().or(defaults.arch),
        ..ConvProblem::USUAL
    };
    Ok(given.complete(&usual))
}

/// Gives the fields of all axes that the problem has the number of a key that stands for them.
fn share(given: &mut Given<ConvProblem>) -> Result<(), InvalidField> {
    let axes = given.get("ndim").unwrap_or(2).clamp(1, 3) as usize;
    for ((key, sides), value) in SHARED_KEYS.into_iter().zip(given.shared()) {
        let Some(value) = value else { continue };
        for field in sides.iter().flat_map(|fields| &fields[3 - axes..]) {
            given.or(field, value);
            if let Some(other) = given.get(field).filter(|other| *other != value) {
                return Err(InvalidField::new(key, value, format!("{other} as in {field}")));
            }
        }
    }
    Ok(())
}

impl fmt::Display for ConvProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field::write_pairs(self, f)
    }
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
        assert!(complaint(&ConvProblem { split_k: 0, ..good }).starts_with("split_k: found auto"));
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
}
