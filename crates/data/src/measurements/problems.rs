//! The problems in the cells of rows.

use ck_select_types::cells::{Cell, Fields};
use ck_select_types::each_operation;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::listing::check_names;
use ck_select_types::operation::Operation;
use ck_select_types::problem::{CONV_COLUMNS, FMHA_COLUMNS, FMHA_MORE_COLUMNS, Problem, ProblemDefaults};
use ck_select_types::vocab::{Arch, Op};
use serde_json::Value;

use super::DataError;
use crate::operation::OperationData as _;

/// Columns that describe the problem. Direction, type and layout are in the kernel's name.
pub(crate) fn columns() -> impl Iterator<Item = &'static str> {
    let of_attention = FMHA_COLUMNS.into_iter().filter(|name| !OTHER_COLUMNS.contains(name));
    CONV_COLUMNS.into_iter().chain(OTHER_COLUMNS).chain(of_attention).chain(FMHA_MORE_COLUMNS)
}

/// Those that not every table of convolutions has, and those of GEMMs.
const OTHER_COLUMNS: [&str; 16] = [
    "pad_d_left", "pad_h_left", "pad_w_left", "pad_d_right", "pad_h_right", "pad_w_right", "M", "m", "n",
    "k", "split_k", "batch", "batch_count", "groups", "arch", GFX_NAME,
];

/// The architecture as upstream's converter records it, for rows that have no other, too.
const GFX_NAME: &str = "hw_gfx_name";

/// Further columns that readers use, so that misspelt ones should be found.
const MEASURED: [&str; 11] = [
    "kernel", "kernel_name", "tflops", "measured_tflops", "latency_ms", "latency_us", "bandwidth_gb_s",
    "non_zero", "is_valid", "problem_idx", "run_id",
];

/// The operation whose columns a table has; a table with the columns of both is read as the requested one.
fn op_of(columns: &[String], wanted: Option<Op>) -> Op {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let is_conv = columns.iter().any(|name| ["c", "hi", "wi"].contains(&name.to_lowercase().as_str()));
    match wanted {
        Some(wanted) if is_conv && ["m", "n", "k"].into_iter().all(has) => wanted,
        _ if is_conv => Op::Conv,
        _ if has("seqlen_q") => Op::Fmha,
        _ => Op::Gemm,
    }
}

/// Refuses misspelt columns. Returns the unknown ones that may be ignored.
pub(super) fn check_columns(
    file: &str,
    columns: &[String],
    wanted: Option<Op>,
) -> Result<Vec<String>, DataError> {
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    check_names(op_of(columns, wanted), &names, &MEASURED)
        .map_err(|error| DataError::format(file, format_args!("header: {error}")))
}

/// Refuses a table without the columns that every problem needs. One-dimensional convolutions have no height.
pub(super) fn need_columns(file: &str, columns: &[String], wanted: Option<Op>) -> Result<(), DataError> {
    let op = op_of(columns, wanted);
    // The extents of a GEMM have names of either case.
    let has = |name: &str| {
        columns.iter().any(|column| column == name || op == Op::Gemm && column.eq_ignore_ascii_case(name))
    };
    match Operation::get(op).required.iter().find(|name| !has(name) && !["Hi", "Y"].contains(name)) {
        Some(column) => Err(DataError::no_column(file, column, columns)),
        None => Ok(()),
    }
}

/// The problem of a row: extents from its cells, direction, dimensions, types and layout from its kernel's
/// name.
pub fn problem_of(kernel: &Kernel, cells: &dyn Fields, arch: Option<Arch>) -> Result<Problem, String> {
    let recorded = cells.get(GFX_NAME);
    let recorded = recorded.map(|word| word.parse::<Arch>().map_err(|error| format!("{GFX_NAME}: {error}")));
    let recorded = recorded.transpose()?;
    // The reader parses the architecture that is assumed, because it can report where it is.
    let defaults = ProblemDefaults { arch: recorded.or(arch), ..ProblemDefaults::new(kernel.op()) };
    let problem = each_operation!(&kernel.kind, KernelKind(own) as Own => {
        Own::of_row((&kernel.name, own), cells, &defaults).map(Problem::from)?
    });
    match (recorded, problem.arch()) {
        (Some(found), Some(expected)) if found != expected => {
            Err(format!("{GFX_NAME}: found {found}, expected {expected} as in arch"))
        }
        _ => Ok(problem),
    }
}

/// A few cells with their own texts.
#[derive(Debug, Default)]
pub(super) struct OwnedCells(pub(super) Vec<(&'static str, String)>);

impl Fields for OwnedCells {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let (_, text) = self.0.iter().find(|(known, _)| *known == name)?;
        Cell::of_text(text)
    }
}

/// A value as text of a cell.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
