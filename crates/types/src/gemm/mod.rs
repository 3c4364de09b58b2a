//! GEMMs: problems, kernels, and the names of kernels.

mod aiter_name;
mod body;
mod family;
mod kernel;
mod name;
mod problem;
mod profile_name;
mod quant_name;
mod request;
mod variant;

pub use body::GemmBody;
pub(crate) use family::Family;
pub use kernel::GemmKernel;
pub use name::ParsedGemmName;
pub use problem::GemmProblem;
pub(crate) use problem::read;
pub use request::{GemmRequest, Group, Groups, MAX_GROUPS};
pub use variant::{GemmVariant, Quant};

/// The cells of a row that describe a kernel without a name, as upstream's feature engines call them.
pub(crate) const KERNEL_CELLS: &[&str] = &[
    "tile_m",
    "tile_n",
    "tile_k",
    "warp_m",
    "warp_n",
    "warp_k",
    "warp_tile_m",
    "warp_tile_n",
    "warp_tile_k",
    "pipeline",
    "scheduler",
    "epilogue",
    "pad_m",
    "pad_n",
    "pad_k",
    "persistent",
    "vec_a",
    "vec_b",
    "vec_c",
];
