//! GEMMs: problems, kernels, and the names of kernels.

mod aiter_name;
mod body;
mod family;
mod kernel;
mod name;
mod problem;
mod profile_name;
mod quant_name;
pub(crate) mod request;
mod variant;

pub use body::GemmBody;
pub(crate) use family::Family;
pub use kernel::GemmKernel;
pub use name::ParsedGemmName;
pub use problem::GemmProblem;
pub(crate) use problem::read;
pub use request::{GemmRequest, Group, Groups, MAX_GROUPS};
pub use variant::{GemmVariant, Quant};

use crate::field::Record as _;
use crate::operation::Operation;
use crate::vocab::Dtype;

/// The columns that problems have in tables of measurements.
const COLUMNS: &[&str] = &["m", "n", "k", "split_k", "dtype", "layout"];

/// What the operation says about itself.
pub(crate) const OPERATION: Operation = Operation {
    noun: "GEMMs",
    problem: GemmProblem::FIELDS,
    kernel: GemmKernel::FIELDS,
    needed: &["M", "N", "K"],
    operands: &["dtype_a", "dtype_b", "dtype_c"],
    dtype: Dtype::Fp8,
    columns: COLUMNS,
    more_columns: &[&["batch", "groups"]],
    problem_cells: &[COLUMNS, &["M", "N", "K", "batch", "batch_count", "groups", "arch"]],
    kernel_cells: &[
        "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_k", "warp_tile_m", "warp_tile_n",
        "warp_tile_k", "pipeline", "scheduler", "epilogue", "pad_m", "pad_n", "pad_k", "persistent", "vec_a",
        "vec_b", "vec_c",
    ],
};
