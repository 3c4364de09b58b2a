//! Pool files: every good one reads, and every bad one says what is wrong and where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ck_select::kernel::KernelKind;
use ck_select::pool::Pool;
use ck_select::vocab::{Dtype, Epilogue, Pipeline};

fn files() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pools");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| !path.ends_with(".gitattributes"));
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

fn good(name: &str) -> Pool {
    Pool::read(&files()[name]).unwrap_or_else(|error| panic!("{error}"))
}

/// Files that are refused, with the message after the file's label.
const BAD: &[(&[u8], &str)] = &[
    (
        b"# nothing but a comment\n\
          \n",
        ": no kernel found, expected at least one",
    ),
    (
        b"{\"kernels\": [\n\
          \x20{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\"},\n\
          \x20{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"signature\": {\"op\": \"bwd_data\"}}\n\
          ]}\n",
        ", line 4, kernels[1].signature.op: the field says bwd_data, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3' says forward",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_dsb\",\n\
          \x20 \"algorithm\": {\"double_smem_buffer\": false}}]\n",
        ", line 2, [0].algorithm.double_smem_buffer: the field says false, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave_dsb' says true",
    ),
    (
        b"[{\"identifier\": \"bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_\
          32x32x16\",\n\
          \x20 \"algorithm\": {\"pipeline\": \"compv3\"}}]\n",
        ", line 2, [0].algorithm.pipeline: the field says compv3, but the name \
         'bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16' says compv4",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"algorithm\": {\"tile_m\": 32}}]\n",
        ", line 2, [0].algorithm.tile_m: the field says 32, but the name \
         'grouped_conv_forward_bf16_2d_16x64x64_compv3' says 16",
    ),
    (b"", ": no kernel found, expected at least one"),
    (
        b"kernel,N\n\
          grouped_conv_forward_bf16_2d_16x64x64_compv3,1\n\
          ,2\n",
        ", line 3, kernel: kernel name '': begins neither with 'grouped_conv_' nor with 'fmha_' nor \
         with 'gemm_' or another family of GEMM kernels nor, as the dispatcher's identifiers of GEMMs do, \
         with a dtype: fp16, bf16, fp32, fp64, fp8, bf8, int8, int4, int32, pk_fp4, pk_int4",
    ),
    (
        b"{\"kernels\": [\n\
          \x20{\"name\": \"gemm_caf\\uffffffc3\\uffffffa9\"}\n\
          ]}\n",
        ", line 2, kernels[0].name: found an escape '\\uffff', expected ASCII: the exporter garbles other \
         characters (as \\uffffffXX), so the name is lost",
    ),
    (b"\xef\xbb\xbfgrouped_\xe9", ": not UTF-8 from byte 11 on"),
    (
        b"{\"kernels\": [\n\
          \x20{\"signature\": {\"op\": \"fwd\"}}\n\
          ]}\n",
        ", line 2, kernels[0].name: found no name, expected a field 'name' or 'identifier'",
    ),
    (
        b"[{\"identifier\": \"bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_\
          32x32x16\",\n\
          \x20 \"algorithm\": {\"pipeline\": \"unknown\"}}]\n",
        ", line 2, [0].algorithm.pipeline: found 'unknown', expected 'compv4', \
         which the name gives and the exporter can spell",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"algorithm\": {\"tile_m\": -1}}]\n",
        ", line 2, [0].algorithm.tile_m: found -1, expected 1 to 65535",
    ),
    (b"{\"metadata\": {\"count\": 0}, \"kernels\": []}\n", ": no kernel found, expected at least one"),
    (
        b"{\"metadata\": {\"count\": 0}}\n",
        ", line 1: found an object without 'kernels' and without 'name', expected an export, an array of \
         kernels or names, or one kernel",
    ),
    (
        b"grouped_conv_forward_bf16_2d_16x64x64_compv3\n\
          \xff\xfe\n",
        ": not UTF-8 from byte 45 on",
    ),
    (
        b"[\n\
          \x20\"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x207\n\
          ]\n",
        ", line 3: JSON, column 2: invalid type: integer `7`, expected a kernel or a kernel's name",
    ),
    (
        b"{\"kernels\": [\n\
          \x20{\"name\": \"grouped_conv_forward_bf16_2d_\\u12\"}\n\
          ]}\n",
        ", line 2: JSON, column 46: invalid escape",
    ),
    (
        b"[\"grouped_conv_forward_bf16_2d_16x64x64_compv3\"] trailing\n",
        ", line 1: JSON, column 50: trailing characters",
    ),
    (
        b"{\"kernels\": [\n\
          \x20 {\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\"},\n",
        ", line 3: JSON, column 0: EOF while parsing a value",
    ),
    (
        b"grouped_conv_forward_bf16_2d_16x64x64_compv3\n\
          gemm_fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32\n",
        ", line 2: 'gemm_fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32' is a \
         gemm_universal kernel, but 'grouped_conv_forward_bf16_2d_16x64x64_compv3' is a grouped_conv kernel: \
         a pool has one operation",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"algorithm\": {\"wave\": \"2x2\"}}]\n",
        ", line 2, [0].algorithm.wave: found '2x2', expected three numbers of 1 to 255 joined by 'x'",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\", \"arch\": \"mi355x\"}]\n",
        ", line 1, [0].arch: found 'mi355x', expected one of: gfx9xx, gfx10xx, gfx11xx, gfx12xx, sm_NN",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"signature\": {\"op\": \"sideways\"}}]\n",
        ", line 2, [0].signature.op: found 'sideways', expected one of: forward, bwd_data, bwd_weight",
    ),
    (
        b"[{\"name\": \"grouped_conv_forward_bf16_2d_16x64x64_compv3\",\n\
          \x20 \"algorithm\": {\"vector_sizes\": [4, 0, 8]}}]\n",
        ", line 2, [0].algorithm.vector_sizes[1]: found 0, expected 1 to 65535",
    ),
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
    let read: BTreeMap<_, _> = files().keys().map(|name| (name.clone(), good(name).len())).collect();
    assert_eq!(read, expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
}

#[test]
fn bad_files_say_what_is_wrong() {
    for (bytes, message) in BAD {
        let text = String::from_utf8_lossy(bytes);
        let error = Pool::from_bytes("F", bytes).expect_err(&text).to_string();
        assert_eq!(error, format!("F{message}"), "{text}");
    }
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
