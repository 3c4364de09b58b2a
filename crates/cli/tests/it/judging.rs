//! `ckselect evaluate`, alone and with `--against`, on measurements whose figures are known beforehand.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::common::{Folder, MODEL, POOL, column, kernels};

const EVALUATE: &str = "evaluate --model tests/golden/models/conv_small --data @measured.csv";
/// N, C, K, H = W, Y = X, pad.
const PROBLEMS: [[u32; 6]; 5] = [
    [16, 256, 128, 28, 3, 1],
    [1, 64, 64, 56, 1, 0],
    [8, 512, 512, 7, 3, 1],
    [32, 128, 256, 14, 1, 0],
    [4, 96, 192, 31, 5, 2],
];

fn cells(problem: [u32; 6]) -> String {
    let [n, c, k, extent, filter, pad] = problem;
    format!("{n},{c},{k},1,{extent},{extent},{filter},{filter},1,1,{pad},{pad}")
}

const COLUMNS: &str = "N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w";

/// The model's ranking of the pool for each problem.
fn rankings() -> Vec<Vec<String>> {
    let folder = Folder::new();
    let rows = PROBLEMS.map(cells).join("\n");
    folder.write("problems.csv", format!("{COLUMNS}\n{rows}\n"));
    let line = format!("rank --model {MODEL} --pool {POOL} --problems @problems.csv --format csv");
    let mut rankings = vec![Vec::new(); PROBLEMS.len()];
    let table = folder.good(&line);
    for (problem, kernel) in column(&table, "problem").iter().zip(column(&table, "kernel")) {
        rankings[problem.parse::<usize>().unwrap()].push(kernel);
    }
    assert!(rankings.iter().all(|ranking| ranking.len() == 30));
    rankings
}

/// A benchmark CSV in which the kernel at place `p` of problem `i`'s ranking runs at `speed(i, p)` TFLOPS.
fn measure(folder: &Folder, speed: impl Fn(usize, usize) -> f64) {
    let mut text = format!("kernel,problem_idx,{COLUMNS},latency_ms,tflops,non_zero\n");
    for (index, (problem, ranking)) in PROBLEMS.iter().zip(rankings()).enumerate() {
        for (place, kernel) in ranking.iter().enumerate() {
            let tflops = speed(index, place);
            let latency = if tflops > 0.0 { (1.0 / tflops).to_string() } else { "N/A".to_owned() };
            writeln!(text, "{kernel},{index},{},{latency},{tflops},1", cells(*problem)).unwrap();
        }
    }
    folder.write("measured.csv", text);
}

/// Measurements in which the model's order is the right one.
fn measured() -> Folder {
    let folder = Folder::new();
    measure(&folder, |_, place| 100.0 - place as f64);
    folder
}

#[test]
fn figures_are_those_of_the_choices() {
    let folder = Folder::new();
    // The first choice runs at 50, 60, … 90 of 100; the fastest is at place i + 1.
    measure(&folder, |index, place| match place {
        0 => 50.0 + 10.0 * index as f64,
        place if place == index + 1 => 100.0,
        _ => 10.0,
    });
    let metrics = folder.json(EVALUATE);
    let global = &metrics["global_metrics"];
    let figure = |key: &str| global[key].as_f64().unwrap();
    assert_eq!(figure("efficiency_mean"), 0.7);
    assert_eq!((figure("efficiency_p50"), figure("efficiency_min")), (0.7, 0.5));
    // numpy.percentile([0.5, 0.6, 0.7, 0.8, 0.9], 10)
    assert_eq!(figure("efficiency_p10"), 0.54);
    assert_eq!((figure("ndcg_at_1"), figure("top3_hit_rate"), figure("top5_hit_rate")), (0.0, 0.4, 0.8));
    // The first three find 100 for two problems.
    assert_eq!(figure("best_of_top3_mean"), (1.0 + 1.0 + 0.7 + 0.8 + 0.9) / 5.0);
    assert_eq!(figure("best_of_top5_mean"), (1.0 + 1.0 + 1.0 + 1.0 + 0.9) / 5.0);
    assert_eq!(figure("best_of_top10_mean"), 1.0);
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&5.into(), &150.into()));
    assert_eq!(metrics["per_shape_efficiency"].as_array().unwrap().len(), 5);
    let filters = metrics["filter_metrics"].as_object().unwrap();
    assert_eq!(filters["3x3"]["count"], 2);
    assert_eq!(filters["3x3"]["mean"], f64::midpoint(0.5, 0.7));
    assert_eq!(filters["1x1"]["mean"], f64::midpoint(0.6, 0.8));
}

#[test]
fn failed_kernels_count_for_nothing() {
    let folder = Folder::new();
    // The first choice did not run anywhere; the last problem has no measurement at all.
    measure(&folder, |index, place| match (index, place) {
        (4, _) | (_, 0) => 0.0,
        (_, place) => 100.0 - place as f64,
    });
    let metrics = folder.json(EVALUATE);
    let global = &metrics["global_metrics"];
    assert_eq!(global["efficiency_mean"], 1.0);
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&4.into(), &116.into()));
    assert_eq!((&global["num_invalid_rows"], &global["num_shapes_without_rows"]), (&34.into(), &1.into()));
    measure(&folder, |_, _| 0.0);
    assert!(folder.bad(EVALUATE, 1).contains("no valid measurement: 150 rows"));
}

/// Choices in a file: for each problem the kernel at a place of the model's ranking.
fn pick(folder: &Folder, name: &str, place: impl Fn(usize) -> usize) {
    let mut text = "problem_idx,rank,kernel\n".to_owned();
    for (index, ranking) in rankings().iter().enumerate() {
        writeln!(text, "{index},1,{}\n{index},2,{}", ranking[place(index)], ranking[29]).unwrap();
    }
    folder.write(name, text);
}

/// The first choice alone.
fn pick_one(folder: &Folder, from: &str) {
    let text = folder.read(from);
    folder.write("one.csv", text.lines().take(2).collect::<Vec<_>>().join("\n"));
}

#[test]
fn choices_from_a_file_are_judged() {
    let folder = measured();
    pick(&folder, "picks.csv", |index| 10 * (index % 2));
    let judge = "evaluate --model @picks.csv --data @measured.csv";
    let metrics =
        folder.json(&format!("{judge} --output @verdicts.csv --require mean=0.96,p10=0.9,match=0.6"));
    let mean = (1.0 + 0.9 + 1.0 + 0.9 + 1.0) / 5.0;
    assert!((metrics["global_metrics"]["efficiency_mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(metrics["global_metrics"]["ndcg_at_1"], 0.6);
    let text = folder.read("verdicts.csv");
    assert_eq!(text.lines().count(), 6);
    // Worst first; the problem with its number at the end.
    let cells: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    assert!(text.lines().nth(1).unwrap().contains("\",0.9,") && cells.last() == Some(&"1"), "{text}");
    folder.refuses(&format!("{judge} --require mean=0.97\n3: mean is 0.9600, required 0.97"));
    // Choices that name no architecture are for that of the measurements.
    let rows = folder.read("measured.csv");
    let named = rows
        .lines()
        .enumerate()
        .map(|(at, row)| format!("{row},{}\n", if at == 0 { "hw_gfx_name" } else { "gfx942" }));
    folder.write("there.csv", named.collect::<String>());
    folder.good("evaluate --model @picks.csv --data @there.csv --require mean=0.96");
    // A single good choice is no good ranking.
    pick_one(&folder, "picks.csv");
    folder.refuses(
        "evaluate --model @one.csv --data @measured.csv --require mean=0.9
            3: 4 of 5 measured problems have no choice",
    );
}

/// The first of five problems is measured again under number 5, where the model's second choice is the
/// fastest.
#[test]
fn a_problem_that_was_measured_again_is_judged_sweep_by_sweep() {
    let folder = measured();
    let mut text = folder.read("measured.csv");
    let ranking = rankings().swap_remove(0);
    for (place, kernel) in ranking.iter().enumerate() {
        let tflops = if place == 1 { 200.0 } else { 150.0 - place as f64 };
        writeln!(text, "{kernel},5,{},{},{tflops},1", cells(PROBLEMS[0]), 1.0 / tflops).unwrap();
    }
    folder.write("measured.csv", text);
    let metrics = folder.json(EVALUATE);
    let global = &metrics["global_metrics"];
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&6.into(), &180.into()));
    assert_eq!(global["num_shapes_without_rows"], 0);
    // Each choice is compared with the fastest kernel of its own sweep: 150 of 200 the second time.
    assert_eq!(global["efficiency_mean"].as_f64().unwrap(), (5.0 + 150.0 / 200.0) / 6.0);
    assert_eq!(global["efficiency_min"], 0.75);

    // The choices of a file belong to the sweep whose number they have.
    pick(&folder, "picks.csv", |_| 0);
    let verdicts = |number_5: &str| {
        folder.write("six.csv", folder.read("picks.csv") + number_5);
        folder.good("evaluate --model @six.csv --data @measured.csv --output @verdicts.csv");
        let mut reader = csv::Reader::from_path(folder.path("verdicts.csv")).unwrap();
        let cells = |row: csv::StringRecord| (row[row.len() - 1].to_owned(), row[1].to_owned());
        reader.records().map(|row| cells(row.unwrap())).collect::<Vec<_>>()
    };
    let own = verdicts(&format!("5,1,{}\n", ranking[1]));
    assert_eq!(own.len(), 6);
    for number in ["0", "5"] {
        assert!(own.contains(&(number.to_owned(), "1.0".to_owned())), "{own:?}");
    }
    // Without a choice of its own it is the same problem, and so has the same choice.
    assert!(verdicts("").contains(&("5".to_owned(), "0.75".to_owned())));
    assert_eq!(folder.json(&format!("{EVALUATE} --against {MODEL}"))["problems"], 6);
}

#[test]
fn a_model_chooses_from_a_whole_pool() {
    let folder = Folder::new();
    // Only the second half of each ranking was measured; the model chooses from all.
    measure(&folder, |_, place| if place < 15 { 0.0 } else { 100.0 - place as f64 });
    let global = &folder.json(&format!("{EVALUATE} --pool {POOL}"))["global_metrics"];
    assert_eq!((&global["efficiency_mean"], &global["num_shapes"]), (&0.0.into(), &5.into()));
    assert_eq!((&global["num_unmeasured_choices"], &global["ndcg_at_1"]), (&5.into(), &0.0.into()));
    // Without a pool, it chooses among what was measured.
    assert_eq!(folder.json(EVALUATE)["global_metrics"]["efficiency_mean"], 1.0);
    let text = folder.good(&format!("{EVALUATE} --pool {POOL}"));
    let lines = ["choices that were not measured", "of measured choices"];
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");
}

#[test]
fn names_of_different_age_are_one_kernel() {
    let folder = measured();
    folder.write("pool.txt", kernels().join("_intrawave\n") + "_intrawave");
    let metrics = folder.json(&format!("{EVALUATE} --pool @pool.txt --require mean=1,match=1"));
    assert_eq!(metrics["global_metrics"]["efficiency_mean"], 1.0);
}

/// Figures of choices that are spelled out, on measurements in two files, of which the second may be empty.
fn validated(flat: &str, deep: &str, picks: &str) -> Value {
    let folder = Folder::new();
    for (name, text) in [("picks.csv", picks), ("flat.csv", flat), ("deep.csv", deep)] {
        folder.write(name, text);
    }
    let files = if deep.is_empty() { "@flat.csv" } else { "@flat.csv @deep.csv" };
    folder.json(&format!("evaluate --model @picks.csv --data {files}"))["global_metrics"].clone()
}

#[test]
fn problems_that_differ_in_stride_or_padding_have_their_own_oracle() {
    let (a, b) =
        ("grouped_conv_forward_bf16_2d_16x64x64_compv3", "grouped_conv_forward_bf16_2d_64x64x64_compv3");
    // The same extents. Without depth columns in one file, with them in the other: both are ordinary 2D rows.
    let flat = format!(
        "kernel,{COLUMNS},latency_ms,tflops\n{a},16,64,64,1,28,28,3,3,1,1,1,1,1,100\n\
         {b},16,64,64,1,28,28,3,3,1,1,1,1,1,50\n"
    );
    let deep = format!(
        "kernel,{COLUMNS},Di,Z,stride_d,pad_d,latency_ms,tflops\n\
         {a},16,64,64,1,28,28,3,3,2,2,1,1,1,1,1,0,1,10\n\
         {b},16,64,64,1,28,28,3,3,2,2,1,1,1,1,1,0,1,20\n{a},16,64,64,1,28,28,3,3,1,1,0,0,1,1,1,0,1,30\n"
    );
    let picks = format!(
        "kernel,{COLUMNS}\n{a},16,64,64,1,28,28,3,3,1,1,1,1\n{b},16,64,64,1,28,28,3,3,2,2,1,1\n\
         {a},16,64,64,1,28,28,3,3,1,1,0,0\n"
    );
    let figures = validated(&flat, &deep, &picks);
    assert_eq!((&figures["num_shapes"], &figures["efficiency_min"]), (&3.into(), &1.0.into()));
}

#[test]
fn a_deep_tile_is_not_its_shallow_namesake() {
    let (deep, shallow) =
        ("grouped_conv_forward_bf16_2d_16x64x128_compv3", "grouped_conv_forward_bf16_2d_16x64x64_compv3");
    let cells = cells(PROBLEMS[0]);
    let data = format!("kernel,{COLUMNS},latency_ms,tflops\n{deep},{cells},1,100\n{shallow},{cells},1,40\n");
    let mean = |pick: &str| {
        let figures = validated(&data, "", &format!("kernel,{COLUMNS}\n{pick},{cells}\n"));
        figures["efficiency_mean"].as_f64().unwrap()
    };
    assert_eq!((mean(deep), mean(shallow)), (1.0, 0.4));
}

#[test]
fn compare_accepts_what_is_as_good_and_refuses_what_is_not() {
    let folder = Folder::new();
    measure(&folder, |_, place| 1000.0 - place as f64);
    for (name, place) in [("best.csv", 0), ("close.csv", 4), ("worse.csv", 9)] {
        pick(&folder, name, |_| place);
    }
    pick_one(&folder, "best.csv");
    let compare = |old: &str, new: &str, more: &str| {
        let line =
            format!("evaluate --against {old} --model {new} --data @measured.csv --format json {more}");
        let ran = folder.run(&line);
        (ran.code, serde_json::from_str(&ran.stdout).unwrap_or(Value::Null), ran.stderr)
    };
    for (old, new) in
        [(MODEL, MODEL), (MODEL, "@best.csv"), ("@best.csv", "@close.csv"), ("@worse.csv", MODEL)]
    {
        let (code, document, said) = compare(old, new, "");
        assert_eq!((code, &document["accepted"]), (Some(0), &true.into()), "{old} {new} {said}");
    }
    let (code, document, said) = compare(MODEL, "@worse.csv", "");
    assert_eq!((code, &document["accepted"]), (Some(3), &false.into()));
    assert_eq!((&document["degraded"], &document["agreements"]), (&5.into(), &0.into()));
    assert!(said.contains("mean efficiency fell by 0.0090, allowed 0.005"), "{said}");
    let (code, document, said) = compare(MODEL, "@one.csv", "");
    assert_eq!((code, &document["accepted"], &document["lost"]), (Some(3), &false.into(), &4.into()));
    assert!(said.contains("the new model ranks no kernel of 4 of 5 problems"), "{said}");
    for wrong in ["--max-loss mean=5", "--arch gfx942", "--where op=fmha"] {
        assert_eq!(compare(MODEL, "@best.csv", wrong).0, Some(2), "{wrong}");
    }
    let (code, _, said) = compare(MODEL, "@worse.csv", "--max-loss mean=0.01,median=0.01");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_model_of_the_library_is_judged_like_a_directory() {
    let folder = measured();
    let name = "grouped_conv_forward_bf16_gfx950";
    let judged = |model: &str| folder.json(&format!("evaluate --model {model} --data @measured.csv"));
    assert_eq!(judged(&format!("embedded:{name}")), judged(&format!("models/{name}")));
    let same = judged(&format!("embedded:{name} --against models/{name}"));
    assert_eq!(same["agreements"], same["problems"]);
}

#[test]
fn mistakes_are_named() {
    let folder = measured();
    folder
        .write("strange.csv", "problem_idx,rank,kernel\n99,1,grouped_conv_forward_bf16_2d_64x64x64_compv3\n");
    folder.write("magic.csv", "problem_idx,kernel\n0,magic\n");
    folder.refuses(&format!(
        "evaluate --data @measured.csv
            2: --model
        {EVALUATE} --require speed=1
            2: found 'speed', expected one of: mean, median, p10, min, match
        {EVALUATE} --require mean=97
            2: expected a share from 0 to 1
        evaluate --against {MODEL} --model nowhere --data @measured.csv
            1: nowhere/feature_spec.json: No such file
        evaluate --model {MODEL} --data nowhere.csv
            1: nowhere.csv
        evaluate --model @strange.csv --data @measured.csv
            1: strange.csv: line 2: problem 99 is not in the measurements
        evaluate --model @magic.csv --data @measured.csv
            1: magic.csv: line 2: kernel 'magic'"
    ));
}

/// Choices for attention needed the number of a problem (062e9998).
#[test]
fn choices_for_attention_name_their_problem() {
    let folder = Folder::new();
    let columns = "batch,seqlen_q,seqlen_k,nhead_q,nhead_k,hdim_q,hdim_v";
    let kernel = |tile: u32| {
        format!(
            "fmha_fwd_fp16_batch_h128_qr_t{tile}x32x16x128x16x128_w16x8x16_pad1111_mask=no_bias=no_bpc=-1"
        )
    };
    let [one, other] = [16, 32].map(kernel);
    let measured = format!(
        "kernel,{columns},tflops,latency_ms\n{one},1,1,128,8,8,128,128,2,1\n{other},1,1,128,8,8,128,128,1,2\n"
    );
    folder.write("measured.csv", measured);
    folder.write("picks.csv", format!("{columns},kernel\n1,1,128,8,8,128,128,{other}\n"));
    let judged = folder.json("evaluate --model @picks.csv --data @measured.csv");
    assert_eq!(judged["global_metrics"]["efficiency_mean"], 0.5);
    folder.write("picks.csv", format!("seqlen_q,hdim_q,kernel\n1,128,{other}\n"));
    folder.refuses(
        "evaluate --model @picks.csv --data @measured.csv
            1: nhead_q",
    );
}

/// Kernels say how many dimensions a convolution has; sizes without a height were passed over for the number
/// (a2d9ad04).
#[test]
fn choices_of_one_dimension_are_joined_by_their_sizes() {
    let folder = Folder::new();
    let [one, other] = [64, 128].map(|tile| format!("grouped_conv_forward_bf16_1d_{tile}x64x64_compv3"));
    folder.write(
        "measured.csv",
        format!(
            "kernel,problem_idx,N,C,K,Wi,X,latency_ms,tflops\n\
             {one},0,1,64,64,32,3,1,1\n{other},0,1,64,64,32,3,2,0.5\n\
             {one},1,1,64,64,64,3,2,0.5\n{other},1,1,64,64,64,3,1,1\n"
        ),
    );
    // The numbers are those of another file.
    folder.write(
        "picks.csv",
        format!("kernel,problem_idx,N,C,K,Wi,X\n{one},1,1,64,64,32,3\n{other},0,1,64,64,64,3\n"),
    );
    let judged = folder.json("evaluate --model @picks.csv --data @measured.csv");
    assert_eq!(judged["global_metrics"]["efficiency_mean"], 1.0);
    folder.write("picks.csv", format!("kernel,problem_idx,C,K,X\n{one},1,64,64,3\n"));
    folder.refuses(
        "evaluate --model @picks.csv --data @measured.csv
            1: picks.csv: line 2: Wi: found nothing",
    );
}

#[test]
fn pairs_that_were_measured_more_than_once_are_reported() {
    let folder = measured();
    let text = folder.read("measured.csv");
    let again = text.lines().nth(1).unwrap();
    folder.write("measured.csv", format!("{text}{again}\n{again}\n"));
    let (_, said) = folder.both(EVALUATE);
    let expected =
        "1 pairs of a kernel and a problem were measured more than once: the median of their speeds counts";
    assert!(said.contains(expected), "{said}");
}

/// A sweep of these tiles and times of the first problem.
fn sweep(rows: &[(&str, &str)]) -> String {
    let row = |(tile, time): &(&str, &str)| {
        format!("grouped_conv_forward_bf16_2d_{tile}_compv3,{},{time},10\n", cells(PROBLEMS[0]))
    };
    format!("kernel,{COLUMNS},latency_ms,tflops\n{}", rows.iter().map(row).collect::<Vec<_>>().concat())
}

/// What the rows do not say, or say wrong, is said before anything is judged.
#[test]
fn data_is_looked_over() {
    let folder = Folder::new();
    folder.write("sweep.csv", sweep(&[("16x64x64", "0.5"), ("32x64x64", "-1"), ("64x64x64", "0.6")]));
    let universal = "evaluate --model embedded:universal --data @sweep.csv";
    let simulate = "--problems @sweep.csv --simulate analytic --order model --output @out.csv";
    folder.refuses(&format!(
        "{universal}
            2: a universal model needs a GPU: give --arch (one of gfx90a,
        bench --pool {POOL} {simulate}
            2: a universal model needs a GPU: give --arch"
    ));
    let (_, said) = folder.both(&format!("{universal} --arch gfx950"));
    assert!(said.contains("sweep.csv: 1 of 3 rows do not count: "), "{said}");

    let meta = r#"{"sessions": [{"rows": 3, "gpus": {"0": {"name": "MI300X", "target": "gfx942:xnack-"}}}]}"#;
    folder.write("sweep.csv.meta.json", meta);
    folder.good(&format!("{universal} --arch gfx942"));
    let measured = "sweep.csv: measured on gfx942, according to its .meta.json, but its rows are taken for";
    folder.refuses(&format!(
        "{universal} --arch gfx950
            1: {measured} measurements of gfx950
        evaluate --model estimate --data @sweep.csv --arch gfx950
            1: {measured} measurements of gfx950
        convert @sweep.csv --arch gfx950 --output @table.parquet
            1: {measured}"
    ));
    assert!(!folder.path("table.parquet").exists());
}

/// A table knows on what its files were measured.
#[test]
fn tables_know_their_gpus() {
    let folder = Folder::new();
    let rows = sweep(&[("16x64x64", "0.5"), ("64x64x64", "0.5")]);
    folder.write("sweep.csv", &rows);
    let meta = r#"{"sessions": [{"rows": 2, "gpus": {"0": {"name": "MI300X", "target": "gfx942:xnack-"}}}]}"#;
    folder.write("sweep.csv.meta.json", meta);
    let convert = |from: &str, to: &str| {
        folder.good(&format!("convert @{from} --arch gfx942 --output @{to}"));
    };
    // Also the table of a table, and of a folder.
    convert("sweep.csv", "table.parquet");
    convert("table.parquet", "tables/again.parquet");
    convert("tables", "last.csv");
    // Rows of a table name their architecture, those of a CSV do not.
    folder.refuses(
        "evaluate --model estimate --arch gfx950 --data @table.parquet
            1: no row
        evaluate --model estimate --arch gfx950 --data @tables/again.parquet
            1: no row
        evaluate --model estimate --arch gfx950 --data @last.csv
            1: last.csv: measured on gfx942",
    );
    assert!(folder.read("tables/again.parquet.meta.json").contains("MI300X"));
    assert!(folder.read("last.csv.meta.json").contains("again.parquet"));
    folder.write("bare.csv", &rows);
    convert("bare.csv", "last.csv");
    assert!(!folder.read("last.csv.meta.json").contains("MI300X"), "what was replaced had another origin");
    convert("bare.csv", "new.csv");
    assert!(!folder.path("new.csv.meta.json").exists());

    let table = || fs::read(folder.path("table.parquet")).unwrap();
    // A sidecar that cannot be written leaves the table as it was.
    fs::remove_file(folder.path("table.parquet.meta.json")).unwrap();
    fs::create_dir(folder.path("table.parquet.meta.json")).unwrap();
    let before = table();
    folder.refuses(
        "convert @sweep.csv --arch gfx942 --output @table.parquet
            1: table.parquet.meta.json",
    );
    assert_eq!(table(), before);
}
