//! Attention kernels as requested from upstream's generator: a configuration, which has no name.

use serde_json::{Map, Value};

use crate::field::Record as _;
use crate::json::Strict;
use crate::kernel::{FmhaKernel, Kernel, KernelKind};
use crate::pool::PoolError;
use crate::pool::json::part::{Fields, Part, part, typed};
use crate::vocab::Arch;

/// The keys of a kernel's signature and of its algorithm. Every key has a default, and an unknown one would change
/// the kernel.
const SIGNATURE: &str = "family data_type mode vlayout hdim_q hdim_v mask bias lse dropout dropout_variant \
    qscale rope logits paged_kv fp8_static_quant skip_min_seqlen_q sink dbias store_randval deterministic \
    kv_memory_layout kv_lookup_table page_size";
const ALGORITHM: &str = "pipeline tile wave warp padding use_trload hdim_q_alignment hdim_v_alignment \
    block_per_cu num_wave_groups max_splits_log2 max_seq_len_q selection_rank constraint_tag";

/// Whether an object without a name is such a configuration. One that leaves everything to the defaults is
/// one, too.
pub(super) fn is_config(signature: Option<&Strict>, algorithm: Option<&Strict>) -> bool {
    let has = |part: Option<&Strict>, field: &str| part.is_some_and(|part| part.0.get(field).is_some());
    let is_empty = |part: &Strict| part.0.as_object().is_some_and(Map::is_empty);
    let by_default = signature.is_some_and(is_empty) && algorithm.is_some_and(is_empty);
    by_default || has(signature, "family") || has(signature, "hdim_q") || has(algorithm, "tile")
}

/// The kernel that upstream generates from it. Its name is its identifier.
pub(super) fn kernel(
    signature: Option<Strict>,
    algorithm: Option<Strict>,
    arch: Option<Arch>,
) -> Result<Kernel, PoolError> {
    let signature = known("signature", signature, SIGNATURE)?;
    let mut algorithm = known("algorithm", algorithm, ALGORITHM)?;
    let usual = KernelKind::Fmha(FmhaKernel::USUAL);
    let mut fields = Fields::new(&usual, "", &|_, _| false);
    fields.set("signature", &signature)?;
    let index = |name| fields.index(name);
    let [q, v, q_alignment, v_alignment] =
        ["hdim_q", "hdim_v", "hdim_q_alignment", "hdim_v_alignment"].map(index);
    if !signature.contains_key("hdim_v") {
        fields.values[v] = fields.values[q];
    }
    (fields.values[q_alignment], fields.values[v_alignment]) = (fields.values[q], fields.values[v]);
    // Backward kernels have three extents more, which no key holds.
    if let Some(tile) = algorithm.get_mut("tile").and_then(Value::as_array_mut) {
        if tile.len() < 6 {
            let found = format!("{} numbers", tile.len());
            return Err(PoolError::value(found, "6 or 9").within("algorithm.tile"));
        }
        tile.truncate(6);
    }
    for key in ["wave", "warp"] {
        let numbers = algorithm.get(key).and_then(Value::as_array);
        if let Some(axis) = numbers.and_then(|numbers| numbers.iter().position(|number| *number == 0)) {
            return Err(PoolError::value("0", "at least 1").within(&format!("algorithm.{key}[{axis}]")));
        }
    }
    if algorithm.get("block_per_cu").is_some_and(|blocks| *blocks == -1) {
        algorithm.insert("block_per_cu".to_owned(), FmhaKernel::PIPELINE_DECIDES.into());
    }
    fields.set("algorithm", &algorithm)?;

    let mut kernel = FmhaKernel::read(&fields.values, &FmhaKernel::USUAL);
    kernel.v_rowmajor = match word(&signature, "vlayout")?.as_deref() {
        None | Some("r") => true,
        Some("c") => false,
        Some(other) => return Err(PoolError::value(other, "r or c").within("signature.vlayout")),
    };
    match word(&signature, "dropout_variant")?.as_deref() {
        None | Some("" | "no") => {}
        Some("dropout_wg16") => kernel.dropout = true,
        Some("dropout_wg16_storerandval") => (kernel.dropout, kernel.store_randval) = (true, true),
        Some(other) => {
            let expected = "no, dropout_wg16 or dropout_wg16_storerandval";
            return Err(PoolError::value(other, expected).within("signature.dropout_variant"));
        }
    }
    kernel.constraint_tag = word(&algorithm, "constraint_tag")?.unwrap_or_default();
    kernel.arch = arch;
    let name = kernel.identifier();
    Ok(Kernel { name, kind: KernelKind::Fmha(kernel) })
}

/// A part that has none but these keys.
fn known(name: &str, object: Option<Strict>, keys: &str) -> Result<Part, PoolError> {
    let object = part(name, object)?;
    match object.keys().find(|key| !keys.split(' ').any(|known| known == *key)) {
        None => Ok(object),
        Some(key) => {
            let expected = keys.replace(' ', "`, `");
            let message = format!("unknown field `{key}`, expected one of `{expected}`");
            Err(PoolError::new(message).within(key).within(name))
        }
    }
}

/// The text of a key.
fn word(part: &Part, key: &str) -> Result<Option<String>, PoolError> {
    part.get(key).map_or(Ok(None), |value| typed(value).map_err(|error| error.within(key)))
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
        // In a list, and with the generator's defaults.
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
                "signature.head_grouping: unknown field `head_grouping`, expected one of `family`, \
                 `data_type`",
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
