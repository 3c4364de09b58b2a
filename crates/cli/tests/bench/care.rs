//! How carefully is measured, and what is kept beside the rows.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{Mode, Options, Registry};
use serde_json::Value;

use crate::fakes::{Fakes, assert_same, succeeded};

fn details(fakes: &Fakes, log: &str) -> Vec<Value> {
    let text = fakes.read(&format!("{log}.details.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_spreads_too_much_is_flagged_and_measured_again_if_asked() {
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
    let steady = ["", "crash", "timeout", "launch", "launch", "exit", "not_a_time", "unsupported"];
    assert_same(&fakes.rows("a.csv"), &fakes.expected(0, &steady));
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
