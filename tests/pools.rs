//! Pool files: every good one reads, and every bad one says what is wrong and where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ck_select::kernel::KernelKind;
use ck_select::pool::Pool;
use ck_select::vocab::{Dtype, Epilogue, Pipeline};

fn files(folder: &str) -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pools").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

fn good(name: &str) -> Pool {
    Pool::read(&files("good")[name]).unwrap_or_else(|error| panic!("{error}"))
}

/// Each bad file with the end of its message, after the file's label.
const BAD: &[(&str, &str)] = &[
    (
        "bad_first_kernels.json",
        ", line 1, kernels[0]: kernel name 'x', byte 0: begins neither with 'grouped_conv_' nor with 'fmha_' \
         nor with 'gemm_' or another family of GEMM kernels nor, as the dispatcher's identifiers of GEMMs \
         do, with a dtype: fp16, bf16, fp32, fp64, fp8, bf8, int8, int4, int32, pk_fp4, pk_int4",
    ),
    ("comments_only.txt", ": no kernel found, expected at least one"),
    (
        "contradicting_direction.json",
        ", line 4, kernels[1].signature.op: the field says bwd_data, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3' says forward",
    ),
    (
        "contradicting_flag.json",
        ", line 2, [0].algorithm.double_smem_buffer: the field says false, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_dsb' says true",
    ),
    (
        "contradicting_pipeline.json",
        ", line 2, [0].algorithm.pipeline: the field says compv3, but the name \
         'bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16' says compv4",
    ),
    (
        "contradicting_tile.json",
        ", line 2, [0].algorithm.tile_m: the field says 32, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3' says 16",
    ),
    ("empty.txt", ": no kernel found, expected at least one"),
    (
        "empty_kernel.csv",
        ", line 3, kernel: kernel name '', byte 0: begins neither with 'grouped_conv_' nor with 'fmha_' nor \
         with 'gemm_' or another family of GEMM kernels nor, as the dispatcher's identifiers of GEMMs do, \
         with a dtype: fp16, bf16, fp32, fp64, fp8, bf8, int8, int4, int32, pk_fp4, pk_int4",
    ),
    (
        "garbled_escape.json",
        ", line 2, kernels[0].name: found an escape '\\uffff', expected ASCII: the exporter garbles other \
         characters (as \\uffffffXX), so the name is lost",
    ),
    ("marked_not_utf8.txt", ": not UTF-8 from byte 11 on"),
    ("nameless.json", ", line 2, kernels[0].name: found no name, expected a field 'name' or 'identifier'"),
    (
        "needlessly_unknown.json",
        ", line 2, [0].algorithm.pipeline: found 'unknown', expected 'compv4', \
         which the name gives and the exporter can spell",
    ),
    ("negative_tile.json", ", line 2, [0].algorithm.tile_m: invalid value: integer `-1`, expected u64"),
    (
        "no_kernel_column.csv",
        ", line 1: found the columns 'problem_idx, N, tflops', expected a column 'kernel' or 'kernel_name', \
         or a text file of one name a line",
    ),
    ("no_kernels.json", ": no kernel found, expected at least one"),
    (
        "not_an_export.json",
        ", line 1: found an object without 'kernels' and without 'name', expected an export, an array of \
         kernels or names, or one kernel",
    ),
    ("not_utf8.txt", ": not UTF-8 from byte 45 on"),
    (
        "number_in_names.json",
        ", line 3: JSON, column 2: invalid type: integer `7`, expected a kernel or a kernel's name",
    ),
    (
        "old_identifier.txt",
        ", line 1: kernel name '128x128x32_2x2x1_32x32x16_persist', byte 0: an identifier of an older \
         dispatcher: it begins with the tile and lacks dtype, layout, pipeline and pads; export the registry \
         with a dispatcher whose identifiers begin with the dtype",
    ),
    ("short_escape.json", ", line 2: JSON, column 46: invalid escape"),
    (
        "short_gemm_name.txt",
        ", line 1: kernel name 'gemm_universal_fp16_rcr_compv3_cshuffle', byte 39: the name ends here, \
         expected '_' and the scheduler",
    ),
    ("short_row.csv", ", line 3: found a row of length 1, expected 2 as in the header"),
    ("trailing.json", ", line 1: JSON, column 50: trailing characters"),
    ("truncated.json", ", line 3: JSON, column 0: EOF while parsing a value"),
    (
        "two_operations.txt",
        ", line 2: 'gemm_fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32' is a \
         gemm_universal kernel, but 'grouped_conv_forward_bf16_2d_16x64x64_compv3' is a grouped_conv kernel: \
         a pool has one operation",
    ),
    (
        "two_waves.json",
        ", line 2, [0].algorithm.wave: found '2x2', expected three numbers of 1 to 255 joined by 'x'",
    ),
    (
        "unknown_arch.json",
        ", line 1, [0].arch: found 'mi355x', expected one of: gfx9xx, gfx10xx, gfx11xx, gfx12xx, sm_NN",
    ),
    (
        "unknown_direction.json",
        ", line 2, [0].signature.op: found 'sideways', expected one of: forward, bwd_data, bwd_weight",
    ),
    (
        "unknown_pipeline.txt",
        ", line 2: kernel name 'grouped_conv_forward_bf16_2d_16x64x64_basic', byte 38: unknown pipeline \
         'basic', expected one of: compv1, compv2, compv3, compv4, compv5, compv6, mem, basic_v1, basic_v2, \
         basic_async_v1, comp_async, comp_async_eight_waves, comp_tdm, comp_tdm_v2, preshufflev1, \
         preshufflev2, weight_preshuffle, wavelet, eightwaves, preshuffleb, microscale, comp_tdm_v1, \
         preshuffle_tdm",
    ),
    (
        "wildcards.txt",
        ", line 1: kernel name 'grouped_conv_fwd_fp16_nhwc_2d_compv4_cshuffle_intrawave_1x128x128_-1x-1x1\
         _-1x-1x16', byte 66: unresolved wildcard -1 in the wave shape: expand the declaration first",
    ),
    ("zero_vector.json", ", line 2, [0].algorithm.vector_sizes[1]: found 0, expected 1 to 65535"),
];

#[test]
fn good_files_have_these_many_kernels() {
    let expected = BTreeMap::from([
        ("benchmark.csv", 3),
        ("conv_python.json", 2),
        ("conv_registry.json", 1),
        ("gemm_registry.json", 2),
        ("gemm_universal_kernel_list.txt", 3),
        ("names.json", 2),
        ("names.txt", 5),
        ("quoted.csv", 2),
        ("windows.txt", 2),
    ]);
    let read: BTreeMap<_, _> = files("good").keys().map(|name| (name.clone(), good(name).len())).collect();
    assert_eq!(read, expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
}

#[test]
fn bad_files_say_what_is_wrong() {
    let expected: BTreeMap<_, _> = BAD.iter().copied().collect();
    for (name, path) in files("bad") {
        let bytes = fs::read(path).unwrap();
        let error = Pool::from_bytes("F", &bytes).expect_err(&name).to_string();
        let Some(message) = expected.get(name.as_str()) else { panic!("{name} has no expectation: {error}") };
        assert_eq!(error, format!("F{message}"), "{name}");
    }
    assert_eq!(files("bad").len(), BAD.len(), "an expectation has no file");
}

#[test]
fn registries_keep_what_their_fields_and_names_say() {
    let pool = good("gemm_registry.json");
    let KernelKind::Gemm(gemm) = &pool.get(0).unwrap().kind else { panic!("a GEMM") };
    assert_eq!((gemm.dtype_c, gemm.pad, gemm.block_size), (Dtype::Fp32, [true; 3], 256));
    let KernelKind::Gemm(gemm) = &pool.get(1).unwrap().kind else { panic!("a GEMM") };
    assert_eq!((gemm.pipeline, gemm.epilogue), (Pipeline::PreshuffleV2, Epilogue::BiasActivation));
    assert!(gemm.preshuffle && gemm.persistent);

    let pool = good("conv_registry.json");
    let KernelKind::Conv(conv) = &pool.get(0).unwrap().kind else { panic!("a convolution") };
    assert_eq!((conv.dtype_out, conv.double_smem_buffer), (Dtype::Fp32, true));

    for kernel in &good("conv_python.json") {
        let KernelKind::Conv(conv) = &kernel.kind else { panic!("a convolution") };
        assert_eq!(conv.name(), kernel.name);
    }
}
