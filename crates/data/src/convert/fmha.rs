//! The table of attention: the columns of upstream's benchmark, under its names.

use ck_select_types::problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS};
use ck_select_types::vocab::Op;

use super::columns::{Column, Source};

/// `more` are indices into [`FMHA_MORE_COLUMNS`].
pub(super) fn columns(more: &[usize]) -> Vec<Column> {
    use Source::{FmhaInt, FmhaText};
    let sizes = FMHA_COLUMNS.into_iter().enumerate().map(|(place, name)| (name, Source::FmhaSize(place)));
    let more = more.iter().map(|&place| (FMHA_MORE_COLUMNS[place], Source::FmhaMore(place)));
    let kernel = [
        ("op_type", Source::Text(Op::Fmha.to_string())),
        ("dtype", FmhaText(|k| k.dtype.to_string())),
        ("arch", Source::Arch),
        ("kernel_name", Source::KernelName),
        ("family", FmhaText(|k| k.family.to_string())),
        ("mode", FmhaText(|k| k.mode.to_string())),
        ("pipeline", FmhaText(|k| k.pipeline.to_string())),
        ("tile_m0", FmhaInt(|k| k.tile.m0.into())),
        ("tile_n0", FmhaInt(|k| k.tile.n0.into())),
        ("tile_k0", FmhaInt(|k| k.tile.k0.into())),
        ("tile_n1", FmhaInt(|k| k.tile.n1.into())),
        ("tile_k1", FmhaInt(|k| k.tile.k1.into())),
        ("tile_k0max", FmhaInt(|k| k.tile.k0max.into())),
        ("pad_s", FmhaInt(|k| k.pad[0].into())),
        ("pad_sk", FmhaInt(|k| k.pad[1].into())),
        ("pad_d", FmhaInt(|k| k.pad[2].into())),
        ("pad_dv", FmhaInt(|k| k.pad[3].into())),
        ("mask", FmhaText(|k| k.mask.to_string())),
        ("bias", FmhaText(|k| k.bias.to_string())),
        ("lse", FmhaInt(|k| k.lse.into())),
        ("dropout", FmhaInt(|k| k.dropout.into())),
        ("logits", FmhaInt(|k| k.logits.into())),
        ("sink", FmhaInt(|k| k.sink.into())),
        ("skip", FmhaInt(|k| k.skip.into())),
        ("qscale", FmhaText(|k| k.qscale.to_string())),
        ("paged_kv", FmhaInt(|k| k.paged_kv.into())),
        ("rope", FmhaText(|k| k.rope.to_string())),
        ("deterministic", FmhaInt(|k| k.deterministic.into())),
        ("dbias", FmhaInt(|k| k.dbias.into())),
        ("latency_ms", Source::Latency),
        ("tflops", Source::Tflops),
        ("bandwidth_gb_s", Source::Bandwidth),
        ("is_valid", Source::IsValid),
        ("problem_idx", Source::ProblemIdx),
        ("run_id", Source::RunText),
    ];
    sizes.chain(kernel).chain(more).map(|(name, source)| Column::new(name, source)).collect()
}
