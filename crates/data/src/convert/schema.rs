//! The columns of upstream's canonical tables, in its order.

use std::path::PathBuf;

use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::GemmKernel;
use ck_select_types::problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, FmhaProblem};
use ck_select_types::vocab::{Op, Pipeline};

use super::columns::{
    self, Column, Source, conv_int, conv_problem, conv_text, fmha_int, fmha_text, gemm_flag, gemm_int,
    gemm_problem, gemm_text,
};
use super::{Capture, Options};
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

/// The columns of an operation's table.
pub(super) fn columns(op: Op, options: &Options, extras: &Extras) -> Vec<Column> {
    let (capture, mut columns) = match op {
        Op::GroupedConv => (options.capture.as_ref(), conv(options, extras)),
        Op::Gemm => {
            let mut columns = gemm();
            if extras.many {
                let batch = gemm_problem(|problem| problem.request.batch.into());
                columns.push(Column::new("batch", batch));
                columns.push(Column::new("groups", columns::groups()));
            }
            if extras.hardware && options.capture.is_none() {
                hardware(&mut columns, None);
            }
            (options.capture.as_ref(), columns)
        }
        Op::Fmha => {
            let mut columns = fmha(&extras.more);
            if extras.hardware && options.capture.is_none() {
                hardware(&mut columns, None);
            }
            (options.capture.as_ref(), columns)
        }
    };
    if let Some(capture) = capture {
        for (name, value) in capture.columns() {
            if columns.iter().all(|column| column.name != name) {
                columns.push(Column::new(name, value.source()));
            }
        }
    }
    columns
}

fn gemm() -> Vec<Column> {
    let columns = [
        ("op_type", Source::Text(Op::Gemm.to_string())),
        ("dtype", gemm_text(|k| k.dtype_a.to_string())),
        ("layout", gemm_text(|k| k.layout.to_string())),
        ("arch", columns::arch()),
        ("kernel_name", columns::kernel_name()),
        ("m", gemm_problem(|p| p.m)),
        ("n", gemm_problem(|p| p.n)),
        ("k", gemm_problem(|p| p.k)),
        ("split_k", gemm_problem(|p| i64::from(p.split_k))),
        ("measured_tflops", Source::Figure(|f| f.tflops)),
        ("latency_ms", Source::Figure(|f| f.latency_ms)),
        ("bandwidth_gb_s", Source::Figure(|f| f.bandwidth_gb_s)),
        ("is_valid", Source::IsValid),
        ("tile_m", gemm_int(|k| k.tile.m.into())),
        ("tile_n", gemm_int(|k| k.tile.n.into())),
        ("tile_k", gemm_int(|k| k.tile.k.into())),
        ("warp_m", gemm_int(|k| k.wave.m.into())),
        ("warp_n", gemm_int(|k| k.wave.n.into())),
        ("warp_k", gemm_int(|k| k.wave.k.into())),
        ("warp_tile_m", gemm_int(|k| k.warp_tile.m.into())),
        ("warp_tile_n", gemm_int(|k| k.warp_tile.n.into())),
        ("warp_tile_k", gemm_int(|k| k.warp_tile.k.into())),
        ("pipeline", gemm_text(|k| k.pipeline.to_string())),
        ("scheduler", gemm_text(|k| k.scheduler.to_string())),
        ("epilogue", gemm_text(|k| k.epilogue.to_string())),
        ("pad_m", gemm_flag(|k| pads(k)[0])),
        ("pad_n", gemm_flag(|k| pads(k)[1])),
        ("pad_k", gemm_flag(|k| pads(k)[2])),
        ("persistent", gemm_flag(|k| k.persistent)),
        ("run_id", Source::RunText),
    ];
    columns.into_iter().map(|(name, source)| Column::new(name, source)).collect()
}

/// Kernels of pipeline `mem` pad all three extents, whatever the flags in their names. Upstream corrects
/// these columns in one of its three ways to make training data; here they are always correct. The descriptor
/// follows the name.
fn pads(kernel: &GemmKernel) -> [bool; 3] {
    if kernel.pipeline == Pipeline::Mem { [true; 3] } else { kernel.pad }
}

/// The columns of upstream's benchmark of attention, under its names.
/// `more` are indices into [`FMHA_MORE_COLUMNS`].
fn fmha(more: &[usize]) -> Vec<Column> {
    let sizes = FMHA_COLUMNS
        .into_iter()
        .enumerate()
        .map(|(place, name)| (name, columns::fmha_number(FmhaProblem::columns, place)));
    let more = more
        .iter()
        .map(|&place| (FMHA_MORE_COLUMNS[place], columns::fmha_number(FmhaProblem::more_columns, place)));
    let kernel = [
        ("op_type", Source::Text(Op::Fmha.to_string())),
        ("dtype", fmha_text(|k| k.dtype.to_string())),
        ("arch", columns::arch()),
        ("kernel_name", columns::kernel_name()),
        ("family", fmha_text(|k| k.family.to_string())),
        ("mode", fmha_text(|k| k.mode.to_string())),
        ("pipeline", fmha_text(|k| k.pipeline.to_string())),
        ("tile_m0", fmha_int(|k| k.tile.m0.into())),
        ("tile_n0", fmha_int(|k| k.tile.n0.into())),
        ("tile_k0", fmha_int(|k| k.tile.k0.into())),
        ("tile_n1", fmha_int(|k| k.tile.n1.into())),
        ("tile_k1", fmha_int(|k| k.tile.k1.into())),
        ("tile_k0max", fmha_int(|k| k.tile.k0max.into())),
        ("pad_s", fmha_int(|k| k.pad[0].into())),
        ("pad_sk", fmha_int(|k| k.pad[1].into())),
        ("pad_d", fmha_int(|k| k.pad[2].into())),
        ("pad_dv", fmha_int(|k| k.pad[3].into())),
        ("mask", fmha_text(|k| k.mask.to_string())),
        ("bias", fmha_text(|k| k.bias.to_string())),
        ("lse", fmha_int(|k| k.lse.into())),
        ("dropout", fmha_int(|k| k.dropout.into())),
        ("logits", fmha_int(|k| k.logits.into())),
        ("sink", fmha_int(|k| k.sink.into())),
        ("skip", fmha_int(|k| k.skip.into())),
        ("qscale", fmha_text(|k| k.qscale.to_string())),
        ("paged_kv", fmha_int(|k| k.paged_kv.into())),
        ("rope", fmha_text(|k| k.rope.to_string())),
        ("deterministic", fmha_int(|k| k.deterministic.into())),
        ("dbias", fmha_int(|k| k.dbias.into())),
        ("latency_ms", Source::Figure(|f| f.latency_ms)),
        ("tflops", Source::Figure(|f| f.tflops)),
        ("bandwidth_gb_s", Source::Figure(|f| f.bandwidth_gb_s)),
        ("is_valid", Source::IsValid),
        ("problem_idx", Source::ProblemIdx),
        ("run_id", Source::RunText),
    ];
    sizes.chain(kernel).chain(more).map(|(name, source)| Column::new(name, source)).collect()
}

fn conv(options: &Options, extras: &Extras) -> Vec<Column> {
    let mut columns: Vec<Column> = [
        ("kernel_name", columns::kernel_name()),
        ("latency_ms", Source::Figure(|f| f.latency_ms)),
        ("tflops", Source::Figure(|f| f.tflops)),
        ("non_zero", Source::NonZero),
        ("problem_idx", Source::ProblemIdx),
        ("N", conv_problem(|p| p.n)),
        ("C", conv_problem(|p| p.c)),
        ("K", conv_problem(|p| p.k)),
        ("G", conv_problem(|p| p.g)),
        ("Di", conv_problem(|p| p.input[0])),
        ("Hi", conv_problem(|p| p.input[1])),
        ("Wi", conv_problem(|p| p.input[2])),
        ("Z", conv_problem(|p| p.filter[0])),
        ("Y", conv_problem(|p| p.filter[1])),
        ("X", conv_problem(|p| p.filter[2])),
        ("stride_d", conv_problem(|p| p.stride[0])),
        ("stride_h", conv_problem(|p| p.stride[1])),
        ("stride_w", conv_problem(|p| p.stride[2])),
        ("pad_d", conv_problem(|p| p.pad_left[0])),
        ("pad_h", conv_problem(|p| p.pad_left[1])),
        ("pad_w", conv_problem(|p| p.pad_left[2])),
        ("dilation_d", conv_problem(|p| p.dilation[0])),
        ("dilation_h", conv_problem(|p| p.dilation[1])),
        ("dilation_w", conv_problem(|p| p.dilation[2])),
        ("op_type", Source::Text(Op::GroupedConv.to_string())),
        ("variant", conv_text(|k| k.direction.to_string())),
        ("dtype", conv_text(|k| k.dtype_in.to_string())),
        ("ndim_spatial", conv_int(|k| k.ndim.into())),
        // The three numbers of the name, in its order, because models are trained on them.
        ("block_size", conv_int(|k| k.tile.m.into())),
        ("gemm_m_per_block", conv_int(|k| k.tile.n.into())),
        ("gemm_n_per_block", conv_int(|k| k.tile.k.into())),
        ("pipeline", conv_text(|k| k.pipeline.to_string())),
        ("wave_mode", conv_text(|k| k.scheduler.to_string())),
        ("has_dsb", conv_int(|k| k.double_smem_buffer.into())),
        ("has_si", conv_int(|k| k.split_image.into())),
        ("arch", columns::arch()),
    ]
    .into_iter()
    .map(|(name, source)| Column::new(name, source))
    .collect();
    hardware(&mut columns, options.capture.as_ref());
    columns.push(Column::new("is_valid", Source::IsValid));
    columns.push(Column::new("run_id", Source::RunInt));
    if extras.bandwidth {
        columns.push(Column::new("bandwidth_gb_s", Source::Figure(|f| f.bandwidth_gb_s)));
    }
    if extras.split_k {
        columns.push(Column::new("split_k", conv_problem(|p| p.split_k.into())));
    }
    if extras.pad_sides {
        columns.push(Column::new("pad_d_right", conv_problem(|p| p.pad_right[0])));
        columns.push(Column::new("pad_h_right", conv_problem(|p| p.pad_right[1])));
        columns.push(Column::new("pad_w_right", conv_problem(|p| p.pad_right[2])));
    }
    columns
}

const HARDWARE_COLUMNS: [(&str, &str); 11] = [
    ("num_cus", "hw_num_cus"),
    ("simds_per_cu", "hw_simds_per_cu"),
    ("shader_engines", "hw_shader_engines"),
    ("max_clock_mhz", "hw_max_clock_mhz"),
    ("max_waves_per_cu", "hw_max_waves_per_cu"),
    ("wavefront_size", "hw_wavefront_size"),
    ("lds_capacity", "hw_lds_capacity"),
    ("l1_cache_kb", "hw_l1_cache_kb"),
    ("l2_cache_kb", "hw_l2_cache_kb"),
    ("l3_cache_kb", "hw_l3_cache_kb"),
    ("num_xcd", "hw_num_xcd"),
];

fn hardware(columns: &mut Vec<Column>, capture: Option<&Capture>) {
    for (name, column) in HARDWARE_COLUMNS {
        let captured = capture.and_then(|capture| capture.number(column));
        columns.push(Column::new(column, Source::Hardware(name, captured)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_upstreams_columns() {
        let extras = Extras::default();
        let names = |op| -> Vec<&str> {
            columns(op, &Options::default(), &extras).iter().map(|column| column.name).collect()
        };
        assert_eq!(names(Op::Gemm).len(), 30);
        assert_eq!(names(Op::Gemm)[28..], ["persistent", "run_id"]);
        assert_eq!(names(Op::GroupedConv).len(), 49);
        assert_eq!(names(Op::GroupedConv)[47..], ["is_valid", "run_id"]);
        let more = Extras { hardware: true, more: vec![0], ..Extras::default() };
        let names: Vec<&str> =
            columns(Op::Fmha, &Options::default(), &more).iter().map(|column| column.name).collect();
        assert!(names.contains(&"hw_num_cus") && names.contains(&"sink_size"), "{names:?}");
        for (name, column) in HARDWARE_COLUMNS {
            assert_eq!(format!("hw_{name}"), column);
            assert!(Hardware::NAMES.contains(&name));
        }
    }
}
