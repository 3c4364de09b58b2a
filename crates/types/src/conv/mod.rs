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

/// The cells of a row that describe a kernel without a name, as upstream's feature engines call them.
pub(crate) const KERNEL_CELLS: &[&str] = &[
    "block_size",
    "gemm_m_per_block",
    "gemm_n_per_block",
    "gemm_k_per_block",
    "pipeline",
    "wave_mode",
    "has_dsb",
    "has_si",
    "two_stage",
];
