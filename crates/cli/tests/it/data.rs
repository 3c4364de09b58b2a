//! `ckselect convert` and `shapes` as a user meets them.

use std::fs;

use crate::common::{Folder, good, refuses, root};

const HEADER: &str =
    "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero";
const ROW: &str = "grouped_conv_forward_bf16_2d_16x64x64_compv3,0,16,256,128,1,28,28,3,3,1,1,1,1";

fn sweep() -> Folder {
    let folder = Folder::inside();
    folder.write("a.csv", format!("{HEADER}\n{ROW},0.02,300,1\n{ROW},torn\n{ROW},N/A,0,0\n"));
    folder
}

#[test]
fn convert_counts_locates_and_lists() {
    let folder = sweep();
    let (out, err) =
        folder.both("convert a.csv -o out/a.parquet --arch gfx950 --rejects bad.csv --format csv");
    assert_eq!(out, "file,rows,invalid,other,rejected\na.csv,2,1,0,1\n");
    assert_eq!(err, "ckselect: a.csv: line 3: found 15 cells, expected 17 as in the header\n");
    let rejects = "file,place,reason\na.csv,line 3,\"found 15 cells, expected 17 as in the header\"\n";
    assert_eq!(folder.read("bad.csv"), rejects);
    folder.good("convert out -o back.csv");
    let back = folder.read("back.csv");
    assert_eq!(back.lines().count(), 3);
    assert!(back.ends_with("1,1,1,N/A,0.0,0\n"), "{back}");
}

#[test]
fn strict_writes_nothing() {
    let folder = sweep();
    let error = folder.bad("convert a.csv -o a.parquet --arch gfx950 --strict", 1);
    assert!(error.contains("a.csv: line 3") && error.contains("a.parquet is not written"), "{error}");
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 1);
    folder.refuses(
        "convert a.csv -o a.parquet
            1: give it with --arch
        convert a.csv -o a.parquet --arch mi355
            2: gfx9xx
        convert none.csv -o a.parquet --arch gfx950
            1: none.csv",
    );
}

#[test]
fn a_table_without_rows_is_an_error() {
    let folder = sweep();
    folder.write("notes.txt", "nothing was measured\n");
    folder.write("torn.csv", format!("{HEADER}\n{ROW},torn\n"));
    let other = "2 rows of another operation, direction, type or architecture and 1 rejected places";
    folder.refuses(&format!(
        "convert notes.txt --arch gfx950 -o a.parquet
            1: ckselect: no row to convert: notes.txt: found no measurement
        convert a.csv --arch gfx950 --where dtype=fp16 -o a.parquet
            1: ckselect: no row to convert: a.csv: found {other}
        convert notes.txt torn.csv --arch gfx950 -o a.parquet
            1: found no measurement; torn.csv: found 1 rejected places"
    ));
    assert!(!folder.path("a.parquet").exists());
}

#[test]
fn misspelt_columns_and_impossible_figures_are_refused() {
    let folder = Folder::inside();
    folder.write("header.csv", format!("{}\n{ROW},0.02,300,1\n", HEADER.replace("stride_h", "Stride_h")));
    folder.write("semicolons.csv", HEADER.replace(',', ";") + "\n1;2\n");
    folder.write("empty.csv", format!("{HEADER}\n"));
    folder.refuses(
        "convert header.csv -o a.parquet --arch gfx950
            1: header.csv: header: unknown column 'Stride_h', expected stride_h
        evaluate --model header.csv --data header.csv
            1: header.csv: header: unknown column 'Stride_h', expected stride_h
        dev features --engine conv97 --data header.csv
            1: header.csv: header: unknown column 'Stride_h', expected stride_h
        convert semicolons.csv -o a.parquet --arch gfx950
            1: the columns are separated by ';', expected ','
        convert empty.csv -o a.parquet --arch gfx950
            1: empty.csv: found no row below the header",
    );

    // What no device does.
    folder.write("odd.csv", format!("{HEADER},remark\n{ROW},0.02,300,1,x\n{ROW},0.02,255704,1,x\n"));
    let (out, error) = folder.both("convert odd.csv -o a.parquet --arch gfx950 --format csv");
    assert_eq!(out, "file,rows,invalid,other,rejected\nodd.csv,1,0,0,1\n");
    for message in ["line 3: tflops: found 255704, expected at most", "odd.csv: ignored columns: remark"] {
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn shapes_are_problems_that_rank_reads() {
    let folder = Folder::inside();
    let list = folder.good("shapes --list");
    let sizes: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    for set in [["wide", "706"], ["edge", "546"], ["benchmark", "25"], ["sweep", "3167"], ["holdout", "300"]]
    {
        assert!(sizes.iter().any(|found| *found == set), "{list}");
    }
    folder.good("shapes --set resnet50 --set vit-patch --params batches=4 --output nets.csv");
    let count = folder.read("nets.csv").lines().count();
    let model = "--model tests/golden/models/conv_small --pool configs/forward_bf16.txt";
    let nets = folder.located("@nets.csv");
    let ranked = good(&format!("rank {model} --problems {nets} --top 1 --format csv"));
    assert_eq!(ranked.lines().count(), count);
    assert!(count > 20);
}

#[test]
fn drawn_sets_are_seeded() {
    let folder = Folder::inside();
    for set in ["holdout", "holdout-odd", "holdout-gemm", "holdout-fmha"] {
        let drawn = |seed: u32| folder.good(&format!("shapes --set {set} --params seed={seed}"));
        assert_eq!((drawn(1), drawn(1).lines().count()), (drawn(1), 301));
        assert_ne!(drawn(1), drawn(2), "{set}");
    }
    // No attention has this type.
    folder.refuses(
        "shapes --set holdout-fmha --dtype int8
            1: no problem is left",
    );
    folder.good("shapes --set benchmark --count 5 --output five.json");
    let value = folder.read_json("five.json");
    assert_eq!(value.as_array().unwrap().len(), 5);
    assert_eq!((&value[0]["m"], &value[0]["dtype"]), (&64.into(), &"fp8".into()));
}

/// Upstream's words for its problem sets were unknown (31b4e849).
#[test]
fn upstreams_names_of_problem_sets_are_known() {
    let folder = Folder::inside();
    let listed = folder.good("shapes --list");
    for (name, line) in [
        ("forward_2d", "--set synthetic"),
        ("bwd_data_3d", "--set synthetic --direction bwd_data --params ndim=3"),
        ("validation_holdout", "--set holdout --params ndim=3"),
        ("bwd_weight_test_validation", "--set holdout --direction bwd_weight --params ndim=3"),
    ] {
        let ours = folder.good(&format!("shapes {line}"));
        let (theirs, said) = folder.both(&format!("shapes --set {name}"));
        assert_eq!(theirs, ours, "{name}");
        assert!(said.contains(&format!("{name}: upstream's own problems are not included")), "{said}");
        assert!(listed.contains(name));
    }
    folder.refuses(
        "shapes --set bwd_data_2d --direction forward
            2: --set bwd_data_2d says direction and dimensions
        shapes --set forward2d
            2: did you mean 'forward_2d'?",
    );
}

/// Fewer problems than were asked for came without a word.
#[test]
fn a_count_is_reached_or_the_shortage_is_reported() {
    let folder = Folder::inside();
    let count = |line: &str| {
        let (out, said) = folder.both(line);
        (out.lines().count() - 1, said)
    };
    assert_eq!(count("shapes --set wide --count 500"), (500, String::new()));
    let (found, said) = count("shapes --set resnet50 --params batches=1 --count 500");
    let reason = format!("--count 500: the sets have only {found} problems, all of which are taken");
    assert!(found < 500 && said.contains(&reason), "{said}");
}

/// Rows of two runs in one table; the option was only known to `convert`, which writes the column (31b4e849).
#[test]
fn a_run_is_chosen_where_measurements_are_read() {
    let folder = Folder::inside();
    let row = |kernel: &str, tflops: u32, run: &str| {
        let cells = ROW.split_once(',').unwrap().1;
        format!("grouped_conv_forward_bf16_2d_{kernel}_compv3,{cells},0.02,{tflops},1,{run}\n")
    };
    let text = format!("{HEADER},run_id\n{}", row("16x64x64", 300, "7") + &row("64x64x64", 200, "8"));
    folder.write("a.csv", text);
    let line = "evaluate --model estimate --arch gfx950 --data a.csv --format json --where";
    for (run, kernel) in [("7", "16x64x64"), ("8", "64x64x64")] {
        let (out, said) = folder.both(&format!("{line} run_id={run}"));
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        let oracle = json["per_shape_efficiency"][0]["oracle_kernel"].as_str().unwrap();
        assert!(oracle.contains(kernel) && json["global_metrics"]["num_rows"] == 1, "{oracle}");
        assert!(said.contains("a.csv: left out: 1 rows are of other runs"), "{said}");
    }
    folder.refuses(&format!("{line} run_id=9\n1: 2 rows are of other runs"));
    folder.good("report a.csv --where run_id=7");
    // What a row of another run says does not count: operation and architecture once had to be given
    // because of it.
    let gemm = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128";
    let two = format!(
        "kernel,m,n,k,N,C,K,G,Hi,Wi,Y,X,latency_ms,tflops,arch,run_id\n\
         {gemm},16,1536,7168,,,,,,,,,0.04,8.8,gfx942,9\n\
         grouped_conv_forward_bf16_2d_64x64x64_compv3,,,,16,64,64,1,28,28,3,3,0.02,9,gfx950,8\n"
    );
    folder.write("two.csv", two);
    let line = "evaluate --model estimate --data two.csv --format json";
    folder.refuses(&format!("{line}\n2: is missing: two.csv has rows of"));
    let (out, said) = folder.both(&format!("{line} --where run_id=8"));
    assert!(out.contains("\"num_rows\": 1") && said.contains("1 rows are of other runs"), "{said}");
}

/// Both had to be said, even where every row says them (31b4e849).
#[test]
fn the_data_says_operation_and_architecture() {
    let folder = Folder::inside();
    let gemm = |arch: &str| {
        format!(
            "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_\
             16x16x128,16,1536,7168,0.04,8.8,{arch}\n"
        )
    };
    let header = "kernel,m,n,k,latency_ms,tflops,arch\n";
    folder.write("gemm.csv", header.to_owned() + &gemm("gfx950"));
    folder.write("two.csv", header.to_owned() + &gemm("gfx950") + &gemm("gfx942"));
    folder.write("conv.csv", format!("{HEADER}\n{ROW},0.02,300,1\n"));
    let said = "evaluate --model estimate --where op=gemm_universal --arch gfx950 --data gemm.csv";
    assert_eq!(folder.good("evaluate --model estimate --data gemm.csv"), folder.good(said));
    folder.good("evaluate --against estimate --model estimate --data gemm.csv");
    let model = root().join("tests/golden/models/gemm_small").display().to_string();
    folder.refuses(&format!(
        "evaluate --model {model} --where direction=forward --data gemm.csv
            2: --where: found direction=forward, but rows are of gemm_universal
        evaluate --model estimate --data two.csv
            2: --arch is missing: two.csv has rows of gfx950 and of gfx942
        evaluate --model estimate --arch gfx950 --data gemm.csv conv.csv
            2: --where op= is missing: gemm.csv has rows of gemm_universal, conv.csv of grouped_conv
        evaluate --model estimate --data conv.csv
            2: the estimate needs a GPU: give --arch"
    ));
}

/// What a sweep was measured on stands in its sidecar, which only `convert` passed on: `report` did not refuse
/// another architecture, and the others asked for `--arch`.
#[test]
fn rows_that_record_no_architecture_have_the_sidecars() {
    let folder = Folder::inside();
    folder.write("sweep.csv", crate::common::sweep(12, "forward", "bf16"));
    let meta =
        r#"{"sessions": [{"rows": 72, "gpus": {"0": {"name": "MI355X", "target": "gfx950:sramecc+"}}}]}"#;
    folder.write("sweep.csv.meta.json", meta);
    let same = |line: &str| {
        assert_eq!(folder.good(line), folder.good(&format!("{line} --arch gfx950")), "{line}");
    };
    same("evaluate --model estimate --data sweep.csv --format csv");
    same("evaluate --model embedded:universal --data sweep.csv --format csv");
    same("report sweep.csv --format csv");
    assert!(folder.good("report sweep.csv --format csv").contains("peak of bf16"));
    folder.good("convert sweep.csv --output table.parquet");
    fs::remove_file(folder.path("table.parquet.meta.json")).unwrap();
    same("evaluate --model estimate --data table.parquet --format csv");
    let other = "sweep.csv: measured on gfx950, according to its .meta.json, but its rows are taken for \
                 measurements of gfx942";
    folder.refuses(&format!(
        "evaluate --model estimate --data sweep.csv --arch gfx942
            1: {other}
        report sweep.csv --arch gfx942
            1: {other}
        convert sweep.csv --arch gfx942 --output other.csv
            1: {other}"
    ));
    #[cfg(feature = "train")]
    {
        folder.good("train --data sweep.csv --output model --params n_estimators=5");
        assert_eq!(folder.read_json("model/feature_spec.json")["arch"], "gfx950");
        folder.refuses(&format!("train --data sweep.csv --output other --arch gfx942\n1: {other}"));
    }
}

/// Options that would change nothing are mistakes.
#[test]
fn options_of_other_sets_are_refused() {
    refuses(
        "shapes --set wide --set resnet50
            2: one file has one
        shapes --set wide --direction forward
            2: --direction is for sets of convolutions
        shapes --set resnet50 --params ndim=3
            2: --params ndim is for sets of convolutions
        shapes --set holdout --params batches=3
            2: --params batches is for sets of networks' layers
        shapes --set wide --params seed=3
            2: --params seed is for drawn sets, such as holdout
        shapes --set wyde
            2: did you mean 'wide'? (one of: wide, edge",
    );
}
