//! Attention: problems, kernels, and the names of kernels.

mod body;
mod ck_name;
mod config_name;
mod identifier;
mod kernel;
mod problem;
mod supports;
#[cfg(test)]
mod tests;

pub use kernel::{FmhaKernel, FmhaTile};
pub use problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, FmhaProblem, fmha_signature_differs};
pub(crate) use problem::{has_signature, read};
pub use supports::Unsupported;

use crate::field::Record as _;
use crate::operation::Operation;
use crate::vocab::Dtype;

/// What the operation says about itself.
pub(crate) const OPERATION: Operation = Operation {
    noun: "attention",
    problem: FmhaProblem::FIELDS,
    kernel: FmhaKernel::FIELDS,
    needed: &["seqlen_q", "nhead_q", "hdim_q"],
    operands: &[],
    dtype: Dtype::Fp16,
    columns: &FMHA_COLUMNS,
    more_columns: &problem::MORE_COLUMNS,
    problem_cells: &[FMHA_COLUMNS.split_at(7).0, &["dtype", "data_type", "arch"]],
    kernel_cells: &[
        "pipeline", "tile_m0", "tile_n0", "tile_k0", "tile_n1", "tile_k1", "tile_k0max", "pad_s", "pad_sk",
        "pad_d", "pad_dv", "mask", "mask_type", "bias", "bias_type", "lse", "has_lse", "dropout",
        "has_dropout", "logits", "has_logits_soft_cap", "sink", "has_sink", "skip", "skip_min_seqlen_q",
        "qscale", "qscale_type", "paged_kv", "use_paged_kv",
    ],
};
