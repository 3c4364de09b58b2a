//! Families with conditions of their own over wide ranges: as many kernels as an independent program over
//! upstream's conditions finds. The program also compared the names.

mod common;

use ck_select_enumerate::Request;
use ck_select_types::vocab::Dtype;
use common::{config, request, tried};

const BOTH: &str = "false, true";

/// Ranges with these tiles along m, n and k, instructions' depths and traits.
fn wide(tiles: [&str; 3], depths: &str, traits: &[(&str, &str)], rest: &str) -> String {
    config([tiles, ["1, 2, 4, 8", "1, 2, 4", "1, 2"], ["16, 32", "16, 32", depths]], traits, rest)
}

fn count(config: &str, arch: &str, dtype: Dtype, layout: &str) -> usize {
    let request = Request { layout: layout.parse().ok(), ..request(arch, dtype) };
    tried(config, &request).unwrap().kernels.len()
}

const SIDES: [&str; 2] = ["16, 32, 64, 96, 128, 192, 256, 384, 512", "16, 32, 64, 96, 128, 256, 512, 640"];

#[test]
fn microscaled() {
    let pipelines = r#""comp_async", "comp_async_eight_waves", "weight_preshuffle", "comp_tdm", "comp_tdm_v2",
        "compv3""#;
    let traits = [
        ("pipeline", pipelines),
        ("scheduler", r#""intrawave", "interwave""#),
        ("epilogue", r#""cshuffle", "tdm", "default""#),
        ("pad_n", BOTH),
        ("pad_k", BOTH),
        ("persistent", BOTH),
    ];
    // Recognised by its pipelines.
    let config = wide([SIDES[0], SIDES[1], "64, 128, 256, 384, 512"], "64, 128", &traits, "");
    for (arch, dtype, expected) in [
        ("gfx950", Dtype::PkFp4, 2088),
        ("gfx950", Dtype::Fp8, 1496),
        ("gfx1250", Dtype::PkFp4, 2648),
        ("gfx1250", Dtype::Fp8, 1652),
    ] {
        assert_eq!(count(&config, arch, dtype, "rcr"), expected, "{arch} {dtype}");
    }
}

#[test]
fn with_a_shuffled_b() {
    let traits = [
        ("pipeline", r#""preshufflev2", "preshuffle_tdm", "comp_tdm", "comp_tdm_v2", "comp_async""#),
        ("scheduler", r#""default", "intrawave", "interwave""#),
        ("epilogue", r#""cshuffle", "tdm", "default""#),
        ("pad_m", BOTH),
        ("pad_n", BOTH),
        ("persistent", BOTH),
    ];
    let tiles = [SIDES[0], SIDES[1], "32, 64, 96, 128, 256"];
    let config = wide(tiles, "16, 32, 64", &traits, r#", "permute_n": false"#);
    for (arch, dtype, layout, expected) in [
        ("gfx1250", Dtype::Fp16, "rcr", 14_305),
        ("gfx1250", Dtype::Fp16, "rrr", 9192),
        ("gfx1250", Dtype::Fp8, "rcr", 10_413),
        ("gfx1250", Dtype::Bf8, "rrr", 7960),
        ("gfx942", Dtype::Fp16, "rcr", 4064),
        ("gfx942", Dtype::Fp8, "rrr", 7424),
    ] {
        assert_eq!(count(&config, arch, dtype, layout), expected, "{arch} {dtype} {layout}");
    }
}

/// Upstream's `default_config_gfx1250.json`, and the counts that its test states: all, and those of each of
/// the pipelines that only gfx1250 has.
#[test]
fn plain_on_gfx1250() {
    let shapes = [["min 64 256 64"; 3], ["4, 2, 1", "4, 2, 1", "1"], ["16", "16", "32, 64, 128"]];
    let of = |pipelines: &str| {
        let traits = [
            ("pipeline", pipelines),
            ("scheduler", r#""intrawave", "interwave""#),
            ("epilogue", r#""cshuffle", "default", "tdm""#),
            ("persistent", BOTH),
        ];
        config(shapes, &traits, "")
    };
    let own = [r#""comp_async""#, r#""comp_tdm""#, r#""comp_tdm_v2""#];
    let all = format!(r#""compv3", "compv4", "mem", {}"#, own.join(", "));
    for (dtype, layout, expected) in [
        (Dtype::Fp16, "rcr", [4005, 384, 174, 87]),
        (Dtype::Bf16, "rrr", [3621, 0, 174, 87]),
        (Dtype::Fp8, "rcr", [7020, 720, 360, 180]),
        (Dtype::Bf8, "rrr", [6300, 0, 360, 180]),
    ] {
        let found = [&all, own[0], own[1], own[2]].map(|names| count(&of(names), "gfx1250", dtype, layout));
        assert_eq!(found, expected, "{dtype} {layout}");
    }
    for arch in ["gfx942", "gfx950"] {
        let found = own.map(|pipeline| count(&of(pipeline), arch, Dtype::Fp8, "rcr"));
        assert_eq!(found, [0; 3], "{arch}");
    }
}

/// Counts on gfx90a, gfx942, gfx950 and gfx1250.
#[test]
fn quantised() {
    let tiles = ["16, 64, 96, 128, 256", "32, 64, 96, 192, 256", "64, 128, 256, 384, 512"];
    for (family, layout, counts) in [
        ("gemm_aquant", "rcr", [504, 1728, 3024, 11_592]),
        ("gemm_aquant", "rrr", [504, 1680, 2952, 11_304]),
        ("gemm_aquant", "crr", [480, 1512, 2664, 9504]),
        ("gemm_aquant", "ccr", [480, 1560, 2736, 9792]),
        ("gemm_bquant", "rcr", [168, 576, 1008, 3864]),
        ("gemm_bquant", "rrr", [84, 280, 492, 1884]),
        ("gemm_bquant", "crr", [80, 252, 444, 1584]),
        ("gemm_bquant", "ccr", [160, 520, 912, 3264]),
        ("gemm_abquant", "rcr", [672, 2304, 4032, 15_456]),
        ("gemm_abquant", "crr", [640, 2016, 3552, 12_672]),
        ("gemm_rowcolquant", "rcr", [74, 238, 284, 1102]),
        ("gemm_tensor_quant", "rcr", [592, 1904, 3904, 4408]),
        ("grouped_gemm_rowcolquant", "rcr", [148, 476, 568, 1204]),
        ("grouped_gemm_tensorquant", "rcr", [148, 476, 568, 1204]),
    ] {
        let mut traits = vec![
            ("pipeline", r#""mem", "compv3", "compv4""#),
            ("scheduler", r#""default", "intrawave", "interwave""#),
            ("epilogue", r#""cshuffle", "default""#),
            ("pad_k", BOTH),
            ("persistent", BOTH),
        ];
        let mut rest = format!(r#", "ck_select": {{"variant": "{family}"}}"#);
        let has = |flag: &str| family == "gemm_abquant" || family == format!("gemm_{flag}quant");
        traits.extend(has("a").then_some(("a_preshuffle_quant", BOTH)));
        traits.extend(has("b").then_some(("b_preshuffle_quant", BOTH)));
        if has("a") || has("b") {
            rest += r#", "group_size_k": 128"#;
        }
        if family == "gemm_abquant" {
            rest += r#", "group_size_n": {"values": [1, 128]}"#;
        }
        let config = wide(tiles, "16, 32, 64, 128", &traits, &rest);
        let found =
            ["gfx90a", "gfx942", "gfx950", "gfx1250"].map(|arch| count(&config, arch, Dtype::Fp8, layout));
        assert_eq!(found, counts, "{family} {layout}");
    }
}
