//! Grouped convolutions in tables of measurements.

use ck_select_types::cells::{Cell, Fields};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::ConvKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{CONV_COLUMNS, ConvProblem, ProblemDefaults};

use crate::operation::OperationData;
use crate::read::json::OperationResults;

impl OperationData for ConvProblem {
    const TABLE: &'static [&'static [&'static str]] = &[
        &["kernel_name", "latency_ms", "tflops", "non_zero", "problem_idx"],
        &CONV_COLUMNS,
        &[
            "op_type", "variant", "dtype", "ndim_spatial", "block_size", "gemm_m_per_block",
            "gemm_n_per_block", "pipeline", "wave_mode", "has_dsb", "has_si", "arch",
        ],
        &Hardware::COLUMNS,
        &["is_valid", "run_id"],
    ];
    const BENCHMARK: &'static [&'static [&'static str]] =
        &[&["kernel", "problem_idx"], &CONV_COLUMNS, &["latency_ms", "tflops", "non_zero"]];
    const NUMBERS_RUNS: bool = true;

    fn of_row(
        (_, kernel): (&str, &ConvKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        let defaults = ProblemDefaults { direction: kernel.direction, dtype: kernel.dtype_in, ..*defaults };
        Self::read_cells(&ByName { cells, ndim: kernel.ndim }, &defaults).map_err(|error| error.to_string())
    }
}

impl OperationResults for ConvProblem {}

/// Cells that the kernel's name overrides.
struct ByName<'a> {
    cells: &'a dyn Fields,
    ndim: u8,
}

impl Fields for ByName<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        match name {
            "ndim" => Some(Cell::Whole(self.ndim.into())),
            "direction" | "dtype" | "dtype_in" | "dtype_wei" | "dtype_out" | "layout" => None,
            name => self.cells.cell(name),
        }
    }
}
