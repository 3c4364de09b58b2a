//! Grouped convolutions in tables of measurements.

use ck_select_types::cells::Fields;
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::ConvKernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{CONV_COLUMNS, ConvProblem, ProblemDefaults};

use crate::operation::OperationData;

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

    fn from_row(
        (_, kernel): (&str, &ConvKernel),
        cells: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, String> {
        // The kernel's name says the words and how many axes there are, whatever cells say.
        let is_size = |name: &str| {
            let said = ["direction", "variant", "ndim", "ndim_spatial", "layout"];
            !said.contains(&name) && !name.starts_with("dtype")
        };
        let read = Self::given_in(cells, is_size).and_then(|mut given| {
            given.or("ndim", kernel.ndim.into());
            let (direction, dtype) = (kernel.direction, kernel.dtype_in);
            Self::from_given(given, &ProblemDefaults { direction, dtype, ..*defaults })
        });
        read.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use ck_select_types::kernel::{Kernel, KernelKind};
    use ck_select_types::table::{Cells, Column, Table};
    use ck_select_types::vocab::{Direction, Op};

    use super::*;

    /// `direction` was left to the name, `variant` was not.
    #[test]
    fn words_of_a_kernels_name_count_under_all_their_names() {
        let Ok(Kernel { kind: KernelKind::Conv(kernel), .. }) =
            Kernel::from_name("grouped_conv_forward_bf16_2d_64x64x64_compv3")
        else {
            panic!("no convolution")
        };
        let numbers = ["C", "K", "Hi", "Wi", "Y", "X"].map(|name| (name, "8"));
        let words = [("variant", "bwd_data"), ("dtype", "fp16"), ("ndim_spatial", "3"), ("layout", "nhwc")];
        let column = |(name, word)| Column { name, cells: Cells::Words { words: vec![word], codes: &[0] } };
        let table = Table::new(numbers.into_iter().chain(words).map(column).collect(), 1).unwrap();
        let defaults = ProblemDefaults::new(Op::Conv);
        let problem = ConvProblem::from_row(("", &kernel), &table.row(0), &defaults).unwrap();
        assert_eq!((problem.direction, problem.ndim), (Direction::Forward, 2));
    }
}
