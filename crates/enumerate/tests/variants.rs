//! Variants of GEMM kernels, and what each architecture has of its own.

mod common;

use std::path::Path;
use std::process::Command;

use ck_select_enumerate::config::{Config, GemmConfig};
use ck_select_enumerate::rules::Rules;
use ck_select_types::vocab::Dtype;
use common::{config, count, on, request, rules, run, tried};

/// A tile engine's configuration with one tile and the settings of a variant.
fn small(traits: &[(&str, &str)], rest: &str) -> String {
    let shapes = [["128", "128", "32"], ["2", "2", "1"], ["16", "16", "16"]];
    let usual = [("pad_k", "true"), ("persistent", "true, false")];
    config(shapes, &[&usual, traits].concat(), rest)
}

#[test]
fn each_variant_has_its_names() {
    let flags = "cshuffle_intrawave_False_False_True_True";
    let usual = |family: &str| vec![format!("{family}_fp16_rcr_compv3_{flags}")];
    let stream_k = |reduction: &str| {
        let flags = flags.replace("intrawave", &format!("intrawave_{reduction}"));
        format!("gemm_streamk_fp16_rcr_compv3_{flags}")
    };
    let both = [("reduction_strategy", r#""linear", "tree""#)];
    for (traits, ours, names) in [
        (&[][..], r#""gemm_universal""#, usual("gemm_universal")),
        (&[], r#""batched_gemm""#, vec![usual("batched_gemm")[0].replacen("_True_True", "_True", 1)]),
        (&[], r#""grouped_gemm""#, usual("grouped_gemm")),
        (&[], r#""gemm_streamk""#, vec![stream_k("atomic")]),
        (&both, r#""gemm_streamk""#, vec![stream_k("linear"), stream_k("tree")]),
        (
            &[],
            r#""gemm_multi_d", "num_d": 3, "elementwise": "MultiDMultiply""#,
            vec![usual("gemm_multi_d")[0].replace("rcr", "rcrr")],
        ),
    ] {
        let text = small(traits, &format!(r#", "ck_select": {{"variant": {ours}}}"#));
        let found = run(&text, &request("gfx942", Dtype::Fp16));
        let made: Vec<&str> = found.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        let suffix = if ours.contains("multi_d") { "_MultiDMultiply_d3" } else { "" };
        for (name, made) in names.iter().zip(&made) {
            assert_eq!(*made, format!("{name}_128x128x32_2x2x1_16x16x16{suffix}"));
        }
        // Both values of `persistent`, which batched kernels do not have.
        assert_eq!(made.len(), if ours.contains("batched") { 1 } else { 2 * names.len() });
    }
}

#[test]
fn own_keys_tell_the_variant() {
    let (of_a, of_b) = (("a_preshuffle_quant", "false"), ("b_preshuffle_quant", "false"));
    let profile = [("profile", r#""rowcol""#), ("pipeline", ""), ("scheduler", "")];
    let groups =
        r#", "quant_config": {"a_group": {"values": ["1x1x1"]}, "b_group": {"values": ["1x8x128"]}}"#;
    for (traits, rest, expected) in [
        (&[("pipeline", r#""comp_async""#)][..], "", "gemm_universal"),
        (&[], r#", "ck_select": {"variant": "mx_gemm"}"#, "mx_gemm"),
        (&[("pipeline", r#""weight_preshuffle""#)], "", "mx_gemm"),
        (&[], r#", "permute_n": false"#, "gemm_preshuffle"),
        (&[], r#", "group_size_n": 1"#, "gemm_abquant"),
        (&[of_a], "", "gemm_aquant"),
        (&[of_b], r#", "group_size_k": 64"#, "gemm_bquant"),
        (&[of_a, of_b], r#", "group_size_k": 64"#, "gemm_abquant"),
        (&profile, groups, "gemm_quant"),
        (&[("reduction_strategy", r#""tree""#)], "", "gemm_streamk"),
    ] {
        let text = small(traits, rest);
        match Config::from_json("f", text.as_bytes(), None) {
            Ok(Config::Gemm(GemmConfig::Ranges(ranges))) => {
                assert_eq!(ranges.variant.name, expected, "{text}");
            }
            other => panic!("{text}\n{other:?}"),
        }
    }
}

/// Counts of an independent program over upstream's conditions.
#[test]
fn kernels_with_a_shuffled_b_have_rules_of_their_own() {
    let (side, waves) = ("min 64 256 64", "1, 2, 4");
    let shapes = [[side, side, "32, 64, 128"], [waves, waves, "1"], ["16, 32", "16, 32", "16, 32, 64"]];
    let traits = [("pipeline", r#""preshufflev2", "compv3""#), ("scheduler", r#""default""#)];
    for (arch, dtype, counts) in COUNTS {
        for (permute, count) in ["false", "true"].into_iter().zip(counts) {
            let rest = format!(r#", "permute_n": {permute}, "ck_select": {{"variant": "gemm_preshuffle"}}"#);
            let found = run(&config(shapes, &traits, &rest), &request(arch, dtype));
            assert_eq!(found.kernels.len(), count, "{arch} {dtype} {permute}");
            assert!(found.kernels.iter().all(|kernel| kernel.name.starts_with("gemm_preshuffle_")));
            assert!(found.kernels.iter().all(|kernel| kernel.name.contains("_preshufflev2_cshuffle_auto_")));
        }
    }
    // gfx950's own instructions for a shuffled B, and int8 that gfx942 alone has.
    let rules = rules();
    let own = |arch: &str, types: &str| {
        let table = &rules.arch.architectures[arch];
        let beside = |tile| !table.warp_tiles[types].contains(tile);
        table.preshuffle_warp_tiles.get(types).into_iter().flatten().filter(|tile| beside(tile)).count()
    };
    assert_eq!((own("gfx950", "fp16"), own("gfx942", "fp16")), (2, 0));
    let shuffled = |arch: &str| rules.arch.architectures[arch].preshuffle_warp_tiles.contains_key("int8");
    assert_eq!(["gfx90a", "gfx942", "gfx950"].map(shuffled), [false, true, false]);
}

const COUNTS: [(&str, Dtype, [usize; 2]); 4] = [
    ("gfx942", Dtype::Fp16, [168, 123]),
    ("gfx942", Dtype::Fp8, [246, 177]),
    ("gfx950", Dtype::Fp16, [472, 348]),
    ("gfx950", Dtype::Fp8, [404, 292]),
];

#[test]
fn convolutions_of_an_architecture_have_types_that_it_multiplies() {
    let sweep = r#"{"variant": "forward"}"#;
    for (arch, types) in [
        ("gfx908", 2),
        ("gfx90a", 3),
        ("gfx942", 6),
        ("gfx950", 6),
        ("gfx1100", 3),
        ("gfx1200", 5),
        ("gfx1201", 5),
        ("gfx1250", 4),
    ] {
        let found = run(sweep, &on(arch));
        assert_eq!((found.kernels.len(), found.warnings.as_slice()), (types * 86 * 2, &[][..]), "{arch}");
    }
    for arch in ["gfx1030", "gfx1150", "sm_90"] {
        let error = tried(sweep, &on(arch)).unwrap_err();
        let expected =
            format!("the rules know no architecture {arch}, expected one of gfx1100, gfx1200, gfx1201, ");
        assert!(error.starts_with(&expected), "{error}");
    }
}

/// Half of what there is for pipelines with two buffers, on any architecture.
#[test]
fn budgets_of_shared_memory_are_shares() {
    let rules = rules();
    let budget = |arch: &str, pipeline: &str| {
        rules.arch.pipeline_lds(pipeline.parse().unwrap(), rules.arch.architectures[arch].lds_bytes)
    };
    for (arch, all) in [("gfx942", 64 << 10), ("gfx950", 160 << 10), ("gfx1250", 320 << 10)] {
        for (pipeline, share) in [
            ("mem", 1),
            ("compv3", 1),
            ("wavelet", 1),
            ("basic_v1", 1),
            ("compv4", 2),
            ("compv6", 2),
            ("comp_async", 2),
        ] {
            assert_eq!(budget(arch, pipeline), all / share, "{arch} {pipeline}");
        }
    }
    let wide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/gemm_wide.json"));
    let wide = wide.unwrap();
    let count = |limit: &str, arch: &str| {
        count(&wide.replace(r#""flat""#, &format!("\"{limit}\"")), arch, Dtype::Fp8)
    };
    assert_eq!(count("pipeline", "gfx950"), count("hardware", "gfx950"));
    assert!(count("pipeline", "gfx950") > count("flat", "gfx950"));
    assert_eq!(count("pipeline", "gfx942"), count("flat", "gfx942"));
}

/// Upstream's instructions of gfx1250, and none of another architecture's.
#[test]
fn gfx1250_has_waves_and_instructions_of_its_own() {
    let text = small(&[], "");
    let counts = |instruction: u32, dtype: Dtype| {
        let text = text.replace(
            "\"warp_tile_k\": {\"values\": [16]}",
            &format!("\"warp_tile_k\": {{\"values\": [{instruction}]}}"),
        );
        let text = text.replace("\"tile_k\": {\"values\": [32]}", "\"tile_k\": {\"values\": [128]}");
        run(&text, &request("gfx1250", dtype)).kernels.len()
    };
    assert_eq!([16, 32, 64].map(|depth| counts(depth, Dtype::Fp16)), [0, 2, 0]);
    assert_eq!([32, 64, 128].map(|depth| counts(depth, Dtype::Fp8)), [0, 2, 2]);
    let found = run(&text, &request("gfx1250", Dtype::Int8));
    assert_eq!(found.kernels.len(), 0);
    assert_eq!(found.warnings, ["'gfx1250' has no instructions for int8_int8_int32, so it gives no kernels"]);
}

/// Upstream's validator knew instructions of three pipelines only, and let every other one have any
/// (f4af6b29).
#[test]
fn instructions_are_judged_for_every_pipeline() {
    let text = small(&[("pipeline", r#""wavelet", "compv5", "basic_v1""#)], "");
    let deep = text.replace(r#""warp_tile_k": {"values": [16]}"#, r#""warp_tile_k": {"values": [128]}"#);
    let deep = deep.replace(r#""tile_k": {"values": [32]}"#, r#""tile_k": {"values": [128]}"#);
    assert_eq!(count(&text, "gfx942", Dtype::Fp16), 6, "16x16x16");
    assert_eq!(["gfx942", "gfx950", "gfx1250"].map(|arch| count(&deep, arch, Dtype::Fp16)), [0; 3]);
    assert_eq!(["gfx942", "gfx950", "gfx1250"].map(|arch| count(&deep, arch, Dtype::Fp8)), [0, 6, 6]);
    // This may be a file of another variant.
    let tdm = deep.replace(r#""wavelet", "compv5", "basic_v1""#, r#""comp_tdm""#);
    let expected =
        r#"read as plain GEMMs; of microscaled ones, it needs "ck_select": {"variant": "mx_gemm"}"#;
    for dtype in [Dtype::Fp16, Dtype::PkFp4] {
        let found = run(&tdm, &request("gfx1250", dtype));
        assert_eq!((found.kernels.len(), found.warnings.last().unwrap().as_str()), (0, expected));
    }
}

/// The script that turns upstream's file into ours, on a small one: what changed is said, and our own keys
/// stay.
#[test]
fn a_newer_file_of_upstream_becomes_rules() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("arch_rules");
    std::fs::create_dir_all(&folder).unwrap();
    let built_in = include_str!("../rules/arch.json");
    let (rules, upstream) = (folder.join("arch.json"), folder.join("arch_specs.json"));
    std::fs::write(&rules, built_in).unwrap();
    let specs = r#"{"_version": "1.3.0", "architectures": {
        "gfx942": {"family": "cdna3", "warp_size": 64, "lds_capacity_kb": 64, "warp_configs": [[2, 2, 1]],
            "warp_tile_combos": {"fp16_fp16_fp32": [[32, 32, 8]], "fp8_bf8_fp32": [[16, 16, 32]]}},
        "gfx1300": {"family": "new", "warp_size": 32, "lds_capacity_kb": 128, "warp_configs": [[4, 1, 1]],
            "warp_tile_combos": {"_note": "for readers", "pk_fp4_pk_fp4_fp32": [[16, 16, 128]]}}},
        "element_sizes": {"fp16": 2, "fp6": 0.75},
        "pipeline_lds_budget": {"compv4": {"basis": "absolute_kb", "value": 32},
            "default": {"basis": "fraction", "value": 1.0}},
        "unsupported_trait_combos": {"combinations": [["compv3", "cshuffle", "interwave"]]},
        "preshuffle_warp_tile_combos": {"gfx942": {"fp16_fp16_fp32": [[32, 32, 8]]}},
        "preshuffle_pipelines": {"supported": ["preshufflev2"]}}"#;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/arch_rules.py");
    let run = |text: &str| {
        std::fs::write(&upstream, text).unwrap();
        let output = Command::new("python3").arg(&script).arg(&upstream).arg(&rules).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let (done, said, _) = run(specs);
    assert!(done);
    for line in [
        "version: \"1.2.0\" -> \"1.3.0\"",
        "architectures.gfx942.waves: gone, 1x1x1, 1x2x1, 1x4x1, 2x1x1, 2x1x2, 4x1x1",
        "architectures.gfx1300: new, {\"family\": \"new\", \"warp_size\": 32, \"lds_bytes\": 131072, \
         \"waves\": [\"4x1x1\"], \"warp_tiles\": {\"pk_fp4\": [\"16x16x128\"]}}",
        "pipeline_lds.compv4: 0.5 -> {\"bytes\": 32768}",
        "element_bits.fp6: new, 6",
    ] {
        assert!(said.lines().any(|found| found == line), "{line}\n{said}");
    }
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&rules).unwrap()).unwrap();
    let types = &written["architectures"]["gfx942"]["conv_dtypes"];
    assert_eq!(types.as_array().unwrap().len(), 6, "kept: upstream's file has none");
    assert_eq!(run(specs).1, "no changes\n");
    let (done, _, error) = run(&specs.replace("[[4, 1, 1]]", "[[4, 1]]"));
    assert!(
        !done && error.contains("architectures.gfx1300: found [4, 1], expected three whole numbers"),
        "{error}"
    );
    // The rules that are built in are what the script writes.
    let own = Rules::read(&folder);
    assert!(
        own.unwrap_err().to_string().contains("unknown dtype 'fp6'"),
        "words that the library lacks are refused"
    );
}
