//! The columns of upstream's canonical tables, in its order.

use std::path::PathBuf;

use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::GemmKernel;
use ck_select_types::problem::FMHA_MORE_COLUMNS;
use ck_select_types::vocab::{Op, Pipeline};

use super::columns::{Column, Source};
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
    pub(super) fn of(files: &[PathBuf]) -> Result<Self, DataError> {
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
                let batch = Source::GemmProblem(|problem| problem.request.batch.into());
                columns.push(Column::new("batch", batch));
                columns.push(Column::new("groups", Source::Groups));
            }
            if extras.hardware && options.capture.is_none() {
                hardware(&mut columns, None);
            }
            (options.capture.as_ref(), columns)
        }
        Op::Fmha => {
            let mut columns = super::fmha::columns(&extras.more);
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
    use Source::{Arch, Bandwidth, GemmFlag, GemmInt, GemmProblem, GemmText, IsValid, KernelName, Latency};
    let columns = [
        ("op_type", Source::Text(Op::Gemm.to_string())),
        ("dtype", GemmText(|k| k.dtype_a.to_string())),
        ("layout", GemmText(|k| k.layout.to_string())),
        ("arch", Arch),
        ("kernel_name", KernelName),
        ("m", GemmProblem(|p| p.m)),
        ("n", GemmProblem(|p| p.n)),
        ("k", GemmProblem(|p| p.k)),
        ("split_k", GemmProblem(|p| i64::from(p.split_k))),
        ("measured_tflops", Source::Tflops),
        ("latency_ms", Latency),
        ("bandwidth_gb_s", Bandwidth),
        ("is_valid", IsValid),
        ("tile_m", GemmInt(|k| k.tile.m.into())),
        ("tile_n", GemmInt(|k| k.tile.n.into())),
        ("tile_k", GemmInt(|k| k.tile.k.into())),
        ("warp_m", GemmInt(|k| k.wave.m.into())),
        ("warp_n", GemmInt(|k| k.wave.n.into())),
        ("warp_k", GemmInt(|k| k.wave.k.into())),
        ("warp_tile_m", GemmInt(|k| k.warp_tile.m.into())),
        ("warp_tile_n", GemmInt(|k| k.warp_tile.n.into())),
        ("warp_tile_k", GemmInt(|k| k.warp_tile.k.into())),
        ("pipeline", GemmText(|k| k.pipeline.to_string())),
        ("scheduler", GemmText(|k| k.scheduler.to_string())),
        ("epilogue", GemmText(|k| k.epilogue.to_string())),
        ("pad_m", GemmFlag(|k| pads(k)[0])),
        ("pad_n", GemmFlag(|k| pads(k)[1])),
        ("pad_k", GemmFlag(|k| pads(k)[2])),
        ("persistent", GemmFlag(|k| k.persistent)),
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

fn conv(options: &Options, extras: &Extras) -> Vec<Column> {
    use Source::{Arch, ConvInt, ConvProblem, ConvText, KernelName};
    let mut columns: Vec<Column> = [
        ("kernel_name", KernelName),
        ("latency_ms", Source::Latency),
        ("tflops", Source::Tflops),
        ("non_zero", Source::NonZero),
        ("problem_idx", Source::ProblemIdx),
        ("N", ConvProblem(|p| p.n)),
        ("C", ConvProblem(|p| p.c)),
        ("K", ConvProblem(|p| p.k)),
        ("G", ConvProblem(|p| p.g)),
        ("Di", ConvProblem(|p| p.input[0])),
        ("Hi", ConvProblem(|p| p.input[1])),
        ("Wi", ConvProblem(|p| p.input[2])),
        ("Z", ConvProblem(|p| p.filter[0])),
        ("Y", ConvProblem(|p| p.filter[1])),
        ("X", ConvProblem(|p| p.filter[2])),
        ("stride_d", ConvProblem(|p| p.stride[0])),
        ("stride_h", ConvProblem(|p| p.stride[1])),
        ("stride_w", ConvProblem(|p| p.stride[2])),
        ("pad_d", ConvProblem(|p| p.pad_left[0])),
        ("pad_h", ConvProblem(|p| p.pad_left[1])),
        ("pad_w", ConvProblem(|p| p.pad_left[2])),
        ("dilation_d", ConvProblem(|p| p.dilation[0])),
        ("dilation_h", ConvProblem(|p| p.dilation[1])),
        ("dilation_w", ConvProblem(|p| p.dilation[2])),
        ("op_type", Source::Text(Op::GroupedConv.to_string())),
        ("variant", ConvText(|k| k.direction.to_string())),
        ("dtype", ConvText(|k| k.dtype_in.to_string())),
        ("ndim_spatial", ConvInt(|k| k.ndim.into())),
        // The three numbers of the name, in its order, because models are trained on them.
        ("block_size", ConvInt(|k| k.tile.m.into())),
        ("gemm_m_per_block", ConvInt(|k| k.tile.n.into())),
        ("gemm_n_per_block", ConvInt(|k| k.tile.k.into())),
        ("pipeline", ConvText(|k| k.pipeline.to_string())),
        ("wave_mode", ConvText(|k| k.scheduler.to_string())),
        ("has_dsb", ConvInt(|k| k.double_smem_buffer.into())),
        ("has_si", ConvInt(|k| k.split_image.into())),
        ("arch", Arch),
    ]
    .into_iter()
    .map(|(name, source)| Column::new(name, source))
    .collect();
    hardware(&mut columns, options.capture.as_ref());
    columns.push(Column::new("is_valid", Source::IsValid));
    columns.push(Column::new("run_id", Source::RunInt));
    if extras.bandwidth {
        columns.push(Column::new("bandwidth_gb_s", Source::Bandwidth));
    }
    if extras.split_k {
        columns.push(Column::new("split_k", ConvProblem(|p| p.split_k.into())));
    }
    if extras.pad_sides {
        columns.push(Column::new("pad_d_right", ConvProblem(|p| p.pad_right[0])));
        columns.push(Column::new("pad_h_right", ConvProblem(|p| p.pad_right[1])));
        columns.push(Column::new("pad_w_right", ConvProblem(|p| p.pad_right[2])));
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
