//! Grouped convolutions in tables of measurements.

use ck_select_types::cells::{Cell, Fields};
use ck_select_types::kernel::ConvKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{CONV_COLUMNS, ConvProblem, ProblemDefaults};

use crate::operation::{OperationData, Run};

impl OperationData for ConvProblem {
    const TABLE: &'static [Run] = &[
        Run::Row("kernel_name latency_ms tflops non_zero problem_idx"),
        Run::Problem(
            "N C K G Di Hi Wi Z Y X stride_d stride_h stride_w pad_d pad_h pad_w dilation_d dilation_h \
             dilation_w",
        ),
        Run::Row("op_type"),
        Run::Kernel(
            "variant dtype ndim_spatial block_size gemm_m_per_block gemm_n_per_block pipeline wave_mode \
             has_dsb has_si",
        ),
        Run::Row("arch"),
        Run::Hardware,
        Run::Row("is_valid run_id"),
    ];
    const BENCHMARK: &'static [&'static [&'static str]] =
        &[&["kernel_name", "problem_idx"], &CONV_COLUMNS, &["latency_ms", "tflops", "non_zero"]];

    fn of_row(
        (_, kernel): (&str, &ConvKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        let defaults = ProblemDefaults { direction: kernel.direction, dtype: kernel.dtype_in, ..*defaults };
        Self::read_cells(&ByName { cells, ndim: kernel.ndim }, &defaults).map_err(|error| error.to_string())
    }
}

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
