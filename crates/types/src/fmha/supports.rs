//! Which problems an attention kernel can serve: the rules of upstream's generated kernels.

use super::{FmhaKernel, FmhaProblem};
use crate::vocab::{FmhaFamily, FmhaMask, FmhaMode};

/// The first rule that a kernel breaks for a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// A field of the signature differs: its name.
    Differs(&'static str),
    /// Heads of queries or of values are larger than the kernel has room for.
    Head,
    /// A length that the tile does not divide, without padding: `seqlen_q` or `seqlen_k`.
    Length(&'static str),
    /// A head size that the alignment does not divide, without padding: `hdim_q` or `hdim_v`.
    Alignment(&'static str),
    /// More queries, or more splits, than the kernel takes: `seqlen_q` or `num_splits`.
    TooMany(&'static str),
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Differs(field) => write!(f, "its {field} differs"),
            Self::Head => f.write_str("its heads are smaller"),
            Self::Length(field) => write!(f, "its tile does not divide {field}, which it does not pad"),
            Self::Alignment(field) => {
                write!(f, "its alignment does not divide {field}, which it does not pad")
            }
            Self::TooMany(field) => write!(f, "it takes fewer than the problem's {field}"),
        }
    }
}

impl FmhaKernel {
    /// A problem of these sizes with this kernel's signature: measurements record sizes, and their kernel
    /// determines the rest. Sizes that the kernel does not use are dropped.
    pub fn sign(&self, sizes: &FmhaProblem) -> FmhaProblem {
        let longest = if self.mode == FmhaMode::Group { sizes.longest_q() } else { sizes.max_seqlen_q };
        let mut problem = FmhaProblem {
            api_family: self.family.api(),
            family: self.family,
            dtype: self.dtype,
            mode: self.mode,
            mask: self.mask,
            bias: self.bias,
            qscale: self.qscale,
            rope: self.rope,
            kv_layout: self.kv_layout,
            kv_lookup: self.kv_lookup,
            max_seqlen_q: longest,
            v_rowmajor: self.v_rowmajor,
            logits: self.logits,
            lse: self.lse,
            dropout: self.dropout,
            paged_kv: self.paged_kv,
            fp8_static_quant: self.fp8_static_quant,
            skip: self.skip,
            sink: self.sink,
            dbias: self.dbias,
            store_randval: self.store_randval,
            deterministic: self.deterministic,
            ..*sizes
        };
        if sizes.mask != self.mask && sizes.window_left == 0 && sizes.window_right == 0 {
            problem.open_window();
        }
        problem.settled()
    }

    /// Reports the first rule that it breaks for a problem. The rules are upstream's: a kernel for larger
    /// heads serves smaller ones if it pads; masks from either corner are equivalent; a page size of 1
    /// accepts any; the architecture is not checked.
    pub fn check(&self, p: &FmhaProblem) -> Result<(), Unsupported> {
        self.signature(p)?;
        let (sq, sk) = (p.longest_q(), p.longest_k());
        // A problem that is valid in group mode gives its longest sequence; upstream refuses others here.
        if p.mode == FmhaMode::Group && p.max_seqlen_q < 1 {
            return Err(Unsupported::Length("seqlen_q"));
        }
        let uneven = |length: i64, tile: u16| tile > 0 && length % i64::from(tile) != 0;
        if !self.pad[0] && uneven(sq, self.tile.m0) {
            return Err(Unsupported::Length("seqlen_q"));
        }
        if !self.pad[1] && (p.has_variable_keys() || uneven(sk, self.tile.n0)) {
            return Err(Unsupported::Length("seqlen_k"));
        }
        if !self.pad[2] && uneven(p.hdim_q, self.hdim_q_alignment) {
            return Err(Unsupported::Alignment("hdim_q"));
        }
        if !self.pad[3] && uneven(p.hdim_v, self.hdim_v_alignment) {
            return Err(Unsupported::Alignment("hdim_v"));
        }
        if self.max_seq_len_q > 0 && sq > self.max_seq_len_q.into() {
            return Err(Unsupported::TooMany("seqlen_q"));
        }
        let splits = 1_i64.checked_shl(self.max_splits_log2.into()).unwrap_or(i64::MAX);
        if self.max_splits_log2 > 0 && p.num_splits > splits.max(1) {
            return Err(Unsupported::TooMany("num_splits"));
        }
        Ok(())
    }

    fn signature(&self, p: &FmhaProblem) -> Result<(), Unsupported> {
        let differs =
            |field: &'static str, same: bool| if same { Ok(()) } else { Err(Unsupported::Differs(field)) };
        differs("family", self.family == p.family)?;
        differs("dtype", self.dtype == p.dtype)?;
        differs("mode", self.mode == p.mode)?;
        differs("v_rowmajor", self.v_rowmajor == p.v_rowmajor)?;
        differs("logits", self.logits == p.logits)?;
        let corner = |mask: FmhaMask| matches!(mask, FmhaMask::TopLeft | FmhaMask::BottomRight);
        let any_mask = self.family == FmhaFamily::FwdSplitkvCombine;
        differs("mask", any_mask || self.mask == p.mask || (corner(self.mask) && corner(p.mask)))?;
        differs("bias", self.bias == p.bias)?;
        differs("lse", self.lse == p.lse)?;
        differs("dropout", self.dropout == p.dropout)?;
        differs("qscale", self.qscale == p.qscale)?;
        differs("rope", self.rope == p.rope)?;
        differs("paged_kv", self.paged_kv == p.paged_kv)?;
        differs("fp8_static_quant", self.fp8_static_quant == p.fp8_static_quant)?;
        differs("skip", self.skip == p.skip)?;
        differs("sink", self.sink == p.sink)?;
        differs("dbias", self.dbias == p.dbias)?;
        differs("store_randval", self.store_randval == p.store_randval)?;
        differs("deterministic", self.deterministic == p.deterministic)?;
        if p.hdim_q > self.hdim_q.into() || p.hdim_v > self.hdim_v.into() {
            return Err(Unsupported::Head);
        }
        if self.family == FmhaFamily::BatchPrefill {
            differs("kv_layout", self.kv_layout == p.kv_layout)?;
            differs("kv_lookup", self.kv_lookup == p.kv_lookup)?;
        }
        let paged = self.family.is_paged() && self.page_size > 1;
        differs("page_size", !paged || i64::from(self.page_size) == p.page_size)
    }
}
