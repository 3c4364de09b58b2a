//! Universal models as a user meets them: trained on several devices, judged where they have seen nothing,
//! tuned.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;

use ck_select::forest::Forest;

use crate::common::{Folder, POOL, PROBLEM, Ran, column, kill, make_fakes, root, sweep, wait_for_lines};

const SMALL: &str = "--params problems_a_tree=2 min_child_samples=5";

fn folder() -> Folder {
    let folder = Folder::inside();
    folder.write("here.csv", sweep(30, "forward", "bf16"));
    folder.write("back.csv", sweep(20, "bwd_data", "bf16"));
    folder.good("convert back.csv --arch sm_90 --output back.parquet");
    folder
}

/// A folder with the model `any`, of two devices.
fn trained() -> Folder {
    let folder = folder();
    let line = "train --universal --data here.csv back.parquet --arch gfx950 --output any --folds device";
    let table = folder.good(&format!("{line} {SMALL} --format csv"));
    // Two devices, each left out once, and all together.
    assert!(column(&table, "target").iter().all(|target| target == "relative"), "{table}");
    assert_eq!(column(&table, "fold"), ["gfx950", "sm_90", "all"]);
    // Few problems get few trees, in folds, too.
    assert_eq!(column(&table, "trees"), ["10", "15", "25"]);
    let card = folder.read("any/MODEL_CARD.md");
    assert!(card.contains("Trained without each of gfx950, sm_90, and judged on it"), "{card}");
    // The held-out device has the same sizes.
    assert!(card.contains("no problem is on both sides. "), "{card}");
    folder
}

#[test]
fn a_model_of_two_devices_ranks_for_a_third() {
    let folder = trained();
    let pool = root().join(POOL).display().to_string();
    let rank = |device: &str| {
        folder.good(&format!("rank --model any --pool {pool} --problem {PROBLEM} --format csv {device}"))
    };
    let table = rank("--arch gfx950");
    let scores: Vec<f64> = column(&table, "score").iter().map(|score| score.parse().unwrap()).collect();
    assert!(scores.len() == 30 && scores.is_sorted_by(|a, b| a >= b), "{table}");
    assert_eq!(table, rank("--arch gfx950"));
    assert_ne!(table, rank("--arch sm_90"));
    let line = format!("rank --model any --pool {pool} --problem {PROBLEM}");
    folder.refuses(&format!(
        "{line}
            2: a universal model needs a GPU: give --arch (one of gfx
        {line} --arch gfx900
            2: no profile of gfx900"
    ));
    let judged = folder.good("evaluate --model any --arch gfx950 --data here.csv --format csv");
    assert!(judged.starts_with("figure,") && judged.contains("efficiency,30,"), "{judged}");
}

/// The name of a kernel of GEMMs.
fn gemm(pipeline: &str, tile: &str) -> String {
    format!(
        "gemm_universal_bf16_rcr_{pipeline}_default_intrawave_False_False_False_False_{tile}_2x2x1_32x32x16"
    )
}

/// To a universal model, a GEMM is a 1x1 convolution.
#[test]
fn a_model_of_convolutions_ranks_gemms() {
    let folder = trained();
    let names = ["64x64x64", "128x128x64", "256x128x64"].map(|tile| gemm("compv3", tile));
    folder.write("pool.txt", names.join("\n"));
    let mut rows = String::from("M,N,K,kernel,latency_ms,tflops,dtype,layout,arch\n");
    for (m, slow) in [(16, 2), (512, 1), (4096, 0)] {
        for (at, name) in names.iter().enumerate() {
            let time = if at == slow { 0.02 } else { 0.01 };
            let _ = writeln!(rows, "{m},512,512,{name},{time},{},bf16,rcr,sm_90", f64::from(m) * 5e-7 / time);
        }
    }
    folder.write("gemms.csv", rows);
    let problem = "--pool pool.txt --problem M=4096,N=4096,K=4096 --arch sm_90 --format csv";
    for model in ["", "--model any"] {
        let table = folder.good(&format!("rank {problem} {model}"));
        assert_eq!(column(&table, "kernel").len(), 3, "{table}");
        assert_ne!(column(&table, "kernel")[0], names[0]);
    }
    let evaluate = "evaluate --arch sm_90 --data gemms.csv --format csv";
    let judged = folder.good(&format!("{evaluate} --model any --where op=gemm_universal"));
    assert!(judged.contains("efficiency,3,"), "{judged}");
    assert_eq!(folder.good(&format!("{evaluate} --model any")), judged, "the rows say their operation");
    folder.refuses(&format!(
        "{evaluate} --model any --where op=fmha
            2: --where: found op=fmha, but the model is for grouped_conv"
    ));
    let against =
        "evaluate --against estimate --model any --where op=gemm_universal --arch sm_90 --data gemms.csv";
    folder.good(&format!("{against} --max-loss problem=1,mean=1,median=1,p10=1"));
    // Rows of both are trained on together, unless the operation is given.
    let train = |more: &str| {
        let line =
            "train --universal --arch gfx950 --data here.csv gemms.csv back.parquet --folds 3 --overwrite";
        folder.good(&format!("{line} {SMALL} --output both {more}"));
        folder.read("both/MODEL_CARD.md")
    };
    let alone = train("--where op=grouped_conv");
    assert!(alone.contains("| gemms.csv | 0 |") && alone.contains("; 50 problems, 12 kernels."), "{alone}");
    let both = train("");
    // The operation of both was that of GEMMs, whichever file came first (54254e31).
    assert!(folder.read("both/feature_spec.json").contains("\"op_type\": \"grouped_conv\""));
    assert!(both.contains("| gemms.csv | 9 |") && both.contains("; 53 problems, 15 kernels."), "{both}");
    for data in ["gemms.csv --arch sm_90", "here.csv --arch gfx950"] {
        folder.good(&format!("evaluate --model both --data {data}"));
    }
}

#[test]
fn gpus_of_one_architecture_are_several_devices() {
    let folder = folder();
    let rows = |units: &str| {
        let mut lines = sweep(20, "forward", "bf16")
            .lines()
            .map(|line| format!("{line},gfx942,{units}\n"))
            .collect::<Vec<_>>();
        lines[0] = lines[0].replace(&format!("gfx942,{units}"), "arch,hw_num_cus");
        lines.concat()
    };
    folder.write("a.csv", rows("228"));
    folder.write("x.csv", rows("304"));
    let line =
        format!("train --universal --data a.csv x.csv --output both --folds device {SMALL} --format csv");
    assert_eq!(column(&folder.good(&line), "fold"), ["gfx942 num_cus=228", "gfx942 num_cus=304", "all"]);
    folder.refuses(
        "evaluate --model estimate --arch gfx942 --data a.csv x.csv
            1: hw_num_cus is 304, 228 before",
    );
}

#[test]
fn data_that_cannot_be_is_named() {
    let folder = folder();
    folder.write("gpu.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    let train = format!("train --universal --output any {SMALL} --data");
    // What is only trained on is never judged.
    folder.refuses(&format!(
        "{train} here.csv
            1: its rows name no architecture; --arch says what such rows were measured on
        {train} here.csv --arch gfx900
            1: no profile of gfx900
        {train} here.csv --arch gfx950 --folds device
            1: --folds device: found only gfx950, expected data of at least two
        {train} back.parquet --folds none.csv
            1: --folds none.csv: found none.csv, expected device, direction, dtype, model or a file of --data
        {train} here.csv --arch gfx950 --objective relative
            2: cannot be used with
        {train} here.csv --arch gfx950:gpu.json
            1: based_on: found gfx942, expected gfx950 or nothing
        {train} back.parquet --arch gpu.json
            1: --arch: found a GPU of gfx942, but the rows are of
        {train} here.csv --arch gfx950 --extra-data back.parquet --folds back.parquet
            1: found no valid row in it that is not only trained on"
    ));
}

/// `evaluate` stated losses on GPUs of a kind on which no choice was judged.
#[test]
fn expected_losses_are_unknown_where_no_choice_was_judged() {
    let folder = folder();
    let evaluate = |options: &str| folder.good(&format!("evaluate --data here.csv {options}"));
    let unknown = "\nchoices of unknown expected loss,30,";
    for model in ["estimate", "embedded:universal"] {
        let judged = |arch: &str| evaluate(&format!("--model {model} --arch {arch} --format csv"));
        let (known, unseen) = (judged("gfx950"), judged("gfx942"));
        assert!(known.contains("\n\"expected loss, all\",30,") && !known.contains(unknown), "{known}");
        assert!(unseen.contains(unknown) && !unseen.contains("expected loss, all"), "{unseen}");
    }
    // On an MI355X only choices of convolutions were judged.
    let name =
        "gemm_universal_bf16_rcr_compv3_default_intrawave_True_True_True_False_128x128x64_2x2x1_32x32x16";
    folder.write("gemms.txt", format!("{name}\n{}\n", name.replace("128x128x64", "64x64x64")));
    for (arch, is_known) in [("gfx950", false), ("sm_90", true)] {
        let rank =
            "rank --model embedded:universal --pool gemms.txt --problem M=512,N=512,K=512 --format json";
        let said = folder.good(&format!("{rank} --arch {arch}"));
        let first = &serde_json::from_str::<serde_json::Value>(&said).unwrap()[0];
        assert_eq!(first["loss"].is_f64(), is_known, "{first}");
    }
    let text = evaluate("--model estimate --arch gfx942 --format json --output page.html");
    let global = &serde_json::from_str::<serde_json::Value>(&text).unwrap()["global_metrics"];
    assert_eq!(
        (&global["num_unknown_expected_losses"], global.get("expected_loss_mean")),
        (&30.into(), None)
    );
    assert!(folder.read("page.html").contains("The expected loss of 30 choices is unknown"));
}

/// Times by which a kernel that nothing predicts is a little faster than the model's favourite, and all
/// others are slow.
fn misleading(favourites: &str, sweep: &str) -> String {
    let favourite = |problem: &str| {
        let mut rows = favourites.lines().map(|row| row.split(',').collect::<Vec<_>>());
        rows.find(|row| row[0] == problem).unwrap()[2].to_owned()
    };
    let mut lines = sweep.lines();
    let mut text = format!("{}\n", lines.next().unwrap());
    let (mut chance, rows) = (7_u32, lines.map(|row| row.split(',').collect::<Vec<_>>()).collect::<Vec<_>>());
    for pool in rows.chunks(6) {
        let favourite = favourite(pool[0][1]);
        chance = chance.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let others: Vec<&str> = pool.iter().map(|row| row[0]).filter(|name| *name != favourite).collect();
        let other = others[(chance >> 16) as usize % others.len()];
        for row in pool {
            let time = if row[0] == favourite { 1.0 } else { 4.0 };
            let time = if row[0] == other { 0.97 } else { time };
            let _ = writeln!(text, "{},{time},{}", row[..12].join(","), 10.0 / time);
        }
    }
    text
}

#[test]
fn a_model_that_is_worse_on_held_out_problems_is_not_written() {
    let folder = trained();
    let plain = sweep(40, "forward", "bf16");
    folder.write("plain.csv", &plain);
    let names: Vec<&str> = plain.lines().skip(1).take(6).filter_map(|row| row.split(',').next()).collect();
    folder.write("pool.txt", names.join("\n"));
    let rank = "rank --model any --arch gfx950 --pool pool.txt --problems plain.csv --top 1 --format csv";
    folder.write("chance.csv", misleading(&folder.good(rank), &plain));
    let tune = "tune --arch gfx950 --model any --measure 40 --output mine";
    let ran = folder.run(&format!("{tune} --simulate chance.csv"));
    assert!(ran.stderr.contains("no model is written: on the 40 measured problems"), "{}", ran.stderr);
    assert!(!folder.path("mine").exists());
    folder.good(&format!("{tune} --simulate plain.csv"));
}

#[test]
fn a_model_goes_on_with_measurements() {
    let folder = trained();
    let line = "tune --arch gfx950 --model any --simulate here.csv --format csv";
    let table = folder.good(&format!("{line} --measure 12 --params draws=3"));
    folder.good(&format!("{line} --measure 12 --output mine"));
    assert_eq!(column(&table, "seed"), ["1", "2", "3", "median"]);
    assert_eq!(column(&table, "measured"), ["12"; 4]);
    // What was measured is not judged, and what is held out is.
    assert_eq!(column(&table, "problems"), ["18"; 4]);
    let mean = |table: &str| -> f64 { column(table, "mean").last().unwrap().parse().unwrap() };
    let without = folder.good("evaluate --model any --arch gfx950 --data here.csv --format csv");
    let before: f64 = without.lines().nth(1).unwrap().split(',').nth(2).unwrap().parse().unwrap();
    assert!(mean(&table) >= before, "{} after {before}", mean(&table));
    // The model is of this device and direction now.
    let judged = folder.good("evaluate --model mine --data here.csv --format csv");
    assert!(judged.contains("efficiency,30,"), "{judged}");
    // The model also asks for extents, of which a problem may be out of range.
    let text = folder.read("mine/feature_spec.json");
    assert!(text.contains("\"est_over_least\"") && text.contains("\"staged_ratio\""), "{text}");
    folder.refuses(
        "evaluate --model mine --data back.parquet
            1: no row to evaluate",
    );

    // On a GPU that the universal model has not seen, the estimate counts for more, but the less so the more
    // is measured.
    folder.good(&format!("train --universal --data back.parquet --output back --folds 1 {SMALL}"));
    let prior_of = |line: &str| -> f64 {
        folder.good(&format!("{line} --overwrite --output own"));
        folder.read_json("own/feature_spec.json")["ck_select"]["prior"].as_f64().unwrap()
    };
    let unseen = line.replace("--model any", "--model back");
    assert_eq!([15, 30].map(|count| prior_of(&format!("{unseen} --measure {count}"))), [15.0, 12.0]);
    assert_eq!(prior_of(&format!("{line} --measure 10")), 10.0);
    let card = folder.read("own/MODEL_CARD.md");
    assert!(card.contains("adapted to gfx950, and only for it"), "{card}");

    // The model inside the library is that of its directory, though the library has it packed.
    let forest = |model: &str| Forest::load(folder.path(model).join("model_relative.lgbm.gz")).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/universal");
    let from = "tune --arch gfx950 --simulate here.csv --measure 10 --output";
    folder.good(&format!("{from} of-library"));
    folder.good(&format!("{from} of-files --model {root}"));
    assert!(forest("of-library") == forest("of-files"));

    // Two GPUs of one architecture.
    for (file, gpu) in [("one.csv", "NVIDIA H100"), ("two.csv", "NVIDIA H200")] {
        folder.write(file, sweep(12, "forward", "bf16"));
        let meta = format!(
            r#"{{"sessions": [{{"rows": 72, "gpus": {{"0": {{"name": "{gpu}", "target": "sm_90"}}}}}}]}}"#
        );
        folder.write(&format!("{file}.meta.json"), meta);
    }
    folder.good("tune --arch sm_90 --model any --simulate one.csv");
    let several = line.replace("here.csv", "here.csv back.csv");
    folder.refuses(&format!(
        "tune --arch sm_90 --model any --simulate one.csv two.csv
            1: the data mixes GPUs: NVIDIA H100 (one.csv), NVIDIA H200 (two.csv); give the files of one
        {line} --output mine
            1: already exists
        {several}
            1: choose one with --where direction=
        {line} --params draws=3 --output fresh
            2: --params draws: found 3, expected 1 with --output
        {line} --measure 31
            2: --measure: found 31, expected at most 30
        tune --arch gfx950 --model none --simulate here.csv
            1: none: no such directory
        tune --arch gfx950 --model embedded:universl --simulate here.csv
            1: no model 'universl' is embedded in this library
        {line} --counts 5,10,5
            2: --counts: found '5' twice
        {line} --counts 5 --params ways=tuned,tuned
            2: --params ways: found 'tuned' twice
        {line} --counts 5,31
            2: --counts: found 31, expected at most 30
        {line} --counts --params ways=best
            2: --params ways: unknown method 'best', expected one of: tuned, alone, upstream"
    ));
    let params = "--params draws=1 --params ways=";
    let curve = folder.good(&format!("{line} --counts 0,10,all --params ways=tuned,alone draws=2"));
    assert_eq!(column(&curve, "way"), ["tuned", "tuned", "tuned", "alone", "alone"]);
    assert_eq!(column(&curve, "measured"), ["0", "10", "30", "10", "30"]);
    // From two of six kernels, or three if the estimate's first is not among them.
    let less = folder.good(&format!("{line} --measure 12 --first 2 --output less"));
    assert_eq!(column(&less, "problems"), ["18"]);
    let less = folder.read_json("less/feature_spec.json");
    let rows = less["ck_select"]["trained_on"]["files"][0]["rows"].as_u64().unwrap();
    assert!((12 * 2..=12 * 3).contains(&rows), "{less}");
    let parts = folder.good(&format!("{line} --counts 10,all {params}tuned,alone --first 2"));
    assert_eq!(column(&parts, "judged"), ["20", "30", "20", "30"]);
    let [five, each] = ["5", "1000"]
        .map(|folds| folder.good(&format!("{line} --counts all {params}upstream --params folds={folds}")));
    assert_eq!([column(&five, "judged"), column(&each, "judged")], [["30"], ["30"]]);
    assert_ne!(column(&five, "mean"), column(&each, "mean"));
    // Fewer than ten problems are not held out, so that there is no last point.
    let here = folder.read("here.csv");
    folder.write("few.csv", here.lines().take(1 + 8 * 6).collect::<Vec<_>>().join("\n"));
    let few = format!("{} {params}tuned --counts", line.replace("here.csv", "few.csv"));
    assert_eq!(column(&folder.good(&few), "measured"), ["0", "5"]);
    folder.refuses(&format!(
        "{few} all
            1: found 8 problems, all of which are measured, expected others or at least 10"
    ));
    let usual = folder.good(&format!("{line} {params}tuned --counts"));
    assert_eq!(column(&usual, "measured"), ["0", "5", "10", "20", "30"]);
}

/// The fake kernels of the sweep's own tests, on the host.
struct Measuring {
    folder: Folder,
    problems: Vec<String>,
}

const ATTENTION: &str =
    "fmha_fwd_fp16_batch_h128_qr_t16x32x16x128x16x128_w16x8x16_pad1111_mask=no_bias=no_bpc=-1";

const TUNE: &str =
    "tune --arch gfx950 --model any --pool pool.txt --problems problems.csv --runner runner.json";

impl Measuring {
    fn new(kernels: usize) -> Self {
        let folder = trained();
        let [place, pool] = ["", "pool.txt"].map(|name| folder.path(name).display().to_string());
        let folder = folder.with("CK_SELECT_LOCK_DIR", &place).with("FAKE_POOL", &pool);
        make_fakes(&folder);
        folder.write("pool.txt", crate::common::kernels()[..kernels].join("\n"));
        let row = |at: i32| format!("{},{},64,14,14,1,1", 1 + at, 64 + 8 * (at % 7));
        let problems: Vec<String> = (0..16).map(row).collect();
        folder.write("problems.csv", format!("N,C,K,Hi,Wi,Y,X\n{}\n", problems.join("\n")));
        Self { folder, problems }
    }

    fn tune_into(&self, work: &str, more: &str) -> (String, String) {
        let line = format!("{TUNE} --work {work} {more} --output mine --overwrite --format csv");
        let (table, said) = self.folder.both(&line);
        (column(&table, "measured").join(" "), said)
    }

    fn lines(&self, file: &str) -> usize {
        self.folder.read(file).lines().count() - 1
    }
}

#[test]
fn measuring_goes_on_where_it_was_stopped() {
    let fakes = Measuring::new(6);
    let folder = &fakes.folder;
    let tune = |more: &str| fakes.tune_into("work", more).0;
    // Too few to say what to expect are enough to learn from.
    let (few, said) = fakes.tune_into("few", "--measure 5");
    assert_eq!(few, "0");
    assert!(said.contains("found 5 measured problems, expected at least 10"), "{said}");
    assert_eq!(tune("--measure 10"), "0 10");
    let measured = |name: &str| fs::read(folder.path("work").join(name)).unwrap();
    let before = [measured("0000.csv"), measured("0001.csv")];
    assert_eq!(tune("--measure 15"), "0 15");
    assert_eq!(tune("--budget 1ms"), "0 15", "what was measured counts even if there is no time for more");
    assert_eq!([measured("0000.csv"), measured("0001.csv")], before, "what was measured stays");
    let third = String::from_utf8(measured("0002.csv")).unwrap();
    assert_eq!(third.lines().count(), 1 + 5 * 6);
    let card = folder.read("mine/MODEL_CARD.md");
    assert!(card.contains("grouped_conv forward, bf16, on gfx950"), "{card}");
    let page = folder.read("mine/model.html");
    for text in [
        "measured problems 0\nexpected ", "measured problems 15\nexpected ",
        "<dd id=\"num_measured\">15</dd>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // A power cut in the middle of a row costs that row.
    let torn = measured("0001.csv");
    fs::write(folder.path("work").join("0001.csv"), &torn[..torn.len() - 25]).unwrap();
    assert_eq!(tune("--measure 10"), "0 10");
    assert_eq!(String::from_utf8(measured("0001.csv")).unwrap().lines().count(), 1 + 5 * 6);
    let list = measured("0000.problems.txt");
    folder.write("there.csv", "N,C,K,Hi,Wi,Y,X,arch\n1,64,64,14,14,1,1,gfx942\n");
    let there = TUNE.replace("problems.csv", "there.csv");
    let gfx942 = TUNE.replace("gfx950", "gfx942");
    folder.write("none.txt", "grouped_conv_forward_bf16_2d_32x64x64_compv3_interwave");
    let none = TUNE.replace("pool.txt", "none.txt");
    folder.refuses(&format!(
        "{TUNE} --work spent --output other --budget 1ms
            1: --budget: it was spent before any kernel had run
        {none} --work none --output other
            1: none.txt: no kernel can be built for gfx950: 1 (scheduler not for this pipeline);
        {none} --work none --output other --budget 1ms --allow unbuildable
            1: --budget: it was spent before any kernel had run
        tune --arch gfx950 --model any --runner runner.json
            2: --pool
        {TUNE} --work work --output other --params seed=2
            1: 0000.problems.txt: found other problems than --problems and --params seed give
        {TUNE} --work work --output other --params draws=3
            2: --params: draws is for --simulate
        {TUNE} --work work --output other --where dtype=fp8
            2: cannot be used with '--where
        {there} --work there --output other
            1: there.csv: found a problem of another architecture than --arch gfx950:
        {gfx942} --work work --output other
            1: tune.json: arch: found \"gfx950\", expected \"gfx942\" as in --arch"
    ));
    assert_eq!(measured("0000.problems.txt"), list, "what is refused changes nothing");
    fakes.tune_into("part", "--measure 5 --first 2");
    let part = fakes.lines("part/0000.csv");
    assert!((5 * 2..=5 * 3).contains(&part), "{part}");
    assert!(!folder.path("other").exists());
}

/// To a universal model, a GEMM is a 1x1 convolution, also if it goes on with measurements.
#[test]
fn a_model_of_convolutions_goes_on_with_gemms() {
    let fakes = Measuring::new(6);
    let folder = &fakes.folder;
    let tiles = ["64x64x64", "128x64x64", "128x128x64", "256x128x64"];
    let names = tiles.map(|tile| ["compv3", "compv4"].map(|pipeline| gemm(pipeline, tile))).concat();
    folder.write("pool.txt", names.join("\n"));
    let shape = |at: i32| format!("{},{},512", 64 << (at % 4), 256 + 128 * at);
    let shapes: Vec<String> = (0..15).map(shape).collect();
    folder.write("problems.csv", format!("M,N,K\n{}\n", shapes.join("\n")));
    let (measured, said) = fakes.tune_into("work", "--first 8");
    assert_eq!(measured, "0 15", "{said}");
    let text = folder.read("mine/feature_spec.json");
    assert!(text.contains("gemm_universal") && text.contains("\"est_over_least\""), "{text}");
    let rank = "rank --model mine --pool pool.txt --problem M=512,N=768,K=512,dtype=bf16 --format csv";
    assert_eq!(column(&folder.good(rank), "kernel").len(), names.len());
    // The recorded times give the same.
    let files = "work/0000.csv work/0001.csv work/0002.csv";
    let line =
        format!("tune --arch gfx950 --model any --where op=gemm_universal --simulate {files} --measure 15");
    folder.good(&format!("{} --output simulated", line.replace("--where op=gemm_universal ", "")));
    let forest = |model: &str| Forest::load(folder.path(model).join("model_relative.lgbm.gz")).unwrap();
    assert!(forest("simulated") == forest("mine"));
    let inspected = folder.good("inspect --model mine --format json");
    assert!(inspected.contains("the profile of its architecture"), "{inspected}");
    let [conv, forward, fmha] = ["grouped_conv", "gemm_universal,direction=forward", "fmha"]
        .map(|op| line.replace("gemm_universal", op));
    let none = "found no row that is wanted, expected rows of grouped_conv";
    folder.refuses(&format!(
        "{conv}
            1: work/0000.csv: {none}, or --where op=gemm_universal for GEMMs, --where op=fmha for attention
        {forward}
            2: --where: found direction=forward, but rows are of gemm_universal
        {fmha}
            1: any: found a model for grouped_conv, expected one that ranks kernels of fmha"
    ));
    let curve = format!(
        "tune --arch gfx950 --model any --where op=gemm_universal --simulate {files} --params draws=1"
    );
    let table = folder.good(&format!("{curve} --counts 0,10 --params ways=tuned,alone --format csv"));
    assert_eq!(column(&table, "judged"), ["15", "5", "5"], "{table}");
    folder.refuses(&format!(
        "{curve} --counts 0 --params ways=alone,upstream
            2: --counts: found only 0, expected at least one number above 0"
    ));
}

/// What stands in the way is said before anything is measured, and claims no folder.
#[test]
fn impossible_tunings_are_refused_before_measuring() {
    let fakes = Measuring::new(6);
    let folder = &fakes.folder;
    folder.write("attention.txt", ATTENTION);
    let pool = folder.read("pool.txt");
    folder.write("both.txt", format!("{pool}\n{}", pool.replace("bf16", "fp16")));
    let fresh = format!("{TUNE} --work fresh --output other");
    let [unknown, attention, both] =
        [("gfx950", "gfx900"), ("pool.txt", "attention.txt"), ("pool.txt", "both.txt")]
            .map(|(from, to)| fresh.replace(from, to));
    folder.refuses(&format!(
        "{fresh} --measure 17
            2: --measure: found 17, expected at most 16
        {unknown}
            2: --arch: the estimate has no profile of gfx900
        {attention}
            1: any: found a model for grouped_conv, expected one that ranks kernels of fmha
        {both}
            2: found forward bf16, forward fp16; a model is adapted to one"
    ));
    assert!(!folder.path("fresh").exists());
    // A folder is of one architecture and number of kernels.
    fs::create_dir(folder.path("kept")).unwrap();
    let kept = format!("{TUNE} --work kept --output other");
    for (record, found) in [
        ("{}", "tune.json: arch: found nothing"),
        (r#"{"arch": 942}"#, "arch: found 942"),
        (r#"{"arch": "gfx950"}"#, "first: found nothing, expected 6 as in --first"),
        (r#"{"arch": "gfx950", "first": 30}"#, "first: found 30, expected 6 as in --first"),
        ("{", "EOF"),
    ] {
        folder.write("kept/tune.json", record);
        folder.refuses(&format!("{kept}\n1: {found}"));
    }
    fs::rename(folder.path("kept/tune.json"), folder.path("kept/0000.csv")).unwrap();
    folder.refuses(&format!("{kept}\n1: found 0000.csv and no tune.json"));
}

/// Problems that no kernel computes, and a file on which everything fails, do not cost the others.
#[test]
fn failures_do_not_cost_the_other_problems() {
    let fakes = Measuring::new(6);
    let folder = &fakes.folder;
    let rows = fakes.problems.join(",1,1,2\n");
    // What never began claims no folder.
    let none = TUNE.replace("runner.json", "none.json");
    folder.refuses(&format!(
        "{none} --work begun --output other
            1: none.json"
    ));
    assert!(!folder.path("begun/tune.json").exists() && !folder.path("begun/0000.problems.txt").exists());
    let mixed = format!("N,C,K,Hi,Wi,Y,X,Di,Z,ndim\n{rows},1,1,2\n1,64,64,8,8,3,3,4,3,3\n");
    folder.write("mixed.csv", mixed);
    let mixed = TUNE.replace("problems.csv", "mixed.csv");
    let (table, said) =
        folder.both(&format!("{mixed} --work mixed --output other --measure 10 --format csv"));
    assert!(said.contains("mixed.csv: 1 problems are left out, which no kernel computes"), "{said}");
    assert_eq!(column(&table, "measured"), ["0", "10"]);
    let again = format!("{TUNE} --work again --output later --measure 10 --format csv");
    let failed = Ran::run(folder.command(&again).env_remove("FAKE_POOL"));
    let expected = "again: no measurement succeeded; the same command tries again";
    assert!(failed.code != Some(0) && failed.stderr.contains(expected), "{}", failed.stderr);
    assert_eq!(column(&folder.both(&again).0, "measured"), ["0", "10"]);
}

/// With time left, all kernels are measured.
#[test]
fn all_kernels_follow_the_promising_ones() {
    let fakes = Measuring::new(12);
    let folder = &fakes.folder;
    let (_, said) = folder.both(&format!("{TUNE} --work twelve --output twelve-model --measure 5"));
    assert!(said.contains("with the time that is left, all kernels are"), "{said}");
    assert!((5 * 10..=5 * 11).contains(&fakes.lines("twelve/0000.csv")));
    assert_eq!(fakes.lines("twelve/0000.all.csv"), 5 * 12);
    let rows = &fakes.folder.read_json("twelve-model/feature_spec.json")["ck_select"]["trained_on"]["files"]
        [0]["rows"];
    assert_eq!(rows, 60);
}

/// A signal ends the measuring, too, and the same command goes on.
#[test]
fn a_signal_ends_the_measuring() {
    let fakes = Measuring::new(12);
    let stopped = format!("{TUNE} --work stopped --output stopped-model --measure 15 --first 12");
    let folder = &fakes.folder;
    let mut child = folder
        .command(&stopped)
        .env("FAKE_SLEEP_US", "5000")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_lines(&folder.path("stopped/0000.csv"), 3, &mut child);
    kill(&child, "-TERM");
    let ended = Ran::from(child.wait_with_output().unwrap());
    let expected = "ended by a signal; the same command goes on";
    assert!(ended.code != Some(0) && ended.stderr.contains(expected), "{}", ended.stderr);
    folder.good(&stopped);
    assert_eq!(["0000", "0001", "0002"].map(|file| fakes.lines(&format!("stopped/{file}.csv"))), [60; 3]);
}

/// All problems of a sweep could be learned from by their number alone, and without it a simulation learns from 10.
#[test]
fn tune_learns_from_a_whole_sweep() {
    let folder = trained();
    folder.good("tune --arch gfx950 --model any --simulate here.csv --measure all --output whole");
    assert_eq!(folder.read_json("whole/train_manifest.json")["unique_shapes"], 30);
    folder.refuses(
        "tune --arch gfx950 --model any --simulate here.csv --measure 31
            2: --measure: found 31, expected at most 30, the number of problems that can be measured, or `all`
        tune --arch gfx950 --model any --simulate here.csv --measure 0
            2: expected at least 1, or all",
    );
}

/// Constants that the data records are those that the model is served with.
#[test]
fn an_adapted_model_keeps_the_constants_of_its_gpu() {
    let folder = trained();
    let text = folder.read("here.csv");
    let mut lines = text.lines();
    let header = format!("{},hw_num_cus\n", lines.next().unwrap());
    let rows: Vec<&str> = lines.collect();
    folder.write("small.csv", format!("{header}{},64\n", rows.join(",64\n")));
    folder.good("tune --arch gfx950 --model any --simulate small.csv --measure 20 --output own");
    let judged = |data: &str| folder.good(&format!("evaluate --model own --data {data} --format csv"));
    assert_eq!(judged("here.csv"), judged("small.csv"));
    assert_eq!(folder.read_json("own/feature_spec.json")["hardware"]["num_cus"], 64);
    // A GPU without a profile is described.
    folder.write("gpu.json", r#"{"based_on": "gfx1201", "num_cus": 96}"#);
    let line = "--arch gfx1100:gpu.json --model any --format csv";
    let table = folder.good(&format!("tune {line} --simulate here.csv --measure 20 --output rdna3"));
    assert_eq!(column(&table, "problems"), ["10"]);
    folder.good(&format!("tune {line} --simulate here.csv --counts 0,10 --params ways=tuned draws=1"));
    folder.good("evaluate --model rdna3 --arch gfx1100:gpu.json --data here.csv");
    folder.refuses(
        "tune --arch gfx1100 --model any --simulate here.csv
            1: no profile of gfx1100
        tune --arch gfx950 --model own --simulate here.csv
            1: own: not a universal model",
    );
}

/// Attention goes the same way, with columns of its own. The figures are those of docs/fmha.md.
#[test]
fn attention_is_trained_judged_and_tuned() {
    let folder = folder();
    let sweep = root().join("data/h100/attention.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(&sweep).unwrap()).read_to_string(&mut text).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    for (name, rest) in [("even.csv", 0), ("odd.csv", 1)] {
        let number = |row: &str| row.split(',').nth(1).unwrap().parse::<usize>().unwrap();
        let part: Vec<&str> = rows.lines().filter(|row| number(row) % 2 == rest).collect();
        folder.write(name, format!("{header}\n{}\n", part.join("\n")));
    }
    let percents = |table: &str, row: usize| {
        let figure = |name: &str| 100.0 * column(table, name)[row].parse::<f64>().unwrap();
        format!("{:.1}, {:.1}", figure("mean"), figure("p10"))
    };
    let train = "train --universal --where op=fmha --arch sm_90 --format csv";
    let table = folder.good(&format!("{train} --data {} --output all", sweep.display()));
    assert_eq!(percents(&table, 5), "98.4, 94.8", "{table}");
    folder.good(&format!("{train} --data even.csv --output half --folds 1"));
    let judge = "--arch sm_90 --data odd.csv --format csv";
    let judged = folder.good(&format!("evaluate --model half {judge}"));
    assert_eq!(percents(&judged, 0), "97.5, 93.3", "{judged}");
    let estimated = folder.good(&format!("evaluate --model estimate --where op=fmha {judge}"));
    assert_eq!(percents(&estimated, 0), "96.6, 88.3", "{estimated}");
    folder.good(&format!("evaluate --against estimate --model half {judge} --max-loss problem=0.3"));
    let tuned = folder
        .good("tune --arch sm_90 --model half --simulate odd.csv --measure 20 --output own --format csv");
    assert!(column(&tuned, "problems") == ["85"], "{tuned}");
    let curve = folder.good(
        "tune --arch sm_90 --model half --simulate odd.csv --counts 0,10 --params ways=tuned,alone \
         --params draws=1 --format csv",
    );
    assert_eq!(column(&curve, "way"), ["tuned", "tuned", "alone"], "{curve}");
    // A forest of one GPU, and the kernel that it and the universal one say is the best.
    folder.good(
        "train --where op=fmha --arch sm_90 --data even.csv --output alone --folds 1 --params \
         n_estimators=40",
    );
    let names: Vec<&str> = rows.lines().take(28).map(|row| row.split(',').next().unwrap()).collect();
    folder.write("pool.txt", names.join("\n"));
    let problem = "seqlen_q=1024,nhead_q=16,nhead_k=4,hdim_q=128,arch=sm_90";
    for model in ["all", "own", "alone"] {
        let line = format!("rank --model {model} --pool pool.txt --problem {problem} --format csv --top 3");
        assert_eq!(column(&folder.good(&line), "kernel").len(), 3, "{model}");
    }
    let found = folder.good(&format!(
        "rank --model estimate --arch sm_90 --pool pool.txt --problem {problem} --format csv --top 10"
    ));
    assert_eq!(column(&found, "kernel").len(), 10);
}
