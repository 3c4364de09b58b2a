//! Named cells: a row of a CSV, or a mapping as upstream's Python tools take it.

use crate::problem::{self, CONV_COLUMNS};
use crate::vocab::Op;

/// Named cells. An empty cell counts as absent.
pub trait Fields {
    /// The text of a cell, `None` when it is absent or empty.
    fn get(&self, name: &str) -> Option<&str>;

    /// The same for cells with a type of their own, which need not be read from text.
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.get(name).map(Cell::Word)
    }
}

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// A whole number.
    Whole(i64),
    /// A number that may have a fraction; inputs truncate it.
    Number(f64),
    /// A word, or a number as text.
    Word(&'a str),
}

impl std::fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Word(word) => write!(f, "'{word}'"),
        }
    }
}

/// The names of the cells that describe a problem, and those that tell whether a model applies to it.
pub fn of_problem(op: Op) -> Vec<&'static str> {
    match op {
        Op::GroupedConv => [CONV_COLUMNS.as_slice(), &["dtype", "direction", "arch"]].concat(),
        Op::Gemm => vec![
            "m",
            "n",
            "k",
            "M",
            "N",
            "K",
            "split_k",
            "dtype",
            "layout",
            "batch",
            "batch_count",
            "groups",
            "arch",
        ],
        Op::Fmha => {
            vec![
                "batch",
                "seqlen_q",
                "seqlen_k",
                "nhead_q",
                "nhead_k",
                "hdim_q",
                "hdim_v",
                "dtype",
                "data_type",
                "arch",
            ]
        }
    }
}

/// The names of further cells about a problem: its other fields, and other names of fields. Upstream's
/// engines ignore them. Where absent cells are errors, they are read like any other cell, or must agree with
/// the others.
pub fn beside_problem(op: Op) -> Vec<&'static str> {
    let names = match op {
        Op::GroupedConv => &["variant", "ndim_spatial", "op_type", "op"][..],
        Op::Gemm | Op::Fmha => &["op_type", "op"][..],
    };
    let known = [&of_problem(op), of_kernel(op)].concat();
    problem::keys(op).iter().filter(|field| !known.contains(field)).chain(names).copied().collect()
}

/// The names of cells that both sides have: in a row they describe the kernel, in a problem the kernels that
/// it needs, such as the mask of attention.
pub fn of_both(op: Op) -> Vec<&'static str> {
    of_kernel(op).iter().filter(|field| problem::keys(op).contains(field)).copied().collect()
}

/// The names of the cells that describe a kernel without a name.
pub const fn of_kernel(op: Op) -> &'static [&'static str] {
    match op {
        Op::GroupedConv => &[
            "block_size",
            "gemm_m_per_block",
            "gemm_n_per_block",
            "gemm_k_per_block",
            "pipeline",
            "wave_mode",
            "has_dsb",
            "has_si",
            "two_stage",
        ],
        Op::Gemm => &[
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
        ],
        Op::Fmha => &[
            "pipeline",
            "tile_m0",
            "tile_n0",
            "tile_k0",
            "tile_n1",
            "tile_k1",
            "tile_k0max",
            "pad_s",
            "pad_sk",
            "pad_d",
            "pad_dv",
            "mask",
            "mask_type",
            "bias",
            "bias_type",
            "lse",
            "has_lse",
            "dropout",
            "has_dropout",
            "logits",
            "has_logits_soft_cap",
            "sink",
            "has_sink",
            "skip",
            "skip_min_seqlen_q",
            "qscale",
            "qscale_type",
            "paged_kv",
            "use_paged_kv",
        ],
    }
}
