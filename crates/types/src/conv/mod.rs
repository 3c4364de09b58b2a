//! Grouped convolutions: problems, kernels, and the names of kernels.

mod kernel;
mod limits;
mod name;
mod problem;
mod tile;

pub use kernels::*;
#[cfg(test)]
pub(crate) use problem::from_given;
pub use problems::*;

pub(crate) mod kernels {
    pub use super::kernel::{ConvKernel, ConvMismatch, StreamK};
    pub use super::name::ConvName;
    pub use super::tile::ConvTile;
}

pub(crate) mod problems {
    pub use super::problem::{CONV_COLUMNS, ConvProblem, floor_div};
}

use self::problem::SHARED_KEYS;
use crate::defaults::{ProblemDefaults, StatedFields};
use crate::field::{InvalidField, Record as _};
use crate::given::Given;
use crate::operation::{Operation, OperationKernel, OperationProblem};
use crate::scan::NameError;
use crate::vocab::{Direction, Dtype};

impl OperationProblem for ConvProblem {
    type Kernel = ConvKernel;
    const OPERATION: Operation = Operation {
        noun: "convolutions",
        problem: ConvProblem::FIELDS,
        kernel: ConvKernel::FIELDS,
        required: &["C", "K", "Hi", "Wi", "Y", "X"],
        name_beginnings: "'grouped_conv_'",
        identifying_keys: &["C", "Hi", "Wi"],
        extra_keys: &[],
        shared_keys: &SHARED_KEYS,
        dtype_fields: &["dtype_in", "dtype_wei", "dtype_out"],
        dtype: Dtype::Bf16,
        dtypes: Dtype::ELEMENTS,
        has_dtype_features: false,
        names_tell_types: false,
        letters: &[],
        columns: &CONV_COLUMNS,
        optional_columns: &[&["split_k"], &["pad_d_right", "pad_h_right", "pad_w_right"]],
        extents: &["N", "C", "K", "G", "Hi", "Wi", "Y", "X", "Di", "Z", "dilation_h", "dilation_w"],
        variant_fields: &["direction", "dtype_in", "dtype_wei", "dtype_out", "layout", "split_k"],
        list_columns: &[&CONV_COLUMNS, &["ndim", "direction", "dtype"]],
        problem_cells: &[&CONV_COLUMNS, &["dtype", "direction", "arch"]],
        kernel_cells: &[
            "block_size", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block", "pipeline",
            "wave_mode", "has_dsb", "has_si", "two_stage",
        ],
        shares_kernel_cells: true,
        executable_flags: &[],
    };

    fn from_given(given: Given<Self>, defaults: &ProblemDefaults) -> Result<Self, InvalidField> {
        let problem = problem::from_given(given, defaults)?;
        problem.validate().map(|()| problem)
    }

    fn filled(mut self, stated: StatedFields, kernel: &ConvKernel) -> Self {
        if !stated.direction {
            self.direction = kernel.direction;
        }
        if !stated.dtype {
            self.dtype_in = kernel.dtype_in;
        }
        if !stated.other_types {
            (self.dtype_wei, self.dtype_out) = (kernel.dtype_wei, kernel.dtype_out);
        }
        if !stated.layout {
            self.layout = kernel.layout;
        }
        self
    }

    fn summary(&self) -> String {
        let Self { ndim, direction, dtype_in, layout, .. } = self;
        format!("a {ndim}D {direction} convolution of {dtype_in} in {layout}")
    }

    #[inline]
    fn assumed(&self) -> Self {
        Self { ndim: self.ndim, pad_right: self.pad_left, ..Self::USUAL }
    }

    fn dtype(&self) -> Dtype {
        self.dtype_in
    }

    fn direction(&self) -> Option<Direction> {
        Some(self.direction)
    }

    /// The problem with one layout for all that differ only in the number of dimensions, so that problems of
    /// either spelling compare as equal.
    fn normal(self) -> Self {
        Self { layout: self.layout.order(), ..self }
    }

    #[inline]
    fn split_k(&self) -> i32 {
        self.split_k
    }

    fn in_parts(self, split_k: i32) -> Self {
        Self { split_k, ..self }
    }

    fn gemm_extents(&self) -> [i128; 2] {
        let product = |extents: [i64; 3]| extents.into_iter().map(i128::from).product::<i128>();
        let channels = i128::from(self.c / self.g.max(1));
        [i128::from(self.n) * product(self.output()), channels * product(self.filter)]
    }

    /// A problem of one dimension has no height.
    fn has_column(required: &str, has: &dyn Fn(&str) -> bool) -> bool {
        let says_dimensions = || has("ndim") || has("ndim_spatial");
        has(required) || matches!(required, "Hi" | "Y") && says_dimensions()
    }
}

impl OperationKernel for ConvKernel {
    fn fill_defaults(&self, defaults: &mut ProblemDefaults) {
        (defaults.direction, defaults.conv_layout) = (self.direction, self.layout);
        defaults.dtype = self.dtype_in;
    }

    fn direction(&self) -> Option<Direction> {
        Some(self.direction)
    }

    fn begins_a_name(text: &str) -> bool {
        text.starts_with(Self::NAME_PREFIX)
    }

    fn read_name(name: &str) -> Result<Self, NameError> {
        Self::parse_name(name)
    }
}
