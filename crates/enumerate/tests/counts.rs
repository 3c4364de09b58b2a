//! The shipped configurations give the kernels that `docs/enumeration.md` says, and every name reads back.

mod common;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ck_select_enumerate::config::Config;
use ck_select_enumerate::filter::Filter;
use ck_select_enumerate::{Enumeration, Request, enumerate, export};
use ck_select_types::kernel::{ConvKernel, Kernel, KernelKind};
use ck_select_types::pool::Pool;
use ck_select_types::vocab::{Dtype, Pipeline, Scheduler};
use common::{on, read_back, rules, run};

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn shipped(file: &str, request: &Request) -> Enumeration {
    let config = Config::read(&configs().join(file), None).unwrap();
    enumerate(&rules(), &config, request).unwrap()
}

/// First and last name without the part that all share.
fn ends(found: &Enumeration) -> [&str; 2] {
    [found.kernels.first().unwrap(), found.kernels.last().unwrap()].map(|kernel| {
        let at = kernel.name.find("_2d_").or_else(|| kernel.name.find("_3d_")).unwrap();
        &kernel.name[at + "_2d_".len()..]
    })
}

#[test]
fn convolution_sweeps_have_upstreams_counts() {
    for ndim in [2, 3] {
        let forward = shipped(&format!("forward_{ndim}d.json"), &on("gfx950"));
        assert_eq!((forward.expanded, forward.kernels.len()), (1216, 1216));
        assert_eq!(
            ends(&forward),
            ["16x64x64_basic_v1_intrawave", "128x64x128_basic_async_v1_interwave_gm2_dsb_si"]
        );
        let data = shipped(&format!("bwd_data_{ndim}d.json"), &on("gfx950"));
        assert_eq!((data.expanded, data.repeated, data.kernels.len()), (1216, 896, 320));
        assert_eq!(ends(&data), ["16x64x64_compv3_intrawave", "128x64x128_mem_interwave_gm2_dsb_si"]);
        let weight = shipped(&format!("bwd_weight_{ndim}d.json"), &on("gfx950"));
        assert_eq!((weight.expanded, weight.kernels.len()), (2432, 640));
        for found in [&forward, &data, &weight] {
            assert!(found.kernels.iter().all(|kernel| kernel.name.contains(&format!("_bf16_{ndim}d_"))));
        }
    }
}

#[test]
fn empty_traits_have_upstreams_counts() {
    for (variant, counts) in [
        ("forward", [(1032, 1032), (516, 516), (344, 344)]),
        ("bwd_data", [(1032, 240), (516, 120), (344, 80)]),
        ("bwd_weight", [(2064, 480), (1032, 240), (688, 160)]),
    ] {
        for (arch, expected) in ["gfx950", "gfx90a", "gfx908"].into_iter().zip(counts) {
            for text in [
                format!(r#"{{"variant": "{variant}"}}"#),
                format!(r#"{{"variant": "{variant}", "trait_config": {{}}}}"#),
            ] {
                let found = run(&text, &on(arch));
                assert_eq!((found.expanded, found.kernels.len()), expected, "{variant} {arch}");
            }
        }
    }
    assert_eq!(run(r#"{"variant": "forward"}"#, &on("gfx942:xnack+")).kernels.len(), 1032);
}

#[test]
fn of_the_forward_sweep_744_can_be_built() {
    let all = shipped("forward_2d.json", &on("gfx950"));
    let valid = shipped("forward_2d.json", &Request { valid_only: true, ..on("gfx950") });
    assert_eq!((valid.kernels.len(), refused(&valid)), (744, 472));
    let conv = |kernel: &&Kernel| match &kernel.kind {
        KernelKind::Conv(conv) => conv.clone(),
        _ => panic!("{}", kernel.name),
    };
    let count =
        |test: fn(&ConvKernel) -> bool| all.kernels.iter().filter(|kernel| test(&conv(kernel))).count();
    let interwave = count(|kernel| {
        kernel.scheduler == Scheduler::Interwave
            && ![Pipeline::BasicV1, Pipeline::Mem].contains(&kernel.pipeline)
    });
    let unbuffered = count(|kernel| {
        kernel.scheduler == Scheduler::Intrawave
            && kernel.pipeline == Pipeline::CompV4
            && !kernel.double_smem_buffer
    });
    assert_eq!((interwave, unbuffered), (448, 24));
    // Two tiles need waves that only gfx950 has.
    let older = shipped("forward_2d.json", &Request { valid_only: true, ..on("gfx942") });
    assert_eq!(older.kernels.len(), 744 - all_of_two_tiles(&valid));
}

fn refused(found: &Enumeration) -> usize {
    found.refused.values().sum()
}

fn all_of_two_tiles(found: &Enumeration) -> usize {
    let two = |kernel: &&Kernel| kernel.name.contains("_128x128x64_") || kernel.name.contains("_128x64x128_");
    found.kernels.iter().filter(two).count()
}

#[test]
fn the_pool_of_suffixes_has_310() {
    let pool = shipped("forward_suffix_pool.json", &on("gfx950"));
    assert_eq!((pool.expanded, pool.kernels.len()), (310, 310));
    assert_eq!(ends(&pool), ["16x64x64_basic_v1_intrawave", "128x64x128_wavelet_intrawave"]);
    let names: Vec<&str> = pool.kernels[..31].iter().map(|kernel| kernel.name.as_str()).collect();
    let compv4: Vec<&&str> = names.iter().filter(|name| name.contains("compv4")).collect();
    assert_eq!(compv4.len(), 2, "compv4 always has two buffers: {compv4:?}");
    // Four tiles have compv4 names that no kernel can be built for.
    let valid = shipped("forward_suffix_pool.json", &Request { valid_only: true, ..on("gfx950") });
    assert_eq!((valid.kernels.len(), refused(&valid)), (302, 8));
}

#[test]
fn ready_made_pools_are_what_was_measured() {
    let listed = Pool::read(configs().join("forward_bf16.txt")).unwrap();
    let listed: Vec<&str> = listed.iter().map(|kernel| kernel.name.as_str()).collect();
    let found = shipped("forward_bf16.json", &on("gfx950"));
    let names: Vec<&str> = found.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, listed);
    for file in ["bwd_data_bf16.json", "bwd_weight_bf16.json"] {
        let found = shipped(file, &on("gfx950"));
        assert_eq!((found.expanded, found.kernels.len()), (20, 20), "{file}");
    }
}

#[test]
fn gemm_ranges_have_upstreams_counts() {
    for (arch, dtype, layouts, [compv3, compv4]) in [
        ("gfx950", Dtype::Fp8, ["rcr", "rrr"], [338, 269]),
        ("gfx950", Dtype::Fp8, ["crr", "ccr"], [240, 186]),
        ("gfx950", Dtype::Fp16, ["rcr", "rrr"], [226, 158]),
        ("gfx950", Dtype::Fp16, ["crr", "ccr"], [156, 108]),
        ("gfx942", Dtype::Fp8, ["rcr", "rrr"], [198, 130]),
        ("gfx942", Dtype::Fp8, ["crr", "ccr"], [144, 96]),
        ("gfx942", Dtype::Fp16, ["rcr", "rrr"], [148, 80]),
        ("gfx942", Dtype::Fp16, ["crr", "ccr"], [108, 60]),
    ] {
        for layout in layouts {
            let request = Request { dtype: Some(dtype), layout: layout.parse().ok(), ..on(arch) };
            let found = shipped("gemm_default.json", &request);
            let of = |pipeline: &str| found.kernels.iter().filter(|k| k.name.contains(pipeline)).count();
            assert_eq!((of("_compv3_"), of("_compv4_")), (compv3, compv4), "{arch} {dtype} {layout}");
            assert_eq!(found.kernels.len(), compv3 + compv4);
            assert_eq!(found.warnings, [] as [&str; 0]);
        }
    }
}

/// Upstream states 4,608 without saying of what; this reconstruction gives it, which proves nothing.
#[test]
fn the_wide_configuration_has_4608() {
    let found = shipped("gemm_wide.json", &on("gfx950"));
    let of = |pipeline: &str| found.kernels.iter().filter(|k| k.name.contains(pipeline)).count();
    assert_eq!(["_compv3_", "_compv4_", "_mem_"].map(of), [321 * 4, 189 * 4, 321 * 8]);
    assert_eq!(found.kernels.len(), 4608);
}

#[test]
fn the_small_configuration_is_small() {
    for dtype in [Dtype::Fp16, Dtype::Bf16, Dtype::Fp8] {
        for arch in ["gfx942", "gfx950"] {
            let found = shipped("gemm_ci.json", &Request { dtype: Some(dtype), ..on(arch) });
            assert_eq!(found.kernels.len(), 8, "{arch} {dtype}");
        }
    }
    assert_eq!(
        shipped("gemm_ci.json", &on("gfx950")).kernels[0].name,
        "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x64_2x2x1_16x16x32"
    );
}

#[test]
fn the_machine_learning_sweep_has_27() {
    let sweep = shipped("gemm_ml_sweep.json", &on("gfx950"));
    assert_eq!((sweep.expanded, sweep.kernels.len()), (27, 27));
    let kept = |text: &str| {
        let filter = Filter::parse(ck_select_types::vocab::Op::Gemm, text).unwrap();
        sweep.kernels.iter().filter(|kernel| filter.keeps(kernel).unwrap()).count()
    };
    assert_eq!(kept("c.warp_tile_m != c.warp_tile_n"), 6);
    assert_eq!(kept("c.scheduler == 'interwave'"), 3);
    assert_eq!(
        kept("c.pad_m and c.pad_n and c.pad_k and not c.persistent and c.warp_m == c.warp_n == 2"),
        27
    );
    // The six with uneven instructions and the three interwave ones cannot be built anywhere.
    for (dtype, arch) in [(Dtype::Fp8, "gfx950"), (Dtype::Fp16, "gfx950"), (Dtype::Fp16, "gfx942")] {
        let valid =
            shipped("gemm_ml_sweep.json", &Request { dtype: Some(dtype), valid_only: true, ..on(arch) });
        let bad = valid.kernels.iter().filter(|kernel| {
            kernel.name.contains("interwave")
                || kernel.name.ends_with("x32x16") && kernel.name.contains("_16x")
        });
        assert_eq!(bad.count(), 0);
        assert_eq!(valid.kernels.len() + refused(&valid), 27);
        assert!(refused(&valid) >= 9, "{dtype} {arch}: {:?}", valid.refused);
    }
}

/// Every shipped configuration, on several architectures: the name alone gives the descriptor.
#[test]
fn every_name_reads_back() {
    let mut kernels = 0;
    for entry in std::fs::read_dir(configs()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        // Attention has no types and layouts of GEMMs; tests/fmha.rs reads its names.
        if path.file_stem().is_some_and(|stem| stem == "fmha_fwd") {
            continue;
        }
        let config = Config::read(&path, None).unwrap();
        for arch in ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1201"] {
            for (dtype, layout) in [(Dtype::Fp8, "rcr"), (Dtype::Bf16, "ccr")] {
                let request = Request { dtype: Some(dtype), layout: layout.parse().ok(), ..on(arch) };
                let found = enumerate(&rules(), &config, &request).unwrap();
                let names: HashSet<&str> = found.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                assert_eq!(names.len(), found.kernels.len(), "{}", path.display());
                kernels += names.len();
                for kernel in &found.kernels {
                    assert_eq!(read_back(kernel), kernel.kind, "{}", kernel.name);
                }
            }
        }
    }
    assert!(kernels > 20_000, "{kernels}");
}

#[test]
fn exports_are_pools() {
    for (file, names_are_identifiers) in
        [("bwd_weight_2d.json", false), ("forward_3d.json", false), ("gemm_default.json", true)]
    {
        let found = shipped(file, &on("gfx950"));
        let text = export::to_json(&found.kernels, file, "gfx950").unwrap();
        assert!(text.starts_with(&format!(
            "{{\n  \"metadata\": {{\n    \"config_file\": \"{file}\",\n    \"arch\": \"gfx950\",\n    \
             \"count\": {}\n  }},\n  \"kernels\": [\n    {{\n      \"name\": \"",
            found.kernels.len()
        )));
        let pool = Pool::from_bytes(file, text.as_bytes()).unwrap();
        assert_eq!(pool.len(), found.kernels.len());
        for (read, made) in pool.iter().zip(&found.kernels) {
            assert_eq!(read.kind, made.kind, "{}", made.name);
            let name = if names_are_identifiers {
                made.name.strip_prefix("gemm_universal_")
            } else {
                Some(&*made.name)
            };
            assert_eq!(Some(read.name.as_str()), name);
        }
        let listed = Pool::from_bytes("names", export::to_text(&found.kernels).as_bytes()).unwrap();
        assert!(listed.iter().map(|kernel| &kernel.name).eq(found.kernels.iter().map(|kernel| &kernel.name)));
    }
}

/// Two values of `explicit_gemm` give one name, and the first stays.
#[test]
fn kernels_of_equal_names_are_enumerated_once() {
    let found = run(
        r#"{"variant": "forward", "trait_config": {"data_type": {"values": ["fp16"]},
            "explicit_gemm": {"values": [true, false]}, "pipeline": {"values": ["mem", "compv3"]},
            "num_groups_to_merge": {"values": [7, 1, 7]}}}"#,
        &on("gfx950"),
    );
    assert_eq!((found.expanded, found.kernels.len()), (160, 80));
    let explicit = |kernel: &Kernel| matches!(&kernel.kind, KernelKind::Conv(conv) if conv.explicit_gemm);
    assert!(!found.kernels.iter().any(explicit));
    // Pipelines come in the rules' order, merged groups in rising order.
    let names: Vec<&str> =
        found.kernels[..5].iter().map(|k| k.name.split_once("64x64_").unwrap().1).collect();
    assert_eq!(
        names,
        ["mem_intrawave", "mem_intrawave_gm7", "mem_interwave", "mem_interwave_gm7", "compv3_intrawave"]
    );
}

#[test]
fn empty_enumerations_say_why() {
    let found = run(
        r#"{"variant": "forward", "trait_config": {"pipeline": {"values": ["preshufflev2", "mem"]},
            "data_type": {"values": ["fp64", "bf16"]}, "scheduler": {"values": ["auto"]}}}"#,
        &on("gfx950"),
    );
    assert_eq!(
        found.warnings,
        [
            "gfx950 has no convolution kernels of fp64, so it gives none",
            "forward has no pipeline preshufflev2, so it gives no kernels",
            "sweeps have no scheduler auto, so it gives no kernels"
        ]
    );
    assert_eq!(found.kernels, [], "an allow-list that allows nothing");
}

#[test]
fn ndim_replaces_the_configurations() {
    let found = shipped("forward_2d.json", &Request { ndim: Some(3), ..on("gfx950") });
    let three = shipped("forward_3d.json", &on("gfx950"));
    assert_eq!(found.kernels, three.kernels);
}

#[test]
fn targets_outside_of_the_tables_pass_what_is_in_none() {
    let plain = shipped("gemm_default.json", &on("gfx942"));
    let flagged = shipped("gemm_default.json", &on("gfx942:xnack+"));
    assert_eq!((plain.warnings.len(), flagged.warnings.len()), (0, 2));
    assert!(flagged.kernels.len() > plain.kernels.len());
    let names: HashSet<&str> = flagged.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert!(plain.kernels.iter().all(|kernel| names.contains(kernel.name.as_str())));
    // int8 is in the tile engine's table of gfx942 alone; that of gfx950 is the architecture's own.
    let int8 = Request { dtype: Some(Dtype::Int8), ..on("gfx950") };
    assert_eq!(
        (shipped("gemm_ci.json", &int8).warnings.len(), shipped("gemm_ci.json", &int8).kernels.len()),
        (0, 8)
    );
}

#[test]
fn filters_keep_what_they_are_true_for() {
    let filter =
        |text: &str| ("--filter".to_owned(), Filter::parse(ck_select_types::vocab::Op::Conv, text).unwrap());
    let with = |filters: Vec<(String, Filter)>| {
        let config = Config::read(&configs().join("forward_2d.json"), None).unwrap();
        enumerate(&rules(), &config, &Request { filters, ..on("gfx950") })
    };
    let found = with(vec![
        filter("c.tile_n >= 128 and c.pipeline == 'compv5'"),
        filter("c.scheduler == 'intrawave'"),
    ]);
    let found = found.unwrap();
    // Three tiles are that wide; merging, buffers and splitting have two values each.
    assert_eq!((found.kernels.len(), found.filtered), (24, 1192));
    let error = with(vec![filter("c.tile_n > c.pipeline")]).unwrap_err();
    let expected = "--filter: '>' does not apply to a number and a text, for ";
    let error = error.to_string();
    assert!(error.starts_with(expected) && error.ends_with("_16x64x64_basic_v1_intrawave"), "{error}");
}

#[test]
fn too_much_is_refused() {
    let values: Vec<u32> = (1..=600).collect();
    let text = std::fs::read_to_string(configs().join("gemm_default.json")).unwrap();
    let wide =
        text.replace("{\"min\": 32, \"max\": 256, \"step\": 32}", &format!("{{\"values\": {values:?}}}"));
    let wide = wide.replace("{\"values\": [4, 2, 1]}", "{\"min\": 1, \"max\": 500, \"step\": 1}");
    let config = Config::from_json("wide", wide.as_bytes(), None).unwrap();
    let error = enumerate(&rules(), &config, &on("gfx950")).unwrap_err();
    assert!(error.to_string().contains(" combinations of tiles, waves, "), "{error}");
    assert!(
        enumerate(&rules(), &config, &on("mi355x"))
            .unwrap_err()
            .to_string()
            .starts_with("unknown arch 'mi355x'")
    );
}

#[test]
fn instances_of_backward_weight_keep_their_stream_k_and_lose_what_upstream_skips() {
    let instance = |pipeline: &str, more: &str| {
        format!(
            r#"{{"tile_m": 64, "tile_n": 32, "tile_k": 16, "warp_m": 2, "warp_n": 1, "warp_k": 1,
                "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 4,
                "vector_size_a": 1, "vector_size_b": 2, "vector_size_c": 2,
                "pipeline": "{pipeline}", "scheduler": "intrawave", "epilogue": "cshuffle"{more}}}"#
        )
    };
    let list = [
        instance("compv1", r#", "streamk_enabled": true, "streamk_persistent": true"#),
        instance("compv1", r#", "streamk_enabled": true, "streamk_reduction_strategy": "LINEAR""#),
        instance("compv2", r#", "two_stage": true, "explicit_gemm": true"#),
        instance(
            "mem",
            r#", "two_stage": true, "explicit_gemm": true, "num_groups_to_merge": 4, "block_per_cu": 2"#,
        ),
        instance("compv5", r#", "streamk_enabled": false, "streamk_reduction_strategy": null"#),
    ];
    let text = format!(
        r#"{{"variant": "bwd_weight", "ndim_spatial": 2, "layout": "nhwgc", "datatype": "fp32",
            "instances": [{}]}}"#,
        list.join(", ")
    );
    let found = run(&text, &on("gfx942"));
    let common = "cshuffle_intrawave_64x32x16_2x1x1_32x32x4_vec1_2_2";
    let ends: Vec<&str> =
        found.kernels.iter().map(|kernel| kernel.name.split_once("_2d_").unwrap().1).collect();
    assert_eq!(
        ends,
        [
            format!("compv1_{common}_streamk_tree_persistent"),
            format!("compv1_{common}_streamk_linear"),
            format!("mem_{common}_bpc2_gm4_2stage_explicit_gemm"),
            format!("compv5_{common}"),
        ]
    );
    assert_eq!(refused(&found), 1);
    let export = export::to_json(&found.kernels, "f", "gfx942").unwrap();
    let pool = Pool::from_bytes("f", export.as_bytes()).unwrap();
    assert!(pool.iter().map(|kernel| &kernel.kind).eq(found.kernels.iter().map(|kernel| &kernel.kind)));
    // compv5 is not for backward weight, and waves of 32 have neither stream-K nor these instructions.
    let valid = |arch| run(&text, &Request { valid_only: true, ..on(arch) });
    assert_eq!(valid("gfx942").kernels.len(), 3, "{:?}", valid("gfx942").refused);
    assert_eq!(valid("gfx1201").kernels.len(), 0);
}
