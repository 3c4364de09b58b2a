//! Starting, resuming, refusing; budgets.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::fakes::{Fakes, found, succeeded};

fn fails(command: &mut std::process::Command, code: i32) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn an_output_is_never_lost_by_accident() {
    let fakes = Fakes::library(4, 2);
    let line = "--simulate analytic --output a.csv";
    succeeded(&fakes.bench(line).output().unwrap());
    let first = fs::read(fakes.path("a.csv")).unwrap();
    let refused = fails(&mut fakes.bench(line), 1);
    assert!(
        refused.contains("a.csv exists: --resume goes on with it, --overwrite throws it away"),
        "{refused}"
    );
    // Nothing is left to do.
    succeeded(&fakes.bench(&format!("{line} --resume")).output().unwrap());
    assert_eq!(fs::read(fakes.path("a.csv")).unwrap(), first);
    // Rows that were measured otherwise do not go into the same log.
    let other = fails(&mut fakes.bench(&format!("{line} --resume --repeat 77")), 1);
    assert!(other.contains("runner and settings: the log has"), "{other}");
    fs::write(fakes.path("pool.txt"), fakes.kernels[..3].join("\n")).unwrap();
    let other = fails(&mut fakes.bench(&format!("{line} --resume")), 1);
    assert!(other.contains("plan: the log has 4 kernels, 2 problems, 8 pairs"), "{other}");
    succeeded(&fakes.bench(&format!("{line} --overwrite")).output().unwrap());
    assert_eq!(found(&fakes.path("a.csv")).len(), 6);
    fs::remove_file(fakes.path("a.csv.meta.json")).unwrap();
    let foreign = fails(&mut fakes.bench(&format!("{line} --resume")), 1);
    assert!(foreign.contains("cannot be resumed without"), "{foreign}");
}

#[test]
fn wrong_use_is_told() {
    let fakes = Fakes::library(2, 1);
    for (words, message) in [
        ("--output a.csv", "--executables <DIR>"),
        ("--output a.csv --simulate analytic --shard 3/2", "expected I/N with 1 <= I <= N"),
        ("--output a.csv --simulate analytic --cutoff 0.5", "expected a factor of 1 or more"),
        ("--output a.csv --simulate analytic --budget soon", "expected a time such as"),
        ("--output a.csv --simulate analytic --gpus x", "--gpus: found 'x'"),
        ("--output a.csv --executables bin", "executables of convolutions have no usual flags"),
        ("--output a.csv --simulate analytic --slurm-dry-run", "--slurm <SHARDS>"),
        ("--output a.csv --simulate analytic --max-cv 0", "--max-cv: expected a percentage above 0"),
    ] {
        let stderr = fails(&mut fakes.bench(words), 2);
        assert!(stderr.contains(message), "{words}: {stderr}");
        assert!(!fakes.path("a.csv").exists());
    }
}

#[test]
fn a_plan_is_shown_and_nothing_is_done() {
    let fakes = Fakes::library(45, 3);
    let output = fakes
        .bench("--simulate analytic --output a.csv --dry-run --format csv --shard 1/3")
        .output()
        .unwrap();
    let text = succeeded(&output);
    for line in ["shard,1/3", "kernels,45", "problems,1", "pairs,45", "batches,3", "pairs_left_out,0"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert_eq!(fs::read_dir(fakes.folder.path()).unwrap().count(), 4);
}

#[test]
fn a_spent_budget_is_no_failure_and_can_be_gone_on_with() {
    let fakes = Fakes::executables(20, 5);
    let line = "--executables bin --output a.csv --resume";
    let output = fakes.bench(&format!("{line} --budget 300ms")).env("FAKE_SLEEP_MS", "30").output().unwrap();
    succeeded(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the budget is spent"));
    let rows = found(&fakes.path("a.csv")).len();
    assert!(rows < 100);
    succeeded(&fakes.bench(line).output().unwrap());
    assert_eq!(found(&fakes.path("a.csv")).len(), 100);
}

#[test]
fn a_gpu_in_use_is_waited_for_and_a_log_in_use_is_refused() {
    let fakes = Fakes::executables(5, 2);
    let gpu = fs::File::create(fakes.path("ck-select-gpu-0.lock")).unwrap();
    gpu.lock().unwrap();
    let mut command = fakes.bench("--executables bin --output a.csv");
    let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = said.next().unwrap();
    assert!(told.contains("waiting for GPU 0: another process has"), "{told}");
    assert_eq!(found(&fakes.path("a.csv")).len(), 0);
    // The waiting sweep has its log already.
    let refused = fails(&mut fakes.bench("--executables bin --output a.csv --resume"), 1);
    assert!(refused.contains("another process is writing it"), "{refused}");
    let refused = fails(&mut fakes.bench("--executables bin --output a.csv --overwrite"), 1);
    assert!(refused.contains("another process is writing it"), "{refused}");
    drop(gpu);
    assert_eq!(said.next(), None);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(found(&fakes.path("a.csv")).len(), 10);
}
