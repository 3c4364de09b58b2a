//! The columns of upstream's canonical tables, in its order.

use std::collections::HashSet;
use std::path::PathBuf;

use ck_select_types::each_operation;
use ck_select_types::field::{Kind, position};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::KernelKind;
use ck_select_types::operation::Operation;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

use super::columns::{Column, ColumnSource};
use crate::operation::{OperationData, numbers_runs};
use crate::read::{DataError, columns_of};

/// The names of the inputs' columns, some of which the canonical tables lack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InputColumns(HashSet<String>);

impl InputColumns {
    /// Reads the headers and keys of all inputs.
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, DataError> {
        let mut inputs = Self::default();
        for file in files {
            inputs.0.extend(columns_of(file)?);
        }
        Ok(inputs)
    }

    fn have(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether the inputs have a field of the problem: under one of its names, or the field that it completes, as
    /// padding after an axis completes the padding before it, and a histogram has the numbers of a routing.
    fn have_field(&self, op: Op, name: &str) -> bool {
        let aliases =
            position(Problem::fields(op), name).map_or(&[][..], |at| Problem::fields(op)[at].aliases);
        let before = name.strip_suffix("_right").map(|name| format!("{name}_left"));
        let is_routed = name == "active" && ["histogram", "skew"].iter().any(|name| self.have(name));
        self.have(name)
            || is_routed
            || aliases.iter().any(|name| self.have(name))
            || before.is_some_and(|name| self.have(&name))
    }
}

/// The columns of an operation's table.
pub(super) fn columns(op: Op, inputs: &InputColumns) -> Vec<Column> {
    let names = canonical(op);
    let is_recorded = Hardware::COLUMNS.iter().any(|name| inputs.have(name));
    let hardware = Hardware::COLUMNS.iter().filter(|name| is_recorded && !names.contains(name));
    let hardware: Vec<Column> = hardware.filter_map(|name| Column::named(op, name)).collect();
    let columns = names.iter().filter_map(|name| Column::named(op, name));
    columns.chain(more(op, inputs)).chain(hardware).collect()
}

fn canonical(op: Op) -> Vec<&'static str> {
    each_operation!(op, Own => <Own as OperationData>::TABLE).concat()
}

/// The columns that an operation's table has because the inputs have them.
pub(super) fn more(op: Op, inputs: &InputColumns) -> Vec<Column> {
    let bandwidth = Some(BANDWIDTH).filter(|name| !canonical(op).contains(name) && inputs.have(name));
    let needed = Operation::get(op).optional_columns.iter();
    let needed = needed.filter(|names| names.iter().any(|name| inputs.have_field(op, name)));
    let names = bandwidth.into_iter().chain(needed.flat_map(|names| names.iter().copied()));
    names.filter_map(|name| Column::of_problem(op, name).or_else(|| Column::named(op, name))).collect()
}

const BANDWIDTH: &str = "bandwidth_gb_s";

/// The columns of upstream's CSV.
pub(super) fn of_benchmark(op: Op) -> Vec<Column> {
    let names = each_operation!(op, Own => <Own as OperationData>::BENCHMARK).concat();
    names.into_iter().filter_map(|name| Column::named(op, name)).collect()
}

/// The name of the column of speeds in an operation's table.
pub fn speed_column(op: Op) -> &'static str {
    let names = canonical(op);
    ["measured_tflops", "tflops"].into_iter().find(|name| names.contains(name)).unwrap_or_default()
}

impl Column {
    /// The column of this name. Of fields that problem and kernel have, numbers are the problem's; flags and
    /// words are the kernel's, but for the stage, which Triton's kernels of mixtures of experts leave open.
    fn named(op: Op, name: &'static str) -> Option<Self> {
        let fields = Problem::fields(op);
        let is_problems = |&at: &usize| matches!(fields[at].kind, Kind::Number) || name == "stage";
        let problems = position(fields, name).filter(is_problems);
        let source =
            of_row(op, name).or(problems.map(ColumnSource::Problem)).or_else(|| of_kernel(op, name))?;
        Some(Self { name, op, source })
    }
}

fn of_kernel(op: Op, name: &str) -> Option<ColumnSource> {
    // The three numbers of the name, in its order, because models are trained on them.
    let field = match name {
        "block_size" => "tile_m",
        "gemm_m_per_block" => "tile_n",
        "gemm_n_per_block" => "tile_k",
        _ => name,
    };
    position(KernelKind::fields(op), field).map(ColumnSource::Kernel)
}

fn of_row(op: Op, name: &str) -> Option<ColumnSource> {
    Some(match name {
        "op_type" => ColumnSource::Op,
        "kernel" | "kernel_name" => ColumnSource::KernelName,
        "arch" => ColumnSource::Arch,
        "groups" => ColumnSource::Groups,
        "tflops" | "measured_tflops" => ColumnSource::Figure(|figures| figures.tflops),
        "latency_ms" => ColumnSource::Figure(|figures| figures.latency_ms),
        "bandwidth_gb_s" => ColumnSource::Figure(|figures| figures.bandwidth_gb_s),
        "is_valid" => ColumnSource::IsValid,
        "non_zero" => ColumnSource::NonZero,
        "problem_idx" => ColumnSource::ProblemIdx,
        "run_id" if numbers_runs(op) => ColumnSource::RunInt,
        "run_id" => ColumnSource::RunText,
        _ => {
            let constant = Hardware::COLUMNS.iter().position(|column| *column == name)?;
            ColumnSource::Hardware(Hardware::NAMES[constant])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is no field would be left out.
    #[test]
    fn tables_have_upstreams_columns() {
        let inputs = InputColumns::default();
        let names = |op| -> Vec<&str> { columns(op, &inputs).iter().map(|column| column.name).collect() };
        assert_eq!(names(Op::Gemm).len(), 30);
        assert_eq!(names(Op::Gemm)[28..], ["persistent", "run_id"]);
        assert_eq!(names(Op::Conv).len(), 49);
        assert_eq!(names(Op::Conv)[47..], ["is_valid", "run_id"]);
        assert_eq!(names(Op::Fmha).len(), 48);
        let more = InputColumns(["sink_size", "hw_num_cus"].map(str::to_owned).into());
        let names: Vec<&str> = columns(Op::Fmha, &more).iter().map(|column| column.name).collect();
        assert_eq!(names[47..50], ["run_id", "sink_size", "hw_num_cus"]);
    }
}
