//! GEMMs: problems, kernels, and the names of kernels.

mod aiter_name;
mod family;
mod kernel;
mod limits;
mod mismatch;
mod name;
mod parts;
mod problem;
mod profile_name;
mod quant_name;
pub(crate) mod request;
mod triton_name;
mod variant;

use family::Family;
pub use kernels::*;
#[cfg(test)]
pub(crate) use problem::from_given;
pub use problems::*;

pub(crate) mod kernels {
    pub use super::kernel::GemmKernel;
    pub use super::mismatch::GemmMismatch;
    pub use super::name::ParsedGemmName;
    pub use super::variant::{GemmVariant, Quant};
}

pub(crate) mod problems {
    pub use super::problem::GemmProblem;
    pub use super::request::GemmRequest;
    pub use crate::groups::{Group, Groups, MAX_GROUPS};
}

use crate::defaults::{ProblemDefaults, StatedFields};
use crate::field::{InvalidField, Record as _};
use crate::given::Given;
use crate::operation::{Operation, OperationKernel, OperationProblem};
use crate::scan::NameError;
use crate::vocab::{Dtype, GemmLibrary};

/// The columns that problems have in tables of measurements.
const COLUMNS: &[&str] = &["m", "n", "k", "split_k", "dtype", "layout"];

impl OperationProblem for GemmProblem {
    type Kernel = GemmKernel;
    const OPERATION: Operation = Operation {
        noun: "GEMMs",
        problem: GemmProblem::FIELDS,
        kernel: GemmKernel::FIELDS,
        required: &["M", "N", "K"],
        name_beginnings: "'gemm_' or another family of GEMM kernels nor, as the dispatcher's identifiers of \
                          GEMMs do, with a dtype",
        identifying_keys: &["M", "m", "groups"],
        extra_keys: &["groups"],
        shared_keys: &[],
        dtype_fields: &["dtype_a", "dtype_b", "dtype_c"],
        dtype: Dtype::Fp8,
        dtypes: Dtype::ELEMENTS,
        has_dtype_features: false,
        names_tell_types: true,
        letters: &[["M", "m"], ["N", "n"], ["K", "k"]],
        columns: COLUMNS,
        optional_columns: &[&["batch", "groups"], &["num_d"]],
        extents: &["M", "N", "K"],
        variant_fields: &[
            "dtype_a", "dtype_b", "dtype_c", "layout", "split_k", "stream_k", "num_d", "preshuffle", "quant",
            "group_a", "group_b",
        ],
        list_columns: &[&["m", "n", "k", "dtype", "layout"]],
        problem_cells: &[COLUMNS, &["M", "N", "K", "batch", "batch_count", "groups", "arch"]],
        kernel_cells: &[
            "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_k", "warp_tile_m", "warp_tile_n",
            "warp_tile_k", "pipeline", "scheduler", "epilogue", "pad_m", "pad_n", "pad_k", "persistent",
            "vec_a", "vec_b", "vec_c",
        ],
        shares_kernel_cells: true,
        executable_flags: &["m", "n", "k"],
    };

    fn from_given(given: Given<Self>, defaults: &ProblemDefaults) -> Result<Self, InvalidField> {
        let problem = problem::from_given(given, defaults)?;
        problem.validate().map(|()| problem)
    }

    fn filled(mut self, stated: StatedFields, kernel: &GemmKernel) -> Self {
        if !stated.dtype {
            self.dtype_a = kernel.dtype_a;
        }
        if !stated.other_types {
            (self.dtype_b, self.dtype_c) = (kernel.dtype_b, kernel.dtype_c);
        }
        if !stated.layout {
            self.layout = kernel.layout;
        }
        // Stream-K and scales are the kernel's, unless the problem states them.
        self.request.stream_k = self.request.stream_k.or(kernel.variant.stream_k);
        if let (None, Some(scales)) = (self.request.quant, kernel.variant.quant) {
            self.request = self.request.scaled(scales);
        }
        self
    }

    fn summary(&self) -> String {
        format!("a GEMM of {} in {} with {} results", self.dtype_a, self.layout, self.dtype_c)
    }

    #[inline]
    fn dtype(&self) -> Dtype {
        self.dtype_a
    }

    #[inline]
    fn split_k(&self) -> i32 {
        self.split_k
    }

    fn in_parts(self, split_k: i32) -> Self {
        Self { split_k, ..self }
    }

    fn weight(&self) -> Option<String> {
        Some(format!("{}_{}", self.n, self.k))
    }

    fn bytes(&self) -> Option<f64> {
        let [a, b, c] = [self.dtype_a, self.dtype_b, self.dtype_c].map(|dtype| f64::from(dtype.bits()) / 8.0);
        let moved = |[m, n, k]: [f64; 3]| m * k * a + k * n * b + m * n * c;
        Some(self.gemms().map(|(extents, count)| count * moved(extents.map(|extent| extent as f64))).sum())
    }

    fn gemm_extents(&self) -> [i128; 2] {
        [self.m, self.k].map(i128::from)
    }

    /// Not a list of GEMMs.
    #[inline]
    fn has_fields_only(&self) -> bool {
        self.request.groups.is_empty()
    }

    fn extra_cell(&self, key: &str) -> Option<String> {
        (key == "groups").then(|| self.request.groups.to_string())
    }

    /// A list of GEMMs has the extents.
    fn has_column(required: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has(required) || has(&required.to_lowercase()) || has("groups")
    }
}

impl OperationKernel for GemmKernel {
    fn fill_defaults(&self, defaults: &mut ProblemDefaults) {
        (defaults.dtype, defaults.gemm_layout) = (self.dtype_a, self.layout);
    }

    fn library(&self) -> Option<GemmLibrary> {
        Some(self.variant.library)
    }

    fn is_of_several_types(&self) -> bool {
        self.may_be_int8()
    }

    fn is_shuffled(&self) -> bool {
        self.preshuffle
    }

    /// A family's word, or what the dispatcher's identifiers begin with: a type, or a number by mistake.
    fn begins_a_name(text: &str) -> bool {
        is_a_name(text)
            || text.starts_with(|first: char| first.is_ascii_digit())
            || Dtype::WORDS.iter().any(|start| text.starts_with(start))
    }

    fn hardly_else_than_a_name(text: &str) -> bool {
        Self::begins_a_name(text)
    }

    fn read_name(name: &str) -> Result<Self, NameError> {
        if is_a_name(name) {
            Self::parse_name(name).map(|parsed| parsed.kernel)
        } else {
            Self::parse_identifier(name)
        }
    }
}

fn is_a_name(text: &str) -> bool {
    Family::from_name(text).is_some() || GemmKernel::begins_a_name(text)
}

/// The kernel of a name, which must be valid.
#[cfg(test)]
fn named(name: &str) -> GemmKernel {
    GemmKernel::read_name(name).unwrap_or_else(|error| panic!("{error}"))
}
