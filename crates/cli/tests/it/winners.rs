//! Winners of tuned tables: how `evaluate` counts their places, and what `train` learns from them.

#[cfg(feature = "train")]
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Folder, column};

const HEADER: &str = "gfx,cu_num,M,N,K,kernelName,splitK,us,is_latest_winner\n";
#[cfg(feature = "train")]
const PAIRS: [[u32; 2]; 6] =
    [[512, 1024], [1024, 512], [2048, 2048], [4096, 1024], [1536, 7168], [7168, 2048]];

/// Kernels of tiles, waves and pipelines.
fn pool() -> Vec<String> {
    let tiles = ["16x64x128", "64x64x128", "128x128x128", "256x128x64", "32x128x128"];
    let name = |tile: &str, pipeline: &str| {
        format!(
            "gemm_universal_fp8_rcr_{pipeline}_cshuffle_intrawave_False_False_False_False_{tile}_1x4x1_16x16x32"
        )
    };
    tiles.iter().flat_map(|tile| ["compv3", "compv4"].map(|pipeline| name(tile, pipeline))).collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("pool.txt", pool().join("\n"));
    folder
}

/// The figures of each GPU.
fn judged(folder: &Folder, chooser: &str, table: &str) -> Vec<Value> {
    let line = format!("evaluate --model {chooser} --winners @{table} --pool @pool.txt");
    folder.json(&line)["gpus"].as_array().unwrap().clone()
}

/// The estimate's order for a shape on a GPU of gfx942.
fn estimated(folder: &Folder, units: u32, [m, n, k]: [u32; 3]) -> Vec<String> {
    folder.write("gpu.json", format!(r#"{{"based_on": "gfx942", "num_cus": {units}}}"#));
    let line = "rank --model estimate --arch @gpu.json --pool @pool.txt --format csv --problem";
    let text = folder.good(&format!("{line} M={m},N={n},K={k}"));
    column(&text, "kernel")
}

#[test]
fn places_are_counted_by_shape_and_by_pair_on_each_gpu() {
    let folder = folder();
    let mut table = HEADER.to_owned();
    // On 80 units, the estimate's first wins three shapes of one pair, its third one of another, where its
    // first was timed, too, and took a quarter longer. On 304 units its last wins.
    for m in [16, 64, 512] {
        let first = &estimated(&folder, 80, [m, 1024, 1024])[0];
        writeln!(table, "gfx942,80,{m},1024,1024,{first},0,10,1").unwrap();
    }
    let order = estimated(&folder, 80, [64, 2048, 512]);
    writeln!(table, "gfx942,80,64,2048,512,{},0,10,0", order[0]).unwrap();
    writeln!(table, "gfx942,80,64,2048,512,{},0,8,1", order[2]).unwrap();
    let order = estimated(&folder, 304, [64, 2048, 512]);
    writeln!(table, "gfx942,304,64,2048,512,{},0,8,1", order.last().unwrap()).unwrap();
    folder.write("table.csv", &table);
    let found = judged(&folder, "estimate --arch gfx942", "table.csv");
    let figure = |gpu: usize, name: &str| found[gpu][name].as_f64().unwrap();
    assert_eq!(
        found.iter().map(|gpu| gpu["gpu"].as_str().unwrap()).collect::<Vec<_>>(),
        ["gfx942/80", "gfx942/304"]
    );
    for (name, expected) in [
        ("shapes", 4.0),
        ("pairs", 2.0),
        ("kernels", 10.0),
        ("winner_top1", 0.75),
        ("winner_top1_by_pair", 0.5),
        ("winner_top3", 1.0),
        ("winner_first_hundredth", 0.75),
        ("winner_first_twentieth", 0.75),
        ("winner_first_tenth", 0.75),
        ("timed_efficiency", (3.0 + 0.8) / 4.0),
        ("timed_share", 1.0),
    ] {
        assert!((figure(0, name) - expected).abs() < 1e-12, "{name}: {}", figure(0, name));
    }
    assert_eq!((figure(1, "winner_top5"), figure(1, "timed_share")), (0.0, 0.0));
    assert!(found[1]["timed_efficiency"].is_null());
}

/// The number of a table's units that the file of `--arch` says was for all rows, whatever they recorded, and
/// a file that is based on an architecture was refused (07238670).
#[test]
fn rows_without_compute_units_have_those_of_the_gpus_file() {
    let folder = folder();
    let order = [80, 304].map(|units| estimated(&folder, units, [512, 2048, 2048]));
    let first = order.each_ref().map(|order| order[0].as_str());
    assert_ne!(first[0], first[1], "the estimate has to tell the GPUs apart");
    folder.write("n304.json", r#"{"num_cus": 304}"#);
    folder.write("mi300x.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    folder.write(
        "mixed.csv",
        format!("cu_num,M,N,K,kernel\n80,512,2048,2048,{}\n,512,2048,2048,{}\n", first[0], first[1]),
    );
    folder.write("plain.csv", format!("M,N,K,kernel\n512,2048,2048,{}\n", first[1]));
    for (table, gpus) in [("mixed.csv", &["gfx942/80", "gfx942/304"][..]), ("plain.csv", &["gfx942/304"])] {
        for arch in ["gfx942:@n304.json", "@mi300x.json"] {
            let found = judged(&folder, &format!("estimate --arch {arch}"), table);
            assert_eq!(found.iter().map(|gpu| gpu["gpu"].as_str().unwrap()).collect::<Vec<_>>(), gpus);
            assert!(found.iter().all(|gpu| gpu["winner_top1"] == 1.0), "{arch}: {found:?}");
        }
    }
}

/// Missing compute units were taken for those of the profile, of the GPU in the middle (07238670).
#[test]
fn compute_units_that_nothing_says_are_not_guessed() {
    let folder = folder();
    folder.write("plain.csv", format!("M,N,K,kernel\n64,2048,512,{}\n", pool()[0]));
    folder.write("tables.csv", format!("gfx,M,N,K,kernel\ngfx942,64,2048,512,{}\n", pool()[0]));
    folder.write("clock.json", r#"{"based_on": "gfx942", "max_clock_mhz": 2000}"#);
    let line = "--pool @pool.txt --winners";
    folder.refuses(&format!(
        "evaluate --model estimate {line} @plain.csv --arch gfx942
            2: plain.csv: rows are for a number of compute units, and gfx942's GPUs have different ones (80, 2
        evaluate --model estimate {line} @plain.csv --arch @clock.json
            2: give --arch a product such as MI300X, or a FILE with {{\"based_on\": \"gfx942\", \"num_cus\": 304}}
        evaluate --model estimate {line} @tables.csv
            2: tables.csv: rows are for a number of compute units, and gfx942's GPUs"
    ));
    #[cfg(feature = "train")]
    folder.refuses(&format!(
        "train --output @model {line} @plain.csv --arch gfx942
            2: plain.csv: rows are for a number of compute units"
    ));
    let judged = judged(&folder, "estimate --arch gfx950", "plain.csv");
    assert_eq!(judged[0]["gpu"], "gfx950");
}

/// `--where` and `--choose` were accepted and ignored (07238670).
#[test]
fn rows_are_those_that_were_asked_for() {
    let folder = Folder::new();
    let name = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
    folder.write("pool.txt", name);
    let rows = ["fp8", "int8", "int8"].iter().zip(1..);
    let rows = rows.map(|(dtype, n)| format!("304,128,{},1024,{dtype},{name}\n", 512 * n));
    folder.write("table.csv", "cu_num,M,N,K,q_dtype_w,kernel\n".to_owned() + &rows.collect::<String>());
    let line = "evaluate --model estimate --pool @pool.txt --winners @table.csv";
    for (wanted, shapes) in [("op=gemm_universal", 3), ("dtype=int8", 2), ("dtype=fp8", 1)] {
        assert_eq!(folder.json(&format!("{line} --where {wanted}"))["gpus"][0]["shapes"], shapes);
    }
    let (_, said) = folder.both(&format!("{line} --where dtype=fp8"));
    assert!(said.contains("left out: 2 of 3 shapes, which are not those of --where"), "{said}");
    folder.refuses(&format!(
        "{line} --where dtype=bf16
            1: the tables have no winner of what was asked for
        {line} --where op=fmha
            2: --where: found op=fmha, but the kernels of --pool are of gemm_universal
        {line} --where direction=forward
            2: --where: found direction=forward, but rows are of gemm_universal
        {line} --where run_id=1
            2: --where: found run_id, which --winners does not have"
    ));
    #[cfg(feature = "train")]
    {
        let line = "train --output @model --arch gfx942 --pool @pool.txt --winners @table.csv";
        folder.refuses(&format!(
            "{line} --where dtype=bf16
                1: the tables have no shape of what was asked for
            {line} --choose split_k
                2: --choose: splits are not learned from --winners: what was tried is hardly ever right more often
            {line} --objective log1p
                2: --winners: found --objective log1p, expected listwise or lambdarank"
        ));
    }
}

/// How often a choice of the split is right could not be asked (--choose was refused).
#[test]
fn the_choice_of_a_split_is_judged_beside_none() {
    let folder = folder();
    folder.write("gpu.json", r#"{"based_on": "gfx942", "num_cus": 80}"#);
    let mut table = HEADER.to_owned();
    // The estimate splits both shapes; one winner is its pair, the other its first kernel, whole.
    for (n, is_split) in [(512, true), (1024, false)] {
        let rank = format!(
            "rank --model estimate --arch @gpu.json --pool @pool.txt --format csv --problem M=16,N={n},K=16384"
        );
        let pairs = folder.good(&format!("{rank},split_k=auto --splits 1,2,4,8"));
        let (kernels, parts) = (column(&pairs, "kernel"), column(&pairs, "split_k"));
        assert_ne!(parts[0], "1");
        let whole = &column(&folder.good(&rank), "kernel")[0];
        let (winner, split) = if is_split { (&kernels[0], &*parts[0]) } else { (whole, "1") };
        for (parts, exponent) in [("1", 0), ("2", 1), ("4", 2), ("8", 3)] {
            let (wins, us) = (u8::from(parts == split), if parts == split { 9 } else { 10 });
            writeln!(table, "gfx942,80,16,{n},16384,{winner},{exponent},{us},{wins}").unwrap();
        }
    }
    folder.write("table.csv", &table);
    let judge = "evaluate --model estimate --winners @table.csv --pool @pool.txt";
    let found = &folder.json(&format!("{judge} --choose split_k"))["gpus"][0];
    for figure in ["split_right", "split_never", "kernel_and_split", "kernel_never_split"] {
        let by_pair = format!("{figure}_by_pair");
        assert_eq!([&found[figure], &found[&by_pair]], [0.5; 2], "{figure}: {found}");
    }
    assert_eq!(folder.json(judge)["gpus"][0]["split_right"], Value::Null);
}

/// `--pool FAMILY` asked for `--arch`, though tables say it (4dc647f8).
#[test]
fn the_pool_of_a_family_is_that_of_each_rows_architecture() {
    let folder = folder();
    let mut table = HEADER.to_owned();
    let counts = [("gfx942", 304), ("gfx950", 256)].map(|(arch, units)| {
        let names = folder.good(&format!("enumerate a8w8_blockscale --arch {arch}"));
        let first = names.lines().next().unwrap();
        writeln!(table, "{arch},{units},64,2048,512,{first},0,8,1").unwrap();
        names.lines().count() as f64
    });
    folder.write("table.csv", &table);
    let found = folder.json("evaluate --model estimate --winners @table.csv --pool a8w8_blockscale");
    let found = found["gpus"].as_array().unwrap();
    let kernels = [0, 1].map(|gpu: usize| found[gpu]["kernels"].as_f64().unwrap());
    assert_eq!((found.len(), kernels), (2, counts));
    assert!(counts[0] < counts[1]);
}

/// Shapes that another library won were left out without a word (07238670).
#[test]
fn shapes_that_another_library_won_are_counted() {
    let folder = folder();
    let row = |m: u32, mark: u32| format!("gfx942,80,{m},64,128,{},0,9,{mark}\n", pool()[0]);
    folder.write("table.csv", HEADER.to_owned() + &[row(1, 0), row(2, 1), row(3, 0)].concat());
    let (_, said) = folder.both("evaluate --model estimate --winners @table.csv --pool @pool.txt");
    assert!(said.contains("left out: 2 of 3 shapes: none of their rows is marked as the winner"), "{said}");
}

#[test]
fn a_pool_that_lacks_the_winner_is_an_error_with_its_line() {
    let folder = folder();
    let other = pool()[0].replace("16x64x128", "32x64x64");
    let rows = format!("gfx942,80,1,64,64,{},0,9,1\ngfx942,80,2,64,64,{other},0,9,1\n", pool()[0]);
    folder.write("table.csv", HEADER.to_owned() + &rows);
    let line = "evaluate --model estimate --arch gfx942 --winners @table.csv";
    folder.refuses(&format!(
        "{line} --pool @pool.txt
            1: table.csv: line 3: '{other}' won, but it is none of the pool's 10
        {line}
            2: --winners needs --pool"
    ));
}

/// Winners that no estimate knows: by rows alone, and the other pipeline on the larger GPU.
#[cfg(feature = "train")]
fn tuned(rows: &[u32]) -> String {
    let mut table = HEADER.to_owned();
    for (units, pipeline) in [(80, "compv3"), (304, "compv4")] {
        for [n, k] in PAIRS {
            for &m in rows {
                let tile = if m <= 100 { "_64x64x128" } else { "_256x128x64" };
                let all = pool();
                let won = all.iter().find(|name| name.contains(tile) && name.contains(pipeline)).unwrap();
                let second = all.iter().find(|name| name.contains(tile) && !name.contains(pipeline)).unwrap();
                writeln!(table, "gfx942,{units},{m},{n},{k},{won},0,10,1").unwrap();
                writeln!(table, "gfx942,{units},{m},{n},{k},{second},0,11,0").unwrap();
            }
        }
    }
    table
}

#[cfg(feature = "train")]
#[test]
fn a_model_learns_who_wins_on_pairs_and_gpus_of_one_architecture() {
    let folder = folder();
    folder.write("table.csv", tuned(&[1, 16, 48, 96, 128, 300, 1000, 4000]));
    let train = "train --winners @table.csv --pool @pool.txt --output @model";
    let text = folder
        .good(&format!("{train} --arch gfx942 --params n_estimators=200 min_child_samples=5 --format csv"));
    let cross = text.lines().find(|line| line.starts_with("winner_top1,")).unwrap();
    let cross: Vec<f64> = cross.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
    assert!(cross.len() == 2 && cross.iter().all(|&share| share > 0.9), "{text}");
    // Other rows of the same pairs, on both GPUs with one model.
    folder.write("other.csv", tuned(&[8, 40, 600]));
    let judged = judged(&folder, "@model", "other.csv");
    assert!(judged.len() == 2 && judged.iter().all(|gpu| gpu["winner_top1"] == 1.0), "{judged:?}");
    let card = folder.read("model/MODEL_CARD.md");
    assert!(card.contains("which kernel of a pool won") && card.contains("no pair of N and K"), "{card}");
    let spec = folder.read_json("model/feature_spec.json");
    // Each GPU of the architecture has its own constants.
    assert!(spec["hardware"].is_null() && spec["arch"] == "gfx942", "{spec}");
    assert!(spec["ck_select"]["library"].is_null(), "kernels of CK's own names: {spec}");
    // An operation that the pool is not of was passed over (ffe9ea3a).
    folder.refuses(&format!(
        "{train}
            2: --winners needs --arch
        {train} --arch gfx942 --where op=grouped_conv
            2: --where: found op=grouped_conv, but the kernels of --pool are of gemm_universal"
    ));
}

/// The file of `--arch` only gave its architecture: rows were of the profile's GPU (07238670).
#[cfg(feature = "train")]
#[test]
fn a_model_learns_rows_without_compute_units_as_of_the_gpus_file() {
    let folder = folder();
    folder.write("mi300x.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    let of_304: String = tuned(&[1, 96, 300])
        .lines()
        .filter(|line| !line.contains(",80,"))
        .fold(String::new(), |text, line| text + line + "\n");
    folder.write("recorded.csv", &of_304);
    folder.write("silent.csv", of_304.replace("gfx,cu_num,", "gfx,").replace("gfx942,304,", "gfx942,"));
    let forest = |table: &str, arch: &str| {
        let files = format!("--winners @{table}.csv --pool @pool.txt --output @{table}");
        folder.good(&format!("train {files} --arch {arch} --params n_estimators=5"));
        std::fs::read(folder.path(&format!("{table}/model_relative.lgbm.gz"))).unwrap()
    };
    assert!(forest("recorded", "gfx942") == forest("silent", "@mi300x.json"));
}

/// An empty table was all that was printed (07238670).
#[cfg(feature = "train")]
#[test]
fn a_model_without_cross_validation_says_so() {
    let folder = folder();
    let train =
        "train --winners @table.csv --pool @pool.txt --arch gfx942 --params n_estimators=5 --overwrite";
    let said = |table: &str| {
        folder.write("table.csv", table);
        folder.both(&format!("{train} --output @model")).1
    };
    let all = tuned(&[1, 96, 300]);
    let pair = all.lines().filter(|line| !line.starts_with("gfx942") || line.contains(",512,1024,"));
    let pair: String = pair.flat_map(|line| [line, "\n"]).collect();
    let why = "no winner was held out, so there are no figures: these need marked winners, and two groups of \
               shapes (group_by=pair)";
    for table in [pair, all.replace(",1\n", ",0\n")] {
        assert!(said(&table).contains(why), "{}", said(&table));
    }
    assert!(!said(&all).contains("held out"));
}

/// Winners were taken for GEMMs', whatever the pool was of (ffe9ea3a).
#[cfg(feature = "train")]
#[test]
fn a_model_learns_winners_among_convolutions() {
    let folder = folder();
    let name = |tile: &str| format!("grouped_conv_forward_bf16_2d_{tile}_compv3_intrawave");
    let tiles = ["16x64x64", "64x64x64", "128x128x64"].map(name);
    folder.write("conv.txt", tiles.join("\n"));
    let mut table = "arch,N,C,K,Hi,Wi,Y,X,kernelName,us\n".to_owned();
    for channels in [32, 64, 128, 256, 512] {
        for (batch, tile) in [(1, 0), (8, 1), (64, 2), (256, 2)] {
            writeln!(table, "gfx950,{batch},{channels},64,28,28,1,1,{},10", tiles[tile]).unwrap();
        }
    }
    folder.write("conv.csv", table);
    folder.good(
        "train --winners @conv.csv --pool @conv.txt --output @model --arch gfx950 --params n_estimators=20",
    );
    assert_eq!(folder.read_json("model/feature_spec.json")["op_type"], "grouped_conv");
    let judged = folder
        .good("evaluate --winners @conv.csv --pool @conv.txt --model @model --arch gfx950 --format json");
    let judged: serde_json::Value = serde_json::from_str(&judged).unwrap();
    assert!(judged["gpus"][0]["winner_top1"].as_f64().unwrap() > 0.5, "{judged}");
}

/// A model of winners among convolutions of one direction answered for the others, too (ffe9ea3a).
#[cfg(feature = "train")]
#[test]
fn a_model_of_winners_is_for_their_direction() {
    let folder = folder();
    let name =
        |direction: &str, tile: &str| format!("grouped_conv_{direction}_bf16_2d_{tile}_compv3_intrawave");
    let tiles = |direction: &str| ["16x64x64", "64x64x64"].map(|tile| name(direction, tile));
    folder.write("weight.txt", tiles("bwd_weight").join("\n"));
    folder.write("all.txt", [tiles("bwd_weight"), tiles("bwd_data")].concat().join("\n"));
    let mut table = "arch,N,C,K,Hi,Wi,Y,X,direction,kernelName,us\n".to_owned();
    let mut add = |direction: &str| {
        for (channels, batch) in [(32, 1), (64, 2), (128, 4), (256, 8), (512, 16)] {
            let winner = &tiles(direction)[usize::from(batch > 2)];
            writeln!(table, "gfx950,{batch},{channels},64,28,28,1,1,{direction},{winner},10").unwrap();
        }
        table.clone()
    };
    folder.write("weight.csv", add("bwd_weight"));
    folder.write("all.csv", add("bwd_data"));
    for (of, variant) in [("weight", serde_json::json!("bwd_weight")), ("all", Value::Null)] {
        let files = format!("--winners @{of}.csv --pool @{of}.txt --output @{of}");
        folder.good(&format!("train {files} --arch gfx950 --params n_estimators=20"));
        assert_eq!(folder.read_json(&format!("{of}/feature_spec.json"))["variant"], variant);
    }
    folder.refuses(
        "rank --model @weight --pool @all.txt --problem C=64,K=64,Hi=28,Wi=28,Y=1,X=1,direction=bwd_data
            1: direction",
    );
}

/// int8 and fp8 of one of AITER's names were one problem, so that a shape had two winners in one list, and
/// nothing said that the model is for AITER's kernels (723ad420).
#[cfg(feature = "train")]
#[test]
fn a_model_of_aiters_kernels_tells_their_types_apart() {
    let folder = folder();
    let name = |tile: &str| format!("a8w8_rowwise_{tile}_8x8x1_1x1_intrawave_v3");
    let names = [
        "256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8",
        "256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8",
    ];
    let names = names.map(name);
    folder.write("aiter.txt", names.join("\n"));
    let mut table = HEADER.replace("kernelName", "q_dtype_w,kernelName");
    for [n, k] in PAIRS {
        for m in [64, 256, 512, 1024, 2048, 4096] {
            for (dtype, won, most) in
                [("torch.float8_e4m3fnuz", &names[0], 4096), ("torch.int8", &names[1], 512)]
            {
                if m <= most {
                    writeln!(table, "gfx942,304,{m},{n},{k},{dtype},{won},0,10,1").unwrap();
                }
            }
        }
    }
    folder.write("aiter.csv", table);
    let text = folder.good(
        "train --winners @aiter.csv --pool @aiter.txt --arch gfx942 --output @model --params n_estimators=5 \
         --format csv",
    );
    assert!(text.lines().any(|line| line == "shapes,54"), "{text}");
    let spec = folder.read_json("model/feature_spec.json");
    assert!(spec["dtype"].is_null() && spec["ck_select"]["library"] == "aiter", "{spec}");
    assert_eq!(spec["ck_select"]["trained_range"]["integers"], serde_json::json!([0.0, 1.0]), "{spec}");
    assert_eq!(folder.json("inspect --model @model")["library"], "aiter");
}

/// A model of winners of one type refused the very kernels that it had learned, since a name of AITER's says
/// fp8, and one of a shuffled B called every problem untrained (07238670).
#[cfg(feature = "train")]
#[test]
fn a_model_ranks_the_kernels_whose_winners_it_learned() {
    let folder = folder();
    let plain = [
        "256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8",
        "256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8",
    ]
    .map(|tile| format!("a8w8_rowwise_{tile}_8x8x1_1x1_intrawave_v3"));
    let shuffled = ["128", "64"].map(|n| {
        format!("a8w8_bpreshuffle_256x128x{n}x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8x8x1_2x1_intrawave_v3")
    });
    for (name, kernels, dtype) in [("plain", plain, "int8"), ("shuffled", shuffled, "fp8")] {
        folder.write(&format!("{name}.txt"), kernels.join("\n"));
        let mut table = HEADER.replace("kernelName", "q_dtype_w,kernelName");
        for [n, k] in PAIRS {
            for m in [64, 256, 1024, 4096] {
                let won = &kernels[usize::from(m < 512)];
                writeln!(table, "gfx942,304,{m},{n},{k},{dtype},{won},0,10,1").unwrap();
            }
        }
        folder.write(&format!("{name}.csv"), table);
        let of = format!("--winners @{name}.csv --pool @{name}.txt");
        folder.good(&format!(
            "train {of} --arch gfx942 --output @{name} --targets tflops \
             --params n_estimators=50 tflops.min_child_samples=1"
        ));
        // That the figures are of what it learned from was said of --data alone.
        let (_, said) = folder.both(&format!("evaluate --model @{name} {of}"));
        assert!(said.contains(&format!("{name}.csv: the model was trained on this file")), "{said}");
        // Times of winners say how fast a winner is: this one takes 10 microseconds.
        let problem = format!("--problem M=4096,N=4096,K=1024,dtype={dtype} --format csv");
        let ranked = folder.good(&format!("rank --model @{name} --pool @{name}.txt {problem} --top 1"));
        let found: f64 = column(&ranked, "tflops")[0].parse().unwrap();
        assert!((found / (2.0 * 4096.0 * 4096.0 * 1024.0 / 10.0 / 1e6) - 1.0).abs() < 0.3, "{ranked}");
        let trained = &folder.read_json(&format!("{name}/feature_spec.json"))["ck_select"]["trained_on"];
        let order = i32::from(name == "shuffled");
        assert_eq!(trained["numbers"]["preshuffle"], serde_json::json!([order, order]));
    }
    // A line without a type is fp8, whatever the model learned; it was silently taken for int8.
    let line = |dtype: &str| {
        format!(
            "[aiter] shape is M:64, N:512, K:1024, {dtype}not found tuned config in /tmp/a8w8_tuned_gemm.csv\n"
        )
    };
    folder.write("silent.log", line(""));
    folder.write("int8.log", line("q_dtype_w:torch.int8, "));
    let rank = "rank --model @plain --pool @plain.txt --problems";
    folder.refuses(&format!(
        "{rank} @silent.log
            1: silent.log: no problem can be ranked: the model is for gemm_universal int8 aiter gfx942, not for this problem: dtype is fp8"
    ));
    assert_eq!(column(&folder.good(&format!("{rank} @int8.log --format csv")), "kernel").len(), 2);
    // Each kernel's own, wherever it stands in the pool.
    let names = folder.good("enumerate a8w8_rowwise --arch gfx942");
    folder.write("back.txt", names.lines().rev().collect::<Vec<_>>().join("\n"));
    folder.write("names.txt", &names);
    let [there, back] = ["names", "back"].map(|pool| {
        let asked = "--problem M=64,N=4096,K=1024,dtype=int8 --format csv";
        let ranked = folder.good(&format!("rank --model @plain --pool @{pool}.txt {asked}"));
        column(&ranked, "kernel").into_iter().zip(column(&ranked, "tflops")).collect::<BTreeMap<_, _>>()
    });
    assert_eq!(there, back);
    assert!(there.values().collect::<BTreeSet<_>>().len() > 1, "{there:?}");
    folder.refuses(
        "rank --model @plain --pool @plain.txt --problem M=64,N=512,K=1024,dtype=fp8
            1: dtype is fp8, the model is for int8",
    );
}
