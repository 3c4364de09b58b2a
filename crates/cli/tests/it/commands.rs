//! The binary as a user meets it: output, errors, exit codes.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::common::{
    Folder, MODEL_OF_GFX950 as SHIPPED, POOL as FORWARD, PROBLEM as RESNET, column, good, refuses, root,
};

const RANK: &str = "rank --model tests/golden/models/conv_small --pool configs/forward_bf16.txt";

#[test]
fn rank_says_the_same_in_every_format() {
    let asked = format!("{RANK} --problem '{RESNET}'");
    let csv = good(&format!("{asked} --format csv"));
    assert_eq!(
        csv.lines().next(),
        Some(
            "rank,kernel,time_us,slower,loss,score,tie,unmeasured,out_of_range,chance,sure_within_90,\
             sure_within_99"
        )
    );
    let (kernels, scores) = (column(&csv, "kernel"), column(&csv, "score"));
    assert_eq!((kernels.len(), &*kernels[0]), (30, "grouped_conv_forward_bf16_2d_128x128x64_compv5"));
    let json = Folder::new().json(&format!("{asked} --top 2"));
    assert_eq!(json.as_array().unwrap().len(), 2);
    // The score reads back to the same bits.
    assert_eq!(json[1]["score"].as_f64().unwrap().to_bits(), scores[1].parse::<f64>().unwrap().to_bits());
    let table = good(&format!("{asked} --top 1"));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("rank ") && lines[1].contains(&kernels[0]), "{table}");
    assert!(!lines[0].contains("score") && good(&format!("{asked} --scores")).contains(" score "), "{table}");
}

#[test]
fn rank_takes_many_problems_from_a_csv() {
    let folder = Folder::new();
    folder.write(
        "problems.csv",
        "problem_idx,N,C,K,Hi,Wi,Y,X\n7,16,256,128,28,28,3,3\n9,1.0,64,64,56,56,1,1\n",
    );
    let csv = folder.good(&format!("{RANK} --problems @problems.csv --top 1 --format csv"));
    assert_eq!(column(&csv, "problem"), ["7", "9"]);

    // A benchmark CSV holds each problem once for each kernel, and is a pool, too.
    let mut text = String::from("kernel,N,C,K,Hi,Wi,Y,X,latency_ms,tflops\n");
    for tile in ["32x64x64", "64x128x64"] {
        for batch in [1, 2] {
            writeln!(text, "grouped_conv_forward_bf16_2d_{tile}_compv3,{batch},64,64,28,28,1,1,0.1,1")
                .unwrap();
        }
    }
    folder.write("sweep.csv", text);
    let model = "--model tests/golden/models/conv_small";
    let csv = folder.good(&format!("rank {model} --pool @sweep.csv --problems @sweep.csv --format csv"));
    assert_eq!(csv.lines().count(), 1 + 2 * 2);

    folder.write("problems.csv", "N,C,K,Hi,Wi,Y,X\n16,256,128,28,28,3,3\n1,64,64,56,none,1,1\n");
    folder.refuses(&format!(
        "{RANK} --problems @problems.csv
            1: problems.csv: line 3: Wi: found 'none', expected a whole number"
    ));
}

#[test]
fn wrong_use_is_2_and_failure_is_1() {
    let model = "--model tests/golden/models/conv_small";
    refuses(&format!(
        "{RANK}
            2: <--problem <PAIRS>|--problems <FILE>>
        {RANK} --problem 'N=16,Q=1'
            2: --problem: grouped_conv problems have no field 'Q', expected one of: direction, variant
        {RANK} --problem '{RESNET},stride_h=0'
            2: --problem: stride_h: found 0, expected 1 to
        {RANK} --problem '{RESNET}' --top 0
            2: 0 is not in 1..
        {RANK} --problem '{RESNET}' --format xml
            2: expected one of: table, markdown, csv, json
        dev features --engine conv96 --data x.csv
            2: gemm55, gemm72
        rank --model no/model --pool x --problem '{RESNET}'
            1: no/model/feature_spec.json: No such file
        rank {model} --pool no.txt --problem '{RESNET}'
            1: no.txt
        {RANK} --problem '{RESNET},direction=bwd_data'
            1: none of the 30 kernels computes a 2D bwd_data"
    ));
}

#[test]
fn features_are_columns_and_absent_cells_errors_unless_allowed() {
    let folder = Folder::new();
    let packed = fs::File::open(root().join("tests/golden/features/conv97.csv.gz")).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    folder.write("in.csv", &text);
    let line = "dev features --engine conv97 --data @in.csv --output @out.csv";
    // Upstream's silent defaults are errors unless asked for, and a failed run leaves no file.
    let error = folder.bad(line, 1);
    assert!(error.contains("in.csv: line ") && error.contains(", expected "), "{error}");
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
    assert_eq!(folder.good(&format!("{line} --allow words")), "");
    let found = folder.read("out.csv");
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let first = header.iter().position(|name| name.starts_with("f:")).unwrap();
    assert_eq!(found.lines().next().unwrap().split(',').collect::<Vec<_>>(), header[first..]);
    let numbers = |line: &str, skipped: usize| -> Vec<f64> {
        line.split(',').skip(skipped).map(|cell| cell.parse().unwrap()).collect()
    };
    for (found, golden) in found.lines().zip(text.lines()).skip(1) {
        assert_eq!(numbers(found, 0), numbers(golden, first));
    }
    assert_eq!(found.lines().count(), text.lines().count());
}

#[test]
fn features_are_listed_with_their_meaning() {
    let table = good("dev features --engine conv_superset --list");
    assert_eq!(table.lines().count(), 114);
    let by_model = good("dev features --model tests/golden/models/gemm_small --list");
    assert_eq!(by_model.lines().count(), 73);
    let folder = Folder::new();
    assert_eq!(folder.good("dev features --engine conv_superset --list --output @features.csv"), "");
    let csv = folder.read("features.csv");
    assert!(csv.contains("tile_volume,kernel,volume of the tile\n"), "{csv}");
}

#[test]
fn the_choice_of_a_universal_model_is_explained() {
    let asked = format!("--pool configs/forward_bf16.txt --problem '{RESNET}' --format json");
    let json = |line: &str| serde_json::from_str::<Vec<Value>>(&good(line)).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let page = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
    let html =
        if cfg!(feature = "offline") { format!("--output {}", page.path().display()) } else { String::new() };
    for arch in ["gfx942", "sm_90"] {
        let ranked = json(&format!("rank --model embedded:universal --arch {arch} {asked}"));
        let rows = json(&format!("explain --model embedded:universal --arch {arch} {html} {asked}"));
        let names: Vec<_> = rows[..3].iter().map(|row| row["feature"].as_str().unwrap()).collect();
        assert_eq!(names, ["(score)", "(estimate)", "(raw score)"]);
        // The second is the best kernel of another score.
        let other = ranked.iter().find(|place| place["score"] != ranked[0]["score"]).unwrap();
        for (kernel, place) in [("first", &ranked[0]), ("second", other)] {
            let [score, estimate, raw] = [0, 1, 2].map(|row| number(&rows[row][kernel]));
            assert_eq!(score.to_bits(), number(&place["score"]).to_bits(), "{arch} {kernel}");
            assert_eq!(score.to_bits(), (raw + estimate).to_bits(), "{arch} {kernel}");
        }
        // The GPU may as well be the problem's.
        let named = asked.replace("pad_w=1", &format!("pad_w=1,arch={arch}"));
        assert_eq!(json(&format!("explain --model embedded:universal {named}")), rows);
        if cfg!(feature = "offline") {
            let text = fs::read_to_string(page.path()).unwrap();
            assert!(text.contains("the estimate") && !text.contains("Nothing:"), "{text}");
        }
    }
    // People see twelve features, or all.
    let table =
        format!("explain --model embedded:universal --arch gfx942 {}", asked.replace(" --format json", ""));
    let lines = |more: &str| good(&format!("{table} {more}")).lines().count();
    let all = json(&format!("explain --model embedded:universal --arch gfx942 {asked}")).len();
    assert_eq!((lines(""), lines("--all")), (1 + 5 + 12, 1 + all));
    let rank = &RANK[5..];
    refuses(&format!(
        "explain --model embedded:universal {asked}
            2: a universal model needs a GPU: give --arch (one of gfx
        explain {rank} --arch gfx942 --problem '{RESNET}'
            2: --arch: found gfx942, but the model is for gfx950"
    ));
}

#[test]
fn explain_adds_up_and_inspect_shows_what_is_inside() {
    let explain = format!("explain {} --problem '{RESNET}'", &RANK[5..]);
    let rows = Folder::new().json(&explain);
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), rows[0]["feature"].as_str()), (100, Some("(raw score)")));
    let part = |row: &Value| row["first"].as_f64().unwrap();
    // Bias, features, rounding: added in this order they are the score, bit for bit.
    let sum = rows[3..].iter().fold(part(&rows[1]), |sum, row| sum + part(row)) + part(&rows[2]);
    assert_eq!(sum.to_bits(), part(&rows[0]).to_bits());
    refuses(&format!("{explain} --first nothing\n2: --first: the pool has no kernel 'nothing'"));

    let inspect = "inspect --model tests/golden/models/gemm_small";
    let json = Folder::new().json(inspect);
    assert_eq!(json["targets"].as_array().unwrap().len(), 3);
    assert_eq!((&json["targets"][0]["trees"], &json["rules"]["uncoded"]), (&120.into(), &"error".into()));
    assert_eq!(json["features"].as_array().unwrap().len(), 72);
    let table = good(inspect);
    assert!(table.contains("rank_by") && table.contains("tile_eff_m"), "{table}");
    assert_eq!(good(&format!("{inspect} --format csv")).lines().count(), 73);
}

/// Whoever did not know the names was told them in an error.
#[test]
fn the_prefix_alone_lists_the_embedded_models() {
    let listed = column(&good("inspect --model embedded: --format csv"), "model");
    // The universal model was listed as one of convolutions alone.
    let table = good("inspect --model embedded: --format csv");
    assert!(table.contains("embedded:universal,\"grouped_conv, gemm_universal, moe\","), "{table}");
    let names = ck_select::embedded::all().iter().map(|model| format!("embedded:{}", model.name()));
    assert_eq!(listed, names.collect::<Vec<_>>());
}

#[test]
fn models_may_be_embedded() {
    let models = ck_select::embedded::all();
    for model in models {
        good(&format!("inspect --model embedded:{} --format json", model.name()));
    }
    let known: Vec<_> = models.iter().map(ck_select::directory::EmbeddedModel::name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    refuses(&format!(
        "inspect --model embedded:nothing
            1: no model 'nothing' is embedded in this library: it has {known}"
    ));
}

#[test]
fn a_packed_model_is_the_model() {
    let folder = Folder::new();
    folder.good(&format!("dev pack --model {SHIPPED} --output @deep/packed"));
    let files = fs::read_dir(folder.path("deep/packed")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let forests = ["model_relative.lgbm.packed", "model_tflops.lgbm.packed"];
    let papers = ["MODEL_CARD.md", "feature_spec.json", "sureness.json", "train_manifest.json"];
    assert_eq!(files, [&papers[..2], &forests, &papers[2..]].concat());
    let rank = |model: &str| {
        let asked = format!("--pool configs/forward_bf16.txt --format csv --problem '{RESNET}'");
        folder.good(&format!("rank --model {model} {asked}"))
    };
    assert_eq!(rank("@deep/packed"), rank(SHIPPED));
    folder.refuses(&format!("dev pack --model {SHIPPED} --output @deep/packed\n1: already exists"));
    // The packed model's text can be recovered.
    folder.good("dev pack --model @deep/packed --output @again");
    assert_eq!(rank("@again"), rank(SHIPPED));
}

#[test]
fn packed_forests_are_refused_with_their_reason() {
    let folder = Folder::new();
    folder.good(&format!("dev pack --model {SHIPPED} --output @packed"));
    let forest = "packed/model_tflops.lgbm.packed";
    let bytes = fs::read(folder.path(forest)).unwrap();
    let refused = |message: &str| folder.refuses(&format!("inspect --model @packed\n1: {message}"));
    folder.write(forest, &bytes[..bytes.len() - 1]);
    refused("model_tflops.lgbm.packed: ");
    folder.write(forest, [b"ck-select packed forest 3\n", &bytes[26..]].concat());
    refused("`ck-select packed forest 3`, expected `ck-select packed forest 2`");
    folder.write(forest, &bytes);
    folder.write("packed/model_tflops.lgbm", "tree");
    refused("model_tflops.lgbm.packed");
    refused("remove one of the two");
}

/// `rank` without a model took the universal one where a model was trained for the pool (98.81 instead of 99.78 %
/// on the MI355X's convolutions), and a registry that one.
#[test]
fn without_a_model_the_built_in_one_that_fits_ranks() {
    let folder = Folder::new();
    let rank = |options: &str| folder.good(&format!("rank --format csv {options}"));
    let (own, universal) = ("embedded:grouped_conv_forward_bf16_gfx950", "embedded:universal");
    let same = |model: &str, line: &str| {
        assert_eq!(rank(line), rank(&format!("{line} --model {model}")), "{line}");
    };
    let conv = format!("--pool {FORWARD} --problem {RESNET}");
    same(own, &format!("{conv} --arch gfx950"));
    same(own, &format!("{conv},arch=gfx950"));
    same(universal, &format!("{conv} --arch gfx942"));
    folder.write("problems.csv", "C,K,Hi,Wi,Y,X\n64,64,28,28,3,3\n128,64,14,14,1,1\n");
    same(own, &format!("--pool {FORWARD} --problems @problems.csv --arch gfx950"));
    // The built-in model was trained for bf16, so other types are the universal model's.
    let fp16 = std::fs::read_to_string(root().join(FORWARD)).unwrap().replace("_bf16_", "_fp16_");
    folder.write("fp16.txt", fp16);
    same(universal, &format!("--pool @fp16.txt --problem {RESNET} --arch gfx950"));
    // AITER's kernels, by the family or by their names.
    folder.good("enumerate a8w8_rowwise --arch gfx942 --output @names.txt");
    for pool in ["a8w8_rowwise", "@names.txt"] {
        same("embedded:gemm_fp8_gfx942", &format!("--pool {pool} --problem M=64,N=1024,K=512 --arch gfx942"));
    }
}

/// Of kernels that compute something else, the first one's reason was given, which may be that of any other
/// problem.
#[test]
fn the_reason_is_that_of_the_closest_kernel() {
    let folder = Folder::new();
    folder.good("enumerate configs/fmha_fwd.json --params op=fmha --arch gfx950 --output @fmha.txt");
    let rank = "rank --model estimate --arch gfx950 --pool @fmha.txt --problem";
    folder.refuses(&format!(
        "{rank} seqlen_q=1,seqlen_k=8192,nhead_q=32,hdim_q=512\n1: : its heads are smaller"
    ));
}
