//! The key under which the dispatcher's registry holds an attention kernel.
//!
//! ```text
//! fmha_{family}_{dtype}_{batch|group}_{vr|vc}_hq{n}_hv{n}_p{pipeline}_m{n}_b{n}_lse{f}_do{f}_qs{n}_rp{n}
//! _pkv{f}_sq{f}_sk{f}_sink{f}_db{f}_sr{f}_det{f}_km{n}_kl{n}_ps{n}_t{6}_w0{3}_w1{3}_wt0{3}_wt1{3}_pads{4f}
//! _tr{f}_bpc{n}_wg{n}_ms{n}_mq{n}_aq{n}_av{n}_r{i}[_sc{f}]_rc{i}
//! ```
//!
//! Older dispatchers omit `_sc`, so that kernels that differ only in the soft cap share an identifier. No
//! identifier contains the waves and instruction of the third product, the constraint tag or the
//! architecture.

use super::FmhaKernel;
use super::body::{ORDER, part};
use crate::grammar::PartForm::{Digits, Joined, Number, Word};
use crate::grammar::{NameReader, NameWriter, Part, PartForm};
use crate::scan::{NameError, Scan};

/// A part that may also be 0: what the dispatcher never filled in.
const fn key(tag: &'static str, field: &'static str, form: PartForm) -> Part {
    part(tag, field, form).or_zero()
}

const PARTS: [Part; 33] = [
    key("_hq", "hdim_q", Number),
    key("_hv", "hdim_v", Number),
    part("_p", "pipeline", Word).called("the pipeline"),
    key("_m", "mask", Number),
    key("_b", "bias", Number),
    key("_lse", "lse", Number),
    key("_do", "dropout", Number),
    key("_qs", "qscale", Number),
    key("_rp", "rope", Number),
    key("_pkv", "paged_kv", Number),
    key("_sq", "fp8_static_quant", Number),
    key("_sk", "skip", Number),
    key("_sink", "sink", Number),
    key("_db", "dbias", Number),
    key("_sr", "store_randval", Number),
    key("_det", "deterministic", Number),
    key("_km", "kv_layout", Number),
    key("_kl", "kv_lookup", Number),
    key("_ps", "page_size", Number),
    key("_t", "tile_m0", Joined(6)),
    key("_w0", "wave_m0", Joined(3)),
    key("_w1", "wave_m1", Joined(3)),
    key("_wt0", "warp_m0", Joined(3)),
    key("_wt1", "warp_m1", Joined(3)),
    key("_pads", "pad_s", Digits(4, &['0', '1'])),
    key("_tr", "trload", Number),
    key("_bpc", "block_per_cu", Number),
    key("_wg", "num_wave_groups", Number),
    key("_ms", "max_splits_log2", Number),
    key("_mq", "max_seq_len_q", Number),
    key("_aq", "hdim_q_alignment", Number),
    key("_av", "hdim_v_alignment", Number),
    key("_r", "selection_rank", Number),
];
const SOFT_CAP: Part = key("_sc", "logits", Number);
const RECEIPT: Part = key("_rc", "receipt", Number);

/// Reads an identifier behind the mode, with or without `_sc`; without it, the kernel has no soft cap.
pub(super) fn parse(scan: &mut Scan<'_>, blank: &FmhaKernel) -> Result<FmhaKernel, NameError> {
    let mut reader = NameReader::new(scan, blank);
    reader.all(&[ORDER])?;
    reader.all(&PARTS)?;
    reader.any(&[SOFT_CAP])?;
    reader.all(&[RECEIPT])?;
    reader.scan.end("the end of the identifier")?;
    Ok(reader.kernel(blank))
}

impl FmhaKernel {
    /// The identifier as the current dispatcher writes it.
    pub fn identifier(&self) -> String {
        let Self { family, dtype, mode, .. } = self;
        let begin = format!("fmha_{family}_{dtype}_{mode}");
        NameWriter::new(self, begin).all(&[ORDER]).all(&PARTS).all(&[SOFT_CAP, RECEIPT]).text
    }
}
