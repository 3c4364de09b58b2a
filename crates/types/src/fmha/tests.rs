use super::*;
use crate::kernel::{Kernel, KernelKind};
use crate::problem::FmhaProblem;
use crate::vocab::{FmhaFamily, FmhaMask};

const FP16: &str = "fmha_fwd_fp16_batch_vr_hq128_hv128_pqr_async_m0_b0_lse0_do0_qs0_rp0_pkv0_sq0_sk0_sink0\
                    _db0_sr0_det0_km0_kl1_ps1_t128x128x32x128x32x128_w04x1x1_w14x1x1_wt032x32x16_wt132x32x16\
                    _pads1111_tr0_bpc255_wg1_ms0_mq0_aq128_av128_r0_sc0_rc-1";
const OTHERS: [&str; 4] = [
    "fmha_fwd_bf16_group_vr_hq128_hv128_pqr_async_m1_b0_lse1_do0_qs0_rp0_pkv0_sq0_sk0_sink0_db0_sr0_det0_km0\
     _kl1_ps1_t128x128x32x128x32x128_w04x1x1_w14x1x1_wt032x32x16_wt132x32x16_pads1111_tr0_bpc255_wg1_ms0_mq0\
     _aq128_av128_r0_sc1_rc-1",
    "fmha_fwd_fp8bf16_batch_vr_hq192_hv128_pqr_async_m3_b0_lse0_do0_qs1_rp0_pkv0_sq0_sk0_sink1_db0_sr0_det0\
     _km0_kl1_ps1_t128x128x32x128x32x192_w04x1x1_w14x1x1_wt032x32x32_wt132x32x32_pads1011_tr0_bpc255_wg1_ms0\
     _mq0_aq192_av128_r0_sc0_rc-1",
    "fmha_fwd_splitkv_combine_fp16_batch_vr_hq128_hv128_psplitkv_combine_m0_b0_lse1_do0_qs0_rp0_pkv0_sq0_sk0\
     _sink0_db0_sr0_det0_km0_kl1_ps1_t32x128x32x32x0x0_w04x1x1_w14x1x1_wt016x16x16_wt116x16x16_pads0111_tr0\
     _bpc255_wg1_ms0_mq0_aq128_av128_r0_sc0_rc-1",
    "fmha_bwd_dq_dk_dv_bf16_batch_vr_hq128_hv128_pqr_m1_b1_lse0_do1_qs0_rp0_pkv0_sq0_sk0_sink0_db1_sr1_det1\
     _km0_kl1_ps1_t16x128x128x16x128x16_w01x4x1_w14x1x1_wt016x16x32_wt116x16x16_pads1111_tr0_bpc255_wg1_ms0\
     _mq0_aq128_av128_r0_sc0_rc-1",
];

fn read(name: &str) -> FmhaKernel {
    match Kernel::from_name(name).unwrap().kind {
        KernelKind::Fmha(kernel) => kernel,
        other => panic!("{other:?}"),
    }
}

/// Names as they stand in scripts and logs around CK, with the architecture or its generation at the end.
#[test]
fn names_of_ck_may_end_with_an_architecture() {
    for (name, arch, pipeline) in [
        (
            "fmha_fwd_d256_bf16_group_b128x64x32x256x32x256_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_vr_pssk_nlogits\
             _nbias_nmask_nlse_ndropout_nskip_nqscale_ntrload_nsink_gfx950",
            Some("gfx950"),
            "qr",
        ),
        (
            "fmha_fwd_d128_bf16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr_psddv\
             _nlogits_nbias_mask_lse_ndropout_nskip_nqscale_ntrload_nsink_gfx9",
            None,
            "qr_async",
        ),
        (
            "fmha_fwd_d128_fp16_batch_b128x64x32x128x32x128_r8x1x1_r8x1x1_w16x16x16_w16x16x16_o6_qr_hpad_vr\
             _psskddv_nlogits_nbias_mask_nlse_ndropout_nskip_nqscale_ntrload_nsink_gfx11.cpp",
            None,
            "qr_hpad",
        ),
        (
            "fmha_fwd_d128_bf16_batch_b64x64x32x128x32x128_r4x1x1_r4x1x1_w16x16x32_w16x16x32_qr_tdm_vr_npad\
             _nlogits_nbias_nmask_nlse_ndropout_nskip_nqscale_ntrload_nsink_gfx125.cpp",
            None,
            "qr_tdm",
        ),
    ] {
        let kernel = read(name);
        assert_eq!(kernel.arch.map(|arch| arch.to_string()).as_deref(), arch, "{name}");
        assert_eq!(kernel.pipeline.as_str(), pipeline);
        let end = name.find("_gfx").unwrap();
        let written = if arch.is_some() { name } else { &name[..end] };
        assert_eq!(kernel.ck_name().replace("_mc_", "_mask_"), written);
    }
}

#[test]
fn identifiers_read_back_in_the_newest_form() {
    for name in OTHERS.into_iter().chain([FP16]) {
        assert_eq!(read(name).identifier(), name);
        let older = name.replace("_sc0_", "_").replace("_sc1_", "_");
        assert_eq!(FmhaKernel { logits: read(name).logits, ..read(&older) }.identifier(), name);
    }
    // What the dispatcher never filled in is 0.
    let odd = FP16.replace("_r0_", "_r-3_").replace("_rc-1", "_rc100").replace("_hq128", "_hq0");
    let kernel = read(&odd);
    assert_eq!((kernel.selection_rank, kernel.receipt, kernel.hdim_q), (-3, 100, 0));
    assert_eq!(kernel.identifier(), odd);
}

#[test]
fn one_kernel_has_three_names() {
    let kernel = read(FP16);
    let config =
        "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1";
    let ck = "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr\
              _psskddv_nlogits_nbias_nmask_nlse_ndropout_nskip_nqscale_ntrload_nsink";
    assert_eq!((kernel.config_name().as_str(), kernel.ck_name().as_str()), (config, ck));
    assert_eq!((read(config), read(ck)), (kernel.clone(), kernel));
    let rich = "fmha_fwd_fp8bf16_group_h192x128_qr_async_t128x128x32x128x32x192.small_w32x32x32_pad1011\
                _mask=top_left_bias=no_lse=1_logits=1_sink=1_qs=kv_blockscale_pkv=1_ps=16_kvl=linear_kvt=vllm\
                _bpc=2";
    let kernel = read(rich);
    assert_eq!((kernel.config_name().as_str(), kernel.constraint_tag.as_str()), (rich, "small"));
    let backward = "fmha_bwd_dq_dk_dv_bf16_batch_h64_qr_t32x128x64x32x64x32_w16x16x32_pad1181_mask=no\
                    _bias=bias_det=1_dbias=1_drv=dropout_wg16_storerandval_bpc=1";
    let kernel = read(backward);
    assert!(kernel.dropout && kernel.store_randval && kernel.pad == [true; 4]);
    assert_eq!(kernel.config_name(), backward.replace("pad1181", "pad1111"));
}

#[test]
fn names_that_say_too_little_are_refused_as_such() {
    for (name, reason) in [
        (
            "fmha_fwd_fp16_batch_h128x128_qr_async_a1e9d045518e",
            "a generated name, whose hash cannot be read back",
        ),
        ("fmha_fwd_fp16_batch_dq128_dv128_r_qr", "the name of a declaration"),
        ("fmha_fwd_int8_batch_vr_hq128", "found 'int8', expected a type of attention: fp16, bf16, fp32"),
        ("fmha_sideways_fp16", "unknown attention family 'sideways', expected one of: fwd, fwd_pagedkv"),
        ("fmha_fwd_fp16_ragged_vr", "found 'ragged', expected batch or group"),
        (&FP16.replace("_m0_", "_m7_"), "_m is 7, expected 0 to 3 (no, top_left, bottom_right, generic)"),
        (&FP16.replace("_rc-1", ""), "found '', expected '_rc' and a number"),
        (&FP16.replace("pads1111", "pads1121"), "found '21_tr0_bpc255_wg1_ms', expected one of ['0', '1']"),
    ] {
        let error = Kernel::from_name(name).unwrap_err();
        assert!(error.reason.starts_with(reason), "{error}");
    }
}

#[test]
fn rules_are_upstreams() {
    let kernel = read(FP16);
    let problem = FmhaProblem::new([100, 300], 8, 128);
    assert_eq!(kernel.check(&problem), Ok(()));
    assert_eq!(
        kernel.check(&FmhaProblem { hdim_q: 96, hdim_v: 80, ..problem }),
        Ok(()),
        "larger heads serve smaller"
    );
    assert_eq!(kernel.check(&FmhaProblem { hdim_v: 136, ..problem }), Err(Unsupported::Head));
    assert_eq!(kernel.check(&FmhaProblem { lse: true, ..problem }), Err(Unsupported::Differs("lse")));
    assert_eq!(kernel.check(&problem.stage(FmhaFamily::FwdSplitkv)), Err(Unsupported::Differs("family")));

    let bare = FmhaKernel { pad: [false; 4], ..kernel.clone() };
    assert_eq!(bare.check(&problem), Err(Unsupported::Length("seqlen_q")));
    let even = FmhaProblem { seqlen_q: 256, seqlen_k: 384, ..problem };
    assert_eq!(bare.check(&even), Ok(()));
    assert_eq!(bare.check(&FmhaProblem { max_seqlen_k: 100, ..even }), Err(Unsupported::Length("seqlen_k")));
    assert_eq!(bare.check(&FmhaProblem { is_gappy: true, ..even }), Err(Unsupported::Length("seqlen_k")));
    assert_eq!(bare.check(&FmhaProblem { hdim_q: 64, ..even }), Err(Unsupported::Alignment("hdim_q")));

    let causal = FmhaKernel { mask: FmhaMask::TopLeft, ..kernel.clone() };
    assert!(causal.matches_request(&FmhaProblem { mask: FmhaMask::BottomRight, ..problem }));
    assert!(!causal.matches_request(&FmhaProblem { mask: FmhaMask::Generic, ..problem }));
    let short = FmhaKernel { max_seq_len_q: 64, ..kernel.clone() };
    assert_eq!(short.check(&problem), Err(Unsupported::TooMany("seqlen_q")));

    let combine = read(OTHERS[2]);
    let split = FmhaProblem { lse: true, mask: FmhaMask::Generic, seqlen_q: 32, ..problem };
    let split = FmhaProblem { family: FmhaFamily::FwdSplitkvCombine, num_splits: 32, ..split };
    assert_eq!(combine.check(&split), Ok(()), "a combining kernel takes any mask");
    let few = FmhaKernel { max_splits_log2: 4, ..combine };
    assert_eq!(few.check(&split), Err(Unsupported::TooMany("num_splits")));

    let paged = FmhaKernel { family: FmhaFamily::FwdPagedkv, paged_kv: true, page_size: 64, ..kernel };
    let asked = FmhaProblem { paged_kv: true, page_size: 64, ..problem }.stage(FmhaFamily::FwdPagedkv);
    assert!(
        paged.matches_request(&asked) && FmhaKernel { page_size: 1, ..paged.clone() }.matches_request(&asked)
    );
    assert_eq!(paged.check(&FmhaProblem { page_size: 16, ..asked }), Err(Unsupported::Differs("page_size")));
}
