//! Which named cells describe what: inputs of feature rows, as upstream's engines name them.

use crate::conv::{self, CONV_COLUMNS};
use crate::problem::keys;
use crate::vocab::Op;
use crate::{fmha, gemm};

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
    keys(op).iter().filter(|field| !known.contains(field)).chain(names).copied().collect()
}

/// The names of cells that both sides have: in a row they describe the kernel, in a problem the kernels that
/// it needs, such as the mask of attention.
pub fn of_both(op: Op) -> Vec<&'static str> {
    of_kernel(op).iter().filter(|field| keys(op).contains(field)).copied().collect()
}

/// The names of the cells that describe a kernel without a name.
pub const fn of_kernel(op: Op) -> &'static [&'static str] {
    match op {
        Op::GroupedConv => conv::KERNEL_CELLS,
        Op::Gemm => gemm::KERNEL_CELLS,
        Op::Fmha => fmha::KERNEL_CELLS,
    }
}
