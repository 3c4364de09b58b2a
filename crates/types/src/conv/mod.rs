//! Grouped convolutions: problems, kernels, and the names of kernels.

mod kernel;
mod name;
mod problem;
mod tile;

pub use kernel::{ConvKernel, StreamK};
pub use name::ConvName;
pub(crate) use problem::read;
pub use problem::{CONV_COLUMNS, ConvProblem, floor_div};
pub use tile::ConvTile;

use crate::field::Record as _;
use crate::operation::Operation;
use crate::vocab::Dtype;

/// What the operation says about itself.
pub(crate) const OPERATION: Operation = Operation {
    noun: "convolutions",
    problem: ConvProblem::FIELDS,
    kernel: ConvKernel::FIELDS,
    needed: &["C", "K", "Hi", "Wi", "Y", "X"],
    operands: &["dtype_in", "dtype_wei", "dtype_out"],
    dtype: Dtype::Bf16,
    columns: &CONV_COLUMNS,
    more_columns: &[&["split_k"], &["pad_d_right", "pad_h_right", "pad_w_right"]],
    problem_cells: &[&CONV_COLUMNS, &["dtype", "direction", "arch"]],
    kernel_cells: &[
        "block_size", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block", "pipeline", "wave_mode",
        "has_dsb", "has_si", "two_stage",
    ],
};
