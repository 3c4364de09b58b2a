//! Attention kernels as upstream's generator is asked for them: a configuration, which has no name.

use serde::Deserialize;
use serde_json::Map;

use super::fields::{number, word};
use super::raw::Part;
use crate::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use crate::pool::PoolError;
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{Arch, FmhaFamily, FmhaPipeline};

/// What it computes. Every field has a default, and a field of another name would change the kernel.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    family: Option<String>,
    data_type: Option<String>,
    mode: Option<String>,
    vlayout: Option<String>,
    hdim_q: Option<u64>,
    hdim_v: Option<u64>,
    mask: Option<String>,
    bias: Option<String>,
    lse: Option<Flag>,
    dropout: Option<Flag>,
    dropout_variant: Option<String>,
    qscale: Option<String>,
    rope: Option<String>,
    logits: Option<Flag>,
    paged_kv: Option<Flag>,
    fp8_static_quant: Option<Flag>,
    skip_min_seqlen_q: Option<Flag>,
    sink: Option<Flag>,
    dbias: Option<Flag>,
    store_randval: Option<Flag>,
    deterministic: Option<Flag>,
    kv_memory_layout: Option<String>,
    kv_lookup_table: Option<String>,
    page_size: Option<u64>,
}

/// How it computes it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Algorithm {
    pipeline: Option<String>,
    tile: Option<Vec<u64>>,
    wave: Option<[u64; 9]>,
    warp: Option<[u64; 9]>,
    padding: Option<[Flag; 4]>,
    use_trload: Option<Flag>,
    hdim_q_alignment: Option<u64>,
    hdim_v_alignment: Option<u64>,
    block_per_cu: Option<i64>,
    num_wave_groups: Option<u64>,
    max_splits_log2: Option<u64>,
    max_seq_len_q: Option<u64>,
    selection_rank: Option<i32>,
    constraint_tag: Option<String>,
}

/// True, false, or a number: backward kernels pad to 8 elements.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Flag {
    Said(bool),
    Number(u64),
}

impl Flag {
    fn is_set(self) -> bool {
        matches!(self, Self::Said(true) | Self::Number(1..))
    }
}

/// Whether an object without a name is such a configuration. One that leaves everything to the defaults is one,
/// too.
pub(super) fn is_one(signature: Option<&Part>, algorithm: Option<&Part>) -> bool {
    let has = |part: Option<&Part>, field: &str| part.is_some_and(|part| part.0.get(field).is_some());
    let is_empty = |part: &Part| part.0.as_object().is_some_and(Map::is_empty);
    let by_default = signature.is_some_and(is_empty) && algorithm.is_some_and(is_empty);
    by_default || has(signature, "family") || has(signature, "hdim_q") || has(algorithm, "tile")
}

/// The kernel that upstream generates from it. Its name is its identifier.
pub(super) fn kernel(
    signature: Option<Part>,
    algorithm: Option<Part>,
    arch: Option<Arch>,
) -> Result<Kernel, PoolError> {
    let signature: Signature = super::raw::part("signature", signature)?;
    let algorithm: Algorithm = super::raw::part("algorithm", algorithm)?;
    let sig = |field: &str| format!("signature.{field}");
    let alg = |field: &str| format!("algorithm.{field}");
    let size = |field: String, value, min, max| number(&field, value, min, max);

    let hdim_q = size(sig("hdim_q"), signature.hdim_q, 1, MAX_EXTENT)?.unwrap_or(128) as u16;
    let hdim_v = size(sig("hdim_v"), signature.hdim_v, 1, MAX_EXTENT)?.unwrap_or(u32::from(hdim_q)) as u16;
    let family = word(&sig("family"), signature.family)?.unwrap_or(FmhaFamily::Fwd);
    let pipeline = word(&alg("pipeline"), algorithm.pipeline)?.unwrap_or(FmhaPipeline::Qr);
    let tile = algorithm.tile.map_or(Ok([128, 64, 32, 128, 32, 128].into()), |tile| tile_of(&tile))?;
    let mut kernel = FmhaKernel::plain(family, [hdim_q, hdim_v], pipeline, tile);

    set(&mut kernel.dtype, word(&sig("data_type"), signature.data_type)?);
    set(&mut kernel.mode, word(&sig("mode"), signature.mode)?);
    kernel.v_rowmajor = match signature.vlayout.as_deref() {
        None | Some("r") => true,
        Some("c") => false,
        Some(other) => return Err(PoolError::value(other, "r or c").within(&sig("vlayout"))),
    };
    set(&mut kernel.mask, word(&sig("mask"), signature.mask)?);
    set(&mut kernel.bias, word(&sig("bias"), signature.bias)?);
    set(&mut kernel.qscale, word(&sig("qscale"), signature.qscale)?);
    set(&mut kernel.rope, word(&sig("rope"), signature.rope)?);
    set(&mut kernel.kv_layout, word(&sig("kv_memory_layout"), signature.kv_memory_layout)?);
    set(&mut kernel.kv_lookup, word(&sig("kv_lookup_table"), signature.kv_lookup_table)?);
    set(&mut kernel.page_size, size(sig("page_size"), signature.page_size, 1, i32::MAX as u32)?);
    for (target, flag) in [
        (&mut kernel.lse, signature.lse),
        (&mut kernel.dropout, signature.dropout),
        (&mut kernel.logits, signature.logits),
        (&mut kernel.paged_kv, signature.paged_kv),
        (&mut kernel.fp8_static_quant, signature.fp8_static_quant),
        (&mut kernel.skip, signature.skip_min_seqlen_q),
        (&mut kernel.sink, signature.sink),
        (&mut kernel.dbias, signature.dbias),
        (&mut kernel.store_randval, signature.store_randval),
        (&mut kernel.deterministic, signature.deterministic),
        (&mut kernel.trload, algorithm.use_trload),
    ] {
        set(target, flag.map(Flag::is_set));
    }
    match signature.dropout_variant.as_deref() {
        None | Some("" | "no") => {}
        Some("dropout_wg16") => kernel.dropout = true,
        Some("dropout_wg16_storerandval") => (kernel.dropout, kernel.store_randval) = (true, true),
        Some(other) => {
            let expected = "no, dropout_wg16 or dropout_wg16_storerandval";
            return Err(PoolError::value(other, expected).within(&sig("dropout_variant")));
        }
    }

    // The generator's defaults, whatever the tile.
    kernel.wave =
        numbers(&alg("wave"), algorithm.wave, [2, 2, 1, 2, 2, 1, 1, 1, 1])?.map(|waves| waves as u8);
    let warp = [32, 32, 16, 32, 32, 16, 16, 16, 16];
    kernel.warp_tile = numbers(&alg("warp"), algorithm.warp, warp)?.map(|extent| extent as u16);
    set(&mut kernel.pad, algorithm.padding.map(|pads| pads.map(Flag::is_set)));
    for (target, field, value) in [
        (&mut kernel.hdim_q_alignment, "hdim_q_alignment", algorithm.hdim_q_alignment),
        (&mut kernel.hdim_v_alignment, "hdim_v_alignment", algorithm.hdim_v_alignment),
        (&mut kernel.max_seq_len_q, "max_seq_len_q", algorithm.max_seq_len_q),
    ] {
        set(target, size(alg(field), value, 0, u32::from(u16::MAX))?.map(|value| value as u16));
    }
    for (target, field, value, min) in [
        (&mut kernel.num_wave_groups, "num_wave_groups", algorithm.num_wave_groups, 1),
        (&mut kernel.max_splits_log2, "max_splits_log2", algorithm.max_splits_log2, 0),
    ] {
        set(target, size(alg(field), value, min, MAX_SMALL)?.map(|value| value as u8));
    }
    kernel.block_per_cu = match algorithm.block_per_cu {
        None => kernel.block_per_cu,
        Some(-1) => FmhaKernel::PIPELINE_DECIDES,
        Some(blocks) => u8::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or_else(|| {
            PoolError::value(blocks.to_string(), "-1 or 1 to 255").within(&alg("block_per_cu"))
        })?,
    };
    set(&mut kernel.selection_rank, algorithm.selection_rank);
    kernel.constraint_tag = algorithm.constraint_tag.unwrap_or_default();
    kernel.arch = arch;
    let name = kernel.identifier();
    Ok(Kernel { name, kind: KernelKind::Fmha(kernel) })
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// Backward kernels have three extents more, which no key holds.
fn tile_of(tile: &[u64]) -> Result<FmhaTile, PoolError> {
    let field = "algorithm.tile";
    let &[m0, n0, k0, n1, k1, k0max, ..] = tile else {
        return Err(PoolError::value(format!("{} numbers", tile.len()), "6 or 9").within(field));
    };
    let mut six = [0; 6];
    for (slot, value) in six.iter_mut().zip([m0, n0, k0, n1, k1, k0max]) {
        *slot = number(field, Some(value), 0, MAX_EXTENT)?.unwrap_or_default() as u16;
    }
    Ok(six.into())
}

fn numbers(field: &str, values: Option<[u64; 9]>, usual: [u32; 9]) -> Result<[u32; 9], PoolError> {
    let mut numbers = usual;
    for (slot, value) in numbers.iter_mut().zip(values.into_iter().flatten()) {
        set(slot, number(field, Some(value), 1, MAX_SMALL)?);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use crate::kernel::{FmhaKernel, KernelKind};
    use crate::pool::Pool;

    fn read(text: &str) -> Result<FmhaKernel, String> {
        let pool = Pool::from_bytes("config.json", text.as_bytes()).map_err(|error| error.to_string())?;
        let KernelKind::Fmha(kernel) = &pool.kernels()[0].kind else { panic!() };
        assert_eq!(pool.kernels()[0].name, kernel.identifier());
        Ok(kernel.clone())
    }

    #[test]
    fn a_configuration_is_the_kernel_that_upstream_generates() {
        let text = r#"{
            "arch": "gfx942", "profile": "x", "receipt": 3,
            "signature": {"family": "fwd", "data_type": "fp16", "mode": "batch", "hdim_q": 128, "mask": "no"},
            "algorithm": {
                "pipeline": "qr_async", "tile": [128, 128, 32, 128, 32, 128],
                "wave": [4, 1, 1, 4, 1, 1, 1, 1, 1], "warp": [32, 32, 16, 32, 32, 16, 16, 16, 16],
                "padding": [true, 1, true, true], "block_per_cu": -1
            }
        }"#;
        let kernel = read(text).unwrap();
        assert_eq!(kernel.arch.unwrap().as_str(), "gfx942");
        assert_eq!(
            kernel.identifier(),
            "fmha_fwd_fp16_batch_vr_hq128_hv128_pqr_async_m0_b0_lse0_do0_qs0_rp0_pkv0_sq0_sk0_sink0_db0_sr0\
             _det0_km0_kl1_ps1_t128x128x32x128x32x128_w04x1x1_w14x1x1_wt032x32x16_wt132x32x16_pads1111_tr0\
             _bpc255_wg1_ms0_mq0_aq128_av128_r0_sc0_rc-1"
        );
        let defaults = read(r#"{"arch": "gfx950", "signature": {}, "algorithm": {}}"#).unwrap();
        assert_eq!((defaults.hdim_q, defaults.tile.numbers()[0], defaults.wave[0]), (128, 128, 2));
        // In a list, and with what the generator takes if nothing is said.
        let plain = read(
            r#"[{"signature": {"family": "bwd_dq_dk_dv", "mask": "causal", "dropout_variant":
            "dropout_wg16_storerandval"}, "algorithm": {"tile": [16, 128, 128, 16, 128, 16, 32, 128, 128],
            "padding": [0, 0, 8, 8]}}]"#,
        )
        .unwrap();
        assert_eq!((plain.mask as u8, plain.pad, plain.wave[0]), (1, [false, false, true, true], 2));
        assert!(plain.dropout && plain.store_randval && plain.tile.numbers()[3] == 16);
    }

    #[test]
    fn mistakes_name_their_field() {
        for (text, message) in [
            (
                r#"{"signature": {"family": "fwd", "head_grouping": true}}"#,
                "signature.head_grouping: unknown field `head_grouping`, expected one of `family`, `data_type`",
            ),
            (
                r#"{"signature": {"family": "forward"}}"#,
                "signature.family: found 'forward', expected one of: fwd",
            ),
            (r#"{"signature": {"hdim_q": 0}}"#, "signature.hdim_q: found 0, expected 1 to"),
            (
                r#"{"signature": {"hdim_q": 64, "vlayout": "x"}}"#,
                "signature.vlayout: found x, expected r or c",
            ),
            (r#"{"signature": {"family": "fwd", "family": "bwd"}}"#, "the key 'family' appears twice"),
            (r#"{"algorithm": {"tile": [1, 2]}}"#, "algorithm.tile: found 2 numbers, expected 6 or 9"),
            (
                r#"[{"algorithm": {"tile": [1, 2, 3, 4, 5, 6], "block_per_cu": 0}}]"#,
                "[0].algorithm.block_per_cu",
            ),
            (r#"{"signature": {"layout": "nhwgc"}}"#, "an object without 'kernels' and without 'name'"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
