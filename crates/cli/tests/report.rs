//! `ckselect report` on the command line: figures, pools, what is refused.

mod common;

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use common::{both, root, run};

fn report(arguments: &[&str]) -> (Option<i32>, String, String) {
    run(&[&["report"], arguments].concat())
}

fn good(arguments: &[&str]) -> (String, String) {
    both(&[&["report"], arguments].concat())
}

/// A table of the repository.
fn data(name: &str) -> String {
    root().join("data").join(name).to_str().unwrap().to_owned()
}

/// The value and the share of a figure.
fn figure(rows: &Value, section: &str, name: &str) -> [f64; 2] {
    let row = rows.as_array().unwrap().iter().find(|row| row["section"] == section && row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("{section}: {name}"));
    ["value", "share"].map(|column| row[column].as_f64().unwrap_or(f64::NAN))
}

#[test]
fn a_real_sweep_has_its_figures() {
    let (printed, said) = good(&[&data("h200/forward.parquet"), "--format", "json"]);
    assert_eq!(said, "");
    let rows: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(figure(&rows, "coverage", "problems")[0], 500.0);
    assert_eq!(figure(&rows, "coverage", "pairs measured"), [15000.0, 1.0]);
    // The session of the sidecar beside the table.
    assert_eq!(figure(&rows, "time", "session of 15000 rows in s")[0], 186.0);
    let shares: Vec<f64> = ["2 kernels", "4 kernels", "8 kernels", "16 kernels"]
        .map(|name| figure(&rows, "pool", name)[1])
        .to_vec();
    assert!(shares.is_sorted() && shares[0] > 0.9 && shares[3] < 1.0, "{shares:?}");
    assert_eq!(figure(&rows, "roofline", "memory in GB/s")[0], 4800.0);
}

/// Attention, of which the operation is found, and whose file names no device.
#[test]
fn the_operation_is_that_of_the_first_row() {
    let (printed, _) = good(&[&data("h100/attention.csv.gz"), "--format", "json"]);
    let rows: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(figure(&rows, "coverage", "kernels")[0], 168.0);
    let reason = "none: the data does not say what it was measured on: give it with --arch";
    let none = figure(&rows, "roofline", reason);
    assert!(none.iter().all(|number| number.is_nan()));
    let (printed, _) = good(&[&data("h100/attention.csv.gz"), "--format", "json", "--arch", "sm_90"]);
    let rows: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(figure(&rows, "roofline", "memory in GB/s")[0], 4800.0);
}

#[test]
fn a_pool_is_written_that_other_commands_read() {
    let folder = TempDir::new().unwrap();
    let pool = folder.path().join("pool.txt");
    let path = pool.to_str().unwrap();
    let sweep = data("h200/forward.parquet");
    let (_, said) = good(&format!("{sweep} --output {path} --keep 4"));
    assert_eq!(
        said,
        format!(
            "ckselect: {path}: 4 of 30 kernels keep 96.98 % of the fastest ones' speed on 500 problems\n"
        )
    );
    let four = fs::read_to_string(&pool).unwrap();
    assert!(four.starts_with("# 4 of 30 kernels keep 96.98 %"), "{four}");
    good(&format!("{sweep} --output {path} --keep 98%"));
    let more = fs::read_to_string(&pool).unwrap();
    let names = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(names(&more).len() == 7 && names(&more)[..4] == names(&four)[..4], "{more}");
    let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
        .args(["rank", "--model", "estimate", "--arch", "gfx942", "--format", "csv", "--pool", path])
        .args(["--problem", "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 8);
}

#[test]
fn a_logs_details_stand_for_the_log() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("sweep.csv");
    let kernel = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
    let rows = format!(
        "kernel,problem_idx,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n\
         {kernel},0,64,64,8,8,1,1,0.5,10.0,-1,\n{kernel}_dsb,0,64,64,8,8,1,1,N/A,0.0,0,crash: signal 11\n"
    );
    fs::write(&log, rows).unwrap();
    let details = folder.path().join("sweep.csv.details.jsonl");
    let line = |cv: f64, unstable: bool| {
        format!(
            "{{\"problem_idx\":0,\"kernel\":\"{kernel}\",\"outcome\":{{\"measured\":{{\"cv\":{cv},\"timed\":3}}}},\
             \"unstable\":{unstable},\"gpu\":0}}\n"
        )
    };
    fs::write(&details, line(0.5, true) + &line(0.25, true)).unwrap();
    let (printed, _) = good(&format!("{} --format csv", details.display()));
    for row in [
        "noise,\"coefficient of variation, median\",0.25,\n",
        "noise,unsteady rows,1,1.0\n",
        "noise,rows measured again as unsteady,1,\n",
        "noise,rows written again,1,\n",
        "failures,crash,1,0.5\n",
    ] {
        assert!(printed.contains(row), "{row}{printed}");
    }
}

#[test]
fn what_cannot_be_reported_says_why() {
    let folder = TempDir::new().unwrap();
    let failed = folder.path().join("failed.csv");
    let kernel = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
    fs::write(&failed, format!("kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n{kernel},64,64,8,8,1,1,N/A,0\n"))
        .unwrap();
    let failed = failed.to_str().unwrap();
    let sweep = data("h200/forward.parquet");
    for (arguments, code, message) in [
        (vec![failed], 1, "ckselect: nothing to report: none of 1 rows has a time\n"),
        (vec!["/nowhere.csv"], 1, "ckselect: /nowhere.csv: No such file or directory (os error 2)\n"),
        (vec![&sweep, "--against", "other.csv"], 2, "--against is removed: "),
        (vec![&sweep, "--keep", "4"], 2, "--output <FILE>"),
        (vec![&sweep, "--output", "x.txt", "--keep", "0"], 2, "expected a number of kernels, such as 8"),
        (vec![&sweep, "--output", "x.txt", "--keep", "101%"], 2, "expected a number of kernels, such as 8"),
    ] {
        let (found, printed, said) = report(&arguments);
        assert_eq!((found, printed.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(said.contains(message), "{said}");
    }
}
