//! Executables that misbehave in every way; how carefully they are timed; what is kept beside the rows.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{Mode, Options, Registry};
use serde_json::Value;

use crate::fakes::{Classes, Expected, Fakes, OF_WORKERS, assert_same, succeeded};

const CLASSES: Classes = ["", "crash", "timeout", "garbage", "flood", "exit", "not_a_time", "unsupported"];
const FAULTS: u64 = 50;

/// What `/proc` says of a process: open descriptors, resident kilobytes.
fn usage(process: u32) -> Option<(usize, usize)> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count();
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some((descriptors, line.split_whitespace().nth(1)?.parse().ok()?))
}

/// 300 kernels on 50 problems, 5 % of the pairs with a fault, on four "GPUs" at once.
#[test]
fn a_sweep_of_faulty_executables_ends_with_every_row_right() {
    let fakes = Fakes::executables(300, 50);
    let mut command = fakes.bench("--runner bin --output sweep.csv --gpus 0,1,2,3 --params timeout=2s");
    command.env("FAKE_FAULTS", FAULTS.to_string()).stderr(Stdio::null()).stdout(Stdio::null());
    let mut sweep = command.spawn().unwrap();
    let mut usages = Vec::new();
    let status = loop {
        if let Some(status) = sweep.try_wait().unwrap() {
            break status;
        }
        usages.extend(usage(sweep.id()));
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success());
    let expected = fakes.expected(FAULTS, &CLASSES);
    for class in &CLASSES[1..] {
        let value = Expected::Class(class);
        assert!(expected.values().any(|expected| *expected == value), "no pair has the fault {class}");
    }
    assert_same(&fakes.rows("sweep.csv"), &expected);
    assert_eq!(fakes.orphans(), Vec::<String>::new());

    // A log for each lane would be 15,000 descriptors and 15,000 children.
    let most = usages.iter().map(|(descriptors, _)| *descriptors).max().unwrap();
    assert!(most < 64, "{most} descriptors were open");
    // The first quarter reaches the plateau: what is kept of a row is a few words.
    let (early, late) = usages.split_at(usages.len() / 4);
    let peak = |part: &[(usize, usize)]| part.iter().map(|(_, kilobytes)| *kilobytes).max().unwrap_or(0);
    assert!(peak(late) < peak(early) + (24 << 10), "memory rose from {} to {} KB", peak(early), peak(late));

    let meta = fakes.meta("sweep.csv");
    assert_eq!(meta["sessions"][0]["end"], "completed");
    assert_eq!(meta["sessions"][0]["rows"], 15_000);
    assert_eq!(fakes.read("sweep.csv.details.jsonl").lines().count(), 15_000);
}

#[test]
fn missing_executables_are_rows_but_none_at_all_is_an_error() {
    let fakes = Fakes::executables(3, 2);
    fs::remove_file(fakes.path("bin").join(format!("benchmark_{}", fakes.kernels[1]))).unwrap();
    fakes.swept("--runner bin --output a.csv");
    let log = fakes.read("a.csv");
    assert_eq!(log.matches(",missing: ").count(), 2, "{log}");
    assert_eq!(log.lines().count(), 7);
    let said = fakes.fails("--runner nowhere --output b.csv", 1);
    assert!(said.contains("none of the kernels has an executable: nowhere/benchmark_gemm"), "{said}");
}

#[test]
fn samples_have_a_median() {
    let fakes = Fakes::executables(2, 1);
    let mut command = fakes.bench("--runner bin --params samples=3 --output a.csv");
    succeeded(command.env("FAKE_STARTS", fakes.path("starts")));
    assert_same(&fakes.rows("a.csv"), &fakes.expected(0, &CLASSES));
    assert_eq!(fakes.read("starts").lines().count(), 6);
    let details = fakes.read("a.csv.details.jsonl");
    let first: serde_json::Value = serde_json::from_str(details.lines().next().unwrap()).unwrap();
    assert_eq!(first["outcome"]["measured"]["cv"], 0.0);
    assert_eq!(first["outcome"]["measured"]["samples"], 3);
    assert_eq!(first["unstable"], false);
}

fn details(fakes: &Fakes, log: &str) -> Vec<Value> {
    let text = fakes.read(&format!("{log}.details.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn unstable_rows_are_flagged_and_remeasured_on_request() {
    let fakes = Fakes::library(3, 2);
    let bench = |words: &str, unsteady: &str| {
        let line =
            "--runner runner.json --output a.csv --overwrite --params warmup=0 repeat=4 batch=1 --format csv";
        // The first runs of a worker take by turns half as long again.
        let mut command = fakes.bench(&format!("{line} {words}"));
        let summary = succeeded(command.env("FAKE_UNSTEADY_RUNS", unsteady));
        let rows = details(&fakes, "a.csv");
        let unstable = rows.iter().filter(|row| row["unstable"] == true).count();
        assert!(summary.lines().any(|line| line == format!("unstable,{unstable}")), "{summary}");
        for row in &rows {
            let measured = &row["outcome"]["measured"];
            assert_eq!(measured["samples"], 4);
            assert_eq!(
                measured["cv"].as_f64().unwrap() > 0.0,
                unsteady != "0" && !words.contains("remeasure")
            );
        }
        unstable
    };
    assert_eq!(bench("", "0"), 0);
    assert_eq!(bench("", "1000"), 6, "a spread of about a quarter is above the usual 10 %");
    // Each kernel has a worker of its own, which is steady from its fifth run on.
    assert_eq!(bench("--params remeasure=1", "4"), 0);
    assert_same(&fakes.rows("a.csv"), &fakes.expected(0, &OF_WORKERS));
}

#[test]
fn the_sidecar_says_where_and_when() {
    let fakes = Fakes::library(2, 1);
    let uname = |word: &str| succeeded(Command::new("uname").arg(word)).trim().to_owned();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let began = now();
    fakes.swept("--runner runner.json --output a.csv");
    let meta_file = fakes.meta("a.csv");
    let session = &meta_file["sessions"][0];
    let time = |name: &str| session[name].as_u64().unwrap();
    assert!(began <= time("began") && time("began") <= time("ended") && time("ended") <= now());
    assert_eq!(session["ckselect"], env!("CARGO_PKG_VERSION"));
    assert_eq!(session["host"]["name"], uname("-n").as_str());
    assert_eq!(session["host"]["kernel"], uname("-r").as_str());
    // The host as a device tells its name, and nothing that it does not know.
    let device = &session["gpus"]["0"];
    assert_eq!((&device["name"], &device["driver_version"]), (&"host".into(), &Value::Null));
    let at = details(&fakes, "a.csv")[1]["at"].as_u64().unwrap();
    assert!(time("began") <= at && at <= time("ended"));
}

#[test]
fn captured_problems_are_measured() {
    let fakes = Fakes::library(3, 1);
    let options = Options {
        mode: Mode::Priority,
        store: Some("off".into()),
        capture: Some(fakes.path("seen")),
        ..Options::default()
    };
    let registry = Registry::new(options).unwrap();
    for n in [4, 2, 4] {
        let conv = ConvProblem { n, c: 64, k: 128, ..ConvProblem::new_2d([14, 14], [1, 1]) };
        // There is no kernel to be chosen; what was asked is written anyway.
        assert!(registry.select(&Problem::Conv(conv)).is_err());
    }
    drop(registry);
    fakes.good("bench --pool pool.txt --problems seen --runner runner.json --output a.csv");
    let log = fakes.read("a.csv");
    let asked: Vec<Vec<&str>> =
        log.lines().skip(1).map(|row| row.split(',').skip(1).take(4).collect()).collect();
    assert_eq!(asked, [[["0", "4", "64", "128"]; 3], [["1", "2", "64", "128"]; 3]].concat());
}
