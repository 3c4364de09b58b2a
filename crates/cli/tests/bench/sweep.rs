//! Executables that misbehave in every way.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::fakes::{Classes, Fakes, assert_same, succeeded};

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
        let value = crate::fakes::Expected::Class(class);
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
