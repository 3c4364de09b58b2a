//! Quantised, microscaled and preshuffled GEMMs, from configurations as upstream's tile engine has them.

mod common;

use ck_select_enumerate::filter::Filter;
use ck_select_enumerate::{Request, export};
use ck_select_types::kernel::{KernelKind, Mnk};
use ck_select_types::pool::Pool;
use ck_select_types::vocab::{Dtype, Op};
use common::{config, count, request, run, tried};

const PROFILES: &str = r#""aquantdecode", "aquantprefill", "aquantpreshufflequant", "bquantdecode", "bquantprefill",
    "bquantpreshufflequant", "bquantpreshufflequantprefill", "rowcol", "tensor""#;

/// Upstream's two files of this folder.
fn gemm_quant(file: &str) -> String {
    let side = "min 64 256 64";
    let (tiles, profiles, groups) = match file {
        "default_config" => {
            ([side; 3], PROFILES, r#""1x1x1", "1x1x128", "1x8x128", "1x32x128", "1x64x128", "1x128x128""#)
        }
        _ => (
            ["16", "64", "256"],
            r#""aquantdecode", "bquantdecode", "rowcol", "tensor""#,
            r#""1x1x1", "1x1x128", "1x32x128""#,
        ),
    };
    let rest = format!(
        r#", "quant_config": {{"a_group": {{"values": ["1x1x1", "1x1x128"]}}, "b_group": {{"values": [{groups}]}}}}"#
    );
    let traits = [("profile", profiles), ("pipeline", ""), ("scheduler", ""), ("pad_k", "true")];
    config([tiles, ["1", "4", "1"], ["16", "16", "32, 64"]], &traits, &rest)
}

/// Counts of an independent program over upstream's conditions.
#[test]
fn profiles_have_their_counts() {
    for (file, arch, counts) in [
        ("default_config", "gfx942", vec![34, 34, 34, 170, 170, 170, 170, 58, 58]),
        ("default_config", "gfx950", vec![48, 48, 48, 240, 240, 240, 240, 72, 72]),
        ("default_ci_config", "gfx942", vec![2, 4, 2, 2]),
        ("default_ci_config", "gfx950", vec![2, 4, 2, 2]),
    ] {
        let found = run(&gemm_quant(file), &request(arch, Dtype::Fp8));
        let of = |profile: &str| {
            found.kernels.iter().filter(|kernel| kernel.name.contains(&format!("_{profile}_"))).count()
        };
        let each: Vec<usize> = PROFILES
            .split(',')
            .map(|word| of(word.trim().trim_matches('"')))
            .filter(|&count| count > 0)
            .collect();
        assert_eq!(each, counts, "{file} {arch}");
        assert_eq!(found.kernels.len(), counts.iter().sum::<usize>());
        assert_eq!(found.warnings, [] as [&str; 0]);
    }
    let found = run(&gemm_quant("default_ci_config"), &request("gfx950", Dtype::Bf8));
    let name = "gemm_quant_bf8_rcr_aquantdecode_cshuffle_interwave_False_False_True_False_1x1x128_1x1x1\
                _16x64x256_1x4x1_16x16x32";
    assert_eq!(found.kernels[0].name, name);
    // Another layout or type has none, and says so.
    let found = run(&gemm_quant("default_config"), &request("gfx950", Dtype::Fp16));
    assert_eq!(found.warnings, ["gemm_quant has no kernels of fp16, so it gives none; expected fp8, bf8"]);
    let other = Request { layout: "rrr".parse().ok(), ..request("gfx950", Dtype::Fp8) };
    let found = run(&gemm_quant("default_config"), &other);
    assert_eq!(found.warnings, ["gemm_quant has no kernels of layout rrr, so it gives none; expected rcr"]);
}

/// The tile of upstream's own tests.
const ONE: [[&str; 3]; 3] = [["64", "64", "128"], ["2", "2", "1"], ["16", "16", "64"]];

#[test]
fn groups_and_shuffled_scales_are_in_names_and_kernels() {
    let traits = [
        ("a_preshuffle_quant", "false, true"),
        ("b_preshuffle_quant", "false, true"),
        ("epilogue", r#""default""#),
        ("persistent", ""),
    ];
    let text = config(ONE, &traits, r#", "group_size_k": 128, "group_size_n": {"values": [1, 128]}"#);
    let found = run(&text, &request("gfx942", Dtype::Fp8));
    assert_eq!(found.kernels.len(), 8);
    let name = |flags: &str, n: u32| {
        format!(
            "gemm_abquant_fp8_rcr_compv3_default_intrawave_False_False_False_{flags}_gsn{n}\
             _64x64x128_2x2x1_16x16x64"
        )
    };
    assert_eq!(found.kernels[0].name, name("False_False", 1));
    assert_eq!(found.kernels[3].name, name("False_True", 128));
    // One number is a list of one.
    let scalar = config(ONE, &traits, r#", "group_size_n": 64"#);
    assert!(
        run(&scalar, &request("gfx942", Dtype::Bf8))
            .kernels
            .iter()
            .all(|kernel| kernel.name.contains("_gsn64_"))
    );
    // 64 elements of depth are in no name of the tile engine.
    let text = config(ONE, &traits, r#", "group_size_k": 64, "group_size_n": 32"#);
    let found = run(&text, &request("gfx942", Dtype::Fp8));
    assert!(found.kernels[0].name.ends_with("_aqg1x1x64_bqg1x32x64"), "{}", found.kernels[0].name);
    let KernelKind::Gemm(gemm) = &found.kernels[0].kind else { panic!() };
    assert_eq!(gemm.variant.quant.unwrap().group_b, Some(Mnk::new(1, 32, 64)));
    // 96 is no multiple of the instruction's depth, 256 not within the tile.
    for k in [96, 256] {
        assert_eq!(
            count(
                &config(ONE, &traits, &format!(r#", "group_size_k": {k}, "group_size_n": 1"#)),
                "gfx942",
                Dtype::Fp8
            ),
            0
        );
    }
}

#[test]
fn scales_of_one_operand_have_the_traits_of_its_builder() {
    let a = [
        ("pipeline", r#""mem", "compv3""#),
        ("scheduler", r#""intrawave", "interwave""#),
        ("a_preshuffle_quant", "false, true"),
        ("persistent", ""),
    ];
    let found = run(&config(ONE, &a, ""), &request("gfx942", Dtype::Fp8));
    let names: Vec<&str> = found
        .kernels
        .iter()
        .map(|kernel| kernel.name.strip_prefix("gemm_aquant_fp8_rcr_").unwrap())
        .collect();
    let flags = "cshuffle_intrawave_False_False_False";
    let tile = "64x64x128_2x2x1_16x16x64";
    assert_eq!(
        names,
        [
            format!("mem_{flags}_False_{tile}"),
            format!("compv3_{flags}_False_{tile}"),
            format!("compv3_{flags}_True_{tile}"),
        ]
    );
    // Scales of B in reading order need a B of columns.
    let b = [("b_preshuffle_quant", "false, true"), ("persistent", "")];
    for (layout, expected) in [("rcr", 2), ("ccr", 2), ("rrr", 1), ("crr", 1)] {
        let request = Request { layout: layout.parse().ok(), ..request("gfx942", Dtype::Fp8) };
        assert_eq!(run(&config(ONE, &b, ""), &request).kernels.len(), expected, "{layout}");
    }
}

fn mx(shapes: [[&str; 3]; 3], pipelines: &str, epilogue: &str) -> String {
    let traits = [("pipeline", pipelines), ("epilogue", epilogue), ("pad_k", "false, true")];
    config(shapes, &traits, r#", "ck_select": {"variant": "mx_gemm"}"#)
}

/// Upstream states eight kernels in its CI configuration, four of each type; 16 with the second pipeline; and
/// 64 of each pipeline in the default one.
#[test]
fn microscaled_kernels_of_gfx1250_are_as_many_as_upstream_says() {
    let ci = [["64, 128", "64, 128", "128"], ["2", "2", "1"], ["16", "16", "128"]];
    let side = "min 64 256 64";
    let default = [[side, side, "128, 256"], ["2", "2", "1"], ["16", "16", "128"]];
    let two = r#""comp_tdm", "comp_tdm_v2""#;
    for dtype in [Dtype::PkFp4, Dtype::Fp8] {
        assert_eq!(count(&mx(ci, r#""comp_tdm""#, r#""tdm""#), "gfx1250", dtype), 4);
        assert_eq!(count(&mx(ci, two, r#""tdm""#), "gfx1250", dtype), 8);
        assert_eq!(count(&mx(default, two, r#""tdm""#), "gfx1250", dtype), 64);
        // Another architecture, epilogue or type has none.
        assert_eq!(count(&mx(ci, two, r#""tdm""#), "gfx950", dtype), 0);
        assert_eq!(count(&mx(ci, two, r#""cshuffle""#), "gfx1250", dtype), 0);
    }
    assert_eq!(count(&mx(ci, two, r#""tdm""#), "gfx1250", Dtype::Fp16), 0);
    let found = run(&mx(ci, two, r#""tdm""#), &request("gfx1250", Dtype::PkFp4));
    let name = "mx_gemm_pk_fp4_rcr_comp_tdm_tdm_intrawave_False_False_False_False_64x64x128_2x2x1_16x16x128";
    assert_eq!(found.kernels[0].name, name.replace("pk_", ""));
    let KernelKind::Gemm(gemm) = &found.kernels[0].kind else { panic!() };
    assert_eq!(gemm.dtype_c, Dtype::Fp16);
}

#[test]
fn microscaled_pipelines_have_waves_and_tiles_of_their_own() {
    let shapes =
        [["32, 128", "128, 512", "128, 256, 384"], ["1, 2, 4", "2, 4", "1"], ["16, 32", "16, 32", "128"]];
    let kept = |arch: &str, dtype: Dtype, pipeline: &str| -> Vec<String> {
        let pipeline = format!("\"{pipeline}\"");
        let found = run(&mx(shapes, &pipeline, r#""cshuffle""#), &request(arch, dtype));
        let shapes = found.kernels.iter().map(|kernel| kernel.name.rsplitn(4, '_').collect::<Vec<_>>());
        let mut shapes: Vec<String> = shapes.map(|part| format!("{}_{}", part[2], part[1])).collect();
        shapes.sort();
        shapes.dedup();
        shapes
    };
    let eight = kept("gfx950", Dtype::PkFp4, "comp_async_eight_waves");
    // 128x512x256 would need half of the shared memory without the padding that it has, too.
    assert_eq!(eight, ["128x128x128_4x2x1", "128x128x256_4x2x1", "128x512x128_4x2x1"]);
    let eight = kept("gfx1250", Dtype::Fp8, "comp_async_eight_waves");
    assert!(
        eight.contains(&"128x128x384_4x2x1".to_owned())
            && eight.iter().all(|shape| shape.ends_with("_4x2x1"))
    );
    let shuffled = kept("gfx1250", Dtype::PkFp4, "weight_preshuffle");
    assert_eq!(shuffled, ["128x512x256_1x4x1", "32x512x256_1x4x1"]);
    let shuffled = kept("gfx950", Dtype::Fp8, "weight_preshuffle");
    assert_eq!(shuffled.len(), 4);
    let plain = kept("gfx1250", Dtype::Fp8, "comp_async");
    assert!(!plain.is_empty() && plain.iter().all(|shape| shape.ends_with("_2x2x1")));
}

#[test]
fn keys_of_another_variant_name_theirs() {
    let error = |text: &str| tried(text, &request("gfx942", Dtype::Fp8)).map(|_| ()).unwrap_err();
    let plain = config(ONE, &[], r#", "permute_n": true, "ck_select": {"variant": "gemm_universal"}"#);
    let expected = "f.json, permute_n: unknown key, expected one of: ck_select, k_block_per_cu, tile_config, \
                    trait_config; it is a key of \"ck_select\": {\"variant\": \"gemm_preshuffle\"}";
    assert_eq!(error(&plain), expected);
    let traits = [("b_preshuffle_quant", "true")];
    let text = config(ONE, &traits, r#", "ck_select": {"variant": "gemm_universal"}"#);
    assert!(
        error(&text).ends_with(r#"it is a key of "ck_select": {"variant": "gemm_bquant"} and gemm_abquant"#)
    );
    assert_eq!(
        error(&config(ONE, &[], r#", "group_size_k": 64"#)),
        "f.json, group_size_k: several variants have this key, expected one of them as \
         \"ck_select\": {\"variant\": …}: gemm_aquant, gemm_bquant, gemm_abquant"
    );
    let text = gemm_quant("default_ci_config").replace("\"rowcol\"", "\"rows\"");
    assert!(
        error(&text).starts_with("trait_config.profile: unknown profile 'rows', expected one of: aquant")
    );
}

#[test]
fn filters_and_pools_take_scaled_kernels() {
    let filter = |text: &str| {
        let filter = Filter::parse(Op::Gemm, text).unwrap();
        Request { filters: vec![(text.to_owned(), filter)], ..request("gfx942", Dtype::Fp8) }
    };
    for (text, expected) in [
        ("c.quant == 'bquant'", 170 * 4),
        ("c.quant == 'bquant' and c.group_b == '1x32x128'", 34 * 4),
        ("c.group_a == None and c.quant in ('rowcolquant', 'tensor_quant')", 58 * 2),
        ("c.a_preshuffle_quant or c.b_preshuffle_quant", 34 + 170 * 2),
    ] {
        assert_eq!(run(&gemm_quant("default_config"), &filter(text)).kernels.len(), expected, "{text}");
    }
    let found = run(&gemm_quant("default_ci_config"), &request("gfx942", Dtype::Fp8));
    let listed = Pool::from_bytes("names", export::to_text(&found.kernels).as_bytes()).unwrap();
    assert!(listed.iter().map(|kernel| &kernel.name).eq(found.kernels.iter().map(|kernel| &kernel.name)));
    let json = export::to_json(&found.kernels, "f", "gfx942").unwrap();
    let pool = Pool::from_bytes("f", json.as_bytes()).unwrap();
    assert!(pool.iter().map(|kernel| &kernel.kind).eq(found.kernels.iter().map(|kernel| &kernel.kind)));
}
