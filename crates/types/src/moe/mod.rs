//! Mixtures of experts: problems, kernels, and the names of kernels.

pub mod engine;
mod kernel;
mod mean;
mod name;
mod problem;
#[cfg(test)]
mod tests;

pub use kernels::*;
pub use mean::MeanRouting;
#[cfg(test)]
pub(crate) use problem::from_given;
pub use problems::*;

pub(crate) mod kernels {
    pub use super::kernel::{MoeKernel, MoeMismatch};
}

pub(crate) mod problems {
    pub use super::problem::MoeProblem;
}

use crate::defaults::{ProblemDefaults, StatedFields};
use crate::field::{InvalidField, Record as _};
use crate::given::Given;
use crate::operation::{Operation, OperationKernel, OperationProblem};
use crate::scan::NameError;
use crate::vocab::{Dtype, GemmLibrary, MoeStage};

/// The columns that a table of measurements always has.
const COLUMNS: &[&str] = &["stage", "tokens", "experts", "topk", "n", "k"];

/// The columns of the routing.
const ROUTING: &[&str] = &["active", "largest", "tiles_16", "tiles_32", "tiles_64", "tiles_128", "tiles_256"];

impl OperationProblem for MoeProblem {
    type Kernel = MoeKernel;
    const OPERATION: Operation = Operation {
        noun: "mixture-of-experts",
        problem: MoeProblem::FIELDS,
        kernel: MoeKernel::FIELDS,
        required: COLUMNS,
        name_beginnings: name::BEGINNINGS,
        identifying_keys: &["experts", "topk"],
        extra_keys: &["histogram", "skew"],
        shared_keys: &[],
        dtype_fields: &["dtype_a", "dtype_b"],
        dtype: Dtype::Bf16,
        dtypes: Dtype::ELEMENTS,
        has_dtype_features: true,
        names_tell_types: true,
        letters: &[],
        columns: COLUMNS,
        optional_columns: &[ROUTING, &["quant", "block_n", "block_k"], &["activation", "weighted_first"]],
        extents: &["tokens", "experts", "topk", "n", "k"],
        variant_fields: &["stage", "dtype_a", "dtype_b", "quant", "activation", "weighted_first"],
        list_columns: &[COLUMNS, &["dtype_a", "dtype_b", "quant", "block_n", "block_k"]],
        problem_cells: &[
            COLUMNS,
            ROUTING,
            &["dtype", "dtype_a", "dtype_b", "quant", "histogram", "skew", "arch"],
        ],
        kernel_cells: &[
            "tile_m", "tile_n", "tile_k", "group_m", "num_warps", "wave_m", "num_stages", "stages",
            "waves_per_eu", "nonkdim", "kpack",
        ],
        shares_kernel_cells: true,
        executable_flags: &[],
    };

    fn from_given(given: Given<Self>, defaults: &ProblemDefaults) -> Result<Self, InvalidField> {
        let problem = problem::from_given(&given, defaults)?;
        problem.validate().map(|()| problem)
    }

    fn filled(mut self, stated: StatedFields, kernel: &MoeKernel) -> Self {
        if !stated.dtype {
            self.dtype_a = kernel.dtype_a;
        }
        if !stated.other_types {
            self.dtype_b = kernel.dtype_b;
        }
        self
    }

    fn summary(&self) -> String {
        format!("a mixture of experts ({}, stage {})", self.dtype_a, self.stage)
    }

    #[inline]
    fn dtype(&self) -> Dtype {
        self.dtype_a
    }

    #[inline]
    fn unknown(&self) -> Option<&'static str> {
        (!self.has_routing()).then_some("active")
    }

    fn weight(&self) -> Option<String> {
        // Both stages of a layer are one.
        let [n, k] = if self.stage == MoeStage::Two { [2 * self.k, self.n] } else { [self.n, self.k] };
        Some(format!("{}_{n}_{k}", self.experts))
    }

    fn gemm_extents(&self) -> [i128; 2] {
        [self.rows(), self.k].map(i128::from)
    }
}

impl OperationKernel for MoeKernel {
    fn fill_defaults(&self, defaults: &mut ProblemDefaults) {
        defaults.dtype = self.dtype_a;
    }

    fn library(&self) -> Option<GemmLibrary> {
        Some(self.library)
    }

    fn begins_a_name(text: &str) -> bool {
        Self::begins_a_name(text)
    }

    fn read_name(name: &str) -> Result<Self, NameError> {
        Self::parse_name(name)
    }
}
