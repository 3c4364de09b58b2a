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

use super::body::{Head, joined, pads, tagged, tagged_flag};
use super::{FmhaKernel, FmhaTile};
use crate::scan::{NameError, Scan};
use crate::valid::{MAX_EXTENT, MAX_SMALL};
use crate::vocab::{
    FmhaBias, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale, FmhaRope,
};

/// Reads a tag and the number of a word.
fn numbered<T: Copy>(scan: &mut Scan<'_>, tag: &str, all: &[T], words: &[&str]) -> Result<T, NameError> {
    let mut ahead = scan.clone();
    let number = tagged(&mut ahead, tag, u32::MAX)?;
    let Some(&value) = all.get(number as usize) else {
        let most = all.len() - 1;
        return Err(scan.fail(format!("'{tag}{number}', expected 0 to {most} ({})", words.join(", "))));
    };
    *scan = ahead;
    Ok(value)
}

/// Reads a tag and a number that may be negative.
fn signed(scan: &mut Scan<'_>, tag: &str) -> Result<i32, NameError> {
    let minus = format!("{tag}-");
    if scan.eat(&minus) {
        return scan.number(tag, 1, i32::MAX as u32).map(|number| -(number as i32));
    }
    tagged(scan, tag, i32::MAX as u32).map(|number| number as i32)
}

impl FmhaKernel {
    /// Reads an identifier, with or without `_sc`; without it, the kernel has no soft cap.
    pub fn parse_identifier(identifier: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(identifier)?;
        let scan = &mut scan;
        let Head { family, dtype, mode } = Head::read(scan)?;
        let v_rowmajor = scan.eat("vr");
        if !v_rowmajor && !scan.eat("vc") {
            return Err(scan.fail(format!("found '{}', expected vr or vc", scan.token())));
        }
        let hdim_q = tagged(scan, "_hq", MAX_EXTENT)? as u16;
        let hdim_v = tagged(scan, "_hv", MAX_EXTENT)? as u16;
        if !scan.eat("_p") {
            return Err(scan.fail("expected '_p' and the pipeline"));
        }
        let pipeline: FmhaPipeline = scan.word(FmhaPipeline::WORDS)?;
        let mut kernel = Self::plain(family, [hdim_q, hdim_v], pipeline, FmhaTile::default());
        (kernel.dtype, kernel.mode, kernel.v_rowmajor) = (dtype, mode, v_rowmajor);
        kernel.mask = numbered(scan, "_m", FmhaMask::ALL, FmhaMask::WORDS)?;
        kernel.bias = numbered(scan, "_b", FmhaBias::ALL, FmhaBias::WORDS)?;
        kernel.lse = tagged_flag(scan, "_lse")?;
        kernel.dropout = tagged_flag(scan, "_do")?;
        kernel.qscale = numbered(scan, "_qs", FmhaQscale::ALL, FmhaQscale::WORDS)?;
        kernel.rope = numbered(scan, "_rp", FmhaRope::ALL, FmhaRope::WORDS)?;
        kernel.paged_kv = tagged_flag(scan, "_pkv")?;
        kernel.fp8_static_quant = tagged_flag(scan, "_sq")?;
        kernel.skip = tagged_flag(scan, "_sk")?;
        kernel.sink = tagged_flag(scan, "_sink")?;
        kernel.dbias = tagged_flag(scan, "_db")?;
        kernel.store_randval = tagged_flag(scan, "_sr")?;
        kernel.deterministic = tagged_flag(scan, "_det")?;
        kernel.kv_layout = numbered(scan, "_km", FmhaKvLayout::ALL, FmhaKvLayout::WORDS)?;
        kernel.kv_lookup = numbered(scan, "_kl", FmhaKvLookup::ALL, FmhaKvLookup::WORDS)?;
        kernel.page_size = tagged(scan, "_ps", i32::MAX as u32)?;
        kernel.tile = joined_after::<6>(scan, "_t", MAX_EXTENT)?.into();
        for (place, tag) in ["_w0", "_w1"].into_iter().enumerate() {
            let waves = joined_after::<3>(scan, tag, MAX_SMALL)?;
            kernel.wave[place * 3..place * 3 + 3].copy_from_slice(&waves.map(|waves| waves as u8));
        }
        for (place, tag) in ["_wt0", "_wt1"].into_iter().enumerate() {
            let tile = joined_after::<3>(scan, tag, MAX_EXTENT)?;
            kernel.warp_tile[place * 3..place * 3 + 3].copy_from_slice(&tile);
        }
        if !scan.eat("_pads") {
            return Err(scan.fail("expected '_pads' and four digits"));
        }
        for pad in &mut kernel.pad {
            *pad = scan.one_of(&['0', '1'])? == '1';
        }
        kernel.trload = tagged_flag(scan, "_tr")?;
        kernel.block_per_cu = tagged(scan, "_bpc", MAX_SMALL)? as u8;
        kernel.num_wave_groups = tagged(scan, "_wg", MAX_SMALL)? as u8;
        kernel.max_splits_log2 = tagged(scan, "_ms", MAX_SMALL)? as u8;
        kernel.max_seq_len_q = tagged(scan, "_mq", MAX_EXTENT)? as u16;
        kernel.hdim_q_alignment = tagged(scan, "_aq", MAX_EXTENT)? as u16;
        kernel.hdim_v_alignment = tagged(scan, "_av", MAX_EXTENT)? as u16;
        kernel.selection_rank = signed(scan, "_r")?;
        if scan.rest().starts_with("_sc") {
            kernel.logits = tagged_flag(scan, "_sc")?;
        }
        kernel.receipt = signed(scan, "_rc")?;
        scan.end("the end of the identifier")?;
        Ok(kernel)
    }

    /// The identifier as the current dispatcher writes it.
    pub fn identifier(&self) -> String {
        let flag = u8::from;
        let joined = |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join("x");
        let waves: Vec<u16> = self.wave.iter().map(|&waves| waves.into()).collect();
        let mode = if self.mode == FmhaMode::Group { "group" } else { "batch" };
        let parts = [
            format!(
                "fmha_{}_{}_{mode}_{}",
                self.family,
                self.dtype,
                if self.v_rowmajor { "vr" } else { "vc" }
            ),
            format!("hq{}_hv{}_p{}", self.hdim_q, self.hdim_v, self.pipeline),
            format!(
                "m{}_b{}_lse{}_do{}",
                self.mask as u8,
                self.bias as u8,
                flag(self.lse),
                flag(self.dropout)
            ),
            format!("qs{}_rp{}_pkv{}", self.qscale as u8, self.rope as u8, flag(self.paged_kv)),
            format!("sq{}_sk{}_sink{}", flag(self.fp8_static_quant), flag(self.skip), flag(self.sink)),
            format!("db{}_sr{}_det{}", flag(self.dbias), flag(self.store_randval), flag(self.deterministic)),
            format!("km{}_kl{}_ps{}", self.kv_layout as u8, self.kv_lookup as u8, self.page_size),
            format!("t{}_w0{}_w1{}", joined(&self.tile.numbers()), joined(&waves[..3]), joined(&waves[3..6])),
            format!("wt0{}_wt1{}", joined(&self.warp_tile[..3]), joined(&self.warp_tile[3..6])),
            format!("pads{}_tr{}_bpc{}", pads(self.pad), flag(self.trload), self.block_per_cu),
            format!("wg{}_ms{}_mq{}", self.num_wave_groups, self.max_splits_log2, self.max_seq_len_q),
            format!("aq{}_av{}_r{}", self.hdim_q_alignment, self.hdim_v_alignment, self.selection_rank),
            format!("sc{}_rc{}", flag(self.logits), self.receipt),
        ];
        parts.join("_")
    }
}

/// Reads a tag and numbers joined by `x`.
fn joined_after<const N: usize>(scan: &mut Scan<'_>, tag: &str, max: u32) -> Result<[u16; N], NameError> {
    if !scan.eat(tag) {
        return Err(scan.fail(format!("found '{}', expected '{tag}' and {N} numbers", scan.ahead())));
    }
    joined::<N>(scan, tag, max)
}
