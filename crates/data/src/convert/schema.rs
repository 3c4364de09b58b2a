//! The columns of upstream's canonical tables, in its order.

use std::path::PathBuf;

use ck_select_types::hardware::Hardware;
use ck_select_types::problem::{CONV_COLUMNS, FMHA_COLUMNS, FMHA_MORE_COLUMNS};
use ck_select_types::vocab::Op;

use super::columns::{Column, Source};
use crate::measurements::{DataError, columns_of};

/// What the inputs have besides the canonical columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Extras {
    /// A bandwidth, which the canonical table of convolutions lacks.
    pub(super) bandwidth: bool,
    /// A split of the reduction, which the canonical table of convolutions lacks.
    pub(super) split_k: bool,
    /// Padding that may differ between the sides.
    pub(super) pad_sides: bool,
    /// Hardware constants, which the canonical table of GEMMs lacks.
    pub(super) hardware: bool,
    /// Batches or lists of GEMMs, which the canonical table of GEMMs lacks.
    pub(super) many: bool,
    /// What else tells problems of attention apart, as indices into [`FMHA_MORE_COLUMNS`].
    pub(super) more: Vec<usize>,
}

impl Extras {
    /// Reads the headers of all inputs.
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, DataError> {
        let mut extras = Self::default();
        for file in files {
            let Some(columns) = columns_of(file)? else { continue };
            let has = |name: &str| columns.iter().any(|column| column == name);
            extras.bandwidth |= has("bandwidth_gb_s");
            extras.split_k |= has("split_k");
            extras.many |= ["batch", "batch_count", "groups"].into_iter().any(has);
            extras.pad_sides |= ["d", "h", "w"]
                .iter()
                .any(|axis| has(&format!("pad_{axis}_right")) || has(&format!("pad_{axis}_left")));
            extras.hardware |= Hardware::NAMES.iter().any(|name| has(&format!("hw_{name}")));
            extras.more.extend((0..FMHA_MORE_COLUMNS.len()).filter(|&at| has(FMHA_MORE_COLUMNS[at])));
        }
        extras.more.sort_unstable();
        extras.more.dedup();
        Ok(extras)
    }
}

/// Columns that stand one behind the other in upstream's tables: of fields of the kernel or of the problem,
/// and of what else a row has.
enum Run {
    Kernel(&'static str),
    Problem(&'static str),
    Row(&'static str),
    Hardware,
}

const GEMM: &[Run] = &[
    Run::Row("op_type"),
    Run::Kernel("dtype layout"),
    Run::Row("arch kernel_name"),
    Run::Problem("m n k split_k"),
    Run::Row("measured_tflops latency_ms bandwidth_gb_s is_valid"),
    Run::Kernel(
        "tile_m tile_n tile_k warp_m warp_n warp_k warp_tile_m warp_tile_n warp_tile_k pipeline scheduler \
         epilogue",
    ),
    Run::Row("pad_m pad_n pad_k"),
    Run::Kernel("persistent"),
    Run::Row("run_id"),
];

/// Upstream's benchmark of attention.
const FMHA: &[Run] = &[
    Run::Problem(
        "batch seqlen_q seqlen_k nhead_q nhead_k hdim_q hdim_v max_seqlen_q max_seqlen_k page_size num_splits \
         window_left window_right",
    ),
    Run::Row("op_type"),
    Run::Kernel("dtype"),
    Run::Row("arch kernel_name"),
    Run::Kernel(
        "family mode pipeline tile_m0 tile_n0 tile_k0 tile_n1 tile_k1 tile_k0max pad_s pad_sk pad_d pad_dv mask \
         bias lse dropout logits sink skip qscale paged_kv rope deterministic dbias",
    ),
    Run::Row("latency_ms tflops bandwidth_gb_s is_valid problem_idx run_id"),
];

const CONV: &[Run] = &[
    Run::Row("kernel_name latency_ms tflops non_zero problem_idx"),
    Run::Problem(
        "N C K G Di Hi Wi Z Y X stride_d stride_h stride_w pad_d pad_h pad_w dilation_d dilation_h dilation_w",
    ),
    Run::Row("op_type"),
    Run::Kernel(
        "variant dtype ndim_spatial block_size gemm_m_per_block gemm_n_per_block pipeline wave_mode has_dsb has_si",
    ),
    Run::Row("arch"),
    Run::Hardware,
    Run::Row("is_valid run_id"),
];

/// The columns of an operation's table.
pub(super) fn columns(op: Op, extras: &Extras) -> Vec<Column> {
    let canonical = match op {
        Op::Conv => CONV,
        Op::Gemm => GEMM,
        Op::Fmha => FMHA,
    };
    let mut columns: Vec<Column> = canonical.iter().flat_map(|run| run.columns(op)).collect();
    columns.extend(more(op, extras));
    if op != Op::Conv && extras.hardware {
        columns.extend(Run::Hardware.columns(op));
    }
    columns
}

/// The columns that its table has because the inputs have them.
pub(super) fn more(op: Op, extras: &Extras) -> Vec<Column> {
    let attention = extras.more.iter().map(|&at| (true, Run::Problem(FMHA_MORE_COLUMNS[at])));
    let runs: Vec<(bool, Run)> = match op {
        Op::Conv => vec![
            (extras.bandwidth, Run::Row("bandwidth_gb_s")),
            (extras.split_k, Run::Problem("split_k")),
            (extras.pad_sides, Run::Problem("pad_d_right pad_h_right pad_w_right")),
        ],
        Op::Gemm => vec![(extras.many, Run::Problem("batch")), (extras.many, Run::Row("groups"))],
        Op::Fmha => attention.collect(),
    };
    runs.iter().filter(|(has, _)| *has).flat_map(|(_, run)| run.columns(op)).collect()
}

/// The columns of upstream's CSV, under the names of the table.
pub(super) fn of_benchmark(op: Op) -> Vec<&'static str> {
    let names: [&[&str]; 3] = match op {
        Op::Conv => [&["kernel_name", "problem_idx"], &CONV_COLUMNS, &["latency_ms", "tflops", "non_zero"]],
        Op::Gemm => [
            &["kernel_name"],
            &["m", "n", "k", "split_k"],
            &["arch", "latency_ms", "measured_tflops", "bandwidth_gb_s", "is_valid"],
        ],
        Op::Fmha => [
            &["kernel_name", "problem_idx"],
            &FMHA_COLUMNS,
            &["arch", "latency_ms", "tflops", "bandwidth_gb_s", "is_valid"],
        ],
    };
    names.concat()
}

impl Run {
    fn columns(&self, op: Op) -> Vec<Column> {
        match self {
            Self::Kernel(names) => names.split(' ').filter_map(|name| of_kernel(op, name)).collect(),
            Self::Problem(names) => {
                names.split(' ').filter_map(|name| Column::of_problem(op, name)).collect()
            }
            Self::Row(names) => {
                let column = |name| Some(Column { name, op, source: of_row(op, name)? });
                names.split(' ').filter_map(column).collect()
            }
            Self::Hardware => {
                let constants = Hardware::COLUMNS.into_iter().zip(Hardware::NAMES);
                constants.map(|(name, of)| Column { name, op, source: Source::Hardware(of) }).collect()
            }
        }
    }
}

fn of_kernel(op: Op, name: &'static str) -> Option<Column> {
    // The three numbers of the name, in its order, because models are trained on them.
    let field = match name {
        "block_size" => "tile_m",
        "gemm_m_per_block" => "tile_n",
        "gemm_n_per_block" => "tile_k",
        _ => name,
    };
    Some(Column { name, ..Column::of_kernel(op, field)? })
}

fn of_row(op: Op, name: &str) -> Option<Source> {
    Some(match name {
        "op_type" => Source::Op,
        "kernel_name" => Source::KernelName,
        "arch" => Source::Arch,
        "groups" => Source::Groups,
        "pad_m" => Source::Pads(0),
        "pad_n" => Source::Pads(1),
        "pad_k" => Source::Pads(2),
        "tflops" | "measured_tflops" => Source::Figure(|figures| figures.tflops),
        "latency_ms" => Source::Figure(|figures| figures.latency_ms),
        "bandwidth_gb_s" => Source::Figure(|figures| figures.bandwidth_gb_s),
        "is_valid" => Source::IsValid,
        "non_zero" => Source::NonZero,
        "problem_idx" => Source::ProblemIdx,
        "run_id" if op == Op::Conv => Source::RunInt,
        "run_id" => Source::RunText,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is no field would be left out.
    #[test]
    fn tables_have_upstreams_columns() {
        let extras = Extras::default();
        let names = |op| -> Vec<&str> { columns(op, &extras).iter().map(|column| column.name).collect() };
        assert_eq!(names(Op::Gemm).len(), 30);
        assert_eq!(names(Op::Gemm)[28..], ["persistent", "run_id"]);
        assert_eq!(names(Op::Conv).len(), 49);
        assert_eq!(names(Op::Conv)[47..], ["is_valid", "run_id"]);
        assert_eq!(names(Op::Fmha).len(), 48);
        let more = Extras { hardware: true, more: vec![0], ..Extras::default() };
        let names: Vec<&str> = columns(Op::Fmha, &more).iter().map(|column| column.name).collect();
        assert_eq!(names[47..50], ["run_id", "sink_size", "hw_num_cus"]);
    }
}
