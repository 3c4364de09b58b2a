//! evaluate and compare, on measurements whose figures are known beforehand.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use common::{good, outcome, root};

const MODEL: &str = "tests/golden/models/conv_small";
const POOL: &str = "configs/forward_bf16.txt";
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
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("problems.csv");
    let rows: Vec<String> = PROBLEMS.iter().map(|&problem| cells(problem)).collect();
    fs::write(&path, format!("{COLUMNS}\n{}\n", rows.join("\n"))).unwrap();
    let text = good(&[
        "rank",
        "--model",
        MODEL,
        "--pool",
        POOL,
        "--problems",
        path.to_str().unwrap(),
        "--format",
        "csv",
    ]);
    let mut rankings = vec![Vec::new(); PROBLEMS.len()];
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        rankings[cells[0].parse::<usize>().unwrap()].push(cells[2].to_owned());
    }
    assert!(rankings.iter().all(|ranking| ranking.len() == 30));
    rankings
}

/// A benchmark CSV in which the kernel at place `p` of problem `i`'s ranking runs at `speed(i, p)` TFLOPS.
fn measured(folder: &TempDir, speed: impl Fn(usize, usize) -> f64) -> String {
    let mut text = format!("kernel,problem_idx,{COLUMNS},latency_ms,tflops,non_zero\n");
    for (index, (problem, ranking)) in PROBLEMS.iter().zip(rankings()).enumerate() {
        for (place, kernel) in ranking.iter().enumerate() {
            let tflops = speed(index, place);
            let latency = if tflops > 0.0 { (1.0 / tflops).to_string() } else { "N/A".to_owned() };
            writeln!(text, "{kernel},{index},{},{latency},{tflops},1", cells(*problem)).unwrap();
        }
    }
    let path = folder.path().join("measured.csv");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn metrics(data: &str) -> Value {
    let text = good(&["evaluate", "--model", MODEL, "--data", data, "--format", "json"]);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_model_whose_order_is_measured_is_perfect() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let metrics = metrics(&data);
    let global = &metrics["global_metrics"];
    for key in [
        "efficiency_mean", "efficiency_p50", "efficiency_p10", "efficiency_min", "ndcg_at_1", "top3_hit_rate",
    ] {
        assert_eq!(global[key], 1.0, "{key}");
    }
    assert_eq!(global["regret_mean"], 0.0);
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&5.into(), &150.into()));
    assert_eq!(metrics["per_shape_efficiency"].as_array().unwrap().len(), 5);
}

#[test]
fn figures_are_those_of_the_choices() {
    let folder = TempDir::new().unwrap();
    // The first choice runs at 50, 60, … 90 of 100; the fastest is at place i + 1.
    let data = measured(&folder, |index, place| match place {
        0 => 50.0 + 10.0 * index as f64,
        place if place == index + 1 => 100.0,
        _ => 10.0,
    });
    let metrics = metrics(&data);
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
    let filters = metrics["filter_metrics"].as_object().unwrap();
    assert_eq!(filters["3x3"]["count"], 2);
    assert_eq!(filters["3x3"]["mean"], f64::midpoint(0.5, 0.7));
    assert_eq!(filters["1x1"]["mean"], f64::midpoint(0.6, 0.8));
}

#[test]
fn failed_kernels_count_for_nothing() {
    let folder = TempDir::new().unwrap();
    // The first choice did not run anywhere; the last problem has no measurement at all.
    let data = measured(&folder, |index, place| match (index, place) {
        (4, _) | (_, 0) => 0.0,
        (_, place) => 100.0 - place as f64,
    });
    let metrics = metrics(&data);
    let global = &metrics["global_metrics"];
    assert_eq!(global["efficiency_mean"], 1.0);
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&4.into(), &116.into()));
    assert_eq!((&global["num_invalid_rows"], &global["num_shapes_without_rows"]), (&34.into(), &1.into()));
    let all_failed = measured(&folder, |_, _| 0.0);
    let ran = outcome(&["evaluate", "--model", MODEL, "--data", &all_failed]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("no valid measurement: 150 rows"), "{}", ran.stderr);
}

#[test]
fn the_report_stands_alone() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |index, place| if place == 0 { 50.0 + 10.0 * index as f64 } else { 100.0 });
    let html = folder.path().join("report.html");
    good(&["evaluate", "--model", MODEL, "--data", &data, "--output", html.to_str().unwrap()]);
    let page = fs::read_to_string(html).unwrap();
    for foreign in ["http:", "https:", "<script src", "<link", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("content=\"default-src 'none'; "), "the browser keeps it so");
    assert!(page.contains("<dd id=\"efficiency_mean\">70.00 %</dd>"));
    assert!(page.contains("<dd id=\"efficiency_min\">50.00 %</dd>"));
    assert_eq!(page.matches("<details>").count(), 5);
}

/// Choices in a file: for each problem the kernel at a place of the model's ranking.
fn picks(folder: &TempDir, name: &str, place: impl Fn(usize) -> usize) -> String {
    let mut text = "problem_idx,rank,kernel\n".to_owned();
    for (index, ranking) in rankings().iter().enumerate() {
        writeln!(text, "{index},1,{}", ranking[place(index)]).unwrap();
        writeln!(text, "{index},2,{}", ranking[29]).unwrap();
    }
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn choices_from_a_file_are_judged() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let picks = picks(&folder, "picks.csv", |index| 10 * (index % 2));
    let verdicts = folder.path().join("verdicts.csv");
    let metrics = good(&[
        "evaluate",
        "--model",
        &picks,
        "--data",
        &data,
        "--format",
        "json",
        "--output",
        verdicts.to_str().unwrap(),
        "--require",
        "mean=0.96,p10=0.9,match=0.6",
    ]);
    let metrics: Value = serde_json::from_str(&metrics).unwrap();
    let mean = (1.0 + 0.9 + 1.0 + 0.9 + 1.0) / 5.0;
    assert!((metrics["global_metrics"]["efficiency_mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert_eq!(metrics["global_metrics"]["ndcg_at_1"], 0.6);
    let text = fs::read_to_string(&verdicts).unwrap();
    assert_eq!(text.lines().count(), 6);
    // Worst first; the problem with its number at the end.
    let cells: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    assert!(text.lines().nth(1).unwrap().contains("\",0.9,") && cells.last() == Some(&"1"), "{text}");
    let ran = outcome(&["evaluate", "--model", &picks, "--data", &data, "--require", "mean=0.97"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("mean is 0.9600, required 0.97"), "{}", ran.stderr);
    // Choices that name no architecture are for that of the measurements.
    let rows = fs::read_to_string(&data).unwrap();
    let named = rows
        .lines()
        .enumerate()
        .map(|(at, row)| format!("{row},{}\n", if at == 0 { "hw_gfx_name" } else { "gfx942" }));
    let there = folder.path().join("there.csv");
    fs::write(&there, named.collect::<String>()).unwrap();
    good(&["evaluate", "--model", &picks, "--data", there.to_str().unwrap(), "--require", "mean=0.96"]);
    // A single good choice is no good ranking.
    let one = folder.path().join("one.csv");
    let text = fs::read_to_string(&picks).unwrap();
    fs::write(&one, text.lines().take(2).collect::<Vec<_>>().join("\n")).unwrap();
    let ran =
        outcome(&["evaluate", "--model", one.to_str().unwrap(), "--data", &data, "--require", "mean=0.9"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("4 of 5 measured problems have no choice"), "{}", ran.stderr);
}

/// Five problems, the first of them measured again under number 5, where the model's second choice is the
/// fastest.
fn measured_again(folder: &TempDir) -> String {
    let path = measured(folder, |_, place| 100.0 - place as f64);
    let mut text = fs::read_to_string(&path).unwrap();
    for (place, kernel) in rankings()[0].iter().enumerate() {
        let tflops = if place == 1 { 200.0 } else { 150.0 - place as f64 };
        writeln!(text, "{kernel},5,{},{},{tflops},1", cells(PROBLEMS[0]), 1.0 / tflops).unwrap();
    }
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_problem_that_was_measured_again_is_judged_sweep_by_sweep() {
    let folder = TempDir::new().unwrap();
    let data = measured_again(&folder);
    let metrics = metrics(&data);
    let global = &metrics["global_metrics"];
    assert_eq!((&global["num_shapes"], &global["num_rows"]), (&6.into(), &180.into()));
    assert_eq!(global["num_shapes_without_rows"], 0);
    // Each choice is compared with the fastest kernel of its own sweep: 150 of 200 the second time.
    let mut efficiencies = [1.0, 1.0, 1.0, 1.0, 1.0, 150.0 / 200.0];
    efficiencies.sort_by(f64::total_cmp);
    assert_eq!(global["efficiency_mean"].as_f64().unwrap(), efficiencies.iter().sum::<f64>() / 6.0);
    assert_eq!(global["efficiency_min"], 0.75);

    // The choices of a file belong to the sweep whose number they have.
    let picks = picks(&folder, "picks.csv", |_| 0);
    let verdicts = |number_5: &str| {
        let text = fs::read_to_string(&picks).unwrap();
        let path = folder.path().join("six.csv");
        fs::write(&path, format!("{text}{number_5}")).unwrap();
        let output = folder.path().join("verdicts.csv");
        good(&[
            "evaluate",
            "--model",
            path.to_str().unwrap(),
            "--data",
            &data,
            "--output",
            output.to_str().unwrap(),
        ]);
        let mut reader = csv::Reader::from_path(&output).unwrap();
        let cells = |row: csv::StringRecord| (row[row.len() - 1].to_owned(), row[1].to_owned());
        reader.records().map(|row| cells(row.unwrap())).collect::<Vec<_>>()
    };
    let own = verdicts(&format!("5,1,{}\n", rankings()[0][1]));
    assert_eq!(own.len(), 6);
    assert!(own.contains(&("0".to_owned(), "1.0".to_owned())), "{own:?}");
    assert!(own.contains(&("5".to_owned(), "1.0".to_owned())), "{own:?}");
    // Without a choice of its own it is the same problem, and so has the same choice.
    assert!(verdicts("").contains(&("5".to_owned(), "0.75".to_owned())));

    let both =
        outcome(&["evaluate", "--against", MODEL, "--model", MODEL, "--data", &data, "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&both.stdout).unwrap()["problems"], 6);
}

#[test]
fn a_model_chooses_from_a_whole_pool() {
    let folder = TempDir::new().unwrap();
    // Only the second half of each ranking was measured; the model chooses from all.
    let data = measured(&folder, |_, place| if place < 15 { 0.0 } else { 100.0 - place as f64 });
    let ask = |more: &[&str]| {
        let words = [&["evaluate", "--model", MODEL, "--data", &data, "--format", "json"], more].concat();
        serde_json::from_str::<Value>(&good(&words)).unwrap()
    };
    let global = &ask(&["--pool", POOL])["global_metrics"];
    assert_eq!((&global["efficiency_mean"], &global["num_shapes"]), (&0.0.into(), &5.into()));
    assert_eq!((&global["num_unmeasured_choices"], &global["ndcg_at_1"]), (&5.into(), &0.0.into()));
    // Without a pool, it chooses among what was measured.
    assert_eq!(ask(&[])["global_metrics"]["efficiency_mean"], 1.0);
    let text = good(&["evaluate", "--model", MODEL, "--data", &data, "--pool", POOL]);
    assert!(
        text.contains("choices that were not measured") && text.contains("of measured choices"),
        "{text}"
    );
}

#[test]
fn names_of_different_age_are_one_kernel() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let pool = folder.path().join("pool.txt");
    let names = fs::read_to_string(root().join(POOL)).unwrap();
    let newer: Vec<String> = names
        .lines()
        .filter(|line| line.starts_with("grouped_conv"))
        .map(|name| format!("{}_intrawave", name.trim()))
        .collect();
    fs::write(&pool, newer.join("\n")).unwrap();
    let text = good(&[
        "evaluate",
        "--model",
        MODEL,
        "--data",
        &data,
        "--pool",
        pool.to_str().unwrap(),
        "--format",
        "json",
        "--require",
        "mean=1,match=1",
    ]);
    let metrics: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(metrics["global_metrics"]["efficiency_mean"], 1.0);
}

/// Figures of choices that are spelled out, on measurements in one or more files.
fn validated(folder: &TempDir, files: &[String], picks: &str) -> Value {
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let paths: Vec<String> =
        files.iter().enumerate().map(|(index, text)| write(&format!("{index}.csv"), text)).collect();
    let picks = write("picks.csv", picks);
    let mut words = vec!["evaluate", "--model", &picks, "--format", "json", "--data"];
    words.extend(paths.iter().map(String::as_str));
    serde_json::from_str::<Value>(&good(&words)).unwrap()["global_metrics"].clone()
}

#[test]
fn problems_that_differ_in_stride_or_padding_have_their_own_oracle() {
    let folder = TempDir::new().unwrap();
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
    let figures = validated(&folder, &[flat, deep], &picks);
    assert_eq!((&figures["num_shapes"], &figures["efficiency_min"]), (&3.into(), &1.0.into()));
}

#[test]
fn a_deep_tile_is_not_its_shallow_namesake() {
    let folder = TempDir::new().unwrap();
    let (deep, shallow) =
        ("grouped_conv_forward_bf16_2d_16x64x128_compv3", "grouped_conv_forward_bf16_2d_16x64x64_compv3");
    let cells = cells(PROBLEMS[0]);
    let data = format!("kernel,{COLUMNS},latency_ms,tflops\n{deep},{cells},1,100\n{shallow},{cells},1,40\n");
    let mean = |pick: &str| {
        let figures =
            validated(&folder, std::slice::from_ref(&data), &format!("kernel,{COLUMNS}\n{pick},{cells}\n"));
        figures["efficiency_mean"].as_f64().unwrap()
    };
    assert_eq!((mean(deep), mean(shallow)), (1.0, 0.4));
}

#[test]
fn compare_accepts_what_is_as_good_and_refuses_what_is_not() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 1000.0 - place as f64);
    let best = picks(&folder, "best.csv", |_| 0);
    let close = picks(&folder, "close.csv", |_| 4);
    let worse = picks(&folder, "worse.csv", |_| 9);
    let compare = |old: &str, new: &str| {
        outcome(&["evaluate", "--against", old, "--model", new, "--data", &data, "--format", "json"])
    };
    for (old, new) in
        [(MODEL, MODEL), (MODEL, best.as_str()), (best.as_str(), close.as_str()), (worse.as_str(), MODEL)]
    {
        let ran = compare(old, new);
        assert_eq!(ran.code, Some(0), "{old} {new} {}", ran.stderr);
        assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["accepted"], true);
    }
    let ran = compare(MODEL, &worse);
    assert_eq!(ran.code, Some(3));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&document["accepted"], &document["degraded"], &document["agreements"]),
        (&false.into(), &5.into(), &0.into())
    );
    assert!(ran.stderr.contains("mean efficiency fell by 0.0090, allowed is 0.005"), "{}", ran.stderr);
    let few = folder.path().join("few.csv");
    let text = fs::read_to_string(&best).unwrap();
    fs::write(&few, text.lines().take(2).collect::<Vec<_>>().join("\n")).unwrap();
    let ran = compare(MODEL, few.to_str().unwrap());
    assert_eq!(ran.code, Some(3));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&document["accepted"], &document["lost"]), (&false.into(), &4.into()));
    assert!(ran.stderr.contains("the new one has no choice for 4 of 5 problems"), "{}", ran.stderr);
    for wrong in [["--max-loss", "mean=5"], ["--arch", "gfx942"], ["--where", "op=fmha"]] {
        assert_eq!(
            outcome(
                &[&["evaluate", "--against", MODEL, "--model", &best, "--data", &data], &wrong[..]].concat()
            )
            .code,
            Some(2)
        );
    }
    let lenient = outcome(&[
        "evaluate", "--against", MODEL, "--model", &worse, "--data", &data, "--max-loss",
        "mean=0.01,median=0.01",
    ]);
    assert_eq!(lenient.code, Some(0), "{}", lenient.stderr);
}

#[test]
fn a_model_of_the_library_is_judged_like_a_directory() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let name = "grouped_conv_forward_bf16_gfx950";
    let (embedded, directory) = (format!("embedded:{name}"), format!("models/{name}"));
    let judged = |model: &str| good(&["evaluate", "--model", model, "--data", &data, "--format", "json"]);
    assert_eq!(judged(&embedded), judged(&directory));
    let same = good(&[
        "evaluate", "--against", &directory, "--model", &embedded, "--data", &data, "--format", "json",
    ]);
    let same: Value = serde_json::from_str(&same).unwrap();
    assert_eq!(same["agreements"], same["problems"]);
}

#[test]
fn mistakes_are_named() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let fails = |words: &[&str], code: i32, message: &str| {
        let ran = outcome(words);
        assert_eq!(ran.code, Some(code), "{words:?}\n{}", ran.stderr);
        assert!(ran.stderr.contains(message), "{words:?}\n{}", ran.stderr);
    };
    fails(&["evaluate", "--data", &data], 2, "--model");
    fails(
        &["evaluate", "--model", MODEL, "--data", &data, "--require", "speed=1"],
        2,
        "no figure is named 'speed'",
    );
    fails(
        &["evaluate", "--model", MODEL, "--data", &data, "--require", "mean=97"],
        2,
        "expected a share from 0 to 1",
    );
    fails(
        &["evaluate", "--against", MODEL, "--model", "nowhere", "--data", &data],
        1,
        "nowhere: no such model directory or file",
    );
    fails(&["evaluate", "--model", MODEL, "--data", "nowhere.csv"], 1, "nowhere.csv");
    let strange = folder.path().join("strange.csv");
    fs::write(&strange, "problem_idx,rank,kernel\n99,1,grouped_conv_forward_bf16_2d_64x64x64_compv3\n")
        .unwrap();
    let strange = strange.to_str().unwrap();
    fails(
        &["evaluate", "--model", strange, "--data", &data],
        1,
        "strange.csv: line 2: problem 99 is not in the measurements",
    );
    fs::write(strange, "problem_idx,kernel\n0,magic\n").unwrap();
    fails(&["evaluate", "--model", strange, "--data", &data], 1, "strange.csv: line 2: kernel 'magic'");
}

#[test]
fn pairs_that_were_measured_more_than_once_are_reported() {
    let folder = TempDir::new().unwrap();
    let data = measured(&folder, |_, place| 100.0 - place as f64);
    let text = fs::read_to_string(&data).unwrap();
    let again = text.lines().nth(1).unwrap().to_owned();
    fs::write(&data, format!("{text}{again}\n{again}\n")).unwrap();
    let ran = outcome(&["evaluate", "--model", MODEL, "--data", &data]);
    let expected =
        "1 pairs of a kernel and a problem were measured more than once: the median of their speeds counts";
    assert!(ran.code == Some(0) && ran.stderr.contains(expected), "{}", ran.stderr);
}

/// What the rows do not say, or say wrong, is said before anything is judged.
#[test]
fn data_is_looked_over() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sweep.csv");
    let row = |tile: &str, time: &str| {
        format!("grouped_conv_forward_bf16_2d_{tile}_compv3,{},{time},10\n", cells(PROBLEMS[0]))
    };
    let rows = [row("16x64x64", "0.5"), row("32x64x64", "-1"), row("64x64x64", "0.6")].concat();
    fs::write(&path, format!("kernel,{COLUMNS},latency_ms,tflops\n{rows}")).unwrap();
    let data = path.to_str().unwrap();
    let universal = ["evaluate", "--model", "embedded:universal", "--data", data];
    let ran = outcome(&universal);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("a universal model needs a GPU: give --arch (one of gfx90a, "),
        "{}",
        ran.stderr
    );
    let on = |arch: &'static str| outcome(&[&universal[..], &["--arch", arch]].concat());
    let ran = on("gfx950");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("sweep.csv: 1 of 3 rows do not count: "), "{}", ran.stderr);

    let meta = r#"{"sessions": [{"rows": 3, "gpus": {"0": {"name": "MI300X", "target": "gfx942:xnack-"}}}]}"#;
    fs::write(folder.path().join("sweep.csv.meta.json"), meta).unwrap();
    assert_eq!(on("gfx942").code, Some(0));
    for words in [&universal[..], &["evaluate", "--model", "estimate", "--data", data]] {
        let ran = outcome(&[words, &["--arch", "gfx950"]].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let expected = "sweep.csv: measured on gfx942, according to its .meta.json, but its rows are taken for \
                        measurements of gfx950";
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }

    let table = folder.path().join("table.parquet");
    let ran = outcome(&["convert", data, "--arch", "gfx950", "--output", table.to_str().unwrap()]);
    assert!(
        ran.stderr.contains(
            "sweep.csv: measured on gfx942, according to its .meta.json, but its rows are taken for"
        )
    );
    assert!(ran.code == Some(1) && !table.exists(), "{}", ran.stderr);

    let out = folder.path().join("out.csv");
    let bench = ["bench", "--pool", POOL, "--problems", data, "--simulate", "analytic", "--order", "model"];
    let ran = outcome(&[&bench[..], &["--output", out.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("a universal model needs a GPU: give --arch"), "{}", ran.stderr);
}

/// A table knows on what its files were measured.
#[test]
fn tables_know_their_gpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.csv");
    let row =
        |tile: &str| format!("grouped_conv_forward_bf16_2d_{tile}_compv3,{},0.5,10\n", cells(PROBLEMS[0]));
    let rows = ["16x64x64", "64x64x64"].map(row).concat();
    fs::write(&path, format!("kernel,{COLUMNS},latency_ms,tflops\n{rows}")).unwrap();
    let data = path.to_str().unwrap();
    let meta = r#"{"sessions": [{"rows": 2, "gpus": {"0": {"name": "MI300X", "target": "gfx942:xnack-"}}}]}"#;
    fs::write(folder.path().join("sweep.csv.meta.json"), meta).unwrap();
    let table = folder.path().join("table.parquet");

    // Also the table of a table, and of a folder.
    let converted = |input: &Path, output: &Path| {
        let ran = outcome(&[
            "convert",
            input.to_str().unwrap(),
            "--arch",
            "gfx942",
            "--output",
            output.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    converted(&path, &table);
    let tables = folder.path().join("tables");
    let again = tables.join("again.parquet");
    converted(&table, &again);
    let last = folder.path().join("last.csv");
    converted(&tables, &last);
    for file in [&table, &again, &last] {
        let words = ["evaluate", "--model", "estimate", "--arch", "gfx950", "--data", file.to_str().unwrap()];
        let ran = outcome(&words);
        // Rows of a table name their architecture, those of a CSV do not.
        let expected = if file == &last { "last.csv: measured on gfx942" } else { "no row" };
        assert!(ran.code == Some(1) && ran.stderr.contains(expected), "{}: {}", file.display(), ran.stderr);
    }
    let named = |file: &Path| fs::read_to_string(format!("{}.meta.json", file.display())).unwrap();
    assert!(named(&again).contains("MI300X") && named(&last).contains("again.parquet"));
    let bare = folder.path().join("bare.csv");
    fs::write(&bare, fs::read_to_string(&path).unwrap()).unwrap();
    converted(&bare, &last);
    assert!(!named(&last).contains("MI300X"), "what was replaced had another origin");
    converted(&bare, &folder.path().join("new.csv"));
    assert!(!folder.path().join("new.csv.meta.json").exists());

    // Rows of two devices that do not say of which they are; files without rows here do not count.
    let both = folder.path().join("both.csv");
    fs::write(&both, fs::read_to_string(&path).unwrap()).unwrap();
    let on = |target: &str, rows: usize| {
        format!(
            r#"{{"rows": {rows}, "meta": {{"sessions": [{{"gpus": {{"0": {{"name": "X", "target": "{target}"}}}}}}]}}}}"#
        )
    };
    let parts = |rows| format!(r#"{{"parts": [{}, {}]}}"#, on("gfx942", 2), on("gfx950", rows));
    let evaluate = ["evaluate", "--model", "estimate", "--arch", "gfx942", "--data", both.to_str().unwrap()];
    let convert =
        ["convert", both.to_str().unwrap(), "--arch", "gfx942", "--output", table.to_str().unwrap()];
    fs::write(folder.path().join("both.csv.meta.json"), parts(1)).unwrap();
    let before = fs::read(&table).unwrap();
    for words in [&evaluate[..], &convert] {
        let ran = outcome(words);
        let expected = "both.csv: measured on gfx942, gfx950, according to its .meta.json, but its rows are taken for \
                        measurements of gfx942";
        assert!(ran.code == Some(1) && ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert_eq!(fs::read(&table).unwrap(), before);
    fs::write(folder.path().join("both.csv.meta.json"), parts(0)).unwrap();
    for words in [&evaluate[..], &convert] {
        assert_eq!(outcome(words).code, Some(0));
    }
    // A sidecar that cannot be written leaves the table as it was.
    let meta = folder.path().join("table.parquet.meta.json");
    fs::remove_file(&meta).unwrap();
    fs::create_dir(&meta).unwrap();
    let before = fs::read(&table).unwrap();
    let ran = outcome(&["convert", data, "--arch", "gfx942", "--output", table.to_str().unwrap()]);
    assert!(ran.code == Some(1) && ran.stderr.contains("table.parquet.meta.json"), "{}", ran.stderr);
    assert_eq!(fs::read(&table).unwrap(), before);
}
