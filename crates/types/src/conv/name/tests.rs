use super::*;
use crate::conv::StreamK;
use crate::shape::Mnk;
use crate::vocab::{Direction, Pipeline, Scheduler, Specialization, StreamKReduction};

fn parse(name: &str) -> ConvKernel {
    ConvKernel::parse_name(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn short_names_take_waves_and_warp_tile_from_the_table() {
    let kernel = parse("grouped_conv_forward_bf16_2d_32x128x64_compv5_intrawave_dsb_si");
    assert_eq!((kernel.wave, kernel.warp_tile), (Mnk::new(1, 4, 1), Mnk::new(32, 32, 16)));
    assert!(kernel.double_smem_buffer && kernel.split_image && !kernel.two_stage);
    assert_eq!((kernel.num_groups_to_merge, kernel.vector), (1, [4, 8, 8]));
    let other = parse("grouped_conv_forward_bf16_2d_256x64x64_compv5_intrawave");
    assert_eq!((other.wave, other.warp_tile), (Mnk::new(2, 2, 1), Mnk::new(32, 32, 16)));
}

#[test]
fn no_wave_mode_means_intrawave() {
    let old = parse("grouped_conv_forward_bf16_2d_16x64x64_compv3");
    let new = parse("grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave");
    assert_eq!(old, new);
    assert_eq!(old.name(), "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave");
    let name = ConvName::parse("grouped_conv_forward_bf16_2d_16x64x64_compv3").unwrap();
    assert!(!name.states("scheduler"));
}

#[test]
fn suffixes_that_upstream_drops_are_understood() {
    let kernel = parse("grouped_conv_bwd_weight_fp16_3d_16x64x128_mem_interwave_gm2_2stage");
    assert_eq!((kernel.direction, kernel.ndim, kernel.layout), (Direction::BwdWeight, 3, ConvLayout::Ndhwgc));
    assert_eq!(
        (kernel.scheduler, kernel.num_groups_to_merge, kernel.two_stage),
        (Scheduler::Interwave, 2, true)
    );
    assert_eq!(
        parse("grouped_conv_forward_fp16_1d_16x64x64_wavelet_intrawave_gm16").pipeline,
        Pipeline::Wavelet
    );
}

#[test]
fn canonical_names_print_back() {
    for name in [
        "grouped_conv_forward_bf16_2d_32x128x64_compv5_intrawave_dsb_si",
        "grouped_conv_bwd_weight_fp16_3d_16x64x128_mem_interwave_gm2_2stage",
        "grouped_conv_bwd_data_int8_1d_1x1x1_basic_async_v1_intrawave_gm65535_dsb_si_2stage",
        "grouped_conv_forward_pk_fp4_2d_16x64x64_comp_async_eight_waves_auto",
    ] {
        assert_eq!(parse(name).name(), name);
    }
    let key = "grouped_conv_bwd_data_fp32_3d_1x128x128_4x1x1_16x16x16_basic_v1_filter1x1_stride1_pad0";
    let long = "grouped_conv_bwd_data_fp32_ndhwgc_3d_basic_v1_cshuffle_intrawave_1x128x128_4x1x1_16x16x16\
                _vec8_8_8_filter1x1_stride1_pad0";
    assert_eq!(parse(key).specialization, parse(long).specialization);
    assert_eq!((parse(key).wave, parse(key).warp_tile), (parse(long).wave, parse(long).warp_tile));
    for name in [
        "grouped_conv_bwd_data_fp16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16",
        "grouped_conv_fwd_bf16_gnhwc_2d_comp_async_bias_activation_auto_64x64x32_2x2x1_16x16x16",
    ] {
        assert_eq!((parse(name).decl_name().as_str(), parse(name).long_name().as_str()), (name, name));
    }
}

#[test]
fn generated_names_carry_every_field() {
    let name = "grouped_conv_bwd_weight_fp16_ndhwgc_3d_compv4_default_intrawave_64x64x32_2x2x1_16x16x16_vec1\
                _2_4_bpc2_wg3_gm4_dsb_2stage_filter1x1_pad0_explicit_gemm_streamk_tree_persistent_large\
                _tensor";
    let kernel = parse(name);
    assert_eq!(kernel.long_name(), name);
    assert_eq!((kernel.vector, kernel.block_per_cu), ([1, 2, 4], 2));
    assert_eq!((kernel.num_wave_groups, kernel.num_groups_to_merge), (3, 4));
    assert!(kernel.double_smem_buffer && kernel.two_stage && kernel.explicit_gemm && kernel.split_image);
    assert_eq!(kernel.specialization, Specialization::Filter1x1Pad0);
    assert_eq!(kernel.stream_k, Some(StreamK { reduction: StreamKReduction::Tree, persistent: true }));
}

#[test]
fn both_words_for_forward_are_read_in_every_grammar() {
    for rest in [
        "bf16_2d_16x64x64_compv3",
        "bf16_2d_16x64x64_2x2x1_32x32x16_compv3",
        "bf16_nhwgc_2d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16",
    ] {
        assert_eq!(
            parse(&format!("grouped_conv_fwd_{rest}")),
            parse(&format!("grouped_conv_forward_{rest}"))
        );
    }
}

#[test]
fn bad_names_say_what() {
    for (name, reason) in [
        ("conv", "expected 'grouped_conv_'"),
        ("grouped_conv_", "unknown direction '', expected one of: forward, bwd_data, bwd_weight"),
        ("grouped_conv_backward_bf16", "unknown direction 'backward'"),
        ("grouped_conv_forward", "the name ends here, expected '_' and the dtype"),
        ("grouped_conv_fwd_depthwise_fp16_ngchw_2d_8x8_f3", "unknown dtype 'depthwise'"),
        ("grouped_conv_forward_bf16_nhgwc_2d", "unknown convolution layout 'nhgwc'"),
        ("grouped_conv_forward_bf16_4d_1x1x1_mem", "the number of dimensions is 4, expected 1 to 3"),
        ("grouped_conv_forward_bf16_2_1x1x1_mem", "expected 'd' and '_', as in '2d_'"),
        (
            "grouped_conv_forward_bf16_2d_16x64_compv3",
            "found '16x64' for the tile, expected 3 numbers joined by 'x'",
        ),
        ("grouped_conv_forward_bf16_2d_16x64x64", "expected '_' and the pipeline, or waves and warp tile"),
        ("grouped_conv_forward_bf16_2d_16x64x64_", "unknown pipeline ''"),
        ("grouped_conv_forward_bf16_2d_16x64x64_basic", "unknown pipeline 'basic', expected one of"),
        (
            "grouped_conv_forward_bf16_2d_16x64x64_mem_si_dsb",
            "found '_dsb', expected the end or, in this order",
        ),
        ("grouped_conv_forward_bf16_2d_16x64x64_mem_gm1", "_gm is 1, expected 2 to 65535"),
        ("grouped_conv_forward_bf16_2d_16x64x64_mem_gm2x", "found '_gm2x'"),
        ("grouped_conv_forward_bf16_2d_16x64x64_mem_extra", "found '_extra'"),
        ("grouped_conv_fwd_bf16_2d_64x128x64_2x2x1_compv3", "found 'compv3' for the warp tile"),
        (
            "grouped_conv_fwd_bf16_2d_64x128x64_-1x2x1_32x32x16_mem",
            "unresolved wildcard -1 in the wave shape",
        ),
        ("grouped_conv_fwd_bf16_2d_64x128x64_2x2x1_32x32x16_mem_default", "found '_default'"),
        ("grouped_conv_fwd_fp16_nhwc_2d_*_cshuffle_intrawave_1x1x1", "unresolved wildcard '*'"),
        (
            "grouped_conv_fwd_fp16_nhwc_2d_mem_cshuffle_intrawave_1x128x128_-1x-1x1_-1x-1x16",
            "unresolved wildcard -1 in the wave shape: expand the declaration first",
        ),
        (
            "grouped_conv_fwd_fp16_nhwc_2d_mem_cshuffle_intrawave_1x128x128_2x2x1_32x-1x16",
            "unresolved wildcard -1 in the warp tile",
        ),
        (
            "grouped_conv_fwd_fp16_nhwc_2d_mem_cshuffle_intrawave_1x128x128_2x2x1_32x32x16_pad110",
            "kernels that do not pad m, n and k",
        ),
        (
            "grouped_conv_fwd_fp16_nhwc_2d_mem_cshuffle_intrawave_1x128x128_2x2x1_32x32x16_vec4_8",
            "the name ends here, expected '_' and three vector widths",
        ),
    ] {
        let error = ConvKernel::parse_name(name).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
    }
}

#[test]
fn names_of_the_dsl_have_its_waves() {
    let name = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_intrawave_32x128x64";
    let kernel = ConvKernel::parse_name(name).unwrap();
    assert_eq!((kernel.tile, kernel.wave), (Mnk::new(32, 128, 64), Mnk::new(2, 2, 1)));
    assert_eq!((kernel.pipeline, kernel.scheduler), (Pipeline::CompV3, Scheduler::Intrawave));
    let error = ConvKernel::parse_name(&format!("{name}_dsb")).unwrap_err();
    assert_eq!(error.reason, "found '_dsb', expected the end after the tile");
}
