//! Pool files: every good one reads, and every bad one says what is wrong and where.

use std::collections::BTreeMap;
use std::fs;

use ck_select::pool::Pool;

use crate::common::root;

/// Files that are refused, with the message after the file's label. `@` is a convolution's name, `#` a GEMM's
/// identifier.
const BAD: &[(&str, &str)] = &[
    ("", ": no kernel found, expected at least one"),
    ("{\"metadata\": {\"count\": 0}, \"kernels\": []}\n", ": no kernel found, expected at least one"),
    (
        "{\"kernels\": [\n {\"name\": \"@\"},\n {\"name\": \"@\",\n  \"signature\": {\"op\": \"bwd_data\"}}\n\
         ]}\n",
        ", line 4, kernels[1].signature.op: the field says bwd_data, but the name '@' says forward",
    ),
    (
        "[{\"name\": \"@_intrawave_dsb\",\n  \"algorithm\": {\"double_smem_buffer\": false}}]\n",
        ", line 2, [0].algorithm.double_smem_buffer: the field says false, but the name '@_intrawave_dsb' \
         says true",
    ),
    (
        "[{\"identifier\": \"#\",\n  \"algorithm\": {\"pipeline\": \"compv3\"}}]\n",
        ", line 2, [0].algorithm.pipeline: the field says compv3, but the name '#' says compv4",
    ),
    (
        "[{\"name\": \"@\",\n  \"algorithm\": {\"tile_m\": 32}}]\n",
        ", line 2, [0].algorithm.tile_m: the field says 32, but the name '@' says 16",
    ),
    (
        "kernel,N\n@,1\n,2\n",
        ", line 3, kernel: kernel name '': begins neither with 'grouped_conv_' nor with 'fmha_' nor \
         with 'triton_moe_' or 'moe_ck2stages_' nor with 'gemm_' or another family of GEMM kernels nor, as the dispatcher's identifiers of GEMMs do, \
         with a dtype: fp16, bf16, fp32, fp64, fp8, bf8, int8, int4, int32, pk_fp4, pk_int4",
    ),
    (
        "{\"kernels\": [\n {\"name\": \"gemm_caf\\uffffffc3\\uffffffa9\"}\n]}\n",
        ", line 2, kernels[0].name: found an escape '\\uffff', expected ASCII: the exporter garbles other \
         characters (as \\uffffffXX), so the name is lost",
    ),
    (
        "{\"kernels\": [\n {\"signature\": {\"op\": \"fwd\"}}\n]}\n",
        ", line 2, kernels[0].name: found no name, expected a field 'name' or 'identifier'",
    ),
    (
        "[{\"identifier\": \"#\",\n  \"algorithm\": {\"pipeline\": \"unknown\"}}]\n",
        ", line 2, [0].algorithm.pipeline: found 'unknown', expected 'compv4', \
         which the name gives and the exporter can spell",
    ),
    (
        "[{\"name\": \"@\",\n  \"algorithm\": {\"tile_m\": -1}}]\n",
        ", line 2, [0].algorithm.tile_m: found -1, expected 1 to 65535",
    ),
    (
        "{\"metadata\": {\"count\": 0}}\n",
        ", line 1: found an object without 'kernels' and without 'name', expected an export, an array of \
         kernels or names, or one kernel",
    ),
    (
        "[\n \"@\",\n 7\n]\n",
        ", line 3: JSON, column 2: invalid type: integer `7`, expected a kernel or a kernel's name",
    ),
    (
        "{\"kernels\": [\n {\"name\": \"grouped_conv_forward_bf16_2d_\\u12\"}\n]}\n",
        ", line 2: JSON, column 46: invalid escape",
    ),
    ("[\"@\"] trailing\n", ", line 1: JSON, column 50: trailing characters"),
    ("{\"kernels\": [\n  {\"name\": \"@\"},\n", ", line 3: JSON, column 0: EOF while parsing a value"),
    (
        "@\ngemm_fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32\n",
        ", line 2: 'gemm_fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32' is a \
         gemm_universal kernel, but '@' is a grouped_conv kernel: a pool has one operation",
    ),
    (
        "[{\"name\": \"@\",\n  \"algorithm\": {\"wave\": \"2x2\"}}]\n",
        ", line 2, [0].algorithm.wave: found '2x2', expected three numbers of 1 to 255 joined by 'x'",
    ),
    (
        "[{\"name\": \"@\", \"arch\": \"mi355x\"}]\n",
        ", line 1, [0].arch: found 'mi355x', expected one of: gfx950",
    ),
    (
        "[{\"name\": \"@\",\n  \"signature\": {\"op\": \"sideways\"}}]\n",
        ", line 2, [0].signature.op: found 'sideways', expected one of: forward, bwd_data, bwd_weight",
    ),
    (
        "[{\"name\": \"@\",\n  \"algorithm\": {\"vector_sizes\": [4, 0, 8]}}]\n",
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
    let files = fs::read_dir(root("tests/golden/pools")).unwrap().map(|entry| entry.unwrap().path());
    let read: BTreeMap<_, _> = files
        .filter(|path| !path.ends_with(".gitattributes"))
        .map(|path| {
            let pool = Pool::read(&path).unwrap_or_else(|error| panic!("{error}"));
            (path.file_name().unwrap().to_str().unwrap().to_owned(), pool.len())
        })
        .collect();
    assert_eq!(read, expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
}

#[test]
fn bad_files_say_what_is_wrong() {
    let named = |text: &str| {
        let identifier = "bf16_rcr_compv4_cshuffle_intrawave_True_True_True_False_128x256x32_2x2x1_32x32x16";
        text.replace('@', "grouped_conv_forward_bf16_2d_16x64x64_compv3").replace('#', identifier)
    };
    let refused = |bytes: &[u8]| Pool::from_bytes("F", bytes).expect_err("a bad file").to_string();
    for (text, message) in BAD {
        let text = named(text);
        assert_eq!(refused(text.as_bytes()), format!("F{}", named(message)), "{text}");
    }
    assert_eq!(refused(b"# nothing but a comment\n"), "F: no kernel found, expected at least one");
    assert_eq!(refused(b"\xef\xbb\xbfgrouped_\xe9"), "F, line 1: not UTF-8");
    assert_eq!(refused(b"# kernels\n\xff\xfe\n"), "F, line 2: not UTF-8");
}
