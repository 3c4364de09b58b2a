//! `ckselect enumerate`, as a user meets it.

use std::fs;

use ck_select::pool::Pool;
use serde_json::json;

use crate::common::{Folder, MODEL, PROBLEM, both, good, kernels, refuses, root};

#[test]
fn counts_are_numbers() {
    for (arguments, count) in [
        ("configs/bwd_weight_3d.json --arch gfx942", 640),
        ("configs/gemm_default.json --params dtype=fp16 layout=ccr --arch gfx942", 168),
        ("configs/forward_2d.json --filter 'c.tile_n >= 128 and c.pipeline == \"compv5\"'", 48),
        ("configs/forward_2d.json --params ndim=3 op=grouped_conv --filter 'c.ndim_spatial == 3'", 1216),
    ] {
        let found = both(&format!("enumerate {arguments} --count"));
        assert_eq!(found, (format!("{count}\n"), String::new()), "{arguments}");
    }
}

#[test]
fn lists_come_in_every_format() {
    let with = |format: &str| good(&format!("enumerate configs/forward_bf16.json --list --format {format}"));
    let csv = with("csv");
    assert_eq!(csv.lines().count(), 31);
    assert!(csv.starts_with("index,kernel\n0,grouped_conv_forward_bf16_2d_16x64x64_compv3\n"));
    let json: serde_json::Value = serde_json::from_str(&with("json")).unwrap();
    assert_eq!(json[29]["kernel"], "grouped_conv_forward_bf16_2d_128x64x128_compv5");
    assert!(with("table").starts_with("index  kernel\n    0  grouped_conv_forward"));
    let summary = good("enumerate configs/bwd_data_2d.json --format csv --filter 'c.tile_m > 64'");
    assert_eq!(summary, "kernels,of them\n1216,expanded\n896,repeat a name\n256,filtered out\n64,kept\n");
    let summary = good("enumerate configs/forward_2d.json --format csv --valid-only");
    assert_eq!(
        summary,
        "kernels,of them\n1216,expanded\n472,cannot be built\n\
         24,\"- compv4 without two buffers, or not for this tile\"\n\
         448,- scheduler not for this pipeline\n744,kept\n"
    );
    let fields = good("enumerate --fields --params op=gemm_universal --format csv");
    assert!(
        fields.starts_with("op,field,meaning\ngemm_universal,c.name,") && fields.contains("c.warp_tile_k,")
    );
}

#[test]
fn written_pools_can_be_ranked() {
    let folder = Folder::new();
    let printed = folder.good("enumerate configs/forward_bf16.json --output @pool.json --output @pool.txt");
    assert_eq!(printed, "kernels  of them\n     30  expanded\n     30  kept\n");
    let export = folder.read_json("pool.json");
    let metadata = json!({"config_file": "forward_bf16.json", "arch": "gfx950", "count": 30});
    assert_eq!(export["metadata"], metadata);
    let shipped = fs::read_to_string(root().join("configs/forward_bf16.txt")).unwrap();
    let shipped: Vec<&str> = shipped.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(folder.read("pool.txt").lines().collect::<Vec<_>>(), shipped);
    let rank = |pool: &str| folder.good(&format!("rank --model {MODEL} --pool {pool} --problem {PROBLEM}"));
    assert_eq!(rank("@pool.json"), rank("@pool.txt"));
    assert_eq!(rank("@pool.txt"), rank("configs/forward_bf16.txt"));
    let printed = good("enumerate configs/forward_bf16.json --output -");
    assert_eq!(printed.lines().collect::<Vec<_>>(), shipped, "nothing but the names");
}

#[test]
fn mistakes_are_pointed_at() {
    let unknown = "column 3: kernels have no field 'tile_x'; did you mean 'tile_m'? (one of: name,";
    refuses(&format!(
        "enumerate configs/forward_2d.json --filter 'c.tile_x > 3'
            2: ckselect: --filter: {unknown}
        enumerate configs/forward_2d.json --filter 'c.tile_m > c.name'
            1: --filter: '>' does not apply to a number and a text, for grouped_conv
        enumerate configs/forward_2d.json --params dtype=fp8
            2: --params: dtype is for GEMMs, found a configuration of convolutions
        enumerate configs/forward_2d.json --params layout=rcr
            2: --params: layout is for GEMMs, found
        enumerate configs/gemm_ci.json --params ndim=3
            2: --params: ndim is for convolutions
        enumerate configs/forward_2d.json --arch mi355
            2: --arch: unknown arch 'mi355'
        enumerate configs/forward_2d.json --params op=gemm_universal
            1: tile_config: found nothing
        enumerate configs/none.json
            1: configs/none.json:
        enumerate configs/forward_2d.json --rules configs/none
            1: no such directory
        enumerate
            2: CONFIG.json
        enumerate configs/forward_2d.json --list --count
            2: cannot be used with"
    ));
}

#[test]
fn filter_files_hold_an_expression_and_no_python() {
    let folder = Folder::new();
    folder.write("filter", "# wide tiles\nc.tile_n >= 128\n");
    let path = folder.path("filter");
    let line = format!("enumerate configs/forward_2d.json --count --filter @{}", path.display());
    assert_eq!(good(&line), "336\n");
    assert_eq!(good(&format!("{line} --filter 'c.pipeline == \"compv5\"'")), "48\n", "both hold");
    folder.write("filter", "def filter_config(c):\n    return c.tile_n >= 128\n");
    let message =
        format!("ckselect: {}: line 1: this is Python code, which is never executed", path.display());
    refuses(&format!("{line}\n1: {message}"));
}

#[test]
fn own_rules_are_used() {
    let folder = Folder::new();
    let rules = fs::read_to_string(root().join("crates/enumerate/rules/conv.json")).unwrap();
    folder.write("conv.json", rules.replace("\"compv6\", \"comp_async\", ", "\"comp_async\", "));
    let rules_here = format!("--rules {}", folder.path("").display());
    let (stdout, stderr) = both(&format!("enumerate configs/forward_2d.json --count {rules_here}"));
    assert_eq!(stdout, "1056\n");
    assert_eq!(stderr, "ckselect: warning: forward has no pipeline compv6, so it gives no kernels\n");
}

/// Two implicit GEMMs, one of them twice, and what no pool can hold.
const INSTANCES: &str = r#"{"variant": "bwd_data", "ndim_spatial": 3, "layout": "ndhwgc", "datatype": "fp16",
  "instances": [
    {"id": 0, "tile_m": 96, "tile_n": 32, "tile_k": 32, "warp_m": 3, "warp_n": 1, "warp_k": 1,
     "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8,
     "vector_size_a": 2, "vector_size_b": 2, "vector_size_c": 4, "pipeline": "compv1",
     "scheduler": "intrawave", "epilogue": "cshuffle", "specialization": "filter3x3"},
    {"id": 1, "tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_m": 2, "warp_n": 2, "warp_k": 1,
     "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16,
     "vector_size_a": 4, "vector_size_b": 8, "vector_size_c": 8, "pipeline": "mem",
     "scheduler": "interwave", "epilogue": "cshuffle", "split_image": true},
    {"id": 2, "tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_m": 2, "warp_n": 2, "warp_k": 1,
     "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16,
     "vector_size_a": 4, "vector_size_b": 8, "vector_size_c": 8, "pipeline": "mem",
     "scheduler": "interwave", "epilogue": "cshuffle", "split_image": true},
    {"kind": "direct_conv", "channel_family": 8, "impl": "tile_grouped", "version": "v2",
     "config": {"waves": 2}, "id": 7}]}"#;

#[test]
fn instances_are_listed_and_make_a_pool() {
    let folder = Folder::new();
    folder.write("instances.json", INSTANCES);
    let enumerate = "enumerate @instances.json";
    let names = [
        "grouped_conv_bwd_data_fp16_ndhwgc_3d_compv1_cshuffle_intrawave_96x32x32_3x1x1_32x32x8_vec2_2_4\
         _filter3x3",
        "grouped_conv_bwd_data_fp16_ndhwgc_3d_mem_cshuffle_interwave_64x64x32_2x2x1_16x16x16_large_tensor",
        "direct_conv_bwd_data_fp16_ndhwgc_3d_tile-grouped_8c_v2_id7",
    ];
    let list = folder.both(&format!("{enumerate} --list --format csv"));
    let rows: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("{at},{name}\n")).collect();
    assert_eq!(list, (format!("index,kernel\n{}", rows.concat()), String::new()));
    assert_eq!(folder.good(&format!("{enumerate} --count")), "3\n");
    let (summary, stderr) =
        folder.both(&format!("{enumerate} --format csv --output @pool.txt --output @pool.json"));
    assert_eq!(
        summary,
        "kernels,of them\n4,expanded\n1,repeat a name\n3,kept\n1,\"- direct, by name only\"\n"
    );
    assert_eq!(
        stderr,
        "ckselect: 1 direct convolutions cannot be part of a pool: they are not implicit GEMMs, \
         and are left out\n"
    );
    assert_eq!(folder.read("pool.txt").lines().collect::<Vec<_>>(), names[..2]);
    // Three waves along m are no arrangement of gfx950, and the rules judge no direct convolution.
    assert_eq!(folder.good(&format!("{enumerate} --count --valid-only")), "2\n");
    assert_eq!(folder.good(&format!("{enumerate} --count --filter 'c.pipeline == \"compv1\"'")), "1\n");
    for pool in ["pool.json", "pool.txt"] {
        let pool = Pool::read(folder.path(pool)).unwrap();
        assert!(pool.iter().map(|kernel| kernel.name.as_str()).eq(names[..2].iter().copied()));
    }
    folder.refuses(&format!(
        "{enumerate} --params ndim=2
            2: --params ndim: instances have the dimensions of"
    ));
}

#[test]
fn depthwise_instances_are_counted_and_no_pool_is_made_of_them() {
    let folder = Folder::new();
    let text = r#"{"variant": "forward_depthwise", "ndim_spatial": 3, "layout": "ngchw", "datatype": "fp32",
        "instances": [
        {"id": 0, "tile_h": 4, "tile_w": 8, "filt": 7, "str_h": 1, "str_w": 2, "pad_h": 3, "pad_w": 0,
         "nbatch": 2, "sub_h": 1, "sub_w": 3, "in_vec": 2, "out_vec": 4}]}"#;
    let name = "grouped_conv_fwd_depthwise_fp32_ngchw_3d_4x8_f7_s1x2_p3x0_nb2_sub1x3_vec2_4";
    // Older files have no word of their own for it.
    for text in [text.to_owned(), text.replace("forward_depthwise", "forward")] {
        folder.write("depthwise.json", text);
        let list = folder.good("enumerate @depthwise.json --list --format csv");
        assert_eq!(list, format!("index,kernel\n0,{name}\n"));
    }
    folder.refuses(
        "enumerate @depthwise.json --output -
            1: 1 depthwise convolutions cannot be part of a pool",
    );
}

#[test]
fn mistakes_in_instances_name_their_place() {
    let folder = Folder::new();
    let (before, _) = INSTANCES.split_once('[').unwrap();
    for (from, to, message) in [
        (
            r#""layout": "ndhwgc""#,
            r#""layout": "nhwgc""#,
            "ndim_spatial: found 3, expected 2, which nhwgc has",
        ),
        (r#""datatype""#, r#""dtype""#, "datatype: found nothing, expected a type such as bf16"),
        (r#"m": 96"#, r#"m": 0"#, "instances[0].tile_m: found 0, expected a whole number of 1 to 65535"),
        ("specialization", "special", "instances[0].special: unknown key, expected one of: kind, id, tile_m"),
        (r#""pipeline": "compv1","#, "", "instances[0].pipeline: found nothing, expected a pipeline"),
        ("direct_conv", "winograd", "instances[3].kind: found 'winograd', expected one of: direct_conv"),
        (
            "\"instances\"",
            "\"trait_config\": {}, \"instances\"",
            "trait_config: unknown key, expected one of: variant, ",
        ),
        (
            "\"split_image\": true}",
            "\"streamk_enabled\": true, \"streamk_reduction_strategy\": null}",
            "instances[1].streamk_reduction_strategy: found null, expected TREE or LINEAR for stream-K",
        ),
        (&INSTANCES[before.len()..], "[]}", "instances: found an empty list, expected at least one instance"),
    ] {
        assert!(INSTANCES.contains(from), "{from}");
        folder.write("f.json", INSTANCES.replacen(from, to, 1));
        folder.refuses(&format!("enumerate @f.json --count\n1: {message}"));
    }
}

#[test]
fn a_family_of_aiters_is_listed_as_a_pool() {
    let pool = |arguments: &str| good(&format!("enumerate {arguments}"));
    let names = pool("a8w8_bpreshuffle --arch gfx942");
    assert_eq!(names.lines().count(), 395);
    assert_eq!(Pool::from_bytes("pool", names.as_bytes()).unwrap().len(), 395);
    let filtered = pool("a8w8_bpreshuffle --arch gfx942 --filter c.tile_m==16");
    assert!(
        names.lines().filter(|name| filtered.contains(name)).count() < 100 && filtered.lines().count() > 20
    );
    assert_eq!(pool("a8w8_rowwise --arch gfx950 --count"), "85\n");
    refuses(
        "enumerate a8w8 --arch gfx942
            2: a8w8: no such file, and AITER has no family 'a8w8', expected one of: a4w4_blockscale,
        enumerate a8w8_rowwise --arch gfx90a
            2: no such file, and AITER's a8w8_rowwise is not for gfx90a, expected gfx942 or gfx950
        enumerate a8w8_rowwise --params dtype=fp8
            2: --params: a family leaves nothing open",
    );
}

/// The first example of the README recommended a kernel that `--valid-only` drops.
#[test]
fn lists_of_names_lose_what_cannot_be_built() {
    let folder = Folder::new();
    let on_gfx942 = folder.good("enumerate configs/forward_bf16.json --arch gfx942 --valid-only --list");
    let kept = on_gfx942.lines().count();
    assert!(kept < 30);
    let rank = "rank --pool configs/forward_bf16.txt --format csv";
    let ranked = |more: &str| folder.both(&format!("{rank} {more} --problem {PROBLEM}"));
    let why =
        "of 30 kernels cannot be built for gfx942, and are left out: 6 (waves not of this architecture)";
    for model in ["", "--model estimate", "--model embedded:universal"] {
        let (table, said) = ranked(&format!("--arch gfx942 {model}"));
        assert_eq!((table.lines().count(), said.contains(why)), (1 + 24, true), "{model}: {said}");
        let (table, said) = ranked(&format!("--arch gfx942 {model} --allow unbuildable"));
        assert_eq!((table.lines().count(), said.contains("left out")), (1 + 30, false), "{model}: {said}");
        assert_eq!(ranked(&format!("--arch gfx950 {model}")).0.lines().count(), 1 + 30);
    }
    // The GPU of the problem counts as well.
    let (table, _) = folder.both(&format!("{rank} --model estimate --problem {PROBLEM},arch=gfx942"));
    assert_eq!(table.lines().count(), 1 + 24);
    // Whoever measured a kernel on the architecture has built it.
    let rows = |arch: &str| {
        let row = |name: &str| format!("{name},16,256,128,28,28,3,3,0.5,10,{arch}\n");
        "kernel,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,arch\n".to_owned()
            + &kernels().iter().map(|name| row(name)).collect::<String>()
    };
    for (arch, count) in [("gfx942", 30), ("gfx950", 24)] {
        folder.write("measured.csv", rows(arch));
        let line = format!("rank --pool @measured.csv --arch gfx942 --format csv --problem {PROBLEM}");
        assert_eq!(folder.good(&line).lines().count(), 1 + count, "{arch}");
    }
    // Measured rows keep their kernels in a judged pool.
    folder.write("measured.csv", rows("gfx942"));
    let evaluate = "evaluate --model estimate --arch gfx942 --pool configs/forward_bf16.txt --data";
    assert!(!folder.both(&format!("{evaluate} @measured.csv")).1.contains("left out"));
    let one = rows("gfx942").lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    folder.write("one.csv", one);
    assert!(folder.both(&format!("{evaluate} @one.csv")).1.contains(why));
    folder.write("none.txt", "grouped_conv_forward_bf16_2d_128x64x128_compv3\n");
    folder.refuses(&format!(
        "rank --pool @none.txt --arch gfx942 --problem {PROBLEM}
            1: no kernel can be built for gfx942: 1 (waves not of this architecture); --allow unbuildable keeps"
    ));
}
