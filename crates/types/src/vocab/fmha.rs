//! The words of attention. Files and upstream's headers also have most of them as numbers, which are their indices
//! here.

vocabulary! {
    /// The operation of attention that a caller requests.
    FmhaApi, "attention API" {
        Fwd = "fwd", FwdPagedkv = "fwd_pagedkv", FwdSplitkv = "fwd_splitkv", FwdAppendkv = "fwd_appendkv",
        BatchPrefill = "batch_prefill", Bwd = "bwd",
    }
}

vocabulary! {
    /// The stage of attention that one kernel computes.
    FmhaFamily, "attention family" {
        Fwd = "fwd", FwdPagedkv = "fwd_pagedkv", FwdSplitkv = "fwd_splitkv",
        FwdSplitkvCombine = "fwd_splitkv_combine", FwdAppendkv = "fwd_appendkv",
        BatchPrefill = "batch_prefill", BwdDotDoO = "bwd_dot_do_o", BwdDqDkDv = "bwd_dq_dk_dv",
        BwdConvertDq = "bwd_convert_dq",
    }
}

vocabulary! {
    /// Whether all sequences of a batch have one length (`batch`) or each its own (`group`).
    FmhaMode, "attention mode" {
        Batch = "batch" | "0" | "false" | "False", Group = "group" | "1" | "true" | "True",
    }
}

vocabulary! {
    /// Which keys a query does not see.
    FmhaMask, "attention mask" {
        No = "no" | "no_mask" | "0", TopLeft = "top_left" | "causal" | "t" | "mask_top_left" | "1",
        BottomRight = "bottom_right" | "b" | "mask_bottom_right" | "2",
        Generic = "generic" | "g" | "window_generic" | "3",
    }
}

vocabulary! {
    /// The bias that is added to the scores.
    FmhaBias, "attention bias" {
        No = "no" | "0", Elementwise = "bias" | "elementwise" | "elementwise_bias" | "1",
        Alibi = "alibi" | "2",
    }
}

vocabulary! {
    /// How 8-bit operands are scaled.
    FmhaQscale, "attention scale" {
        No = "no" | "no_scale" | "0", Pertensor = "pertensor" | "1", Blockscale = "blockscale" | "2",
        KvBlockscale = "kv_blockscale" | "3", Mx = "mx" | "4", PerTokenHead = "per_token_head" | "5",
    }
}

vocabulary! {
    /// How positions are rotated into appended keys.
    FmhaRope, "rotary embedding" {
        None = "none" | "no" | "0", Interleaved = "inter" | "interleaved" | "1",
        HalfRotated = "half" | "half_rotated" | "2",
    }
}

vocabulary! {
    /// Memory order of a paged cache.
    FmhaKvLayout, "cache layout" { Vectorized = "vectorized" | "0", Linear = "linear" | "1" }
}

vocabulary! {
    /// How a kernel looks up the pages of a cache.
    FmhaKvLookup, "cache lookup" { Vllm = "vllm" | "0", Sglang = "sglang" | "1" }
}

vocabulary! {
    /// How an attention kernel brings keys and values to the matrix units.
    FmhaPipeline, "attention pipeline" {
        Qr = "qr", QrAsync = "qr_async", QrAsyncTrload = "qr_async_trload",
        QrAsyncTrloadV3 = "qr_async_trload_v3", QrPagedkv = "qr_pagedkv", Qs = "qs",
        QrNwarpSshuffle = "qr_nwarp_sshuffle", V3 = "v3", SplitkvCombine = "splitkv_combine",
        Appendkv = "appendkv", Bwd = "bwd", BatchPrefillGfx11 = "batch_prefill_gfx11",
        QrHpad = "qr_hpad", QrTdm = "qr_tdm",
    }
}

impl FmhaApi {
    /// The kernels that the API needs, in the order in which they run. The last of backward is optional.
    pub const fn stages(self) -> &'static [FmhaFamily] {
        match self {
            Self::Fwd => &[FmhaFamily::Fwd],
            Self::FwdPagedkv => &[FmhaFamily::FwdPagedkv],
            Self::FwdSplitkv => &[FmhaFamily::FwdSplitkv, FmhaFamily::FwdSplitkvCombine],
            Self::FwdAppendkv => &[FmhaFamily::FwdAppendkv],
            Self::BatchPrefill => &[FmhaFamily::BatchPrefill],
            Self::Bwd => &[FmhaFamily::BwdDotDoO, FmhaFamily::BwdDqDkDv, FmhaFamily::BwdConvertDq],
        }
    }

    /// The stage that does most of the work, which a problem asks for by default.
    pub const fn main_stage(self) -> FmhaFamily {
        match self {
            Self::Bwd => FmhaFamily::BwdDqDkDv,
            other => other.stages()[0],
        }
    }
}

impl FmhaFamily {
    /// The API that needs such a kernel.
    pub const fn api(self) -> FmhaApi {
        match self {
            Self::Fwd => FmhaApi::Fwd,
            Self::FwdPagedkv => FmhaApi::FwdPagedkv,
            Self::FwdSplitkv | Self::FwdSplitkvCombine => FmhaApi::FwdSplitkv,
            Self::FwdAppendkv => FmhaApi::FwdAppendkv,
            Self::BatchPrefill => FmhaApi::BatchPrefill,
            Self::BwdDotDoO | Self::BwdDqDkDv | Self::BwdConvertDq => FmhaApi::Bwd,
        }
    }

    /// Whether the stage computes scores and their products with values: what a forward model was trained on.
    pub const fn is_forward(self) -> bool {
        matches!(self, Self::Fwd | Self::FwdPagedkv | Self::FwdSplitkv | Self::BatchPrefill)
    }

    /// Whether the stage's keys and values may be in pages, whose size is then part of its signature.
    pub const fn is_paged(self) -> bool {
        matches!(
            self,
            Self::FwdPagedkv
                | Self::FwdAppendkv
                | Self::FwdSplitkv
                | Self::FwdSplitkvCombine
                | Self::BatchPrefill
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_upstreams() {
        for (number, mask) in FmhaMask::ALL.iter().enumerate() {
            assert_eq!((number.to_string().parse(), *mask as usize), (Ok(*mask), number));
        }
        for (number, scale) in FmhaQscale::ALL.iter().enumerate() {
            assert_eq!(number.to_string().parse(), Ok(*scale));
        }
        assert_eq!(
            ["causal", "g", "window_generic"].map(|word| word.parse::<FmhaMask>().unwrap() as u8),
            [1, 3, 3]
        );
        assert_eq!(FmhaKvLookup::Sglang as u8, 1);
        assert_eq!(
            "sideways".parse::<FmhaMask>().unwrap_err().to_string(),
            "unknown attention mask 'sideways', expected one of: no, top_left, bottom_right, generic"
        );
    }

    #[test]
    fn stages_belong_to_their_api() {
        for &api in FmhaApi::ALL {
            assert!(api.stages().contains(&api.main_stage()));
            assert!(api.stages().iter().all(|family| family.api() == api));
        }
        let all: usize = FmhaApi::ALL.iter().map(|api| api.stages().len()).sum();
        assert_eq!(all, FmhaFamily::ALL.len());
    }
}
