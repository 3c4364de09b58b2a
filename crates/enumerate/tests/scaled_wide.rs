//! Families with conditions of their own over wide ranges: as many kernels as an independent program over
//! upstream's conditions finds. The program also compared the names.

use ck_select_enumerate::config::Config;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{Request, enumerate};
use ck_select_types::vocab::Dtype;
use serde_json::{Value, json};

const BOTH: [bool; 2] = [false, true];

/// Ranges with these tiles along m, n and k, instructions' depths and traits.
fn config([m, n, k]: [&[u32]; 3], depths: &[u32], traits: &[(&str, Value)], rest: Value) -> Value {
    let values = |list: &[u32]| json!({"values": list});
    let mut whole = rest;
    whole["tile_config"] = json!({
        "tile_m": values(m), "tile_n": values(n), "tile_k": values(k),
        "warp_m": values(&[1, 2, 4, 8]), "warp_n": values(&[1, 2, 4]), "warp_k": values(&[1, 2]),
        "warp_tile_m": values(&[16, 32]), "warp_tile_n": values(&[16, 32]), "warp_tile_k": values(depths),
    });
    whole["trait_config"] = traits.iter().map(|(key, list)| (*key, json!({"values": list}))).collect();
    whole
}

fn count(config: &Value, arch: &str, dtype: Dtype, layout: &str) -> usize {
    let config = Config::from_json("wide", config.to_string().as_bytes(), None).unwrap();
    let request = Request { dtype, layout: layout.parse().unwrap(), ..Request::new(arch) };
    enumerate(&Rules::built_in().unwrap(), &config, &request).unwrap().kernels.len()
}

const SIDES: [&[u32]; 2] =
    [&[16, 32, 64, 96, 128, 192, 256, 384, 512], &[16, 32, 64, 96, 128, 256, 512, 640]];

#[test]
fn microscaled() {
    let traits = [
        (
            "pipeline",
            json!([
                "comp_async", "comp_async_eight_waves", "weight_preshuffle", "comp_tdm", "comp_tdm_v2",
                "compv3"
            ]),
        ),
        ("scheduler", json!(["intrawave", "interwave"])),
        ("epilogue", json!(["cshuffle", "tdm", "default"])),
        ("pad_m", json!([false])),
        ("pad_n", json!(BOTH)),
        ("pad_k", json!(BOTH)),
        ("persistent", json!(BOTH)),
    ];
    let tiles = [SIDES[0], SIDES[1], &[64, 128, 256, 384, 512]];
    // Recognised by its pipelines.
    let config = config(tiles, &[64, 128], &traits, json!({}));
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
        ("pipeline", json!(["preshufflev2", "preshuffle_tdm", "comp_tdm", "comp_tdm_v2", "comp_async"])),
        ("scheduler", json!(["default", "intrawave", "interwave"])),
        ("epilogue", json!(["cshuffle", "tdm", "default"])),
        ("pad_m", json!(BOTH)),
        ("pad_n", json!(BOTH)),
        ("pad_k", json!([false])),
        ("persistent", json!(BOTH)),
    ];
    let tiles = [SIDES[0], SIDES[1], &[32, 64, 96, 128, 256]];
    let config = config(tiles, &[16, 32, 64], &traits, json!({"permute_n": false}));
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
    let side = json!({"min": 64, "max": 256, "step": 64});
    let one = |value: u32| json!({"values": [value]});
    let waves = json!({"values": [4, 2, 1]});
    let no = json!({"values": [false]});
    let config = json!({
        "tile_config": {
            "tile_m": side, "tile_n": side, "tile_k": side, "warp_m": waves, "warp_n": waves, "warp_k": one(1),
            "warp_tile_m": one(16), "warp_tile_n": one(16), "warp_tile_k": {"values": [32, 64, 128]},
        },
        "trait_config": {
            "pipeline": {"values": ["compv3", "compv4", "mem", "comp_async", "comp_tdm", "comp_tdm_v2"]},
            "scheduler": {"values": ["intrawave", "interwave"]},
            "epilogue": {"values": ["cshuffle", "default", "tdm"]},
            "pad_m": no, "pad_n": no, "pad_k": no, "persistent": {"values": [false, true]},
        },
        "k_block_per_cu": 1,
    });
    let only = |pipeline: &str| {
        let mut config = config.clone();
        config["trait_config"]["pipeline"] = json!({"values": [pipeline]});
        config
    };
    for (dtype, layout, expected) in [
        (Dtype::Fp16, "rcr", [4005, 384, 174, 87]),
        (Dtype::Bf16, "rrr", [3621, 0, 174, 87]),
        (Dtype::Fp8, "rcr", [7020, 720, 360, 180]),
        (Dtype::Bf8, "rrr", [6300, 0, 360, 180]),
    ] {
        let configs = [config.clone(), only("comp_async"), only("comp_tdm"), only("comp_tdm_v2")];
        let found = configs.map(|config| count(&config, "gfx1250", dtype, layout));
        assert_eq!(found, expected, "{dtype} {layout}");
    }
    for arch in ["gfx942", "gfx950"] {
        let found = ["comp_async", "comp_tdm", "comp_tdm_v2"]
            .map(|pipeline| count(&only(pipeline), arch, Dtype::Fp8, "rcr"));
        assert_eq!(found, [0; 3], "{arch}");
    }
}

/// Counts on gfx90a, gfx942, gfx950 and gfx1250.
#[test]
fn quantised() {
    let tiles: [&[u32]; 3] = [&[16, 64, 96, 128, 256], &[32, 64, 96, 192, 256], &[64, 128, 256, 384, 512]];
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
            ("pipeline", json!(["mem", "compv3", "compv4"])),
            ("scheduler", json!(["default", "intrawave", "interwave"])),
            ("epilogue", json!(["cshuffle", "default"])),
            ("pad_m", json!([false])),
            ("pad_n", json!([false])),
            ("pad_k", json!(BOTH)),
            ("persistent", json!(BOTH)),
        ];
        let mut rest = json!({"ck_select": {"variant": family}});
        for (key, families) in [
            ("a_preshuffle_quant", ["gemm_aquant", "gemm_abquant"]),
            ("b_preshuffle_quant", ["gemm_bquant", "gemm_abquant"]),
        ] {
            if families.contains(&family) {
                traits.push((key, json!(BOTH)));
                rest["group_size_k"] = json!(128);
            }
        }
        if family == "gemm_abquant" {
            rest["group_size_n"] = json!({"values": [1, 128]});
        }
        let config = config(tiles, &[16, 32, 64, 128], &traits, rest);
        let found =
            ["gfx90a", "gfx942", "gfx950", "gfx1250"].map(|arch| count(&config, arch, Dtype::Fp8, layout));
        assert_eq!(found, counts, "{family} {layout}");
    }
}
