//! Which named cells describe what: inputs of feature rows, as upstream's engines name them.

use crate::operation::Operation;
use crate::problem::keys;
use crate::vocab::Op;

/// The names of the cells that describe a problem, and those that tell whether a model applies to it.
pub fn of_problem(op: Op) -> Vec<&'static str> {
    Operation::get(op).problem_cells.concat()
}

/// The names of further cells about a problem: its other fields, and other names of fields. Upstream's
/// engines ignore them. Where absent cells are errors, they are read like any other cell, or must agree with
/// the others.
pub fn beside_problem(op: Op) -> Vec<&'static str> {
    let known = [&of_problem(op), of_kernel(op)].concat();
    keys(op).iter().filter(|field| !known.contains(field)).chain(&["op_type", "op"]).copied().collect()
}

/// The names of cells that both sides have: in a row they describe the kernel, in a problem the kernels that
/// it needs, such as the mask of attention.
pub fn of_both(op: Op) -> Vec<&'static str> {
    of_kernel(op).iter().filter(|field| keys(op).contains(field)).copied().collect()
}

/// The names of the cells that describe a kernel without a name.
pub const fn of_kernel(op: Op) -> &'static [&'static str] {
    Operation::get(op).kernel_cells
}
