use super::*;
use crate::kernel::{Mnk, Quant};
use crate::vocab::{Dtype, Epilogue, GemmLayout, Major, QuantMode, Scheduler};

/// A body in which every field differs from the first word of its vocabulary.
const BODY: &str = "bf16_rrr_compv4_default_interwave_True_False_True_True_256x64x32_4x1x1_16x16x32";

fn parse(name: &str) -> ParsedGemmName {
    GemmKernel::parse_name(name).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refuses(name: &str, reason: &str) {
    let error = GemmKernel::parse_name(name).unwrap_err();
    assert!(error.reason.contains(reason), "{error}");
}

#[track_caller]
fn refuses_identifier(name: &str, reason: &str) {
    let error = GemmKernel::parse_identifier(name).unwrap_err();
    assert!(error.reason.contains(reason), "{error}");
}

#[test]
fn every_field_of_a_name_arrives() {
    let kernel = parse(&format!("gemm_universal_{BODY}")).kernel;
    assert_eq!((kernel.dtype_a, kernel.dtype_b), (Dtype::Bf16, Dtype::Bf16));
    assert_eq!(kernel.layout.to_string(), "rrr");
    assert_eq!(
        (kernel.pipeline, kernel.epilogue, kernel.scheduler),
        (Pipeline::CompV4, Epilogue::Default, Scheduler::Interwave)
    );
    assert_eq!((kernel.pad, kernel.persistent), ([true, false, true], true));
    assert_eq!(
        (kernel.tile, kernel.wave, kernel.warp_tile),
        (Mnk::new(256, 64, 32), Mnk::new(4, 1, 1), Mnk::new(16, 16, 32))
    );
    assert_eq!((kernel.vector, kernel.split_k, kernel.block_size), ([0; 3], 1, 0));
}

#[test]
fn types_follow_from_a() {
    for (a, c, acc) in [
        ("fp8", Dtype::Fp16, Dtype::Fp32),
        ("int8", Dtype::Int32, Dtype::Int32),
        ("fp64", Dtype::Fp64, Dtype::Fp64),
        ("pk_fp4", Dtype::PkFp4, Dtype::Fp32),
    ] {
        let kernel = parse(&format!("gemm_{}", BODY.replace("bf16", a))).kernel;
        assert_eq!((kernel.dtype_a.as_str(), kernel.dtype_b, kernel.dtype_c), (a, kernel.dtype_a, c));
        assert_eq!(kernel.dtype_acc, acc);
    }
}

#[test]
fn words_with_underscores_shift_nothing() {
    for (name, pipeline, epilogue) in [
        ("basic_v1_cshuffle", Pipeline::BasicV1, Epilogue::CShuffle),
        ("comp_async_cshuffle", Pipeline::CompAsync, Epilogue::CShuffle),
        ("comp_async_eight_waves_none", Pipeline::CompAsyncEightWaves, Epilogue::None),
        ("comp_tdm_tdm", Pipeline::CompTdm, Epilogue::Tdm),
        ("comp_tdm_v2_bias_activation", Pipeline::CompTdmV2, Epilogue::BiasActivation),
        ("mem_bias", Pipeline::Mem, Epilogue::Bias),
    ] {
        let name =
            format!("gemm_universal_{}", BODY.replace("compv4_default", name).replace("bf16", "pk_int4"));
        let kernel = parse(&name).kernel;
        assert_eq!((kernel.pipeline, kernel.epilogue, kernel.tile.m), (pipeline, epilogue, 256), "{name}");
        assert_eq!(kernel.name(), name);
        assert_eq!(format!("gemm_universal_{}", kernel.identifier()), name);
    }
}

#[test]
fn vector_widths_are_cut_out_wherever_they_stand() {
    for (name, widths, tail) in [
        (format!("gemm_{BODY}_vec4_8_2"), [4, 8, 2], ""),
        (format!("gemm_{BODY}_vec1_1_2_multid"), [1, 1, 2], "_multid"),
        (format!("gemm_{BODY}_multid_vec1_1_2"), [1, 1, 2], "_multid"),
        (format!("gemm_{BODY}_vec1_1_2_vec3_3_3"), [1, 1, 2], "_vec3_3_3"),
        (format!("gemm_{BODY}_vec1_1_vec3_3_3"), [3, 3, 3], "_vec1_1"),
        (format!("gemm_{}", BODY.replace("_256", "_vec8_8_8_256")), [8, 8, 8], ""),
        (format!("gemm_{}", BODY.replace("_rrr", "_vec8_8_8_rrr")), [8, 8, 8], ""),
        (format!("gemm_{BODY}_vector"), [0; 3], "_vector"),
    ] {
        let parsed = parse(&name);
        assert_eq!((parsed.kernel.vector, parsed.tail.as_str(), parsed.kernel.tile.m), (widths, tail, 256));
    }
    refuses(&format!("gemm_{BODY}_vec1_1"), "the name ends here, expected '_' and three vector widths");
    refuses(&format!("gemm_{BODY}_vec1_1_x"), "found 'x' for vector width");
    refuses(&format!("gemm_{BODY}_vec1_1_1x"), "found 'x' after the vector widths");
    refuses("gemm_fp16_vec1_1_1_zzz", "unknown GEMM layout 'zzz'");
}

#[test]
fn suffixes_of_identifiers_are_understood_in_names_and_the_rest_is_the_tail() {
    let parsed = parse(&format!("gemm_universal_{BODY}_splitk4_Relu_d2_sparse_preshuffle_multid"));
    let kernel = &parsed.kernel;
    assert_eq!((kernel.split_k, kernel.elementwise, kernel.num_d_tensors), (4, Elementwise::Relu, 2));
    assert!(kernel.structured_sparsity && kernel.preshuffle);
    assert_eq!(parsed.tail, "_multid");
    for tail in ["_d0", "_splitk999", "_splitk4x", "_default", "_", "__", "_Relux", "_PassThrough"] {
        let parsed = parse(&format!("gemm_universal_{BODY}{tail}"));
        assert_eq!((parsed.tail.as_str(), parsed.kernel.split_k), (tail, 1));
    }
}

#[test]
fn other_layouts_than_the_trained_ones_are_layouts() {
    let kernel = parse(&format!("gemm_{}", BODY.replace("rrr", "ccp"))).kernel;
    assert_eq!(kernel.layout, GemmLayout { a: Major::Col, b: Major::Col, c: Major::Packed });
}

#[test]
fn bad_names_say_where_and_what() {
    for (name, reason) in [
        ("gem", "expected 'gemm_', 'gemm_universal_' or another family of GEMM kernels"),
        ("gemm_streamk_fp16_rcr_mem_none_auto_None", "unknown stream-K reduction 'None'"),
        ("batched_gemm_fp16_rcr_mem_none_auto_True_True_1", "found '1' for pad_k"),
        ("batched_gemm_fp16_rcrr_mem", "unknown GEMM layout 'rcrr'"),
        ("gemm_universal", "unknown dtype 'universal', expected one of: fp16, bf16,"),
        ("gemm_universal_", "unknown dtype ''"),
        ("gemm_universal_fp16_rcr_compv3_cshuffle", "the name ends here, expected '_' and the scheduler"),
        ("gemm_fp16_rcx_compv3", "unknown GEMM layout 'rcx'"),
        ("gemm_fp16_rcr_compv9_x", "unknown pipeline 'compv9', expected one of: compv1"),
        ("gemm_fp16_rcr_mem_best", "unknown epilogue 'best'"),
        ("gemm_fp16_rcr_mem_none_fast", "unknown scheduler 'fast'"),
        ("gemm_fp16_rcr_mem_none_auto_true", "found 'true' for pad_m, expected True or False"),
        ("gemm_fp16_rcr_mem_none_auto_True_True_True_1", "found '1' for persistent"),
        (
            "gemm_fp16_rcr_mem_none_auto_True_True_True_True_128x128_2x2x1_32x32x16",
            "found '128x128' for the tile, expected 3 numbers",
        ),
        ("gemm_fp16_rcr_mem_none_auto_True_True_True_True_0x128x1", "the tile is 0, expected 1 to 65535"),
        ("gemm_fp16_rcr_mem_none_auto_True_True_True_True_1x1x65536", "the tile is 65536"),
        ("gemm_fp16_rcr_mem_none_auto_True_True_True_True_1x1x1_1x256x1", "the wave shape is 256"),
        (
            "gemm_fp16_rcr_mem_none_auto_True_True_True_True_1x1x1_1x1x1_1x1x1x1",
            "found 'x1', expected '_' or the end of the name",
        ),
        (
            "gemm_fp16_rcr_mem_none_auto_True_True_True_True_1x1x1_1x1x1_1x1x1-",
            "found '-', expected '_' or the end of the name",
        ),
    ] {
        refuses(name, reason);
    }
}

#[test]
fn identifiers_print_back_byte_for_byte() {
    for identifier in [
        "bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16",
        "fp8_rrr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64_splitk4_Relu_d1\
         _preshuffle",
        "int4_cpp_wavelet_bias_activation_auto_False_True_False_True_1x1x1_1x1x1_1x1x1_MultiDAdd_d255_sparse",
        "fp64_ccc_compv1_none_auto_False_True_False_True_65535x1x1_255x1x1_255x1x1_splitk255",
    ] {
        let kernel = GemmKernel::parse_identifier(identifier).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(kernel.identifier(), identifier);
    }
}

#[test]
fn only_what_the_dispatcher_writes_is_an_identifier() {
    for (suffix, reason) in [
        ("_PassThrough", "found '_PassThrough', expected the end or, in this order"),
        ("_splitk1", "_splitk is 1, expected 2 to 255"),
        ("_splitk256", "_splitk is 256, expected 2 to 255"),
        ("_d0", "_d is 0, expected 1 to 255"),
        ("_d01", "'01' for _d has a leading zero"),
        ("_preshuffle_sparse", "found '_sparse'"),
        ("_vec4_8_2", "found '_vec4_8_2'"),
        ("_multid", "found '_multid'"),
    ] {
        refuses_identifier(&format!("{BODY}{suffix}"), reason);
    }
    refuses_identifier(&format!("gemm_{BODY}"), "unknown dtype 'gemm'");
}

#[test]
fn identifiers_of_older_dispatchers_are_named_as_such() {
    for identifier in
        ["128x128x32_2x2x1_32x32x16_persist", "128x128x32_2x2x1_32x32x16_nopers_splitk4_Relu_d1_sparse"]
    {
        refuses_identifier(identifier, "an identifier of an older dispatcher");
    }
}

#[test]
fn the_block_size_is_known_once_the_arch_is() {
    let mut kernel = parse(&format!("gemm_{BODY}")).kernel;
    let mut narrow = kernel.clone();
    kernel.set_arch("gfx950".parse().unwrap());
    narrow.set_arch("gfx1201".parse().unwrap());
    assert_eq!((kernel.block_size, narrow.block_size), (256, 128));
    kernel.set_arch("gfx1201".parse().unwrap());
    assert_eq!(kernel.block_size, 256, "a known block size stays");
}

/// Both spellings of a variant have the same meaning.
#[test]
fn variants_are_read_in_both_spellings() {
    let shapes = "128x128x32_2x2x1_16x16x16";
    let with = |family: &str, layout: &str, extra: &str, flags: &str| {
        format!("{family}_fp16_{layout}_compv3_cshuffle_intrawave{extra}{flags}_{shapes}")
    };
    let (four, three) = ("_True_False_True_False", "_True_False_True");
    for (tile_engine, generated) in [
        (with("gemm_universal", "rcr", "", four), with("gemm", "rcr", "", four)),
        (with("gemm_streamk", "rcr", "_atomic", four), with("gemm", "rcr", "", four) + "_streamk"),
        (with("gemm_streamk", "rcr", "_linear", four), with("gemm", "rcr", "", four) + "_streamk_linear"),
        (with("gemm_streamk", "rcr", "_tree", four), with("gemm", "rcr", "", four) + "_streamk_tree"),
        (with("batched_gemm", "rrr", "", three), with("gemm", "rrr", "", four) + "_batched"),
        (with("grouped_gemm", "rcr", "", four), with("gemm", "rcr", "", four) + "_grouped"),
        (with("gemm_preshuffle", "rcr", "", four), with("gemm", "rcr", "", four) + "_preshuffle"),
        (
            with("gemm_multi_d", "rcrc", "", four) + "_MultiDMultiply_d3",
            with("gemm", "rcrc", "", four) + "_multid_MultiDMultiply_d3",
        ),
    ] {
        let (one, other) = (parse(&tile_engine), parse(&generated));
        assert_eq!(one, other);
        assert_eq!(one.kernel.name(), tile_engine);
    }
    // The tile engine's name of a kernel with D tensors records neither their number nor their use.
    let multi_d = parse(&with("gemm_multi_d", "rcrr", "", four)).kernel;
    assert_eq!((multi_d.num_d_tensors, multi_d.elementwise), (2, Elementwise::MultiDAdd));
    // Microscaling kernels, and lists of quantised GEMMs without groups, have flags.
    for name in [
        "mx_gemm_fp4_rcr_comp_async_cshuffle_intrawave_False_False_False_False_128x256x256_1x4x1_16x16x128",
        "grouped_gemm_rowcolquant_fp8_rcr_compv3_cshuffle_intrawave_True_False_True_False_128x128x64_2x2x1\
         _32x32x16",
        "grouped_gemm_tensorquant_bf8_rcr_compv3_cshuffle_intrawave_True_False_True_True_128x128x64_2x2x1\
         _32x32x16",
    ] {
        let kernel = parse(name).kernel;
        assert_eq!(kernel.name(), name);
        assert_eq!(kernel.pad[0], !name.starts_with("mx"));
    }
    // The tile engine's names of quantised kernels have flags and omit the groups.
    let flags = with("gemm_aquant", "rcr", "", four).replace("fp16", "fp8");
    let kernel = parse(&flags).kernel;
    assert_eq!((kernel.pad, kernel.variant.quant), ([true, false, true], Some(Quant::usual(QuantMode::A))));
}

/// Shapes and a pipeline mean something else where Triton compiled them, so the name says `triton`.
#[test]
fn names_of_triton_kernels_carry_triton() {
    let (of_triton, of_tile_engine) =
        (format!("triton_gemm_{BODY}_splitk4"), format!("gemm_universal_{BODY}_splitk4"));
    let (triton, other) = (parse(&of_triton).kernel, parse(&of_tile_engine).kernel);
    assert_eq!(triton.variant.library, GemmLibrary::Triton);
    assert!(GemmKernel::begins_a_name(&of_triton));
    assert_eq!([triton.name(), triton.identifier()], [of_triton.as_str(); 2]);
    assert_ne!(triton, other);
    let variant = crate::kernel::GemmVariant { library: GemmLibrary::Ck, ..triton.variant };
    assert_eq!(GemmKernel { variant, ..triton }, other);
    // The estimate took such a kernel for one that does not load ahead; the pool's runner refuses it.
    refuses(
        &of_triton.replace("compv4", "mem"),
        "'mem' has no number of stages, expected compv3 (2) to compv6 (5)",
    );
    assert_eq!(other.name(), of_tile_engine);
}

#[test]
fn identifiers_say_stream_k() {
    let body = "fp16_rcr_compv3_cshuffle_intrawave_True_False_True_False_128x128x32_2x2x1_16x16x16";
    for (suffix, reduction) in [
        ("_streamk", StreamKReduction::Atomic),
        ("_streamk_linear", StreamKReduction::Linear),
        ("_preshuffle_streamk_tree", StreamKReduction::Tree),
    ] {
        let identifier = format!("{body}{suffix}");
        let kernel = GemmKernel::parse_identifier(&identifier).unwrap();
        assert_eq!(kernel.variant.stream_k, Some(reduction));
        assert_eq!(kernel.identifier(), identifier);
    }
    refuses_identifier(&format!("{body}_streamk_atomic"), "found '_atomic'");
}

/// Names that fuzzing made.
#[test]
fn every_name_that_reads_prints_as_what_it_reads() {
    let own_flags =
        "gemm_rowcolquant_fp16_rrr_compv4_default_interwave_True_False_True_True_128x64x32_4x1x16_121x6x3";
    let kernel = GemmKernel::parse_name(own_flags).unwrap().kernel;
    assert_eq!(kernel.name(), own_flags, "pads that a name without flags would not say");
    for (name, message) in [
        (
            "gemm_fp8_rrr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64_batched",
            "batched kernels are not persistent",
        ),
        (
            "gemm_fp8_rrrc_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64",
            "the layout has a letter for D tensors, but the kernel has none",
        ),
    ] {
        assert_eq!(GemmKernel::parse_name(name).unwrap_err().reason, message);
    }
    let identifier =
        "fp8_rrrr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x6_preshuffle";
    let error = GemmKernel::parse_identifier(identifier).unwrap_err();
    assert!(error.reason.starts_with("expected 'fp8_rrr_mem_default_"), "{error}");
}
